/** How long jobs waited before they ran, and how many ran, minute by minute. */

import type { QueueWaits } from '../../api/types.ts'
import { Chart, timesOf } from '../../components/chart.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { clock } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import type { Data } from '../../live/use-data.ts'

interface WaitsPanelProps {
  waits: Data<QueueWaits>
  /** The shown period as a text: `last 8 hours`. */
  hours: string
}

export function WaitsPanel({ waits: { data, error, reload }, hours }: WaitsPanelProps) {
  return (
    <section class="panel total two">
      <header>
        <h2>{t('queues.waits', { hours })}</h2>
        <span class="aside">
          <span class="lg failed">p95</span>
          <span class="lg working">p50</span>
          <span class="lg finished">{t('metrics.perMinute')}</span>
        </span>
      </header>
      <div class="body">
        {error && <ErrorNote error={error} onRetry={reload} />}
        {!data && !error && <Skeleton />}
        {data?.runs === 0 && (
          <Empty icon="metrics" title={t('queues.waitedNone', { hours })}>
            {t('queues.waitsNoneWhat')}
          </Empty>
        )}
        {data && data.runs > 0 && <WaitsChart data={data} />}
      </div>
    </section>
  )
}

function WaitsChart({ data: { from, to, minutes } }: { data: QueueWaits }) {
  const times = timesOf({ from, to, step: 60 })
  const by = new Map(minutes.map((minute) => [Date.parse(minute.at), minute]))
  const of = (what: 'p50' | 'p95' | 'runs') => times.map((at) => by.get(at.getTime())?.[what] ?? null)
  return (
    <>
      <Chart
        label={t('queues.waitsChart', { from: clock(from), to: clock(to) })}
        times={times}
        height={200}
        series={[
          { label: 'p95', like: 'failed', kind: 'area', values: of('p95') },
          { label: 'p50', like: 'working', kind: 'area', values: of('p50') },
        ]}
      />
      <Chart
        label={t('metrics.perMinute')}
        times={times}
        height={80}
        series={[{ label: t('metrics.perMinute'), like: 'finished', kind: 'bars', values: of('runs') }]}
      />
    </>
  )
}
