/**
 * Decides in the lease thread whether the event loop of the main thread is blocked, when to warn, and when to stop renewing
 * the lease. It counts only the time in which the lease thread ran: a stopped process or machine is not a blocked one.
 */

import type { Block } from './block.ts'
import type { EventLoopReader } from './event-loop-state.ts'

export interface Pace {
  /** Milliseconds between two beats of the main thread, and between two checks. */
  stepMs: number
  /** Without a beat for this many milliseconds the event loop counts as blocked. */
  warnMs: number
}

/** Returns a pace that warns before the lease could end, but not of short blocks. */
export function paceOf(leaseSeconds: number): Pace {
  const warnMs = Math.min(5000, Math.max(1000, (leaseSeconds * 1000) / 3))
  return { stepMs: Math.min(500, warnMs / 4), warnMs }
}

export type BlockEvent = 'blocked' | 'gave-up' | 'over'

export class EventLoopMonitor {
  readonly #reader: EventLoopReader
  readonly #pace: Pace
  readonly #maxBlockMs: number
  readonly #onEvent: (event: BlockEvent, block: Block) => void
  #activity: number
  #checkedAt: number
  #stopAt = Number.POSITIVE_INFINITY
  #silentMs = 0
  #warnAtMs: number
  /** The block that was reported last. */
  #reported: Block | undefined
  #gaveUp = false

  /** `onEvent` gets `blocked` with growing gaps, `gave-up` once, and `over` after either of them. */
  constructor(
    reader: EventLoopReader,
    options: Pace & { maxBlockSeconds: number; now: number },
    onEvent: (event: BlockEvent, block: Block) => void,
  ) {
    this.#reader = reader
    this.#pace = options
    this.#maxBlockMs = options.maxBlockSeconds * 1000
    this.#onEvent = onEvent
    this.#activity = reader.activity
    this.#checkedAt = options.now
    this.#warnAtMs = options.warnMs
  }

  /** True while the event loop has been blocked for so long that the lease must not be renewed. */
  get gaveUp(): boolean {
    return this.#gaveUp
  }

  /** The worker stops by `time`: a block that lasts until then ends the renewals at once. */
  stopAt(time: number): void {
    this.#stopAt = time
  }

  /** Must be called every `stepMs`. `now` is in milliseconds, by any clock that does not jump. */
  check(now: number): void {
    const { stepMs, warnMs } = this.#pace
    const passed = now - this.#checkedAt
    this.#checkedAt = now
    const { activity } = this.#reader
    if (activity !== this.#activity) {
      this.#activity = activity
      this.#over()
      return
    }
    // This check is far too late: the thread was stopped or got no CPU, and so may the main thread.
    this.#silentMs += passed > 2 * stepMs ? stepMs : passed
    if (this.#silentMs < warnMs) return
    const { current: job, running, count } = this.#reader
    // The event loop went on while its memory was read.
    if (this.#reader.activity !== activity) return
    const block = { seconds: this.#silentMs / 1000, job, running, count }
    if (!this.#gaveUp && (this.#silentMs >= this.#limitMs(block) || now >= this.#stopAt)) {
      this.#gaveUp = true
      this.#report('gave-up', block)
    } else if (this.#silentMs >= this.#warnAtMs) {
      this.#report('blocked', block)
    }
  }

  #report(event: BlockEvent, block: Block): void {
    this.#reported = block
    this.#warnAtMs = 2 * this.#silentMs
    this.#onEvent(event, block)
  }

  #over(): void {
    const reported = this.#reported
    const seconds = this.#silentMs / 1000
    this.#reported = undefined
    this.#gaveUp = false
    this.#silentMs = 0
    this.#warnAtMs = this.#pace.warnMs
    if (reported) this.#onEvent('over', { ...reported, seconds })
  }

  /** A job may block for twice its timeout. When the blocking job is unknown, the longest timeout counts. */
  #limitMs({ job, running }: Block): number {
    const timeout = job ? job.timeout : Math.max(0, ...running.map((one) => one.timeout))
    return Math.max(this.#maxBlockMs, 2 * timeout * 1000)
  }
}
