/** The limits of a task that can be changed while it runs; changes take effect at once. */

import { useRef, useState } from 'preact/hooks'
import { sendRequest } from '../../api/client.ts'
import type { TaskStatus } from '../../api/types.ts'
import { Icon } from '../../components/icon.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { number, share } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { LinkButtons } from './link.tsx'

/** The steps of the concurrency. */
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]
const COUNTS = [0, ...STEPS]
const SHARES = [0, 1, 2, 5, 10, 20, 50]

export function Control({ task, reload }: { task: TaskStatus; reload(): Promise<void> }) {
  const { counts, backlog, window, maxFailures, onMaxFailures, id } = task
  const isOver = task.state === 'done' || task.state === 'cancelled'
  const isOff = about.value?.readOnly !== false || isOver
  const set = async (settings: object) => {
    await reportOutcome(sendRequest('PATCH', `/tasks/${id}`, settings), () => t('task.changed'))
    await reload()
  }
  const ended = task.total - counts.enqueued - counts.working
  return (
    <section class="panel">
      <header>
        <h2>{t('task.control')}</h2>
        {!isOver && <span class="aside">{t('task.atOnce')}</span>}
      </header>
      <div class="ctl">
        <div>
          <span id="at-once">{t('task.rowsAtOnce')}</span>
          <Stepper
            label="at-once"
            value={window}
            isOff={isOff}
            textOf={number}
            around={aroundRows}
            onSet={(rows) => set({ window: rows })}
          />
          <p>{t('task.nowRows', { working: counts.working, queued: counts.enqueued - backlog, backlog })}</p>
        </div>
        <div>
          <span id="tolerance">{t('task.stopWhen')}</span>
          <Stepper
            label="tolerance"
            value={maxFailures}
            isOff={isOff}
            textOf={(tolerated) =>
              typeof tolerated === 'number' ? number(tolerated) : (tolerated ?? t('task.anyNumber'))
            }
            around={aroundTolerated}
            onSet={(tolerated) => set({ maxFailures: tolerated })}
          />
          <p>
            {t(maxFailures === null || isOver ? 'task.onMaxFailures.never' : `task.onMaxFailures.${onMaxFailures}`, {
              share: share(counts.failed + counts.error, ended),
            })}
          </p>
        </div>
        <div>
          <span>{t('task.submitterPage')}</span>
          <span class="links">
            <LinkButtons path={`/tasks/${id}`} />
          </span>
          <p>{t('task.opensAlone')}</p>
        </div>
      </div>
    </section>
  )
}

/** The values next to one; undefined at the end of the range. */
interface Around<Value> {
  less: Value | undefined
  more: Value | undefined
}

function aroundRows(rows: number): Around<number> {
  return { less: [...STEPS].reverse().find((step) => step < rows), more: STEPS.find((step) => step > rows) }
}

/** Counts follow counts, and shares follow shares; above the last step there is no limit. */
function aroundTolerated(tolerated: number | string | null): Around<number | string | null> {
  const isCount = typeof tolerated === 'number'
  const value = tolerated === null ? Number.POSITIVE_INFINITY : Number.parseFloat(String(tolerated))
  const steps = isCount ? COUNTS : SHARES
  const named = (step: number | undefined) => (step === undefined || isCount ? step : `${step}%`)
  const less = named([...steps].reverse().find((step) => step < value))
  return { less, more: tolerated === null ? undefined : (named(steps.find((step) => step > value)) ?? null) }
}

interface StepperProps<Value> {
  label: string
  value: Value
  isOff: boolean
  textOf(value: Value): string
  around(value: Value): Around<Value>
  onSet(value: Value): Promise<void>
}

function Stepper<Value>({ label, value, isOff, textOf, around, onSet }: StepperProps<Value>) {
  // A click while a value is being sent goes on from that value. The last chosen value is sent next.
  const last = useRef<{ value: Value }>(undefined)
  const [chosen, setChosen] = useState<{ value: Value }>()
  const shown = chosen ? chosen.value : value
  const { less, more } = around(shown)
  const choose = async (next: Value) => {
    const isSending = last.current !== undefined
    last.current = { value: next }
    setChosen(last.current)
    if (isSending) return
    for (let sent: { value: Value } | undefined; sent !== last.current; ) {
      sent = last.current
      await onSet(sent.value)
    }
    last.current = undefined
    setChosen(undefined)
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset can't be laid out as a row of buttons
    <span class="step" role="group" aria-labelledby={label}>
      <button
        type="button"
        aria-label={t('task.less')}
        disabled={isOff || less === undefined}
        onClick={() => less !== undefined && void choose(less)}
      >
        <Icon name="minus" />
      </button>
      <output>{textOf(shown)}</output>
      <button
        type="button"
        aria-label={t('task.more')}
        disabled={isOff || more === undefined}
        onClick={() => more !== undefined && void choose(more)}
      >
        <Icon name="plus" />
      </button>
    </span>
  )
}
