/** Run times over time: the darker a cell, the more jobs took that long. */

import type { JobMetrics } from '../../api/types.ts'
import { number } from '../../format/number.ts'
import { clock, runTime } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'

/** The most columns; steps are merged to fit. */
const MOST = 60

export function HeatMap({ data: { from, to, step, steps, histogram } }: { data: JobMetrics }) {
  const span = (Date.parse(to) - Date.parse(from)) / 1000 / step
  const wide = Math.ceil(span / MOST)
  const columns = Math.ceil(span / wide)
  const used = histogram.flatMap(({ count }, bucket) => (count > 0 ? bucket : []))
  const [lowest = 0, highest = 0] = [used[0], used.at(-1)]
  const cells = new Map<number, number>()
  for (const { at, histogram: counts } of steps) {
    const column = Math.floor((Date.parse(at) - Date.parse(from)) / 1000 / step / wide)
    for (let bucket = lowest; bucket <= highest; bucket++) {
      const n = counts[bucket] ?? 0
      if (n > 0) cells.set(bucket * MOST + column, (cells.get(bucket * MOST + column) ?? 0) + n)
    }
  }
  const most = Math.max(1, ...cells.values())
  const rows = highest - lowest + 1
  const times = Array.from({ length: columns }, (_, i) => new Date(Date.parse(from) + i * wide * step * 1000))
  return (
    <div class="heat" style={{ '--columns': columns, '--rows': rows }}>
      <ol class="heat-y" aria-hidden="true">
        {histogram
          .slice(lowest, highest + 1)
          .reverse()
          .map(({ label }) => (
            <li key={label}>{bucketText(label)}</li>
          ))}
      </ol>
      <svg viewBox={`0 0 ${columns} ${rows}`} preserveAspectRatio="none" role="img" aria-label={t('metrics.runTimes')}>
        {[...cells].map(([cell, n]) => {
          const [bucket, column] = [Math.floor(cell / MOST), cell % MOST]
          const label = `${bucketText(histogram[bucket]?.label ?? '')}, ${clock(times[column] ?? from)}: ${number(n)}`
          return (
            <rect
              key={cell}
              x={column}
              y={highest - bucket}
              width={1}
              height={1}
              style={{ opacity: 0.15 + 0.85 * Math.sqrt(n / most) }}
            >
              <title>{label}</title>
            </rect>
          )
        })}
      </svg>
      <div class="heat-x" aria-hidden="true">
        <span>{clock(from)}</span>
        <span>{clock(to)}</span>
      </div>
    </div>
  )
}

/** Returns the label of a bucket, `30ms`, `1.7s` or `Slow`, in the language of the viewer. */
function bucketText(label: string): string {
  const n = Number.parseFloat(label)
  return Number.isNaN(n) ? t('metrics.slower') : runTime(label.endsWith('ms') ? n / 1000 : n)
}
