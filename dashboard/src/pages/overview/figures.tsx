/** The figures of the app and how they changed: throughput, waiting jobs, failures. */

import type { Gauges, LiveStats } from '../../api/types.ts'
import { at } from '../../base.ts'
import { OfSlots } from '../../components/slots.tsx'
import { Tile, Tiles } from '../../components/tile.tsx'
import { number, rate, share } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'

export function Figures({ now, gauges }: { now: LiveStats; gauges: Gauges | undefined }) {
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
        {t('overview.processed', { n: stats.processed - stats.failed })}
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
        unit={<OfSlots {...stats} />}
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
        {stats.backlog > 0 ? t('overview.backlog', { n: stats.backlog }) : t('overview.noBacklog')}
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

/** "+3,902 in 22 min" since the oldest known figure. */
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
