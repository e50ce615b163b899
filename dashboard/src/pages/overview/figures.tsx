/** The figures of the app and how they changed: throughput, waiting jobs, failures. */

import type { Gauges, LiveStats, Throughput } from '../../api/types.ts'
import { at } from '../../base.ts'
import { OfSlots } from '../../components/slots.tsx'
import { Tile, Tiles, trendOf } from '../../components/tile.tsx'
import { number, rate, share } from '../../format/number.ts'
import { clock } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'

interface FiguresProps {
  now: LiveStats
  gauges: Gauges | undefined
  throughput: Throughput | undefined
}

/** The rates and sizes are those of now; what is below them, and the trends, are of the chosen range. */
export function Figures({ now, gauges, throughput }: FiguresProps) {
  const { stats, finishedPerSecond, failedPerSecond } = now
  const points = gauges?.points ?? []
  const first = points[0]
  const trend = (of: Exclude<keyof Gauges['points'][number], 'at' | 'takenAt'>) => trendOf(gauges, (point) => point[of])
  const rates = (of: 'finished' | 'failed') => throughput?.points.map((point) => point[of]) ?? []
  const processed = stats.processed - (first?.processed ?? 0)
  const failed = stats.failed - (first?.failed ?? 0)
  // Without stored figures, or after the totals were reset, it is all that the app counted.
  const isSince = first !== undefined && processed >= failed && failed >= 0
  const unit = t('overview.perSecond')
  return (
    <Tiles columns={6}>
      <Tile
        when={t('overview.now')}
        label={t('overview.finished')}
        value={rate(finishedPerSecond)}
        unit={unit}
        trend={rates('finished')}
        like="finished"
        href={at('/metrics')}
      >
        {isSince
          ? t('overview.since', { n: processed - failed, at: clock(first.takenAt) })
          : t('overview.processed', { n: stats.processed - stats.failed })}
      </Tile>
      <Tile
        when={t('overview.now')}
        label={t('overview.errors')}
        value={rate(failedPerSecond)}
        unit={unit}
        trend={rates('failed')}
        like="error"
        href={at('/metrics')}
      >
        {isSince
          ? t('overview.errorShareSince', { share: share(failed, processed), at: clock(first.takenAt) })
          : t('overview.errorShare', { share: share(stats.failed, stats.processed) })}
      </Tile>
      <Tile
        when={t('overview.now')}
        label={t('overview.busy')}
        value={number(stats.busy)}
        unit={<OfSlots {...stats} />}
        trend={trend('busy')}
        like="working"
        href={at('/busy')}
      >
        {t('overview.facts.processes', { n: stats.processes })}
      </Tile>
      <Tile
        when={t('overview.now')}
        label={t('overview.enqueued')}
        value={number(stats.enqueued)}
        trend={trend('enqueued')}
        href={at('/queues')}
      >
        {stats.backlog > 0 ? t('overview.backlog', { n: stats.backlog }) : t('overview.noBacklog')}
      </Tile>
      <Tile
        when={t('overview.now')}
        label={t('overview.retries')}
        value={number(stats.retries)}
        trend={trend('retries')}
        like="error"
        href={at('/retries')}
      >
        {first && growth(first.takenAt, first.retries, stats.retries)}
      </Tile>
      <Tile
        when={t('overview.now')}
        label={t('overview.dead')}
        value={number(stats.dead)}
        trend={trend('dead')}
        href={at('/dead')}
      >
        {first && growth(first.takenAt, first.dead, stats.dead)}
      </Tile>
    </Tiles>
  )
}

/** "+3,902 since 09:20": since a stored figure. */
function growth(since: string, before: number, n: number) {
  if (n === before) return ' '
  const more = n - before
  const signed = `${more > 0 ? '+' : '−'}${number(Math.abs(more))}`
  return <span class={more > 0 ? 'up' : ''}>{t('overview.since', { n: signed, at: clock(since) })}</span>
}
