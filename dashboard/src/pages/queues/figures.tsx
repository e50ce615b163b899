/** The figures of one queue, and its limits. */

import type { Limit, Page, Queue, QueueWaits } from '../../api/types.ts'
import { at } from '../../base.ts'
import { Tile, Tiles } from '../../components/tile.tsx'
import { number, rate } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'

interface FiguresProps {
  queue: Queue
  waits: QueueWaits | undefined
}

export function Figures({ queue, waits }: FiguresProps) {
  const { name, size, limited, backlog, latency, slots, servedBy, ignoredBy, paused, trend } = queue
  const out = waits && runsPerMinute(waits)
  return (
    <>
      <Tiles columns={5}>
        <Tile label={t('queues.size')} value={number(size)}>
          {limited > 0 && <span>{t('queues.limited', { n: limited })} </span>}
          {backlog > 0 ? t('overview.backlog', { n: backlog }) : t('overview.noBacklog')}
        </Tile>
        <Tile label={t('queues.oldest')} value={duration(latency)}>
          {trendText(trend)}
        </Tile>
        <Tile label={t('queues.out')} value={out === undefined ? '–' : rate(out)} unit={t('queues.aMinute')}>
          {out !== undefined && trend !== null
            ? t('queues.in', { n: rate(Math.max(out + trend.perMinute, 0)) })
            : t('queues.outWhat')}
        </Tile>
        <Tile label={t('queues.waited')} value={waits?.p95 == null ? '–' : duration(waits.p95)}>
          {waits?.p50 == null ? t('queues.waitedNone') : t('queues.waitedHalf', { time: duration(waits.p50) })}
        </Tile>
        <Tile label={t('queues.slots')} value={number(slots)}>
          {t('overview.facts.processes', { n: servedBy.length })}
        </Tile>
      </Tiles>
      {paused && ignoredBy.length > 0 && (
        <p class="note failed">{t('queues.ignored', { who: ignoredBy.join(', ') })}</p>
      )}
      <Limits queue={name} />
    </>
  )
}

/** The minutes whose average is the rate. */
const MINUTES = 5

/** Returns the runs that ended in a minute, on the average of the last complete ones. */
function runsPerMinute({ to, minutes }: QueueWaits): number {
  // The last minute is not over yet.
  const end = Date.parse(to) - 60_000
  const recent = minutes.filter(({ at }) => Date.parse(at) < end && Date.parse(at) >= end - MINUTES * 60_000)
  return recent.reduce((sum, { runs }) => sum + runs, 0) / MINUTES
}

function trendText(trend: Queue['trend']): string {
  if (trend === null || trend.perMinute === 0) return ''
  const { perMinute, emptyIn } = trend
  if (emptyIn === null) return t('queues.grows', { n: number(perMinute) })
  return emptyIn > 0 ? t('queues.emptyIn', { time: duration(emptyIn) }) : ''
}

/** The limits in use that hold for all jobs of the queue. */
function Limits({ queue }: { queue: string }) {
  const { data } = useData<Page<Limit>>('/limits')
  const held = data?.items.filter(({ kind, name }) => kind === 'app' || (kind === 'queue' && name === queue)) ?? []
  return (
    <>
      {held.map(({ kind, name, key, used, concurrency, waiting }) => (
        <p key={`${kind} ${name} ${key}`} class="note">
          <a class="link" href={at('/limits')}>
            {t(`limits.kind.${kind}`, { name })}
          </a>{' '}
          {concurrency !== null && t('limits.usedOf', { n: number(used), most: number(concurrency) })}{' '}
          {waiting > 0 && t('queues.limited', { n: waiting })}
        </p>
      ))}
    </>
  )
}
