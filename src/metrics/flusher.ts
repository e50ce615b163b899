import type { BackgroundService } from '../worker/background-service.ts'

/** As often as the heart beats. */
const TELL_MS = 10_000

/** Tells what was counted, as long as a worker runs and when it ends. */
export class MetricsFlusher implements BackgroundService {
  readonly #tell: () => Promise<void>
  #timer: NodeJS.Timeout | undefined

  /** `tell` never throws. */
  constructor(tell: () => Promise<void>) {
    this.#tell = tell
  }

  start(): void {
    this.#timer = setInterval(() => void this.#tell(), TELL_MS)
  }

  /** What runs goes on, and ends. */
  quiet(): void {}

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#tell()
  }
}
