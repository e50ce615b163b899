/** Runs what is pushed at once, where it is pushed. */

import type { OrderedPushBatch, PreparedPush, PushTarget } from '../client/push-target.ts'
import { Chain } from '../job/chain.ts'
import type { JobContext } from '../job/context.ts'
import { arrived, type Run } from './fake.ts'
import { Mode } from './mode.ts'

export class Inline extends Mode implements PushTarget {
  /** Around the jobs that are run; those of the app's own chain are not. */
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
