/** Rows per second as this page measured them: the server keeps no such history. */

import { useEffect, useState } from 'preact/hooks'
import type { EventStatus, TaskStatus } from '../../api/types.ts'
import { Chart } from '../../components/chart.tsx'
import { rate } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'

interface Sample {
  at: number
  counts: Record<EventStatus, number>
}

const MOST = 150
const SHORTEST_MS = 1000
const SHOWN = ['finished', 'failed', 'error'] as const

/** The samples of each task that was opened, kept while another page is open. */
const seen = new Map<string, Sample[]>()

export function RatePanel({ task }: { task: TaskStatus }) {
  const samples = useSamples(task)
  const steps = samples.slice(1).map((sample, i) => {
    const before = samples[i] as Sample
    const seconds = (sample.at - before.at) / 1000
    // A row that is retried leaves its status.
    const each = SHOWN.map((status) => Math.max(sample.counts[status] - before.counts[status], 0) / seconds)
    return { at: new Date(sample.at), each }
  })
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
        {steps.length < 2 ? (
          <p class="dim rate-wait">{t(task.finishedAt === null ? 'task.rateSoon' : 'task.rateOver')}</p>
        ) : (
          <Chart
            label={t('task.rateLabel', { rate: rate(task.ratePerSecond) })}
            times={steps.map(({ at }) => at)}
            height={240}
            isStacked
            series={SHOWN.map((status, i) => ({
              label: t(`status.${status}`),
              like: status,
              kind: 'bars' as const,
              values: steps.map(({ each }) => each[i] ?? 0),
            }))}
          />
        )}
      </div>
    </section>
  )
}

function useSamples({ id, counts, run }: TaskStatus): Sample[] {
  const key = `${id} ${run}`
  const [, setCount] = useState(0)
  useEffect(() => {
    const all = seen.get(key) ?? []
    const last = all.at(-1)
    const now = Date.now()
    if (last && now - last.at < SHORTEST_MS) return
    all.push({ at: now, counts })
    seen.set(key, all.slice(-MOST))
    setCount((n) => n + 1)
  }, [key, counts])
  return seen.get(key) ?? []
}
