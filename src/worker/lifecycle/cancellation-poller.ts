/** Aborts the handlers of running jobs that were cancelled, by whichever process. */

import { allAmong, jidsOf } from '../../job/rows.ts'
import { Periodic } from '../background-service.ts'
import type { Engine } from '../engine.ts'
import type { Attempt } from '../run/attempt.ts'

/** Milliseconds between two polls. A job that ends before the second poll after its start costs no call. */
const POLL_MS = 400

export class CancellationPoller extends Periodic {
  readonly #engine: Engine
  readonly #running: () => readonly Attempt[]
  #known: ReadonlySet<Attempt> = new Set()

  constructor(engine: Engine, running: () => readonly Attempt[]) {
    const when = { everyMs: POLL_MS, first: 'later', runsWhenQuiet: true } as const
    super(engine.report, { during: 'looking for cancelled jobs', ...when })
    this.#engine = engine
    this.#running = running
  }

  protected override async run(): Promise<void> {
    const running = this.#running()
    const asked = running.filter((attempt) => this.#known.has(attempt) && !attempt.ctx.abortReason)
    this.#known = new Set(running)
    if (asked.length === 0) return
    const { store, cancellations, control, plugins } = this.#engine
    await control.refresh()
    const jids = asked.flatMap(({ payload, ctx }) => {
      const isAsked = plugins.cancelledByOthers.some((plugin) => plugin.cancelledByOthers(ctx))
      return jidsOf(payload).filter((jid) => isAsked || cancellations.has(jid))
    })
    const cancelled = new Set(jids.length > 0 ? await store.cancellations.among(jids) : [])
    for (const { payload, ctx } of asked) {
      if (allAmong(payload, cancelled)) ctx.abort('JOB_CANCELLED', 'the job was cancelled')
    }
  }
}
