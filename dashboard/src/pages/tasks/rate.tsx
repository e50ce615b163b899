/** Rows per second from the start of the run on. */

import type { TaskRate, TaskStatus } from '../../api/types.ts'
import { Chart } from '../../components/chart.tsx'
import { ErrorNote } from '../../components/notice.tsx'
import { rate } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { LONGEST_REST_MS, useData } from '../../live/use-data.ts'

const SHOWN = ['finished', 'failed', 'error'] as const
/** The server reads many rows for an answer, and reuses it for as long. */
const REST_MS = 5000

export function RatePanel({ task: { id, ratePerSecond, finishedAt } }: { task: TaskStatus }) {
  const isOver = finishedAt !== null
  const restMs = isOver ? LONGEST_REST_MS : REST_MS
  const { data, error, reload } = useData<TaskRate>(`/tasks/${id}/rate`, {}, { restMs })
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
            times={data.points.map(({ at }) => new Date(at))}
            height={240}
            isStacked
            series={SHOWN.map((status) => ({
              label: t(`status.${status}`),
              like: status,
              kind: 'bars' as const,
              values: data.points.map((point) => point[status]),
            }))}
          />
        )}
      </div>
    </section>
  )
}
