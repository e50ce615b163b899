/** The figures of a page, in one strip. */

import type { ComponentChildren } from 'preact'

export function Tiles({ children, columns }: { children: ComponentChildren; columns: number }) {
  return (
    <ul class="stats" style={{ '--cols': columns }}>
      {children}
    </ul>
  )
}

/** Reserves the space of figures, so that nothing moves when they arrive. */
export function EmptyTiles({ columns }: { columns: number }) {
  return (
    <ul class="stats" style={{ '--cols': columns }} aria-busy="true">
      {Array.from({ length: columns }, (_, i) => (
        <Tile key={i} label={'\u00a0'} value={'\u00a0'} trend={[]}>
          &nbsp;
        </Tile>
      ))}
    </ul>
  )
}

interface TileProps {
  label: string
  /** The formatted figure. */
  value: string
  unit?: ComponentChildren
  /** The time of the figure, in a word: `now`. */
  when?: string
  href?: string
  /** The earlier figures, oldest first, at the same distance; null where there is none. */
  trend?: (number | null)[]
  /** The status that gives the colour of the trend. */
  like?: string
  /** Explains the figure. */
  children?: ComponentChildren
}

export function Tile({ label, value, unit, when, href, trend, like, children }: TileProps) {
  return (
    <li class="stat">
      <span class="of">
        {href === undefined ? (
          <span class="k">{label}</span>
        ) : (
          <a class="k" href={href}>
            {label}
          </a>
        )}
        {when !== undefined && <span class="when-tag">{when}</span>}
      </span>
      <b class="v">
        {value}
        {unit !== undefined && <small>{unit}</small>}
      </b>
      {trend && trend.length > 1 ? (
        <Spark values={trend} {...(like === undefined ? {} : { like })} />
      ) : (
        <span class={trend && 'spark'} />
      )}
      <span class="sub">{children}</span>
    </li>
  )
}

/** Returns a value for each step from the first stored figure to the last one; null where none was stored. */
export function trendOf<Point extends { at: string }>(
  { step, points }: { step: number; points: readonly Point[] } = { step: 1, points: [] },
  of: (point: Point) => number,
): (number | null)[] {
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last) return []
  const stepOf = ({ at }: Point) => Math.round((Date.parse(at) - Date.parse(first.at)) / 1000 / step)
  const trend = new Array<number | null>(stepOf(last) + 1).fill(null)
  for (const point of points) trend[stepOf(point)] = of(point)
  return trend
}

const WIDE = 64
const HIGH = 24

export function Spark({ values, like }: { values: (number | null)[]; like?: string }) {
  const known = values.filter((value) => value !== null)
  const [least, most] = [Math.min(...known), Math.max(...known)]
  const y = (value: number) => (most === least ? HIGH - 2 : HIGH - 2 - ((value - least) / (most - least)) * (HIGH - 4))
  const x = (i: number) => ((i / (values.length - 1)) * WIDE).toFixed(1)
  // The curve has a gap where there is no figure.
  let line = ''
  let area = ''
  let begun: number | undefined
  for (const [i, value] of values.entries()) {
    if (value === null) {
      if (begun !== undefined) area += `L${x(i - 1)} ${HIGH}L${x(begun)} ${HIGH}Z`
      begun = undefined
      continue
    }
    const point = `${begun === undefined ? 'M' : 'L'}${x(i)} ${y(value).toFixed(1)}`
    begun ??= i
    line += point
    area += point
  }
  if (begun !== undefined) area += `L${WIDE} ${HIGH}L${x(begun)} ${HIGH}Z`
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${WIDE} ${HIGH}`}
      preserveAspectRatio="none"
      style={like === undefined ? {} : { '--c': `var(--${like})` }}
      aria-hidden="true"
    >
      <path class="a" d={area} />
      <path class="l" d={line} />
    </svg>
  )
}
