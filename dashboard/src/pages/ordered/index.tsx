/** Ordered queues: a tab for each, with its shards, its waiting ids and its morgue. */

import { useRef } from 'preact/hooks'
import { useRoute } from 'preact-iso'
import type { OrderedHistory, OrderedQueue, Page } from '../../api/types.ts'
import { at, encoded, nameOf } from '../../base.ts'
import { Split } from '../../components/drawer.tsx'
import { Head } from '../../components/head.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Pill } from '../../components/status.tsx'
import { Tile, Tiles, trendOf } from '../../components/tile.tsx'
import { number, rate as perMinute } from '../../format/number.ts'
import { clock, duration, serverNow } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { OrderedActions } from './actions.tsx'
import { IdDrawer } from './id.tsx'
import { InFlight } from './in-flight.tsx'
import { Morgue } from './morgue.tsx'
import { Shards } from './shards.tsx'
import { Waiting } from './waiting.tsx'

const TABS = ['waiting', 'inWork', 'morgue'] as const

export default function Ordered() {
  const { name: part } = useRoute().params
  const name = part === undefined ? undefined : nameOf(part)
  const { data, error, reload } = useData<Page<OrderedQueue>>('/ordered')
  const [query, change] = useQuery()
  const all = data?.items ?? []
  // Without a name the page keeps the queue that it showed first, also when another one comes before it.
  const first = useRef<string>(undefined)
  const queue = all.find((one) => one.name === (name ?? first.current)) ?? (name === undefined ? all[0] : undefined)
  if (name === undefined) first.current = queue?.name
  if (!queue) {
    return (
      <main class="main" id="main" tabIndex={-1}>
        <Head title={t('ordered.title')} />
        <section class="panel">
          {error && <ErrorNote error={error} onRetry={reload} />}
          {!data && !error && <Skeleton />}
          {data && (
            <Empty icon="ordered" title={name === undefined ? t('ordered.none') : t('ordered.noSuch', { name })}>
              {t('ordered.noneWhat')}
              <br />
              <code>{"hq.ordered('SyncUser', { shards: 5 }, async (ctx, batch) => …)"}</code>
            </Empty>
          )}
        </section>
      </main>
    )
  }
  const tab = TABS.find((one) => one === query.tab) ?? 'waiting'
  const drawer = query.id !== undefined && (
    <IdDrawer queue={queue.name} id={query.id} onClose={() => change({ id: null })} />
  )
  return (
    <Split drawer={drawer}>
      <nav class="qt" aria-label={t('ordered.title')}>
        {all.map((one) => (
          <a
            key={one.name}
            href={at(`/ordered/${encoded(one.name)}`)}
            {...(one === queue ? { 'aria-current': 'page' as const } : {})}
          >
            <bdi>{one.name}</bdi> <span class="n">{number(one.length)}</span>
          </a>
        ))}
      </nav>
      <Head
        title={queue.name}
        pill={
          <Pill like={queue.paused ? 'failed' : 'working'}>
            {queue.paused ? t('queues.paused') : t('tasks.state.running')}
          </Pill>
        }
        facts={[t('ordered.promise')]}
      >
        {about.value?.readOnly === false && <OrderedActions queue={queue} reload={reload} />}
      </Head>
      <Figures queue={queue} />
      <Shards queue={queue} reload={reload} />
      <section class="panel list section">
        <div class="tools">
          <nav class="seg" aria-label={t('ordered.what')}>
            {TABS.map((one) => (
              <a
                key={one}
                href={at(`/ordered/${encoded(queue.name)}?tab=${one}`)}
                {...(one === tab ? { 'aria-current': 'true' as const } : {})}
              >
                {t(`ordered.${one}`)} <span class="dim">{number(countOf(queue, one))}</span>
              </a>
            ))}
          </nav>
        </div>
        {tab === 'waiting' && <Waiting key={queue.name} queue={queue} reload={reload} />}
        {tab === 'inWork' && <InFlight key={queue.name} queue={queue} />}
        {tab === 'morgue' && <Morgue key={queue.name} queue={queue} reload={reload} />}
      </section>
    </Split>
  )
}

function countOf({ length, busy, morgueLength }: OrderedQueue, tab: (typeof TABS)[number]): number {
  return { waiting: length, inWork: busy, morgue: morgueLength }[tab]
}

/** The trends, and the ids that end a minute, are those of the last hour. */
function Figures({
  queue: { name, length, fresh, retries, busy, shards, lag, processed, failed, morgueLength },
}: {
  queue: OrderedQueue
}) {
  const { data } = useData<OrderedHistory>(`/ordered/${encoded(name)}/history`)
  const trend = (of: (point: OrderedHistory['points'][number]) => number) => trendOf(data, of)
  const first = data?.points[0]
  const minutes = first ? (serverNow() - Date.parse(first.at)) / 60_000 : 0
  // A queue that was deleted and defined again begins at 0.
  const rate = first && minutes >= 1 && processed >= first.processed && (processed - first.processed) / minutes
  const worst = [...shards].sort((a, b) => b.lag - a.lag)[0]
  return (
    <Tiles columns={5}>
      <Tile
        label={t('ordered.waiting')}
        value={number(length)}
        unit={t('ordered.ids', { n: length })}
        trend={trend((point) => point.length)}
      >
        {t('ordered.freshRetries', { fresh, n: retries })}
      </Tile>
      <Tile
        label={t('ordered.inWork')}
        value={number(busy)}
        unit={t('ordered.ids', { n: busy })}
        trend={trend((point) => point.busy)}
        like="working"
      >
        {t('ordered.ofShards', { n: shards.length })}
      </Tile>
      <Tile label={t('ordered.lag')} value={duration(lag)} trend={trend((point) => point.lag)} like="failed">
        {worst && lag > 0 ? t('ordered.worst', { shard: worst.shard }) : ' '}
      </Tile>
      <Tile
        label={t('overview.finished')}
        value={number(processed)}
        unit={t('ordered.ids', { n: processed })}
        trend={perStep(trend((point) => point.processed))}
        like="finished"
      >
        {first && rate !== undefined && rate !== false
          ? t('ordered.rate', { rate: perMinute(rate), at: clock(first.at) })
          : t('ordered.failed', { n: failed })}
      </Tile>
      <Tile
        label={t('ordered.morgue')}
        value={number(morgueLength)}
        unit={t('ordered.ids', { n: morgueLength })}
        trend={trend((point) => point.morgueLength)}
        like="error"
      />
    </Tiles>
  )
}

/** Returns what was added from step to step. */
function perStep(totals: (number | null)[]): (number | null)[] {
  return totals.slice(1).map((total, i) => {
    const before = totals[i] ?? null
    return total === null || before === null || total < before ? null : total - before
  })
}
