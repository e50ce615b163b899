/** The processes that serve a queue, with their slots. */

import type { Page, Process } from '../../api/types.ts'
import { at, queryValue } from '../../base.ts'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { t } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'
import { ServingProcesses } from '../busy/processes.tsx'

const SHOWN = 5

export function ServingPanel({ queue }: { queue: string }) {
  const { data, error, reload } = useData<Page<Process>>('/processes', { queue })
  const all = data?.items ?? []
  // The busiest show best whether there is room.
  const shown = [...all].sort((a, b) => b.busy - a.busy).slice(0, SHOWN)
  return (
    <section class="panel list">
      <header>
        <h2>{t('queues.servedBy')}</h2>
        <span class="aside">
          <a class="link" href={at(`/busy?find=${queryValue(queue)}`)}>
            {t('overview.facts.processes', { n: all.length })}
          </a>
        </span>
      </header>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!data && !error && <Skeleton />}
      {data && all.length === 0 && <Empty icon="plug" title={t('queues.unserved')} />}
      {shown.length > 0 && <ServingProcesses all={shown} reload={reload} />}
    </section>
  )
}
