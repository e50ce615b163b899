/** The finished and failed runs over minutes, hours or days. */

import type { Throughput } from '../../api/types.ts'
import { Chart } from '../../components/chart.tsx'
import { DeployList } from '../../components/deploys.tsx'
import { ErrorNote, Skeleton } from '../../components/notice.tsx'
import { clock } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import type { Data } from '../../live/use-data.ts'

const DAY_SECONDS = 86_400

export function ThroughputPanel({ data, error, reload }: Data<Throughput>) {
  const perSecond = (what: 'finished' | 'failed') => data?.points.map((point) => point[what] / data.step) ?? []
  const times = data?.points.map((point) => new Date(point.at)) ?? []
  const most = Math.max(0, ...perSecond('finished'))
  const isByDay = data !== undefined && data.step >= DAY_SECONDS
  return (
    <section class="panel">
      <header>
        <h2>{t('overview.throughput')}</h2>
        <Legend />
      </header>
      <div class="body">
        {error && <ErrorNote error={error} onRetry={reload} />}
        {data && (
          <>
            <Chart
              label={t('overview.throughputChart', { from: clock(data.from), to: clock(data.to), n: Math.round(most) })}
              times={times}
              height={200}
              series={[
                { label: t('overview.finished'), like: 'finished', kind: 'area', values: perSecond('finished') },
              ]}
              annotations={data.deploys}
              isByDay={isByDay}
            />
            <Chart
              label={t('overview.errors')}
              times={times}
              height={80}
              series={[{ label: t('overview.errors'), like: 'error', kind: 'bars', values: perSecond('failed') }]}
              isByDay={isByDay}
            />
            <DeployList deploys={data.deploys} />
          </>
        )}
        {!data && !error && <Skeleton />}
      </div>
    </section>
  )
}

export function Legend() {
  return (
    <span class="aside">
      <span class="lg finished">{t('overview.finished')}</span>
      <span class="lg error">{t('overview.errors')}</span>
    </span>
  )
}
