/** The running jobs of a queue that take longest. */

import type { RunningJobs } from '../../api/types.ts'
import { at, encoded, queryValue } from '../../base.ts'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { duration, secondsSince } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { liveStats } from '../../live/live-stats.ts'
import { useData } from '../../live/use-data.ts'
import { visible } from '../job/json.tsx'

const SHOWN = 5

export function RunningPanel({ queue }: { queue: string }) {
  const { data, error, reload } = useData<RunningJobs>('/running', { queue, limit: SHOWN })
  return (
    <section class="panel list">
      <header>
        <h2>{t('queues.running')}</h2>
        <span class="aside">
          {data && data.matching > 0 && (
            <a class="link" href={at(`/busy?queue=${queryValue(queue)}`)}>
              {t('queues.runningAll', { n: data.matching })}
            </a>
          )}
        </span>
      </header>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!data && !error && <Skeleton />}
      {data?.items.length === 0 && <Empty icon="busy" title={t('busy.idle')} />}
      {data && data.items.length > 0 && (
        <table aria-label={t('queues.running')}>
          <tbody>
            {data.items.map((job) => (
              <tr key={`${job.process} ${job.thread}`}>
                <td class="max">
                  <a class="cut block" href={at(`/jobs/${encoded(job.jid)}`)}>
                    <bdi>{visible(job.class)}</bdi>{' '}
                    <code class="dim args">
                      <bdi>{visible(job.preview)}</bdi>
                    </code>
                  </a>
                </td>
                <td class="num">{duration(secondsSince(job.startedAt, liveStats.value?.at))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
