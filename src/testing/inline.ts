/** Runs what is pushed at once, where it is pushed. */

import type { Finished, OrderedPushes, Outlet } from '../client/outlet.ts'
import { Chain } from '../job/chain.ts'
import type { JobContext } from '../job/context.ts'
import { arrived, type Run } from './fake.ts'
import { Mode } from './mode.ts'

export class Inline extends Mode implements Outlet {
  /** Around the jobs that are run; those of the app's own chain are not. */
  readonly server = new Chain<JobContext, unknown>()
  readonly #run: Run

  constructor(run: Run) {
    super()
    this.#run = run
  }

  /** @throws what the handler throws */
  async put(job: Finished): Promise<void> {
    await this.#run(arrived(job), this.server)
  }

  async putAll(jobs: Finished[]): Promise<void> {
    for (const job of jobs) await this.put(job)
  }

  /** @throws what the handler throws */
  async putOrdered(pushes: OrderedPushes): Promise<void> {
    await pushes.run(pushes.items, this.server)
  }
}
