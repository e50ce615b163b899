/** At a glance what is wrong, and one click to it. */

import type { Attention, Day, Gauges, Page, Pulse, Queue, TaskStatus, Throughput } from '../api/shapes.ts'
import { at } from '../base.ts'
import { number, rate, share } from '../format/number.ts'
import { clock, day, duration, relative } from '../format/time.ts'
import { about, pulse } from '../live/pulse.ts'
import { useData } from '../live/use-data.ts'
import { useQuery } from '../live/use-query.ts'
import { Chart } from '../parts/chart.tsx'
import { Head } from '../parts/head.tsx'
import { Icon, StatusIcon } from '../parts/icon.tsx'
import { Empty, ErrorNote, Skeleton } from '../parts/notice.tsx'
import { StatusBar } from '../parts/status.tsx'
import { Tile, Tiles, TilesPlace } from '../parts/tile.tsx'
import { t } from '../words/index.ts'

const RANGES = ['5m', '1h', '24h', '30d'] as const
const DAYS = 30
const SHOWN = 6

export function Overview() {
  const { value: now } = pulse
  const { value: what } = about
  const [query] = useQuery()
  const range = RANGES.find((one) => one === query.range) ?? '1h'
  const gauges = useData<Gauges>('/gauges').data
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head
        title={t('nav.overview')}
        facts={[
          what && <bdi>{`${what.app}, ${what.environment}`}</bdi>,
          now && t('overview.facts.processes', { n: now.stats.processes }),
          now && t('overview.facts.slots', { n: now.stats.concurrency }),
        ]}
      >
        <nav class="seg" aria-label={t('overview.range')}>
          {RANGES.map((one) => (
            <a key={one} href={at(`/?range=${one}`)} {...(one === range ? { 'aria-current': 'true' as const } : {})}>
              {t(`overview.range.${one}`)}
            </a>
          ))}
        </nav>
      </Head>
      {now ? <Figures now={now} gauges={gauges} /> : <TilesPlace columns={6} />}
      <div class="grid g21">
        <ThroughputPanel range={range} />
        <AttentionPanel all={now?.attention} />
      </div>
      <div class="grid g11">
        <QueuesPanel />
        <TasksPanel />
      </div>
      <DaysPanel />
    </main>
  )
}

function Figures({ now, gauges }: { now: Pulse; gauges: Gauges | undefined }) {
  const { stats, finishedPerSecond, failedPerSecond } = now
  const points = gauges?.points ?? []
  const trend = (of: Exclude<keyof Gauges['points'][number], 'at'>) => points.map((point) => point[of])
  const unit = t('overview.perSecond')
  return (
    <Tiles columns={6}>
      <Tile
        label={t('overview.finished')}
        value={rate(finishedPerSecond)}
        unit={unit}
        trend={trend('finished')}
        like="finished"
        href={at('/metrics')}
      >
        {t('overview.processed', { n: stats.processed })}
      </Tile>
      <Tile
        label={t('overview.errors')}
        value={rate(failedPerSecond)}
        unit={unit}
        trend={trend('failed')}
        like="error"
        href={at('/metrics')}
      >
        {t('overview.errorShare', { share: share(stats.failed, stats.processed) })}
      </Tile>
      <Tile
        label={t('overview.busy')}
        value={number(stats.busy)}
        unit={t('overview.ofSlots', { n: stats.concurrency })}
        trend={trend('busy')}
        like="working"
        href={at('/busy')}
      >
        {t('overview.facts.processes', { n: stats.processes })}
      </Tile>
      <Tile
        label={t('overview.enqueued')}
        value={number(stats.enqueued)}
        trend={trend('enqueued')}
        href={at('/queues')}
      >
        {stats.held > 0 ? t('overview.held', { n: stats.held }) : t('overview.noneHeld')}
      </Tile>
      <Tile
        label={t('overview.retries')}
        value={number(stats.retries)}
        trend={trend('retries')}
        like="error"
        href={at('/retries')}
      >
        {growth(points.map(({ at: time, retries }) => ({ time, n: retries })))}
      </Tile>
      <Tile label={t('overview.dead')} value={number(stats.dead)} trend={trend('dead')} href={at('/dead')}>
        {growth(points.map(({ at: time, dead }) => ({ time, n: dead })))}
      </Tile>
    </Tiles>
  )
}

