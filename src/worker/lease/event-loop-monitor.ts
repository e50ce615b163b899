/**
 * Judges, from another thread, whether the event loop is blocked, when to say so, and when to give up. It counts only the
 * time in which this thread itself was awake: when the process or the whole machine was stopped, nobody blocked.
 */

import type { Block } from './block.ts'
import type { EventLoopReader } from './event-loop-state.ts'

export interface Pace {
  /** Between two beats of the main thread, and between two looks. */
  stepMs: number
  /** Without a sign of life for so long it is blocked. */
  warnMs: number
}

/** Soon enough to be told of before the lease could end, late enough for what only takes a moment. */
export function paceOf(leaseSeconds: number): Pace {
  const warnMs = Math.min(5000, Math.max(1000, (leaseSeconds * 1000) / 3))
  return { stepMs: Math.min(500, warnMs / 4), warnMs }
}

export type BlockEvent = 'blocked' | 'gave-up' | 'over'

export class EventLoopMonitor {
  readonly #signs: EventLoopReader
  readonly #pace: Pace
  readonly #maxBlockMs: number
  readonly #tell: (event: BlockEvent, block: Block) => void
  #life: number
  #lookedAt: number
  #leaveAt = Number.POSITIVE_INFINITY
  #silentMs = 0
  #tellAtMs: number
  /** What was last told. */
  #told: Block | undefined
  #gaveUp = false

  /** `blocked` is told with growing gaps, `gave-up` once, `over` when at least one of them was. */
  constructor(
    signs: EventLoopReader,
    options: Pace & { maxBlockSeconds: number; now: number },
    tell: (event: BlockEvent, block: Block) => void,
  ) {
    this.#signs = signs
    this.#pace = options
    this.#maxBlockMs = options.maxBlockSeconds * 1000
    this.#tell = tell
    this.#life = signs.life
    this.#lookedAt = options.now
    this.#tellAtMs = options.warnMs
  }

  /** It is blocked for so long that its lease must not be renewed. Until it is over. */
  get gaveUp(): boolean {
    return this.#gaveUp
  }

  /** The worker stops, and is to be done by then: who still blocks at that time is given up at once. */
  leaveAt(time: number): void {
    this.#leaveAt = time
  }

  /** To be called every `stepMs`; `now` is any clock's that does not jump, in milliseconds. */
  look(now: number): void {
    const { stepMs, warnMs } = this.#pace
    const passed = now - this.#lookedAt
    this.#lookedAt = now
    const { life } = this.#signs
    if (life !== this.#life) {
      this.#life = life
      this.#over()
      return
    }
    // Far too late: this thread was stopped, or got no processor, and so may the other have been.
    this.#silentMs += passed > 2 * stepMs ? stepMs : passed
    if (this.#silentMs < warnMs) return
    const { current: job, running, count } = this.#signs
    // It came back while its memory was read.
    if (this.#signs.life !== life) return
    const block = { seconds: this.#silentMs / 1000, job, running, count }
    if (!this.#gaveUp && (this.#silentMs >= this.#mostMs(block) || now >= this.#leaveAt)) {
      this.#gaveUp = true
      this.#say('gave-up', block)
    } else if (this.#silentMs >= this.#tellAtMs) {
      this.#say('blocked', block)
    }
  }

  #say(event: BlockEvent, block: Block): void {
    this.#told = block
    this.#tellAtMs = 2 * this.#silentMs
    this.#tell(event, block)
  }

  #over(): void {
    const told = this.#told
    const seconds = this.#silentMs / 1000
    this.#told = undefined
    this.#gaveUp = false
    this.#silentMs = 0
    this.#tellAtMs = this.#pace.warnMs
    if (told) this.#tell('over', { ...told, seconds })
  }

  /** A job may take its timeout. When it is not known which job blocks, the one with the longest is let finish. */
  #mostMs({ job, running }: Block): number {
    const timeout = job ? job.timeout : Math.max(0, ...running.map((one) => one.timeout))
    return Math.max(this.#maxBlockMs, 2 * timeout * 1000)
  }
}
