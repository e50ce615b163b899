import { Periodic, type Report } from '../worker/background-service.ts'

/** Milliseconds between two flushes, as between two heartbeats. */
const FLUSH_MS = 10_000

/** Flushes the collected metrics every ten seconds while a worker runs, and once more when it stops. */
export class MetricsFlusher extends Periodic {
  readonly #flush: () => Promise<void>

  constructor(report: Report, flush: () => Promise<void>) {
    super(report, { during: 'recording metrics', everyMs: FLUSH_MS, first: 'later', runsWhenQuiet: true })
    this.#flush = flush
  }

  protected override run(): Promise<void> {
    return this.#flush()
  }

  override async stop(): Promise<void> {
    await this.runNow()
    await super.stop()
  }
}
