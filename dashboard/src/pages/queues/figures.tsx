/** The figures of one queue, and its limits. */

import type { Limit, Page, Queue, QueueWaits } from '../../api/types.ts'
import { at, queryValue } from '../../base.ts'
import { Tile, Tiles } from '../../components/tile.tsx'
import { number, rate } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { useData } from '../../live/use-data.ts'
import { LimitActions } from '../limits/change.tsx'
import { limitName } from '../limits/name.ts'

interface FiguresProps {
  queue: Queue
  waits: QueueWaits | undefined
  /** The period of the waits as a text: `last 8 hours`. */
  hours: string
}

export function Figures({ queue, waits, hours }: FiguresProps) {
  const { name, size, limited, maxLength, backlog, latency, slots, servedBy, ignoredBy, paused, trend } = queue
  const out = waits && runsPerMinute(waits, MINUTES)
  // The size is compared with that of a minute ago, so the runs that left it are those of a minute, too.
  const came = waits && trend && Math.max(runsPerMinute(waits, 1) + trend.perMinute, 0)
  return (
    <>
      <Tiles columns={5}>
        <Tile
          label={t('queues.size')}
          value={number(size)}
          {...(maxLength === null ? {} : { unit: ` ${t('queues.ofMost', { most: number(maxLength) })}` })}
        >
          {limited > 0 && <span class="block">{t('queues.limited', { n: limited })}</span>}
          {backlog > 0 ? t('overview.backlog', { n: backlog }) : t('queues.noBacklog')}
        </Tile>
        <Tile label={t('queues.oldest')} value={duration(latency)}>
          {trendText(trend)}
        </Tile>
        <Tile label={t('queues.out')} value={out === undefined ? '–' : rate(out)} unit={t('queues.aMinute')}>
          {t('queues.outWhat')}
          {came != null && <span class="block">{t('queues.in', { n: rate(came) })}</span>}
        </Tile>
        <Tile
          label={t('queues.waited')}
          value={waits?.p95 == null ? '–' : `${waits.p95 < LONGEST ? '' : '≥ '}${duration(waits.p95)}`}
        >
          {waits?.p50 == null
            ? t('queues.waitedNone', { hours })
            : t(waits.p50 < LONGEST ? 'queues.waitedHalf' : 'queues.waitedHalfOver', {
                time: duration(waits.p50),
                hours,
              })}
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

/** The limit of the last bucket of waits, in seconds. Of longer waits only this limit is known. */
const LONGEST = 335
/** The minutes whose average is the rate of runs. */
const MINUTES = 5

/** Returns the runs that ended in a minute, on the average of the last complete minutes. */
function runsPerMinute({ to, minutes }: QueueWaits, n: number): number {
  // The last minute is not over yet.
  const end = Date.parse(to) - 60_000
  const recent = minutes.filter(({ at }) => Date.parse(at) < end && Date.parse(at) >= end - n * 60_000)
  return recent.reduce((sum, { runs }) => sum + runs, 0) / n
}

function trendText(trend: Queue['trend']): string {
  if (trend === null || trend.perMinute === 0) return ''
  const { perMinute, emptyIn } = trend
  if (emptyIn === null) return t('queues.grows', { n: number(perMinute) })
  return emptyIn > 0 ? t('queues.emptyIn', { time: duration(emptyIn) }) : ''
}

/** The limits that hold for all jobs of the queue, and the way to set one. */
function Limits({ queue }: { queue: string }) {
  const ofApp = useData<Page<Limit>>('/limits', { id: 'app' })
  const ofQueue = useData<Page<Limit>>('/limits', { id: `queue:${queue}` })
  const held = [ofApp, ofQueue].flatMap(({ data }) => data?.items ?? [])
  const reload = async () => void (await Promise.all([ofApp.reload(), ofQueue.reload()]))
  return (
    <>
      {held.map((limit) => (
        <p key={`${limit.id} ${limit.key}`} class="note row wraps">
          <span class="grow">
            <a class="link" href={at(`/limits?id=${queryValue(limit.id)}`)}>
              {limitName(limit)}
            </a>{' '}
            {figuresOf(limit)}
          </span>
          <LimitActions limit={limit} reload={reload} />
        </p>
      ))}
      {ofQueue.data?.items.length === 0 && about.value?.readOnly === false && (
        <p class="note row wraps">
          <span class="grow">{t('queues.noLimit')}</span>
          <LimitActions limit={{ id: `queue:${queue}`, kind: 'queue', name: queue }} reload={reload} />
        </p>
      )}
    </>
  )
}

function figuresOf({ concurrency, rate, per, used, waiting, set }: Limit): string {
  const parts = [
    concurrency === null ? '' : t('limits.usedOf', { n: number(used), most: number(concurrency) }),
    rate === null || per === null ? '' : t('limits.ratePer', { n: number(rate), time: duration(per) }),
    waiting > 0 ? t('queues.limited', { n: waiting }) : '',
    set ? t('limits.set') : '',
  ]
  return parts.filter(Boolean).join(' · ')
}
