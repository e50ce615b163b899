/** Runs, run times and failures by job class. */

import { useLocation } from 'preact-iso'
import type { TopJobs } from '../../api/types.ts'
import { at, encoded } from '../../base.ts'
import { Chart, timesOf } from '../../components/chart.tsx'
import { DeployList } from '../../components/deploys.tsx'
import { Head } from '../../components/head.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Search } from '../../components/search.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { number, share } from '../../format/number.ts'
import { clock, duration, runTime } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { addressOf, Compared, comparedIn, MOST_COMPARED } from './compare.tsx'
import { RANGES, Ranges, spanOf } from './ranges.tsx'

type Job = TopJobs['jobs'][number]
const SORTINGS = ['seconds', 'processed', 'failed', 'p95'] as const
type Sorting = (typeof SORTINGS)[number]
/** The server measures the run times of this many classes, the first in the order; sorted by p95, of all classes. */
const MEASURED = 100

export default function Metrics() {
  const { route } = useLocation()
  const [query, change] = useQuery()
  const range = RANGES.find((one) => one === query.range) ?? '1h'
  const by = SORTINGS.find((one) => one === query.by) ?? 'seconds'
  const { data, error, reload } = useData<TopJobs>('/metrics', { ...spanOf(range), filter: query.search, by })
  const jobs = data?.jobs ?? []
  const compared = comparedIn(query)
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head
        title={t('metrics.title')}
        facts={[data && t('metrics.span', { from: clock(data.from), to: clock(data.to) })]}
      >
        <Ranges path="/metrics" range={range} rest={query} />
      </Head>
      {compared.length > 0 && <Compared names={compared} range={range} />}
      {compared.length === 0 && data && data.jobs.length > 0 && <Total data={data} />}
      {compared.length === 0 && !data && !error && <section class="panel total" aria-busy="true" />}
      <section class="panel list section">
        <div class="tools">
          <Search label={t('metrics.search')} placeholder={t('metrics.search')} />
          <span class="dim">{t('metrics.choose', { n: MOST_COMPARED })}</span>
        </div>
        {error && <ErrorNote error={error} onRetry={reload} />}
        {!data && !error && <Skeleton />}
        {data && jobs.length === 0 && (
          <Empty icon="metrics" title={query.search ? t('nothingMatches') : t('metrics.none')}>
            {query.search ? '' : t('metrics.noneWhat')}
          </Empty>
        )}
        {jobs.length > 0 && (
          <Table<Job>
            label={t('metrics.title')}
            rows={jobs}
            columns={columnsOf(by, (by) => change({ by }), range, new Set(by === 'p95' ? [] : jobs.slice(MEASURED)))}
            keyOf={({ name }) => name}
            chosen={new Set(compared)}
            maxChosen={MOST_COMPARED}
            onChoose={(names) => change(addressOf(names))}
            onOpen={({ name }) => route(at(`/metrics/${encoded(name)}?range=${range}`))}
          />
        )}
      </section>
    </main>
  )
}

function Total({ data: { jobs, from, to, step, deploys } }: { data: TopJobs }) {
  const times = timesOf({ from, to, step })
  const sums = new Map<number, { processed: number; failed: number }>()
  for (const { at, processed, failed } of jobs.flatMap(({ steps }) => steps)) {
    const sum = sums.get(Date.parse(at)) ?? { processed: 0, failed: 0 }
    sums.set(Date.parse(at), { processed: sum.processed + processed, failed: sum.failed + failed })
  }
  const of = (what: (sum: { processed: number; failed: number }) => number) =>
    times.map((time) => what(sums.get(time.getTime()) ?? { processed: 0, failed: 0 }) / step)
  return (
    <section class="panel total">
      <header>
        <h2>{t('overview.throughput')}</h2>
        <span class="aside">
          <span class="lg finished">{t('overview.finished')}</span>
          <span class="lg error">{t('overview.errors')}</span>
        </span>
      </header>
      <div class="body">
        <Chart
          label={t('overview.throughput')}
          times={times}
          height={180}
          isStacked
          series={[
            {
              label: t('overview.finished'),
              like: 'finished',
              kind: 'bars',
              values: of(({ processed, failed }) => processed - failed),
            },
            { label: t('overview.errors'), like: 'error', kind: 'bars', values: of(({ failed }) => failed) },
          ]}
          annotations={deploys}
        />
        <DeployList deploys={deploys} />
      </div>
    </section>
  )
}

/** @param unmeasured the classes whose percentiles the server has not computed */
function columnsOf(
  by: Sorting,
  setBy: (by: Sorting) => void,
  range: string,
  unmeasured: ReadonlySet<Job>,
): Column<Job>[] {
  const sorted = (name: Sorting) => ({
    onSort: () => setBy(name),
    sort: by === name ? ('descending' as const) : undefined,
  })
  const time = (job: Job, name: 'p50' | 'p95' | 'p99') => {
    if (unmeasured.has(job)) return <span title={t('metrics.unmeasured', { n: MEASURED })}>…</span>
    return job[name] === null ? '–' : runTime(job[name])
  }
  return [
    {
      name: 'job',
      title: t('metrics.job'),
      class: 'max',
      cell: ({ name }) => (
        <a class="cut block" href={at(`/metrics/${encoded(name)}?range=${range}`)}>
          <bdi>{name}</bdi>
        </a>
      ),
    },
    {
      name: 'processed',
      title: t('metrics.runs'),
      class: 'num b',
      ...sorted('processed'),
      cell: (job) => number(job.processed),
    },
    {
      name: 'failed',
      title: t('metrics.failed'),
      class: 'num',
      ...sorted('failed'),
      cell: ({ failed, processed }) => (
        <span class={failed > 0 ? 'st error' : 'dim'}>{failed > 0 ? share(failed, processed) : '–'}</span>
      ),
    },
    { name: 'p50', title: 'p50', class: 'num hide-s', cell: (job) => time(job, 'p50') },
    { name: 'p95', title: 'p95', class: 'num', ...sorted('p95'), cell: (job) => time(job, 'p95') },
    { name: 'p99', title: 'p99', class: 'num hide-s', cell: (job) => time(job, 'p99') },
    {
      name: 'seconds',
      title: t('metrics.total'),
      class: 'num hide-s',
      ...sorted('seconds'),
      cell: (job) => duration(job.seconds),
    },
  ]
}
