/** Changes and resets the numbers of a limit. */

import { sendRequest } from '../../api/client.ts'
import type { Limit, Page } from '../../api/types.ts'
import { encoded } from '../../base.ts'
import { confirm } from '../../components/confirm.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { limitName } from './name.ts'

type Figures = NonNullable<Limit['set']>
const NAMES = ['concurrency', 'rate', 'per', 'burst'] as const
const NONE: Figures = { concurrency: null, rate: null, per: null, burst: null }
/** Seconds in the field for the time of a rate that has none yet. */
const USUAL_PER = 60

interface ChangeProps {
  /** The limit; only its kind and its name when it has no numbers yet. */
  limit: Pick<Limit, 'id' | 'kind' | 'name'> & Partial<Limit>
  reload(): Promise<void>
}

export function LimitActions({ limit, reload }: ChangeProps) {
  if (about.value?.readOnly !== false) return null
  const { id, kind, name, set = null } = limit
  const path = `/limits/${encoded(id)}`
  /** The numbers without those that were set, as far as they are known. */
  const code = set ? (limit.code ?? NONE) : { ...NONE, ...limit }
  const change = async () => {
    const before = set ?? NONE
    const fields = { ...before }
    const yes = await confirm({
      title: t('limits.changeTitle', { limit: limitName({ kind, name }) }),
      body: <Fields code={code} fields={fields} hasWindow={Boolean(limit.window)} />,
      act: t('limits.change'),
      keep: t('later.keep'),
      isDangerous: false,
    })
    if (!yes) return
    const settings = changesOf(before, fields, code.per ?? USUAL_PER)
    if (Object.keys(settings).length === 0) return
    await reportOutcome(sendRequest<Page<Limit>>('PATCH', path, settings), () => t('limits.changed'))
    await reload()
  }
  const reset = async () => {
    await reportOutcome(sendRequest<Page<Limit>>('POST', `${path}/reset`), () => t('limits.wasReset'))
    await reload()
  }
  return (
    <span class="actions-cell">
      <button type="button" class="btn s" data-row-key="e" onClick={() => void change()}>
        {t(limit.set !== undefined ? 'limits.changeAsk' : kind === 'app' ? 'limits.setAppAsk' : 'limits.setAsk')}
      </button>
      {set && (
        // On a phone an empty field of the question does the same.
        <button type="button" class="btn s hide-s" onClick={() => void reset()}>
          {t('limits.reset')}
        </button>
      )}
    </span>
  )
}

/** Returns the numbers that differ, so that those which others change meanwhile stay. A rate without a time gets `usualPer`. */
function changesOf(before: Figures, fields: Figures, usualPer: number): Partial<Figures> {
  const after = { ...fields, per: fields.rate === null ? null : (fields.per ?? usualPer) }
  const changed = NAMES.filter((name) => after[name] !== before[name] && (name !== 'per' || after.rate !== null))
  return Object.fromEntries(changed.map((name) => [name, after[name]]))
}

/** A field for each number; it changes `fields`. An empty one is the number of the code. */
function Fields({ code, fields, hasWindow }: { code: Figures; fields: Figures; hasWindow: boolean }) {
  return (
    <>
      <span class="block dim">{t('limits.changeWhat')}</span>
      {NAMES.filter((name) => name !== 'burst' || !hasWindow).map((name) => (
        <label key={name} class="field">
          {t(`limits.field.${name}`)}
          <input
            type="number"
            min={name === 'per' ? '0.001' : '1'}
            step={name === 'per' ? 'any' : '1'}
            defaultValue={fields[name] === null ? '' : String(fields[name])}
            placeholder={placeholderOf(name, code)}
            onInput={({ currentTarget: { value, valueAsNumber } }) => {
              fields[name] = value === '' ? null : valueAsNumber
            }}
          />
        </label>
      ))}
    </>
  )
}

function placeholderOf(name: (typeof NAMES)[number], code: Figures): string {
  const value = code[name]
  if (value !== null) return t('limits.inCode', { n: value })
  if (name === 'per') return String(USUAL_PER)
  return name === 'burst' ? '1' : t('limits.noNumber')
}
