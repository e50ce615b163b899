/** Shows the progress that running jobs report, between the heartbeats. */

import type { JobContext, Progress } from '../../job/context.ts'
import { Periodic } from '../background-service.ts'
import type { Engine } from '../engine.ts'
import type { Running } from '../executor.ts'
import { SHOWN_SECONDS } from './heartbeat.ts'
import { runningJobs } from './shown-jobs.ts'

/** All jobs of a worker together cost at most one call in this time, in milliseconds. */
const EVERY_MS = 1000

export class ProgressUpdater extends Periodic {
  readonly #engine: Engine
  readonly #identity: string
  readonly #running: () => readonly Running[]
  /** The progress that was shown last, by attempt. */
  readonly #shown = new WeakMap<JobContext, Progress>()

  constructor(engine: Engine, identity: string, running: () => readonly Running[]) {
    super(engine.report, { during: 'showing progress', everyMs: EVERY_MS, first: 'later', runsWhenQuiet: true })
    this.#engine = engine
    this.#identity = identity
    this.#running = running
  }

  protected override async run(): Promise<void> {
    const changed = this.#running().filter(({ ctx }) => ctx.progressed !== this.#shown.get(ctx))
    if (changed.length === 0) return
    // A handler may report more while the store answers.
    const jobs = runningJobs(changed)
    const shown = changed.map(({ ctx }) => [ctx, ctx.progressed as Progress] as const)
    await this.#engine.store.workers.showRunning(this.#identity, SHOWN_SECONDS, jobs)
    for (const [ctx, progress] of shown) this.#shown.set(ctx, progress)
  }
}
