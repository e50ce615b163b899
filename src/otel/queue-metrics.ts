/** Observes the queues and job sets, each time the metrics are collected. */

import type { BatchObservableResult, Meter, ObservableGauge } from '@opentelemetry/api'
import type { Highkiq } from '../app.ts'
import { HIGHKIQ, QUEUE, SYSTEM } from './attributes.ts'

export class QueueMetrics {
  readonly #hq: Highkiq
  readonly #size: ObservableGauge
  readonly #latency: ObservableGauge
  readonly #jobs: ObservableGauge

  constructor(meter: Meter, hq: Highkiq) {
    this.#hq = hq
    const gauge = (name: string, unit: string, description: string) =>
      meter.createObservableGauge(name, { unit, description })
    this.#size = gauge('highkiq.queue.size', '{job}', 'Jobs in the queue')
    this.#latency = gauge('highkiq.queue.latency', 's', 'Time that the oldest job of the queue has waited')
    this.#jobs = gauge('highkiq.jobs', '{job}', 'Jobs in the store, by state')
    const all = [this.#size, this.#latency, this.#jobs]
    meter.addBatchObservableCallback((result) => this.#observe(result), all)
  }

  async #observe(result: BatchObservableResult): Promise<void> {
    const [queues, stats] = await Promise.all([this.#hq.queueSummaries(), this.#hq.stats()])
    for (const { name, size, latency } of queues) {
      const about = { [SYSTEM]: HIGHKIQ, [QUEUE]: name }
      result.observe(this.#size, size, about)
      result.observe(this.#latency, latency, about)
    }
    const { enqueued, busy, scheduled, retries, dead } = stats
    for (const [state, count] of Object.entries({ enqueued, busy, scheduled, retries, dead })) {
      result.observe(this.#jobs, count, { 'highkiq.job.state': state })
    }
  }
}
