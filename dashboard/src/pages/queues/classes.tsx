/** What is in a queue: its classes, and since when their oldest jobs have waited. */

import type { QueueClasses } from '../../api/types.ts'
import { encoded } from '../../base.ts'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { FROM_THE_START } from '../../components/search.tsx'
import { When } from '../../components/time.tsx'
import { number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { visible } from '../job/json.tsx'

const SHOWN = 8

export function ClassesPanel({ queue }: { queue: string }) {
  const { data, error, reload } = useData<QueueClasses>(`/queues/${encoded(queue)}/classes`)
  const [, , link] = useQuery()
  const items = data?.items.slice(0, SHOWN) ?? []
  return (
    <section class="panel list">
      <header>
        <h2>{t('queues.classes')}</h2>
        {data && !data.complete && <span class="aside">{t('queues.classesOf', { n: data.scanned })}</span>}
      </header>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!data && !error && <Skeleton />}
      {data && items.length === 0 && <Empty icon="queues" title={t('queues.classesNone')} />}
      {data && items.length > 0 && (
        <table aria-label={t('queues.classes')}>
          <thead>
            <tr>
              <th class="max">{t('metrics.job')}</th>
              <th class="num">{t('queues.size')}</th>
              <th class="num">{t('queues.since')}</th>
            </tr>
          </thead>
          <tbody>
            {items.map(({ class: name, count, since }) => (
              <tr key={name}>
                <td class="max">
                  <a class="cut block" href={link({ class: name, ...FROM_THE_START })}>
                    <bdi>{visible(name)}</bdi>
                  </a>
                  <span class="meter" style={{ '--v': (count / data.scanned) * 100 }}>
                    <i />
                  </span>
                </td>
                <td class="num b">{number(count)}</td>
                <td class="num dim">
                  <When at={since} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
