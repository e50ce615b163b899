/** Figures over time, drawn by uPlot: lines with their area, and bars. */

import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { figure } from '../format/number.ts'
import { exact, inUtc } from '../format/time.ts'
import { locale } from '../i18n/index.ts'
import { theme } from '../layout/theme.ts'

export interface Series {
  label: string
  /** The status that gives the colour. */
  like: 'finished' | 'failed' | 'error' | 'working' | 'enqueued'
  kind: 'area' | 'bars'
  values: readonly (number | null)[]
  /** The values that the title of the chart shows for a stacked series. */
  told?: readonly (number | null)[]
}

interface ChartProps {
  /** Describes the chart in a sentence for screen readers. */
  label: string
  /** The time of each point. */
  times: readonly Date[]
  series: readonly Series[]
  height: number
  annotations?: readonly { at: string; label: string }[]
  /** True to stack the series; the first is at the bottom. */
  isStacked?: boolean
}

export function Chart({ label, times, series: given, height, annotations = [], isStacked = false }: ChartProps) {
  const series = isStacked ? stacked(given) : given
  const container = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const shape = `${series.map((one) => one.label + one.kind).join()}${height}${theme.value}${locale()}${inUtc.value}`
  const data: uPlot.AlignedData = [times.map((at) => at.getTime() / 1000), ...series.map(({ values }) => [...values])]
  const now = useRef({ annotations, series })
  now.current = { annotations, series }

  // The chart is rebuilt only when its appearance changes; new figures are set in place.
  useEffect(() => {
    const element = container.current
    if (!element) return
    plot.current = new uPlot(
      optionsOf(series, height, element, () => now.current),
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

/** A low chart gets denser annotations: otherwise only 0 would fit. */
const LOW = 120

function optionsOf(
  series: readonly Series[],
  height: number,
  element: HTMLElement,
  now: () => { annotations: NonNullable<ChartProps['annotations']>; series: readonly Series[] },
): uPlot.Options {
  const style = getComputedStyle(element)
  const colour = (name: string) => colourOf(element, `var(--${name})`)
  const font = `11px ${style.fontFamily}`
  const axis = { stroke: colour('ink-3'), font, ticks: { show: false }, grid: { stroke: colour('line'), width: 1 } }
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    padding: [8, 20, 0, 0],
    tzDate: (seconds) => (inUtc.value ? uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC') : new Date(seconds * 1000)),
    scales: {
      x: {
        range: (u, from, to) => (series.some(({ kind }) => kind === 'bars') ? withHalves(u, from, to) : [from, to]),
      },
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        space: 80,
        values: (_, at, __, ___, step) => at.map((one) => tick(one, step)),
      },
      { ...axis, size: 44, space: height < LOW ? 14 : 24, values: (_, all) => all.map(figure) },
    ],
    series: [
      {},
      ...series.map(({ label, like, kind }) => ({
        label,
        stroke: colour(like),
        width: kind === 'area' ? 1.5 : 0,
        fill: kind === 'area' ? alpha(colour(like), 0.1) : colour(like),
        points: { show: false },
        ...(kind === 'bars' && uPlot.paths.bars ? { paths: uPlot.paths.bars({ size: [0.7, 40] }) } : {}),
      })),
    ],
    hooks: {
      draw: [(u) => drawAnnotations(u, now().annotations, colour('ink-3'), font)],
      setCursor: [(u) => tell(u, now().series, element)],
    },
  }
}

/** Makes the first and the last bar as wide as the others. */
function withHalves(u: uPlot, from: number, to: number): [number, number] {
  const [first = from, second = first] = u.data[0]
  return [from - (second - first) / 2, to + (second - first) / 2]
}

/** Returns cumulated series. The highest is drawn first, so that the others are in front of it. */
function stacked(series: readonly Series[]): Series[] {
  const sums: number[] = []
  const all = series.map((one) => {
    const values = one.values.map((value, i) => {
      sums[i] = (sums[i] ?? 0) + (value ?? 0)
      return sums[i]
    })
    return { ...one, values, told: one.values }
  })
  return all.reverse()
}

function tick(seconds: number, step: number): string {
  const at = new Date(seconds * 1000)
  const zone = inUtc.value ? { timeZone: 'UTC' } : {}
  return step >= 86_400
    ? at.toLocaleDateString(locale(), { day: 'numeric', month: 'short', ...zone })
    : at.toLocaleTimeString(locale(), {
        hour: '2-digit',
        minute: '2-digit',
        ...(step < 60 ? { second: '2-digit' } : {}),
        ...zone,
      })
}

function drawAnnotations(
  u: uPlot,
  annotations: NonNullable<ChartProps['annotations']>,
  colour: string,
  font: string,
): void {
  const { ctx, bbox } = u
  ctx.save()
  ctx.strokeStyle = colour
  ctx.fillStyle = colour
  ctx.font = font.replace('11px', `${11 * devicePixelRatio}px`)
  ctx.setLineDash([3, 3])
  for (const { at, label } of annotations) {
    const x = Math.round(u.valToPos(new Date(at).getTime() / 1000, 'x', true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    const isRight = x > bbox.left + bbox.width / 2
    const room = (isRight ? x - bbox.left : bbox.left + bbox.width - x) - 12 * devicePixelRatio
    ctx.textAlign = isRight ? 'right' : 'left'
    ctx.fillText(cutTo(ctx, label, room), x + (isRight ? -6 : 6) * devicePixelRatio, bbox.top + 10 * devicePixelRatio)
  }
  ctx.restore()
}

function cutTo(ctx: CanvasRenderingContext2D, label: string, room: number): string {
  if (ctx.measureText(label).width <= room) return label
  const chars = [...label].slice(0, 80)
  while (chars.length > 0 && ctx.measureText(`${chars.join('')}…`).width > room) chars.pop()
  return chars.length > 0 ? `${chars.join('').trimEnd()}…` : ''
}

/** Shows the figures under the pointer in the title of the chart. */
function tell(u: uPlot, series: readonly Series[], element: HTMLElement): void {
  const { idx } = u.cursor
  const at = idx == null ? undefined : u.data[0][idx]
  element.title =
    at === undefined || idx == null
      ? ''
      : [
          exact(new Date(at * 1000)),
          ...series.map(({ label, values, told = values }) => `${label}: ${figure(Number(told[idx] ?? 0))}`),
        ].join('\n')
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
