/** Figures over time, drawn by uPlot: lines with or without their area, bars, and dashed lines. */

import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { figure } from '../format/number.ts'
import { day, exact, inUtc } from '../format/time.ts'
import { locale } from '../i18n/index.ts'
import { theme } from '../layout/theme.ts'

export interface Series {
  label: string
  /** The status that gives the colour, or the colour of one of several classes. */
  like: 'finished' | 'failed' | 'error' | 'working' | 'enqueued' | `class-${number}`
  /** A series of `dashes` is never stacked. */
  kind: 'area' | 'line' | 'bars' | 'dashes'
  values: readonly (number | null)[]
  /** True to draw the line across times without a value. A point shows a value between two such times. */
  bridgesGaps?: boolean
  /** The values that are shown under the pointer for a stacked series. */
  shownValues?: readonly (number | null)[]
}

interface ChartProps {
  /** Describes the chart in a sentence for screen readers. */
  label: string
  /** The time of each point. */
  times: readonly Date[]
  series: readonly Series[]
  height: number
  /** Times with a numbered flag; DeployList shows their labels. */
  annotations?: readonly { at: string }[]
  /** True to stack the series; the first is at the bottom. */
  isStacked?: boolean
  /** True when each point is a day. Days are counted in UTC, whatever the time zone of the page. */
  isByDay?: boolean
}

/** As wide as "1,25 тыс.". */
const AXIS = 60

export function Chart(props: ChartProps) {
  const { label, times, series: given, height, annotations = [], isStacked = false, isByDay = false } = props
  const series = isStacked ? stacked(given) : given
  const container = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const isUtc = inUtc.value || isByDay
  const shape = [...series.map((one) => one.label + one.kind), height, theme.value, locale(), isUtc, isByDay].join()
  const data: uPlot.AlignedData = [times.map((at) => at.getTime() / 1000), ...series.map(({ values }) => [...values])]
  const now = useRef({ annotations, series })
  now.current = { annotations, series }
  const zone = { isUtc, isByDay }

  // The chart is rebuilt only when its appearance changes; new figures are set in place.
  useEffect(() => {
    const element = container.current
    if (!element) return
    plot.current = new uPlot(
      optionsOf({ series, height, element, zone }, () => now.current),
      data,
      element,
    )
    const watch = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }))
    watch.observe(element)
    return () => {
      watch.disconnect()
      plot.current?.destroy()
    }
  }, [shape])
  useEffect(() => plot.current?.setData(data))

  return <div ref={container} class="uchart" role="img" aria-label={label} style={{ height: `${height}px` }} />
}

/** Returns the times of the steps of a period; `step` is in seconds. */
export function timesOf({ from, to, step }: { from: string; to: string; step: number }): Date[] {
  const count = Math.ceil((Date.parse(to) - Date.parse(from)) / 1000 / step)
  return Array.from({ length: count }, (_, i) => new Date(Date.parse(from) + i * step * 1000))
}

/** A lower chart gets denser labels on its axis. Otherwise only 0 would fit. */
const LOW = 120

interface Appearance extends Pick<ChartProps, 'series' | 'height'> {
  element: HTMLElement
  zone: { isUtc: boolean; isByDay: boolean }
}

function optionsOf(
  { series, height, element, zone }: Appearance,
  now: () => { annotations: NonNullable<ChartProps['annotations']>; series: readonly Series[] },
): uPlot.Options {
  const style = getComputedStyle(element)
  const colour = (name: string) => colourOf(element, `var(--${name})`)
  const font = `11px ${style.fontFamily}`
  const readout = document.createElement('div')
  readout.className = 'readout'
  const axis = { stroke: colour('ink-3'), font, ticks: { show: false }, grid: { stroke: colour('line'), width: 1 } }
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    padding: [8, 20, 0, 0],
    tzDate: (seconds) => (zone.isUtc ? uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC') : new Date(seconds * 1000)),
    scales: {
      // The same for all charts: two of them, one above the other, show the same time at the same position.
      x: { range: withHalves },
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        space: 80,
        values: (_, at, __, ___, step) => at.map((one) => tick(one, step, zone.isUtc)),
      },
      { ...axis, size: AXIS, space: height < LOW ? 14 : 24, values: (_, all) => all.map(figure) },
    ],
    series: [
      {},
      ...series.map(({ label, like, kind, bridgesGaps }) => ({
        label,
        stroke: colour(like),
        width: kind === 'bars' ? 0 : 1.5,
        ...(kind === 'dashes' ? { dash: [4, 4] } : {}),
        ...(kind === 'area' ? { fill: alpha(colour(like), 0.1) } : kind === 'bars' ? { fill: colour(like) } : {}),
        ...(bridgesGaps ? { spanGaps: true, points: { size: 4, fill: colour(like) } } : { points: { show: false } }),
        ...(kind === 'bars' && uPlot.paths.bars ? { paths: uPlot.paths.bars({ size: [0.7, 40] }) } : {}),
      })),
    ],
    hooks: {
      ready: [(u) => u.over.append(readout)],
      draw: [
        (u) => drawAnnotations(u, now().annotations, { colour: colour('ink-3'), ground: colour('surface'), font }),
      ],
      setCursor: [(u) => showFigures(u, now().series, readout, zone.isByDay ? day : exact)],
    },
  }
}

