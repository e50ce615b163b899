/** The worker processes and what they run. */

import type { LiveProcess, RunningJobs as Running } from '../../api/types.ts'
import { Head } from '../../components/head.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Paging } from '../../components/paging.tsx'
import { Search } from '../../components/search.tsx'
import { type SlotCounts, Slots } from '../../components/slots.tsx'
import { number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { liveStats } from '../../live/live-stats.ts'
import { useData } from '../../live/use-data.ts'
import { useLiveList } from '../../live/use-live-list.ts'
import { useQuery } from '../../live/use-query.ts'
import { FILTERS, isFiltered, RunningFilters } from './filters.tsx'
import { Processes } from './processes.tsx'
import { RunningJobs } from './running.tsx'

/** The running jobs on one page. */
const SHOWN = 50
/** The processes that are shown without a click. */
const FIRST = 10

const identityOf = ({ identity }: LiveProcess) => identity

export default function Busy() {
  const { data, error, reload } = useLiveList<LiveProcess>('/live-processes', identityOf)
  const { value: now } = liveStats
  const sum = (of: keyof SlotCounts) => data?.reduce((total, one) => total + one[of], 0) ?? 0
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head
        title={t('busy.title')}
        {...(now ? { count: number(now.stats.busy) } : {})}
        facts={[
          data && t('overview.facts.processes', { n: data.length }),
          data && <Slots concurrency={sum('concurrency')} orderedConcurrency={sum('orderedConcurrency')} />,
          // The running jobs are below all processes.
          data && now !== undefined && data.length > 1 && (
            <a class="link" href="#running">
              {t('busy.running')}
            </a>
          ),
        ]}
      />
      <section class="panel list">
        <header>
          <h2>{t('busy.processes')}</h2>
        </header>
        {error && <ErrorNote error={error} onRetry={reload} />}
        {!data && !error && <Skeleton />}
        {data?.length === 0 && (
          <Empty icon="plug" title={t('alerts.no-process')}>
            {t('busy.start')}
            <br />
            <code>highkiq work -r ./jobs.ts</code>
          </Empty>
        )}
        {data && data.length > 0 && <ProcessList all={data} reload={reload} />}
      </section>
      <RunningList />
    </main>
  )
}

function ProcessList({ all, reload }: { all: readonly LiveProcess[]; reload(): Promise<void> }) {
  const [query, change] = useQuery()
  const wanted = (query.find ?? '').toLowerCase()
  const texts = ({ identity, tag, labels, queues }: LiveProcess) => [identity, tag, ...labels, ...queues]
  const found = all.filter((process) => texts(process).some((text) => text.toLowerCase().includes(wanted)))
  // Those without a heartbeat need attention.
  const sorted = found.sort((a, b) => Number(b.state === 'silent') - Number(a.state === 'silent'))
  const shown = query.all === undefined ? sorted.slice(0, FIRST) : sorted
  return (
    <>
      {all.length > 1 && (
        <div class="tools">
          <Search name="find" label={t('busy.find')} placeholder={t('busy.find')} />
        </div>
      )}
      {found.length === 0 && <Empty icon="plug" title={t('nothingMatches')} />}
      {shown.length > 0 && <Processes all={shown} reload={reload} />}
      {shown.length < found.length && (
        <div class="more">
          <span>{t('sets.shown', { from: 1, to: shown.length, n: found.length })}</span>
          <button type="button" class="btn s" onClick={() => change({ all: 'yes' }, { replace: true })}>
            {t('busy.showAll', { n: found.length })}
          </button>
        </div>
      )}
    </>
  )
}

function RunningList() {
  const [query] = useQuery()
  const filter = Object.fromEntries(FILTERS.map((name) => [name, query[name]]))
  const { data, error, reload } = useData<Running>('/running', { ...filter, cursor: query.cursor, limit: SHOWN })
  const items = data?.items ?? []
  const isNarrow = isFiltered(query)
  // The store knows the number of running jobs at once; the jobs themselves arrive with the next heartbeat.
  const isUnreported = (liveStats.value?.stats.busy ?? 0) > 0
  const before = query.back === undefined ? 0 : query.back.split('\n').length * SHOWN
  return (
    <section class="panel list section" id="running">
      <header>
        <h2>{t('busy.running')}</h2>
      </header>
      {(isNarrow || items.length > 1) && <RunningFilters jobs={items} />}
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!data && !error && <Skeleton />}
      {data && items.length === 0 && isNarrow && (
        <Empty icon="busy" title={t('nothingMatches')}>
          {t('busy.noMatch', { n: data.total })}
        </Empty>
      )}
      {data && items.length === 0 && !isNarrow && (
        <Empty icon="busy" title={t(isUnreported ? 'busy.unreported' : 'busy.idle')}>
          {t(isUnreported ? 'busy.unreportedWhat' : 'busy.idleWhat')}
        </Empty>
      )}
      {items.length > 0 && <RunningJobs all={items} reload={reload} />}
      {data && (isNarrow || data.matching > SHOWN) && items.length > 0 && (
        <Paging next={data.next}>
          {t('sets.shown', { from: before + 1, to: before + items.length, n: data.matching })}
        </Paging>
      )}
    </section>
  )
}
