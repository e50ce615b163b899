/** Tells the handlers that run when their job was cancelled, by whichever process. */

import { allAmong, jidsOf } from '../../job/rows.ts'
import type { BackgroundService } from '../background-service.ts'
import type { Engine } from '../engine.ts'
import type { Attempt } from '../run/attempt.ts'

/**
 * Milliseconds between two looks. The store is never asked about a job that ends before the second look after its
 * start.
 */
const LOOK_MS = 400

export class CancellationPoller implements BackgroundService {
  readonly #engine: Engine
  readonly #running: () => readonly Attempt[]
  #seen: ReadonlySet<Attempt> = new Set()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #failing = false

  constructor(engine: Engine, running: () => readonly Attempt[]) {
    this.#engine = engine
    this.#running = running
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = undefined
      })
    }, LOOK_MS)
  }

  /** What runs goes on, and can be cancelled. */
  quiet(): void {}

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
  }

  async #look(): Promise<void> {
    const running = this.#running()
    const asked = running.filter((attempt) => this.#seen.has(attempt) && !attempt.ctx.abortReason)
    this.#seen = new Set(running)
    if (asked.length === 0) return
    const { store, cancellations, plugins } = this.#engine
    try {
      await cancellations.refresh()
      const jids = asked.flatMap(({ payload, ctx }) => {
        const isAsked = plugins.some((plugin) => plugin.cancelledByOthers?.(ctx))
        return jidsOf(payload).filter((jid) => isAsked || cancellations.has(jid))
      })
      const cancelled = new Set(jids.length > 0 ? await store.cancellations.among(jids) : [])
      for (const { payload, ctx } of asked) {
        if (allAmong(payload, cancelled)) ctx.abort('JOB_CANCELLED', 'the job was cancelled')
      }
      this.#failing = false
    } catch (thrown) {
      if (!this.#failing) this.#engine.report(thrown, { during: 'looking for cancelled jobs' })
      this.#failing = true
    }
  }
}
