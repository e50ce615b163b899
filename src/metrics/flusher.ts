import type { BackgroundService } from '../worker/background-service.ts'

/** As often as a heartbeat. */
const FLUSH_MS = 10_000

/** Flushes the collected metrics every ten seconds while a worker runs, and once more when it stops. */
export class MetricsFlusher implements BackgroundService {
  readonly #flush: () => Promise<void>
  #timer: NodeJS.Timeout | undefined

  /** `flush` never rejects. */
  constructor(flush: () => Promise<void>) {
    this.#flush = flush
  }

  start(): void {
    this.#timer = setInterval(() => void this.#flush(), FLUSH_MS)
  }

  /** Running jobs still end, so the timer goes on. */
  quiet(): void {}

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#flush()
  }
}
