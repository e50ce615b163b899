/** The runs of each class before and after a deploy: what got worse comes first. */

import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso'
import type { DeployComparison, Page } from '../../api/types.ts'
import { at, encoded } from '../../base.ts'
import type { Deploy } from '../../components/deploys.tsx'
import { Head } from '../../components/head.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Pill } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { number, share } from '../../format/number.ts'
import { clock, runTime } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { Ranges } from '../metrics/ranges.tsx'

const OF = ['1h', '8h', '24h'] as const

type Job = DeployComparison['jobs'][number]
type Figures = Job['before']

export default function Deploys() {
  const { route } = useLocation()
  const [query, change] = useQuery()
  const range = OF.find((one) => one === query.range) ?? '1h'
  const minutes = Number.parseInt(range, 10) * 60
  const { data, error, reload } = useData<DeployComparison>(
    '/deploy-comparison',
    { at: query.at, minutes },
    { live: false },
  )
  const { data: list } = useData<Page<Deploy>>('/deploys', {}, { live: false })
  const { deploy, before, after, jobs = [] } = data ?? {}
  const worse = jobs.filter((job) => job.worse.length > 0).length
  const all = list?.items ?? []
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head
        title={t('deploys.title')}
        facts={[
          before && t('deploys.before', { from: clock(before.from), to: clock(before.to) }),
          after && t('deploys.after', { from: clock(after.from), to: clock(after.to) }),
        ]}
      >
        <Ranges path="/deploys" range={range} of={OF} rest={{ at: query.at }} />
      </Head>
      <section class="panel list">
        {error && <ErrorNote error={error} onRetry={reload} />}
        {!data && !error && <Skeleton />}
        {data && !deploy && (
          <Empty icon="metrics" title={t('deploys.none')}>
            {t('deploys.noneWhat')}
            <br />
            <code>highkiq deploy v1.2</code>
          </Empty>
        )}
        {deploy && (
          <>
            <div class="tools">
              <label class="row grow">
                <span class="dim nowrap">{t('deploys.which')}</span>
                <select
                  class="btn deploy"
                  value={deploy.at}
                  onChange={(event) => change({ at: event.currentTarget.value })}
                >
                  {(all.some((one) => one.at === deploy.at) ? all : [deploy, ...all]).map((one) => (
                    <option key={one.at} value={one.at}>
                      {`${clock(one.at)} · ${one.label}`}
                    </option>
                  ))}
                </select>
              </label>
              <Pill like={worse > 0 ? 'error' : 'finished'}>
                {worse > 0 ? t('deploys.worse', { n: worse }) : t('deploys.noneWorse')}
              </Pill>
            </div>
            {jobs.length === 0 ? (
              <Empty icon="metrics" title={t('deploys.noRuns')}>
                {t('deploys.noRunsWhat')}
              </Empty>
            ) : (
              <Table
                label={t('deploys.title')}
                rows={jobs}
                columns={columns()}
                keyOf={({ name }) => name}
                onOpen={({ name }) => route(at(`/metrics/${encoded(name)}`))}
              />
            )}
          </>
        )}
      </section>
    </main>
  )
}

function columns(): Column<Job>[] {
  const figure = (
    name: string,
    title: string,
    of: (figures: Figures) => string,
    isWorse: (job: Job) => boolean = () => false,
    kind = '',
  ): Column<Job> => ({
    name,
    title,
    class: `num ${kind}`,
    cell: (job) => (
      <BeforeAfter before={of(job.before)} isWorse={isWorse(job)}>
        {of(job.after)}
      </BeforeAfter>
    ),
  })
  const time = (seconds: number | null) => (seconds === null ? '–' : runTime(seconds))
  const isSlower = ({ worse }: Job) => worse.includes('slower')
  return [
    {
      name: 'job',
      title: t('metrics.job'),
      class: 'max',
      cell: ({ name, worse }) => (
        <>
          <a class="cut block" href={at(`/metrics/${encoded(name)}`)}>
            <bdi>{name}</bdi>
          </a>
          {worse.length > 0 && (
            <span class="row wraps">
              {worse.map((one) => (
                <Pill key={one} like="error">
                  {t(`deploys.worse.${one}`)}
                </Pill>
              ))}
            </span>
          )}
        </>
      ),
    },
    figure('runs', t('metrics.runs'), ({ processed }) => number(processed), undefined, 'hide-s'),
    figure(
      'failed',
      t('metrics.failed'),
      ({ failed, processed }) => (processed === 0 ? '–' : share(failed, processed)),
      ({ worse }) => worse.includes('fails'),
    ),
    figure('p50', 'p50', ({ p50 }) => time(p50), isSlower, 'hide-m'),
    figure('p95', 'p95', ({ p95 }) => time(p95), isSlower),
    figure('p99', 'p99', ({ p99 }) => time(p99), undefined, 'hide-m'),
  ]
}

/** The figure after the deploy, and the one before it below. */
function BeforeAfter({ before, isWorse, children }: { before: string; isWorse: boolean; children: ComponentChildren }) {
  return (
    <>
      <span class={isWorse ? 'st error b' : ''}>{children}</span>
      <span class="sub nowrap">{t('deploys.was', { before })}</span>
    </>
  )
}
