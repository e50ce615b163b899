/** The states with their counts, and the filters as chips. */

import { useEffect, useRef } from 'preact/hooks'
import type { JobCounts, JobHit, SearchedState } from '../../api/types.ts'
import { AddChip, AddChips, Chip, FROM_THE_START, Search } from '../../components/search.tsx'
import { short } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { useQueueNames } from '../../live/queues.ts'
import { useQuery } from '../../live/use-query.ts'
import { argumentOf, filterIn, LABELS, labelOf, metaOf, STATES, statesIn, timeOf } from './filter.ts'

const NEAREST = { block: 'nearest', inline: 'nearest' } as const

/** Each state is a button that narrows the list. */
export function States({ counts }: { counts: JobCounts | undefined }) {
  const [query, change] = useQuery()
  const chosen = statesIn(query)
  const toggle = (state: SearchedState) => {
    const then = chosen.includes(state) ? chosen.filter((one) => one !== state) : [...chosen, state]
    change({ state: then.join(','), job: null, ...FROM_THE_START })
  }
  const row = useRef<HTMLDivElement>(null)
  // On a narrow screen the row scrolls, so a chosen state may be outside of the view.
  useEffect(() => row.current?.querySelector('[aria-pressed=true]')?.scrollIntoView(NEAREST), [])
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would have a border and a legend
    <div ref={row} class="tools first states" role="group" aria-label={t('jobs.states')}>
      {(Object.keys(STATES) as SearchedState[]).map((state) => {
        const count = counts?.items.find((one) => one.state === state)
        return (
          <button
            key={state}
            type="button"
            class="btn s"
            aria-pressed={chosen.includes(state)}
            onClick={() => toggle(state)}
          >
            {t(STATES[state])} {count && <span class="dim n">{countText(count)}</span>}
          </button>
        )
      })}
    </div>
  )
}

/** `12`, or `12+` when not all jobs were searched; nothing when none of those that were searched match. */
export function countText({ matching, complete }: Pick<JobCounts['items'][number], 'matching' | 'complete'>): string {
  if (complete) return short(matching)
  return matching > 0 ? `${short(matching)}+` : ''
}

/** The list may have searched more jobs than the counts, so what it has found counts as well. */
export function withFound({ items }: JobCounts, found: readonly JobHit[]): JobCounts {
  const numberOf = (state: SearchedState) => found.filter((job) => job.state === state).length
  return {
    items: items.map((one) => (one.complete ? one : { ...one, matching: Math.max(one.matching, numberOf(one.state)) })),
  }
}

/** The filters that begin with a field of their own. */
const ADDED = ['class', 'queue', 'tag', 'errorClass', 'jid'] as const

export function Filters() {
  const [query] = useQuery()
  const known: Record<string, string[]> = { queue: useQueueNames() }
  const filter = Object.entries(filterIn(query)).filter(([name]) => name !== 'search')
  return (
    <div class="tools">
      <Search label={t('jobs.search')} placeholder={t('sets.search.hint')} />
      {filter.map(([name, value]) => {
        const [label, shown] = labelOf(name, value)
        return <Chip key={name} name={name} label={label} value={shown} />
      })}
      <AddChips>
        <AddChip name="args" label={t('jobs.filter.args')} hint={t('jobs.hint.args')} changeOf={argumentOf} />
        {ADDED.map((name) => (
          <AddChip key={name} name={name} label={t(LABELS[name])} known={known[name] ?? []} />
        ))}
        <AddChip name="meta" label={t('jobs.filter.meta')} hint={t('tasks.metaHint')} changeOf={metaOf} />
        {(['from', 'until'] as const).map((name) => (
          <AddChip
            key={name}
            name={name}
            label={t(LABELS[name])}
            hint={t('jobs.hint.time')}
            changeOf={(text) => {
              const time = timeOf(text)
              return time === undefined ? undefined : { [name]: time }
            }}
          />
        ))}
      </AddChips>
    </div>
  )
}
