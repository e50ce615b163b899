/** Shows the progress that running jobs report, between the heartbeats. */

import type { JobContext, Progress } from '../../job/context.ts'
import { Periodic } from '../background-service.ts'
import type { Engine } from '../engine.ts'
import type { Running } from '../executor.ts'
import { SHOWN_SECONDS } from './heartbeat.ts'
import { runningJobs, slotName } from './shown-jobs.ts'

/** All jobs of a worker together cost at most one call in this time, in milliseconds. */
const EVERY_MS = 1000

export class ProgressUpdater extends Periodic {
  readonly #engine: Engine
  readonly #identity: string
  readonly #running: () => readonly Running[]
  /** The progress that was shown last, by attempt. */
  readonly #shown = new WeakMap<JobContext, Progress>()
  /** The jobs that the store may list. */
  readonly #listed = new Set<Running>()

  constructor(engine: Engine, identity: string, running: () => readonly Running[]) {
    super(engine.report, { during: 'showing progress', everyMs: EVERY_MS, first: 'later', runsWhenQuiet: true })
    this.#engine = engine
    this.#identity = identity
    this.#running = running
  }

  /** Records that a heartbeat lists these jobs, so that they are removed when they end. */
  addListed(running: readonly Running[]): void {
    for (const one of running) this.#listed.add(one)
  }

  /** Jobs that have reported no progress cost no call: when they end, the next call or heartbeat removes them. */
  public override async run(): Promise<void> {
    const running = this.#running()
    const changed = running.filter(({ ctx }) => ctx.progressed !== this.#shown.get(ctx))
    const still = new Set(running)
    const ended = [...this.#listed].filter((one) => !still.has(one))
    if (changed.length > 0 || ended.some(({ ctx }) => ctx.progressed)) await this.#show(changed, ended)
    for (const one of ended) this.#listed.delete(one)
  }

  async #show(changed: readonly Running[], ended: readonly Running[]): Promise<void> {
    // The store may list them although its answer is lost.
    this.addListed(changed)
    // A handler may report more while the store answers.
    const jobs = runningJobs(changed)
    const shown = changed.map(({ ctx }) => [ctx, ctx.progressed as Progress] as const)
    await this.#engine.store.workers.showRunning(this.#identity, SHOWN_SECONDS, jobs, ended.map(slotName))
    for (const [ctx, progress] of shown) this.#shown.set(ctx, progress)
  }
}
