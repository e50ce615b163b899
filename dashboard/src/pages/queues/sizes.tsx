/** Shows how many jobs waited in the queue over time. */

import type { QueueSizes } from '../../api/types.ts'
import { Chart, timesOf } from '../../components/chart.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { exact } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import type { Data } from '../../live/use-data.ts'
import { type Range, spanOf } from '../metrics/ranges.tsx'

/** A line needs two points. */
const FEWEST_POINTS = 2

interface SizesPanelProps {
  sizes: Data<QueueSizes>
  range: Range
}

export function SizesPanel({ sizes: { data, error, reload }, range }: SizesPanelProps) {
  return (
    <section class="panel total section">
      <header>
        <h2>{t('queues.sizes', { hours: t('queues.hours', { n: Number.parseInt(range, 10) }) })}</h2>
        <span class="aside">{t(spanOf(range).hours ? 'queues.sizesOfTen' : 'queues.sizesOfMinute')}</span>
      </header>
      <div class="body">
        {error && <ErrorNote error={error} onRetry={reload} />}
        {!data && !error && <Skeleton />}
        {data && data.points.length < FEWEST_POINTS && (
          <Empty icon="metrics" title={t('queues.sizesNone')}>
            {t('queues.sizesNoneWhat')}
          </Empty>
        )}
        {data && data.points.length >= FEWEST_POINTS && <SizesChart data={data} />}
      </div>
    </section>
  )
}

/** The line has a gap where no worker stored a size. */
function SizesChart({ data }: { data: QueueSizes }) {
  const times = timesOf(data)
  const by = new Map(data.points.map(({ at, size }) => [Date.parse(at), size]))
  const values = times.map((at) => by.get(at.getTime()) ?? null)
  return (
    <Chart
      label={t('queues.sizesChart', { from: exact(times[0] as Date), to: exact(times.at(-1) as Date) })}
      times={times}
      height={200}
      series={[{ label: t('queues.size'), like: 'enqueued', kind: 'area', values }]}
    />
  )
}
