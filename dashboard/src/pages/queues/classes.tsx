/** What is in a queue: its classes, and since when their oldest jobs have waited. */

import type { QueueClasses } from '../../api/types.ts'
import { at, encoded, queryValue } from '../../base.ts'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { FROM_THE_START } from '../../components/search.tsx'
import { When } from '../../components/time.tsx'
import { number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { visible } from '../job/json.tsx'

const SHOWN = 8

interface LimitedProps {
  queue: string
  /** The jobs of the queue that wait for room in a limit, and so are not in its list. */
  limited: number
}

/** Says that the queue has no other jobs than those that wait for room in a limit, and leads to these. */
export function OnlyLimited({ queue, limited }: LimitedProps) {
  return (
    <Empty
      icon="group"
      title={t('queues.onlyLimited')}
      actions={
        <a class="btn" href={at(`/jobs?queue=${queryValue(queue)}&state=limited`)}>
          {t('queues.seeLimited', { n: limited })}
        </a>
      }
    />
  )
}

export function ClassesPanel({ queue, limited }: LimitedProps) {
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
      {data && items.length === 0 && limited > 0 && <OnlyLimited queue={queue} limited={limited} />}
      {data && items.length === 0 && limited === 0 && <Empty icon="queues" title={t('queues.classesNone')} />}
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
