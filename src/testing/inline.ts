/** Runs jobs at once, where they are pushed. */

import type { OrderedPushBatch, PreparedPush, PushTarget } from '../client/push-target.ts'
import { Chain } from '../job/chain.ts'
import type { JobContext } from '../job/context.ts'
import { arrived, type Run } from './fake.ts'
import { Mode } from './mode.ts'

export class Inline extends Mode implements PushTarget {
  /** Middleware around the jobs that are run. The app's own server middleware does not run. */
  readonly server = new Chain<JobContext, unknown>()
  readonly #run: Run

  constructor(run: Run) {
    super()
    this.#run = run
  }

  /** @throws what the handler throws */
  async push(job: PreparedPush): Promise<void> {
    await this.#run(arrived(job), this.server)
  }

  async pushAll(jobs: PreparedPush[]): Promise<void> {
    for (const job of jobs) await this.push(job)
  }

  /** @throws what the handler throws */
  async pushOrdered(pushes: OrderedPushBatch): Promise<void> {
    await pushes.run(pushes.items, this.server)
  }
}
