/** The queues whose jobs have waited longest. */

import type { Page, Queue } from '../../api/types.ts'
import { at, encoded } from '../../base.ts'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { WaitBar } from '../../components/wait.tsx'
import { number } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { liveStats } from '../../live/live-stats.ts'
import { useData } from '../../live/use-data.ts'
import { visible } from '../job/json.tsx'

const SHOWN = 6

export function QueuesPanel() {
  const { data, error, reload } = useData<Page<Queue>>('/queues', { by: 'latency', limit: SHOWN })
  const slowest = data?.items ?? []
  const all = liveStats.value?.queues ?? slowest.length
  return (
    <section class="panel list">
      <header>
        <h2>{t('overview.queues')}</h2>
        <span class="aside">
          {slowest.length > 0 && (
            <a class="link" href={at('/queues')}>
              {t('overview.queues.all', { n: all })}
            </a>
          )}
        </span>
      </header>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!data && !error && <Skeleton />}
      {data?.items.length === 0 && (
        <Empty icon="queues" title={t('overview.queues.none')}>
          {t('overview.queues.noneWhat')}
        </Empty>
      )}
      {slowest.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>{t('queues.name')}</th>
              <th class="num">{t('queues.size')}</th>
              <th class="num hide-s">{t('queues.backlog')}</th>
              <th>{t('queues.oldest')}</th>
              <th class="num hide-s">{t('queues.slots')}</th>
            </tr>
          </thead>
          <tbody>
            {slowest.map((queue) => (
              <tr key={queue.name}>
                <td class="cut max">
                  <a href={at(`/queues/${encoded(queue.name)}`)}>
                    <bdi>{visible(queue.name)}</bdi>
                  </a>
                </td>
                <td class="num b">{number(queue.size)}</td>
                <td class="num hide-s dim">{queue.backlog > 0 ? number(queue.backlog) : '–'}</td>
                <td class="nowrap">
                  {duration(queue.latency)}
                  <WaitBar seconds={queue.latency} />
                </td>
                <td class="num hide-s dim">{number(queue.slots)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
