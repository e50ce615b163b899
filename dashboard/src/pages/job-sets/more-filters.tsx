/** Leads from a list to the page of all jobs, with the same filter and further ones. */

import type { JobState } from '../../api/types.ts'
import { at, queryValue } from '../../base.ts'
import { t } from '../../i18n/index.ts'
import { useQuery } from '../../live/use-query.ts'
import { filterIn } from './filter.ts'

export function MoreFilters({ state, queue }: { state: JobState; queue?: string }) {
  const [query] = useQuery()
  const filter = Object.entries({ state, ...(queue === undefined ? {} : { queue }), ...filterIn(query) })
  const search = filter.map(([name, value]) => `${name}=${queryValue(value)}`).join('&')
  return (
    <a class="btn" href={at(`/jobs?${search}`)}>
      {t('jobs.more')}
    </a>
  )
}
