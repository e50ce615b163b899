/** Leases of version 0.1, which stored them for each queue, with their end by the server's clock. */

import { HighkiqError } from '../../../job/errors.ts'
import { lua } from '../lua.generated.ts'
import type { Server } from '../server/server.ts'

/** How many queues one script handles. */
const QUEUES_AT_ONCE = 10

export class OldLeases {
  readonly #server: Server
  #done = false

  constructor(server: Server) {
    this.#server = server
  }

  /**
   * Claims the owners of version 0.1, so that their jobs go back to their queues. Does nothing once it has succeeded.
   * @throws STORE_UNUSABLE with `retryAfterMs` when one of their leases has not ended: workers of the two versions do not
   * see each other's leases, and each would run the other's jobs again
   */
  async takeOver(): Promise<void> {
    if (this.#done) return
    const { keys, options } = this.#server
    const main = await this.#server.ready()
    const names = await main.call((client) => client.smembers(keys.ourQueues))
    const there = (await main.all((pipeline) => {
      for (const queue of names) pipeline.exists(keys.oldLeases(queue))
    })) as number[]
    const queues = names.filter((_, i) => there[i] === 1)
    for (let from = 0; from < queues.length; from += QUEUES_AT_ONCE) {
      const some = queues.slice(from, from + QUEUES_AT_ONCE)
      const all = [keys.leases, ...some.flatMap((queue) => [keys.oldLeases(queue), keys.oldHosts(queue)])]
      const left = (await main.run(lua.claimOldLeases, all, [keys.owner(''), ...some])) as
        | [string, string, number]
        | null
      if (!left) continue
      const [owner, queue, retryAfterMs] = left
      throw new HighkiqError(
        'STORE_UNUSABLE',
        `the worker ${owner} of version 0.1 has a lease in the queue ${queue} of ${options.url}, which ends in ${Math.ceil(retryAfterMs / 1000)} s unless that worker renews it: stop all processes of version 0.1, and start this worker again after that time`,
        { retryAfterMs },
      )
    }
    this.#done = true
  }
}
