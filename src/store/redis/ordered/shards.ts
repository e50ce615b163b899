/** Shard assignments: members, owners of shards, and changes of their number. */

import {
  type AcquiredShard,
  type OrderedStore,
  RESHARD_PAGE,
  type ScoredPayload,
  type ShardAssignments,
  type ShardOwner,
} from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { pairs } from '../server/chunks.ts'
import type { Owners } from '../workers/owners.ts'
import { allShards, noShards, type OrderedQueues, writeError } from './queues.ts'

export class OrderedShards implements Partial<OrderedStore> {
  readonly #queues: OrderedQueues
  readonly #owners: Owners

  constructor(queues: OrderedQueues, owners: Owners) {
    this.#queues = queues
    this.#owners = owners
  }

  async assignments(queue: string): Promise<ShardAssignments | null> {
    const read = await this.readQueue(queue)
    if (!read) return null
    const { about: _, ...assignments } = read
    return assignments
  }

  /** Returns the assignments, and all fields of the queue's hash as `about`. */
  async readQueue(queue: string): Promise<(ShardAssignments & { about: ReadonlyMap<string, string> }) | null> {
    const { server } = this.#queues
    const [root = '', , , , , , membersKey = '', leases = ''] = this.#queues.keys(queue)
    const answer = await server.run(lua.orderedReadQueue, [root, membersKey, leases], [])
    const [flat, members] = answer as [string[], string[]]
    const about = new Map(pairs(flat))
    if (!about.has('shards')) return null
    const shards = Number(about.get('shards'))
    const from = about.has('from') ? Number(about.get('from')) : null
    const isMember = new Set(members)
    const owners: ShardOwner[] = [...allShards({ shards, from })].map((shard) => {
      const owner = about.get(`owner:${shard}`)
      return {
        shard,
        owner: owner !== undefined && isMember.has(owner) ? owner : null,
        token: Number(about.get(`token:${shard}`) ?? 0),
      }
    })
    return { shards, from, paused: about.has('paused'), members: members.sort(), owners, about }
  }

  async join(queue: string, owner: string): Promise<boolean> {
    if (!(await this.#owners.addQueue(owner, queue))) return false
    return (await this.#queues.run(queue, lua.orderedJoin, noShards, [owner])) === 1
  }

  /** Releases shard by shard, so that each script is short; a repeated call releases the rest. */
  async leave(queue: string, owner: string): Promise<void> {
    for (;;) {
      const read = await this.readQueue(queue)
      if (!read) return
      for (const shard of allShards(read)) {
        if (read.about.get(`owner:${shard}`) === owner) await this.releaseShard(queue, shard, owner, '')
      }
      if ((await this.#queues.run(queue, lua.orderedLeave, allShards, [owner])) !== 0) return
    }
  }

  async acquireShard(
    queue: string,
    shard: number,
    owner: string,
    maxCrashes: number,
    now: number,
  ): Promise<AcquiredShard | null> {
    const error = `crashed ${maxCrashes} times`
    const args = [shard, owner, maxCrashes, now / 1000, writeError(error)]
    const answer = await this.#queues.run(queue, lua.orderedAcquireShard, allShards, args)
    if (!answer) return null
    const [token, rescued, died] = answer as [number, number, [string, number, string[]][]]
    return {
      token,
      rescued,
      died: died.map(([id, deaths, flat]) => ({
        id,
        payloads: pairs(flat).map(([score, payload]): ScoredPayload => [payload, Number(score)]),
        updatedAt: now / 1000,
        error,
        deaths,
      })),
    }
  }

  /** Releases the shard whatever its token is when `token` is ''. */
  async releaseShard(queue: string, shard: number, owner: string, token: number | ''): Promise<boolean> {
    return (await this.#queues.run(queue, lua.orderedReleaseShard, allShards, [shard, owner, token])) === 1
  }

  async pause(queue: string, on: boolean): Promise<void> {
    await this.#queues.run(queue, lua.orderedPause, noShards, [on ? '1' : ''])
  }

  async reshard(queue: string, shards: number): Promise<boolean> {
    return (await this.#queues.run(queue, lua.orderedReshard, noShards, [shards])) === 1
  }

  /** One script may find nothing to move although ids further on have to move. */
  async moveShards(queue: string): Promise<number> {
    for (;;) {
      const answer = await this.#queues.run(queue, lua.orderedMoveShards, allShards, [RESHARD_PAGE])
      const [moved, goesOn] = (answer ?? [0, 0]) as [number, number]
      if (goesOn === 2) await this.#queues.indexNames(queue)
      else if (moved > 0 || goesOn === 0) return moved
    }
  }
}
