/** One job class over time: its runs, its failures and its run times. */

import { useRoute } from 'preact-iso'
import type { JobMetrics } from '../../api/types.ts'
import { at, encoded, nameOf, queryValue } from '../../base.ts'
import { Chart, timesOf } from '../../components/chart.tsx'
import { DeployList } from '../../components/deploys.tsx'
import { Head } from '../../components/head.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Tile, Tiles } from '../../components/tile.tsx'
import { number, share } from '../../format/number.ts'
import { clock, runTime } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { AddJob } from '../job/add.tsx'
import { HeatMap } from './heat-map.tsx'
import { RANGES, Ranges, spanOf } from './ranges.tsx'

export default function JobPage() {
  const name = nameOf(useRoute().params.name ?? '')
  const [query] = useQuery()
  const range = RANGES.find((one) => one === query.range) ?? '1h'
  const path = `/metrics/${encoded(name)}`
  const { data, error, reload } = useData<JobMetrics>(path, { ...spanOf(range) })
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head
        title={name}
        facts={[
          data && t('metrics.span', { from: clock(data.from), to: clock(data.to) }),
          <a key="retries" class="link" href={at(`/retries?class=${queryValue(name)}`)}>
            {t('metrics.retriesOf')}
          </a>,
          <a key="jobs" class="link" href={at(`/jobs?class=${queryValue(name)}`)}>
            {t('metrics.jobsOf')}
          </a>,
        ]}
      >
        {about.value?.readOnly === false && <AddJob class={name} />}
        <Ranges path={path} range={range} />
      </Head>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!data && !error && <Skeleton />}
      {data && data.processed === 0 && (
        <section class="panel">
          <Empty icon="metrics" title={t('metrics.nothingRan')}>
            {t('metrics.noneWhat')}
          </Empty>
        </section>
      )}
      {data && data.processed > 0 && <Figures data={data} />}
    </main>
  )
}

function Figures({ data }: { data: JobMetrics }) {
  const { processed, failed, p50, p95, p99, step, steps, deploys } = data
  const time = (seconds: number | null) => (seconds === null ? '–' : runTime(seconds))
  const times = timesOf(data)
  const by = new Map(steps.map((one) => [Date.parse(one.at), one]))
  const of = (what: 'processed' | 'failed') => times.map((at) => ((by.get(at.getTime())?.[what] ?? 0) * 60) / step)
  const failures = of('failed')
  return (
    <>
      <Tiles columns={5}>
        <Tile label={t('metrics.runs')} value={number(processed)} />
        <Tile label={t('metrics.failed')} value={share(failed, processed)}>
          {number(failed)}
        </Tile>
        <Tile label="p50" value={time(p50)} />
        <Tile label="p95" value={time(p95)} />
        <Tile label="p99" value={time(p99)} />
      </Tiles>
      <section class="panel section">
        <header>
          <h2>{t('metrics.perMinute')}</h2>
          <span class="aside">
            <span class="lg finished">{t('overview.finished')}</span>
            <span class="lg error">{t('overview.errors')}</span>
          </span>
        </header>
        <div class="body">
          <Chart
            label={t('metrics.perMinute')}
            times={times}
            height={180}
            isStacked
            series={[
              {
                label: t('overview.finished'),
                like: 'finished',
                kind: 'bars',
                values: of('processed').map((n, i) => n - (failures[i] ?? 0)),
              },
              { label: t('overview.errors'), like: 'error', kind: 'bars', values: failures },
            ]}
            annotations={deploys}
          />
          <DeployList deploys={deploys} />
        </div>
      </section>
      <section class="panel section">
        <header>
          <h2>{t('metrics.runTimes')}</h2>
          <span class="aside">{t('metrics.heatWhat')}</span>
        </header>
        <div class="body">
          <HeatMap data={data} />
        </div>
      </section>
    </>
  )
}
