/** Runs jobs at once, where they are pushed. */

import type { AppPort } from '../app/port.ts'
import type { PreparedOrderedPush, PreparedPush } from '../client/push-target.ts'
import { Chain } from '../job/chain.ts'
import type { JobContext } from '../job/context.ts'
import { arrived, itemsOf } from './fake.ts'
import { TestTarget } from './mode.ts'

export class Inline extends TestTarget {
  /** Middleware around the jobs that are run. The app's own server middleware does not run. */
  readonly server = new Chain<JobContext, unknown>()
  readonly #app: AppPort

  constructor(app: AppPort) {
    super()
    this.#app = app
  }

  /** @throws what the handler throws */
  async put(job: PreparedPush): Promise<void> {
    await this.#app.run(arrived(job), this.server)
  }

  async putAll(jobs: PreparedPush[]): Promise<void> {
    for (const job of jobs) await this.put(job)
  }

  /** @throws what the handler throws */
  async putOrdered(push: PreparedOrderedPush): Promise<void> {
    await push.run(itemsOf(push), this.server)
  }
}
