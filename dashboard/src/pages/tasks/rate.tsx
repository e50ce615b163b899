/** Rows per second since the start of the run, and those expected until its end. */

import type { TaskRate, TaskStatus } from '../../api/types.ts'
import { Chart, type Series } from '../../components/chart.tsx'
import { ErrorNote } from '../../components/notice.tsx'
import { rate } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { LONGEST_REST_MS, useData } from '../../live/use-data.ts'

const SHOWN = ['finished', 'failed', 'error'] as const
/** The server reads many rows for an answer, and reuses it for as long. */
const REST_MS = 5000

export function RatePanel({ task }: { task: TaskStatus }) {
  const { id, ratePerSecond, finishedAt } = task
  const isOver = finishedAt !== null
  const restMs = isOver ? LONGEST_REST_MS : REST_MS
  const { data, error, reload } = useData<TaskRate>(`/tasks/${id}/rate`, {}, { restMs })
  const expected = data ? expectedTimes(task, data) : []
  return (
    <section class="panel">
      <header>
        <h2>{t('task.rateChart')}</h2>
        <span class="aside">
          {SHOWN.map((status) => (
            <span key={status} class={`lg ${status}`}>
              {t(`status.${status}`)}
            </span>
          ))}
          {expected.length > 0 && <span class="lg enqueued">{t('task.rateExpected')}</span>}
        </span>
      </header>
      <div class="body">
        {error && <ErrorNote error={error} onRetry={reload} />}
        {data && data.points.length < 2 && (
          <p class="dim rate-wait">{t(isOver ? 'task.rateShort' : 'task.rateSoon')}</p>
        )}
        {data && data.points.length >= 2 && (
          <Chart
            label={t('task.rateLabel', { rate: rate(ratePerSecond) })}
            times={[...data.points.map(({ at }) => new Date(at)), ...expected]}
            height={240}
            isStacked
            series={seriesOf(data, expected.length, ratePerSecond)}
          />
        )}
      </div>
    </section>
  )
}

/** Returns the times until the expected end of the run: at most as many as it has points so far. */
function expectedTimes({ state, etaSeconds }: TaskStatus, { points, to, step }: TaskRate): Date[] {
  if (state !== 'running' || etaSeconds === null) return []
  const steps = Math.min(Math.floor(etaSeconds / step), points.length)
  const last = Date.parse(points.at(-1)?.at ?? to)
  return Array.from({ length: steps }, (_, i) => new Date(last + (i + 1) * step * 1000))
}

function seriesOf({ points }: TaskRate, steps: number, ratePerSecond: number): Series[] {
  const unknown = Array<null>(steps).fill(null)
  const bars = SHOWN.map((status) => ({
    label: t(`status.${status}`),
    like: status,
    kind: 'bars' as const,
    values: [...points.map((point) => point[status]), ...unknown],
  }))
  if (steps === 0) return bars
  // The line begins at the last bar.
  const values = [...points.slice(1).map(() => null), ratePerSecond, ...unknown.map(() => ratePerSecond)]
  return [...bars, { label: t('task.rateExpected'), like: 'enqueued', kind: 'dashes', values }]
}