/** "+3,902 in 22 min" since the oldest figure that is known. */
function growth(points: { time: string; n: number }[]) {
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last || last.n === first.n) return ' '
  const more = last.n - first.n
  const seconds = (new Date(last.time).getTime() - new Date(first.time).getTime()) / 1000
  return (
    <>
      <span class={more > 0 ? 'up' : ''}>{`${more > 0 ? '+' : '−'}${number(Math.abs(more))}`}</span> ·{' '}
      {duration(seconds)}
    </>
  )
}

function ThroughputPanel({ range }: { range: string }) {
  const { data, error, reload } = useData<Throughput>('/throughput', { range })
  const perSecond = (what: 'finished' | 'failed') => data?.points.map((point) => point[what] / data.step) ?? []
  const times = data?.points.map((point) => new Date(point.at)) ?? []
  const most = Math.max(0, ...perSecond('finished'))
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
              marks={data.deploys}
            />
            <Chart
              label={t('overview.errors')}
              times={times}
              height={80}
              series={[{ label: t('overview.errors'), like: 'error', kind: 'bars', values: perSecond('failed') }]}
            />
          </>
        )}
        {!data && !error && <Skeleton />}
      </div>
    </section>
  )
}

function Legend() {
  return (
    <span class="aside">
      <span class="lg finished">{t('overview.finished')}</span>
      <span class="lg error">{t('overview.errors')}</span>
    </span>
  )
}

function AttentionPanel({ all }: { all: Attention[] | undefined }) {
  return (
    <section class="panel">
      <header>
        <h2>{t('overview.attention')}</h2>
        {all && all.length > 0 && <span class="aside">{t('overview.attention.count', { n: all.length })}</span>}
      </header>
      {all?.length === 0 && (
        <Empty icon="check" title={t('overview.attention.none')}>
          {t('overview.attention.noneWhat')}
        </Empty>
      )}
      <ul class="att">
        {all?.map((one) => {
          const { title, what, to } = wordsOf(one)
          return (
            <li key={`${title} ${to}`}>
              <a href={at(to)}>
                <StatusIcon status={one.level} />
                <b>
                  <bdi>{title}</bdi>
                </b>
                <span class="go">
                  <Icon name="right" />
                </span>
                <p>
                  <bdi>{what}</bdi>
                </p>
              </a>
            </li>
          )
        })}
      </ul>
    </section>
  )
}

function wordsOf(one: Attention): { title: string; what: string; to: string } {
  const name = encodeURIComponent
  switch (one.kind) {
    case 'retries-share-error':
      return {
        title: t('attention.retries-share-error', { n: one.count }),
        what: t('attention.retries-share-error.what', { error: one.error, class: one.class, at: clock(one.since) }),
        to: `/retries?error=${name(one.filter)}`,
      }
    case 'process-silent':
      return {
        title: t('attention.process-silent', { identity: one.identity }),
        what: t('attention.process-silent.what', {
          at: relative(one.beat),
          n: one.busy,
          back: relative(new Date(Date.now() + one.returnsIn * 1000)),
        }),
        to: '/busy',
      }
    case 'queue-grows':
      return {
        title: t('attention.queue-grows', { queue: one.queue }),
        what: t('attention.queue-grows.what', {
          n: Math.round(one.perMinute),
          minutes: Math.round(one.minutes),
          time: duration(one.latency),
        }),
        to: `/queues/${name(one.queue)}`,
      }
    case 'queue-unserved':
      return {
        title: t('attention.queue-unserved', { queue: one.queue }),
        what: t('attention.queue-unserved.what', { n: one.size }),
        to: `/queues/${name(one.queue)}`,
      }
    case 'task-stands-still':
      return {
        title: t('attention.task-stands-still', { name: one.name }),
        what: t('attention.task-stands-still.what', { minutes: Math.round(one.minutes) }),
        to: `/tasks/${one.task}`,
      }
    case 'task-paused':
      return {
        title: t('attention.task-paused', { name: one.name }),
        what: one.reason ?? '',
        to: `/tasks/${one.task}`,
      }
    case 'ordered-silent':
      return {
        title: t('attention.ordered-silent', { queue: one.queue, shard: one.shard }),
        what: t('attention.ordered-silent.what', { time: duration(one.lag) }),
        to: `/ordered/${name(one.queue)}`,
      }
    case 'no-process':
      return {
        title: t('attention.no-process'),
        what: t('attention.no-process.what', { n: one.waiting }),
        to: '/busy',
      }
  }
}

