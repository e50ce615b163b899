import type { AppPort } from '../app/port.ts'
import type { RunningJob } from '../store/contract.ts'
import { JobRecord } from './record.ts'

/** A job that somebody works on, as its process has shown it at its last beat: up to 10 seconds old. */
export class Running extends JobRecord {
  /** Identity. */
  readonly process: string
  /** Different for each of a process's running jobs. */
  readonly thread: string
  readonly startedAt: Date
  /** How far it has come, if its handler says so. */
  readonly progress: RunningJob['progress']

  constructor(
    { identity, slot, queue, text, startedAt, progress }: RunningJob & { identity: string },
    now: () => number,
  ) {
    super(text, { queue: queue || undefined, now })
    this.process = identity
    this.thread = slot
    this.startedAt = new Date(startedAt)
    this.progress = progress
  }

  override toJSON(): Record<string, unknown> {
    const { process, thread, startedAt, progress } = this
    return { process, thread, startedAt, progress, ...super.toJSON() }
  }
}

/**
 * `hq.running()`: what runs now, longest first, as the processes showed it at their last beats.
 *
 * @example for await (const job of hq.running()) console.log(job.process, job.displayClass, job.startedAt)
 */
export class RunningSet implements AsyncIterable<Running> {
  readonly #app: Pick<AppPort, 'store' | 'now'>

  constructor(app: Pick<AppPort, 'store' | 'now'>) {
    this.#app = app
  }

  /** The job with this jid; null when no process has shown that it runs. */
  async find(jid: string): Promise<Running | null> {
    return (await this.#all()).find((job) => job.jid === jid) ?? null
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Running> {
    yield* (await this.#all()).sort((a, b) => a.startedAt.getTime() - b.startedAt.getTime())
  }

  async #all(): Promise<Running[]> {
    return (await this.#app.store.workers.running()).map((one) => new Running(one, this.#app.now))
  }
}
