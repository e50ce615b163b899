import type { Figures, Unit } from './fault.ts'

/** The figures at a time, in seconds. */
export interface Sample {
  at: number
  figures: Figures
}

export interface Growth {
  name: string
  unit: Unit
  start: number
  end: number
  /** The growth in an hour. */
  slope: number
  /** `hours`: statistics, which are deleted only after hours or days. */
  verdict: 'flat' | 'grows' | 'hours'
}

/** A growth of less is not one, whatever its part of the level is. */
const FLOORS: Record<Unit, number> = { megabytes: 2, rows: 200, handles: 3 }
/** The growth of a figure between the first sample that counts and the last is above this part of its level. */
const PART = 0.1
/** Until then the store fills up to its steady state, and processes warm up. */
const WARM_UP = 1 / 3
/** The keys of Redis that are named as one figure. */
export const STATISTICS = 'statistics'
const TABLES_OF_STATISTICS = /^(hk_)?(metric|histogram|wait_time|snapshot|queue_sizes)$/
const SECONDS_OF_HOUR = 3600

/** Judges each figure by the line through its samples after the first third of the time. A figure that a sample lacks is 0. */
export function growthsOf(samples: readonly Sample[]): Growth[] {
  const end = samples.at(-1)?.at ?? 0
  const counted = samples.filter(({ at }) => at >= end * WARM_UP)
  return (Object.keys(FLOORS) as Unit[]).flatMap((unit) => {
    const names = new Set(counted.flatMap(({ figures }) => Object.keys(figures[unit])))
    return [...names].map((name) => {
      const points = counted.map(({ at, figures }) => [at, figures[unit][name] ?? 0] as const)
      return { name, unit, ...growthOf(points, FLOORS[unit], name === STATISTICS || TABLES_OF_STATISTICS.test(name)) }
    })
  })
}

type Point = readonly [at: number, value: number]

function growthOf(points: readonly Point[], floor: number, isStatistic: boolean): Omit<Growth, 'name' | 'unit'> {
  const [first, last] = [points[0] as Point, points.at(-1) as Point]
  const slope = slopeOf(points)
  const level = median(points.map(([, value]) => value))
  const middle = (first[0] + last[0]) / 2
  const fittedAt = (at: number) => level + slope * (at - middle)
  const growth = slope * (last[0] - first[0])
  const isGrowing = growth > floor && growth > PART * level
  const verdict = isStatistic ? 'hours' : isGrowing ? 'grows' : 'flat'
  return { start: fittedAt(first[0]), end: fittedAt(last[0]), slope: slope * SECONDS_OF_HOUR, verdict }
}

/**
 * Returns the median of the slopes of all pairs of points, which no minority of outliers changes: the estimator of Theil
 * (A rank-invariant method of linear and polynomial regression analysis, 1950) and Sen (Estimates of the regression
 * coefficient based on Kendall's tau, 1968).
 */
export function slopeOf(points: readonly Point[]): number {
  const slopes = points.flatMap(([x, y], i) => points.slice(i + 1).map(([a, b]) => (b - y) / (a - x)))
  return slopes.length === 0 ? 0 : median(slopes)
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length / 2
  return ((sorted[Math.ceil(half) - 1] as number) + (sorted[Math.floor(half)] as number)) / 2
}

const round = (value: number, unit: Unit) => value.toFixed(unit === 'megabytes' ? 2 : 0)

/** Returns a table of the figures above their floor; those that grow come first. */
export function textOf(growths: readonly Growth[]): string {
  const row = (cells: readonly string[]) =>
    cells.map((cell, i) => (i < 2 ? cell.padEnd(i === 0 ? 40 : 11) : cell.padStart(12))).join('')
  const shown = growths.filter(({ start, end, unit }) => Math.max(start, end) >= FLOORS[unit])
  const grows = ({ verdict }: Growth) => Number(verdict === 'grows')
  return [
    row(['figure', 'unit', 'start', 'end', 'an hour', 'verdict']),
    ...shown
      .sort((a, b) => grows(b) - grows(a))
      .map(({ name, unit, start, end, slope, verdict }) =>
        row([name, unit, ...[start, end, slope].map((value) => round(value, unit)), verdict]),
      ),
  ].join('\n')
}