/** Leaves room for the first and the last bar, as wide as the others. */
function withHalves(u: uPlot, from: number, to: number): [number, number] {
  const [first = from, second = first] = u.data[0]
  return [from - (second - first) / 2, to + (second - first) / 2]
}

/** Returns cumulated series. The highest is drawn first, so that the others are in front of it. */
function stacked(series: readonly Series[]): Series[] {
  const sums: number[] = []
  const all = series.map((one) => {
    if (one.kind === 'dashes') return one
    const values = one.values.map((value, i) => {
      sums[i] = (sums[i] ?? 0) + (value ?? 0)
      return sums[i]
    })
    return { ...one, values, shownValues: one.values }
  })
  return all.reverse()
}

function tick(seconds: number, step: number, isUtc: boolean): string {
  const at = new Date(seconds * 1000)
  const zone = isUtc ? { timeZone: 'UTC' } : {}
  const isMidnight = (isUtc ? at.getUTCHours() + at.getUTCMinutes() : at.getHours() + at.getMinutes()) === 0
  // A tick at midnight shows the day instead of the time.
  return step >= 86_400 || (isMidnight && step >= 3600)
    ? at.toLocaleDateString(locale(), { day: 'numeric', month: 'short', ...zone })
    : at.toLocaleTimeString(locale(), {
        hour: '2-digit',
        minute: '2-digit',
        ...(step < 60 ? { second: '2-digit' } : {}),
        ...zone,
      })
}

/** The width of a flag in pixels. */
const FLAG = 16

function drawAnnotations(
  u: uPlot,
  annotations: NonNullable<ChartProps['annotations']>,
  { colour, ground, font }: { colour: string; ground: string; font: string },
): void {
  const { ctx, bbox } = u
  const px = devicePixelRatio
  const size = FLAG * px
  ctx.save()
  ctx.strokeStyle = colour
  ctx.font = font.replace('11px', `${10 * px}px`)
  ctx.textAlign = 'center'
  ctx.textBaseline = 'middle'
  let free = Number.NEGATIVE_INFINITY
  for (const [i, { at }] of annotations.entries()) {
    const x = Math.round(u.valToPos(new Date(at).getTime() / 1000, 'x', true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.setLineDash([3, 3])
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    // A flag that would cover the one before it is left out; its line stays.
    if (x - size / 2 < free) continue
    free = x + size / 2
    ctx.fillStyle = colour
    ctx.fillRect(x - size / 2, bbox.top, size, size)
    ctx.fillStyle = ground
    ctx.fillText(String(i + 1), x, bbox.top + size / 2)
  }
  ctx.restore()
}

/** The distance of the figures from the pointer in pixels. */
const READOUT_DISTANCE = 12

/** Shows the known figures at the pointer, beside it. */
function showFigures(u: uPlot, series: readonly Series[], readout: HTMLElement, worded: (at: Date) => string): void {
  const { idx, left = -1 } = u.cursor
  const at = idx == null || left < 0 ? undefined : u.data[0][idx]
  if (at === undefined || idx == null) {
    readout.replaceChildren()
    return
  }
  const lines = series.flatMap(({ label, like, values, shownValues = values }) => {
    const value = shownValues[idx] ?? null
    if (value === null) return []
    const line = lineOf(`${label}: ${figure(value)}`)
    line.className = 'lg'
    line.style.setProperty('--s', `var(--${like})`)
    return line
  })
  readout.replaceChildren(lineOf(worded(new Date(at * 1000))), ...lines)
  const { width } = u.over.getBoundingClientRect()
  const isRight = left > width / 2
  readout.style.left = isRight ? '' : `${left + READOUT_DISTANCE}px`
  readout.style.right = isRight ? `${width - left + READOUT_DISTANCE}px` : ''
}

function lineOf(text: string): HTMLElement {
  const line = document.createElement('bdi')
  line.textContent = text
  return line
}

/** Returns a colour of the current theme, since the canvas does not know `light-dark()`. */
function colourOf(element: HTMLElement, value: string): string {
  const probe = document.createElement('i')
  probe.style.color = value
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

function alpha(rgb: string, a: number): string {
  return rgb.replace(/^rgb\(([^)]*)\)$/, `rgba($1, ${a})`)
}