function QueuesPanel() {
  const { data, error, reload } = useData<Page<Queue>>('/queues')
  const slowest = [...(data?.items ?? [])].sort((a, b) => b.latency - a.latency || b.size - a.size).slice(0, SHOWN)
  const most = Math.max(1, ...slowest.map(({ latency }) => latency))
  return (
    <section class="panel list">
      <header>
        <h2>{t('overview.queues')}</h2>
        <span class="aside">
          {data && data.items.length > 0 && (
            <a class="link" href={at('/queues')}>
              {t('overview.queues.all', { n: data.items.length })}
            </a>
          )}
        </span>
      </header>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!data && !error && <Skeleton />}
      {data?.items.length === 0 && (
        <Empty icon="queues" title={t('overview.queues.none')}>
          {t('overview.queues.noneWhat')}
        </Empty>
      )}
      {slowest.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>{t('queues.name')}</th>
              <th class="num">{t('queues.size')}</th>
              <th class="num hide-s">{t('queues.held')}</th>
              <th>{t('queues.oldest')}</th>
              <th class="num hide-s">{t('queues.slots')}</th>
            </tr>
          </thead>
          <tbody>
            {slowest.map((queue) => (
              <tr key={queue.name}>
                <td class="cut">
                  <a href={at(`/queues/${encodeURIComponent(queue.name)}`)}>
                    <bdi>{queue.name}</bdi>
                  </a>
                </td>
                <td class="num b">{number(queue.size)}</td>
                <td class="num hide-s dim">{queue.held > 0 ? number(queue.held) : '–'}</td>
                <td>
                  {duration(queue.latency)}
                  <span class="meter" style={{ '--v': (queue.latency / most) * 100 }}>
                    <i />
                  </span>
                </td>
                <td class="num hide-s dim">{number(queue.slots)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

function TasksPanel() {
  const { data, error, reload } = useData<Page<TaskStatus>>('/tasks', { limit: SHOWN })
  return (
    <section class="panel list">
      <header>
        <h2>{t('overview.tasks')}</h2>
        <span class="aside">
          {data && data.items.length > 0 && (
            <a class="link" href={at('/tasks')}>
              {t('overview.tasks.all')}
            </a>
          )}
        </span>
      </header>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!data && !error && <Skeleton />}
      {data?.items.length === 0 && (
        <Empty icon="tasks" title={t('overview.tasks.none')}>
          {t('overview.tasks.noneWhat')}
        </Empty>
      )}
      {data && data.items.length > 0 && (
        <table class="fix-t">
          <thead>
            <tr>
              <th>{t('tasks.name')}</th>
              <th>{t('tasks.progress')}</th>
              <th class="num">{t('tasks.ended')}</th>
            </tr>
          </thead>
          <tbody>
            {data.items.map((task) => (
              <tr key={task.id}>
                <td class="cut">
                  <a class="cut" href={at(`/tasks/${task.id}`)}>
                    <bdi>{task.name}</bdi>
                  </a>
                  <span class="sub cut">
                    <span class="hide-s">
                      <bdi>{task.job}</bdi> ·{' '}
                    </span>
                    {task.state === 'running' && task.etaSeconds !== null
                      ? t('tasks.left', { time: duration(task.etaSeconds) })
                      : t(`tasks.state.${task.state}`)}
                  </span>
                </td>
                <td>
                  <StatusBar counts={task.counts} />
                </td>
                <td class="num b">{share(Math.floor(task.percent), 100)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

function DaysPanel() {
  const { data, error, reload } = useData<Page<Day>>('/history', { days: DAYS })
  const days = [...(data?.items ?? [])].reverse()
  const times = days.map(({ date }) => new Date(`${date}T00:00:00Z`))
  return (
    <section class="panel section">
      <header>
        <h2>{t('overview.byDay')}</h2>
        <Legend />
      </header>
      <div class="body">
        {error && <ErrorNote error={error} onRetry={reload} />}
        {days.length > 0 && (
          <Chart
            label={`${t('overview.byDayChart', { n: days.length })}: ${day(times[0] as Date)} – ${day(times.at(-1) as Date)}`}
            times={times}
            height={140}
            series={[
              {
                label: t('overview.finished'),
                like: 'finished',
                kind: 'bars',
                values: days.map(({ processed, failed }) => processed - failed),
              },
              { label: t('overview.errors'), like: 'error', kind: 'bars', values: days.map(({ failed }) => failed) },
            ]}
          />
        )}
        {!data && !error && <Skeleton />}
      </div>
    </section>
  )
}
