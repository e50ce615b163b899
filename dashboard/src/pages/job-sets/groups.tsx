/** The jobs of a set grouped by error; each group is a filter. */

import { useState } from 'preact/hooks'
import type { ErrorGroup, ErrorGroups } from '../../api/types.ts'
import { FROM_THE_START } from '../../components/search.tsx'
import { number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { useQuery } from '../../live/use-query.ts'
import { visible } from '../job/json.tsx'

const SHOWN = 4
const TOLD_APART = 1000

export function Groups({ groups }: { groups: ErrorGroups }) {
  const [isWhole, setWhole] = useState(false)
  const { items } = groups
  if (items.length === 0) return null
  // A single further group is shown, since its button would take the same space.
  const shown = isWhole || items.length <= SHOWN + 1 ? items : items.slice(0, SHOWN)
  const rest = items.slice(shown.length)
  const all = items.reduce((sum, { count }) => sum + count, 0)
  return (
    <div class="groups">
      {shown.map((group) => (
        <Group key={group.filter} group={group} all={all} />
      ))}
      {rest.length > 0 && (
        <button type="button" class="grp" onClick={() => setWhole(true)}>
          <span class="grow">
            <b>{t('sets.groups.more', { n: rest.length })}</b>
            <p class="cut">{t('sets.groups.all')}</p>
          </span>
          <Share n={rest.reduce((sum, { count }) => sum + count, 0)} all={all} />
        </button>
      )}
      {!groups.complete && <p class="grp-note dim">{t('sets.groups.part', { n: groups.scanned })}</p>}
    </div>
  )
}

function Group({ group, all }: { group: ErrorGroup; all: number }) {
  const [query, , link] = useQuery()
  const isCurrent = query.cause === group.filter
  return (
    <a
      class="grp"
      href={link({ cause: isCurrent ? null : group.filter, error: null, job: null, ...FROM_THE_START })}
      {...(isCurrent ? { 'aria-current': 'true' as const } : {})}
    >
      <span class="grow">
        <span class="row">
          <b class="cut grp-name">
            <bdi>{visible(group.class ?? t('job.error'))}</bdi>
          </b>
          <span class="dim cut">
            <bdi>{visible(group.message)}</bdi>
          </span>
        </span>
        <p class="cut">
          <bdi>{visible(group.jobs.join(', '))}</bdi>
          {group.messages > 1 && ` · ${messagesOf(group)}`}
        </p>
      </span>
      <Share n={group.count} all={all} />
    </a>
  )
}

/** Formats "12 different messages"; the server counts at most a thousand. */
export function messagesOf({ messages }: ErrorGroup): string {
  return t('sets.messages', { n: messages, more: messages < TOLD_APART ? '' : '+' })
}

function Share({ n, all }: { n: number; all: number }) {
  return (
    <>
      <span class="meter error" style={{ '--v': (n / Math.max(all, 1)) * 100 }}>
        <i />
      </span>
      <span class="n">{number(n)}</span>
    </>
  )
}
