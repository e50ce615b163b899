/** Runs jobs at once, where they are pushed. */

import type { PreparedOrderedPush, PreparedPush } from '../client/push-target.ts'
import { Chain } from '../job/chain.ts'
import type { JobContext } from '../job/context.ts'
import { arrived, itemsOf, type Run } from './fake.ts'
import { TestTarget } from './mode.ts'

export class Inline extends TestTarget {
  /** Middleware around the jobs that are run. The app's own server middleware does not run. */
  readonly server = new Chain<JobContext, unknown>()
  readonly #run: Run

  constructor(run: Run) {
    super()
    this.#run = run
  }

  /** @throws what the handler throws */
  async put(job: PreparedPush): Promise<void> {
    await this.#run(arrived(job), this.server)
  }

  async putAll(jobs: PreparedPush[]): Promise<void> {
    for (const job of jobs) await this.put(job)
  }

  /** @throws what the handler throws */
  async putOrdered(push: PreparedOrderedPush): Promise<void> {
    await push.run(itemsOf(push), this.server)
  }
}
