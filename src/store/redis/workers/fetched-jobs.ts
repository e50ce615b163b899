/** Lists the jobs that belong to owners now. */

import type { OwnedJob, WorkerStore } from '../../contract.ts'
import { type Server, StorePart } from '../server/server.ts'
import type { Leases } from './leases.ts'

/** How many owners are read with one pipeline. */
const OWNERS_AT_ONCE = 10

export class FetchedJobs extends StorePart implements Partial<WorkerStore> {
  readonly #leases: Leases

  constructor(server: Server, leases: Leases) {
    super(server)
    this.#leases = leases
  }

  /** A page ends between two owners: an owner holds no more jobs than it has slots. */
  async fetched({
    after = '',
    limit,
  }: {
    after?: string | undefined
    limit: number
  }): Promise<{ items: OwnedJob[]; next: string | null }> {
    const { keys, texts } = this.server
    const all = (await this.#leases.ownedQueues())
      .filter((one) => nameOf(one) > after)
      .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
    const items: OwnedJob[] = []
    let done = 0
    while (done < all.length && items.length < limit) {
      const some = all.slice(done, done + OWNERS_AT_ONCE)
      const replies = (await this.server.readable((pipeline) => {
        for (const { queue, owner } of some) {
          pipeline.hvalsBuffer(keys.working(queue, owner)).lrangeBuffer(keys.arriving(queue, owner), 0, -1)
        }
      })) as unknown as (Buffer[] | undefined)[]
      for (const [i, { queue, owner }] of some.entries()) {
        for (const bytes of [...(replies[i * 2] ?? []), ...(replies[i * 2 + 1] ?? [])]) {
          items.push({ owner, queue, text: texts.read(bytes) })
        }
      }
      done += some.length
    }
    const last = all[done - 1]
    return { items, next: done < all.length && last ? nameOf(last) : null }
  }
}

function nameOf({ queue, owner }: { queue: string; owner: string }): string {
  return `${queue}\n${owner}`
}
