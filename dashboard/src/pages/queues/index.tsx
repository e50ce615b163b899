/** All queues: their sizes, latencies and processes. */

import { useLocation } from 'preact-iso'
import type { LiveQueue } from '../../api/types.ts'
import { at, encoded } from '../../base.ts'
import { actionColumn } from '../../components/action-column.tsx'
import { Head } from '../../components/head.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Paging, pageOf } from '../../components/paging.tsx'
import { FROM_THE_START, Search } from '../../components/search.tsx'
import { Pill } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Spark } from '../../components/tile.tsx'
import { WaitBar } from '../../components/wait.tsx'
import { number } from '../../format/number.ts'
import { duration, secondsSince } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { liveStats } from '../../live/live-stats.ts'
import { useQueues } from '../../live/queues.ts'
import { useQuery } from '../../live/use-query.ts'
import { visible } from '../job/json.tsx'
import { QueueActions } from './actions.tsx'

const SORTINGS = ['name', 'size', 'latency'] as const
type Sorting = (typeof SORTINGS)[number]

const SHOWN = 50

export default function Queues() {
  const { route } = useLocation()
  const [query, change] = useQuery()
  const { data, error, reload } = useQueues()
  const by = SORTINGS.find((one) => one === query.by) ?? 'name'
  const wanted = (query.search ?? '').toLowerCase()
  const { value: now } = liveStats
  const waited = ({ waitingSince }: LiveQueue) => secondsSince(waitingSince, now?.at)
  const found = (data ?? []).filter(({ name }) => name.toLowerCase().includes(wanted)).sort(order(by, waited))
  const { items: rows, from, next } = pageOf(found, query.cursor, SHOWN)
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head
        title={t('nav.queues')}
        {...(data ? { count: number(data.length) } : {})}
        facts={[
          now && t('queues.waiting', { n: now.stats.enqueued }),
          now && now.stats.backlog > 0 && t('queues.backlogOfTasks', { n: now.stats.backlog }),
        ]}
      />
      <section class="panel list">
        <div class="tools">
          <Search label={t('queues.search')} placeholder={t('queues.search')} />
        </div>
        {error && <ErrorNote error={error} onRetry={reload} />}
        {!data && !error && <Skeleton />}
        {data && rows.length === 0 && (
          <Empty icon="queues" title={wanted === '' ? t('overview.queues.none') : t('nothingMatches')}>
            {wanted === '' && t('overview.queues.noneWhat')}
          </Empty>
        )}
        {rows.length > 0 && (
          <Table
            label={t('nav.queues')}
            rows={rows}
            columns={columnsOf({ by, setBy: (by) => change({ by, ...FROM_THE_START }) }, waited, reload)}
            keyOf={({ name }) => name}
            onOpen={({ name }) => route(at(`/queues/${encoded(name)}`))}
          />
        )}
        {found.length > SHOWN && (
          <Paging next={next}>{t('sets.shown', { from: from + 1, to: from + rows.length, n: found.length })}</Paging>
        )}
      </section>
    </main>
  )
}

function order(by: Sorting, waited: (queue: LiveQueue) => number): (a: LiveQueue, b: LiveQueue) => number {
  if (by === 'name') return (a, b) => (a.name < b.name ? -1 : 1)
  return by === 'size' ? (a, b) => b.size - a.size : (a, b) => waited(b) - waited(a)
}

function columnsOf(
  { by, setBy }: { by: Sorting; setBy(by: Sorting): void },
  /** How long the oldest job of a queue has waited. */
  waited: (queue: LiveQueue) => number,
  reload: () => Promise<void>,
): Column<LiveQueue>[] {
  const sorted = (name: Sorting) => ({
    onSort: () => setBy(name),
    sort: by !== name ? undefined : name === 'name' ? ('ascending' as const) : ('descending' as const),
  })
  return [
    {
      name: 'name',
      title: t('queues.name'),
      class: 'max',
      ...sorted('name'),
      cell: ({ name, paused, processes, size }) => (
        <span class="row">
          <a class="cut" href={at(`/queues/${encoded(name)}`)}>
            <bdi>{visible(name)}</bdi>
          </a>
          {paused && <Pill like="failed">{t('queues.paused')}</Pill>}
          {processes === 0 && size > 0 && <Pill like="error">{t('queues.unserved')}</Pill>}
        </span>
      ),
    },
    {
      name: 'size',
      title: t('queues.size'),
      class: 'num b',
      ...sorted('size'),
      cell: ({ size, maxLength }) => (
        <>
          {number(size)}
          {maxLength !== null && <span class="dim"> {t('queues.ofMost', { most: number(maxLength) })}</span>}
        </>
      ),
    },
    {
      name: 'sizes',
      title: t('queues.lastHour'),
      class: 'num hide-s',
      cell: ({ sizes, size }) => sizes.length > 0 && <Spark values={[...sizes, size]} like="enqueued" />,
    },
    {
      name: 'backlog',
      title: t('queues.backlog'),
      class: 'num hide-s dim',
      cell: ({ backlog }) => (backlog > 0 ? number(backlog) : '–'),
    },
    {
      name: 'latency',
      title: t('queues.oldest'),
      class: 'oldest',
      ...sorted('latency'),
      cell: (queue) => (
        <>
          {duration(waited(queue))}
          <WaitBar seconds={waited(queue)} />
        </>
      ),
    },
    { name: 'slots', title: t('queues.slots'), class: 'num hide-s dim', cell: ({ slots }) => number(slots) },
    // On a phone these figures are on the page of the queue.
    ...actionColumn((queue: LiveQueue) => <QueueActions queue={queue} reload={reload} isSmall />, 'num hide-s'),
  ]
}
