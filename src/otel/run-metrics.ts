/** Counts pushes and runs, and measures how long they take and how long jobs wait. */

import type { Attributes, Counter, Histogram, Meter } from '@opentelemetry/api'
import { classOf } from '../job/errors.ts'
import { type Payload, waitOf } from '../job/payload.ts'
import type { Outcome, Plugin } from '../worker/plugin.ts'
import { ERROR_TYPE, HIGHKIQ, JOB, OPERATION, QUEUE, SECONDS, SYSTEM } from './attributes.ts'

/** Classes with a name of their own in metrics. Other programs may push any class. */
const MOST_CLASSES = 1000
const OTHERS = '(others)'

/** After these outcomes the handler did not run to its end, and the job runs again. */
const UNFINISHED: ReadonlySet<Outcome['kind']> = new Set<Outcome['kind']>(['interrupted', 'released', 'paused'])

export class RunMetrics implements Plugin {
  readonly #sent: Counter
  readonly #sendSeconds: Histogram
  readonly #consumed: Counter
  readonly #runSeconds: Histogram
  readonly #waitSeconds: Histogram
  readonly #classes = new Set<string>()

  constructor(meter: Meter) {
    this.#sent = meter.createCounter('messaging.client.sent.messages', {
      unit: '{message}',
      description: 'Jobs that were pushed',
    })
    this.#sendSeconds = meter.createHistogram('messaging.client.operation.duration', {
      ...SECONDS,
      description: 'Duration of pushes',
    })
    this.#consumed = meter.createCounter('messaging.client.consumed.messages', {
      unit: '{message}',
      description: 'Attempts that ended',
    })
    this.#runSeconds = meter.createHistogram('messaging.process.duration', {
      ...SECONDS,
      description: 'Duration of attempts',
    })
    this.#waitSeconds = meter.createHistogram('highkiq.job.wait.duration', {
      ...SECONDS,
      description: 'Time that a job waited in its queue before it started',
    })
  }

  /** Records a push, or a bulk of `count` jobs, that took `ms`. */
  pushed(push: { class: string; queue: string | undefined; count: number }, ms: number, error?: unknown): void {
    const about: Attributes = { [SYSTEM]: HIGHKIQ, [OPERATION]: 'send', [JOB]: this.#nameOf(push.class) }
    if (push.queue !== undefined) about[QUEUE] = push.queue
    if (error !== undefined) about[ERROR_TYPE] = classOf(error)
    this.#sendSeconds.record(ms / 1000, about)
    if (push.count > 0) this.#sent.add(push.count, about)
  }

  ended(payload: Payload, outcome: Outcome, ms: number, startedAt: number): void {
    const name = typeof payload.wrapped === 'string' ? payload.wrapped : payload.class
    const about: Attributes = { [SYSTEM]: HIGHKIQ, [OPERATION]: 'process', [JOB]: this.#nameOf(name) }
    about[QUEUE] = typeof payload.queue === 'string' ? payload.queue : 'default'
    const wait = waitOf(payload, startedAt)
    if (wait !== undefined) this.#waitSeconds.record(wait / 1000, about)
    if (UNFINISHED.has(outcome.kind)) return
    const { kind } = outcome
    if (kind === 'retry' || kind === 'dead' || kind === 'discarded') about[ERROR_TYPE] = classOf(outcome.error)
    this.#consumed.add(1, about)
    this.#runSeconds.record(ms / 1000, about)
  }

  #nameOf(name: string): string {
    if (this.#classes.has(name)) return name
    if (this.#classes.size >= MOST_CLASSES) return OTHERS
    this.#classes.add(name)
    return name
  }
}
