/** The filters of the running jobs, as chips that are the address. */

import type { RunningJob } from '../../api/types.ts'
import { AddChip, Chip, Search } from '../../components/search.tsx'
import { duration } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { useQueueNames } from '../../live/queues.ts'
import { useQuery } from '../../live/use-query.ts'

/** The filters by their names in the address, which are those of the API. */
export const FILTERS = ['search', 'class', 'queue', 'tag', 'process', 'seconds'] as const

export function isFiltered(query: Record<string, string>): boolean {
  return FILTERS.some((name) => query[name])
}

/** @param jobs the jobs of the page, whose classes and tags are offered */
export function RunningFilters({ jobs }: { jobs: readonly RunningJob[] }) {
  const [query] = useQuery()
  const queues = useQueueNames()
  const labels = {
    class: t('sets.filter.class'),
    queue: t('sets.filter.queue'),
    tag: t('busy.filter.tag'),
    process: t('busy.filter.process'),
    seconds: t('busy.filter.seconds'),
  }
  const known = {
    class: [...new Set(jobs.map((job) => job.class))],
    queue: queues,
    tag: [...new Set(jobs.flatMap(({ tags }) => tags))],
    process: [...new Set(jobs.map(({ process }) => process))],
  }
  return (
    <div class="tools">
      <Search label={t('queues.searchJobs')} placeholder={t('queues.searchJobs')} />
      {(['class', 'queue', 'tag', 'process'] as const).map((name) => (
        <Chip key={name} name={name} label={labels[name]} />
      ))}
      <Chip name="seconds" label={labels.seconds} value={duration(Number(query.seconds) || 0)} />
      {(['class', 'queue', 'tag', 'process'] as const).map((name) => (
        <AddChip key={name} name={name} label={labels[name]} known={known[name]} />
      ))}
      <AddChip
        name="seconds"
        label={labels.seconds}
        hint={t('busy.filter.secondsHint')}
        changeOf={(text) => {
          const seconds = secondsOf(text)
          return seconds === undefined ? undefined : { seconds: String(seconds) }
        }}
      />
    </div>
  )
}

const UNITS = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 }

/** `90`, `90s`, `5m`, `2h` and `1d` in seconds; undefined for another text. */
function secondsOf(text: string): number | undefined {
  const [, n, unit] = /^(\d{1,6})\s*([smhd]?)$/i.exec(text) ?? []
  return n === undefined ? undefined : Number(n) * UNITS[(unit ?? '').toLowerCase() as keyof typeof UNITS]
}
