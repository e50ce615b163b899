/** Who runs which shard, and how many there are. */

import {
  type MorgueEntry,
  RESHARD_PAGE,
  type ScoredPayload,
  type ShardAssignments,
  type ShardOwner,
} from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { allShards, type OrderedQueues, writeError } from './queue.ts'
import { pairs } from './turns.ts'

const none = () => []

export class OrderedShards {
  readonly #queues: OrderedQueues
  readonly #enter: (owner: string, queue: string) => Promise<boolean>

  /** `enter`: gives an owner that has a lease one in this queue, too. */
  constructor(queues: OrderedQueues, enter: (owner: string, queue: string) => Promise<boolean>) {
    this.#queues = queues
    this.#enter = enter
  }

  async board(queue: string): Promise<(ShardAssignments & { about: ReadonlyMap<string, string> }) | null> {
    const { server } = this.#queues
    const [root = '', , , , , , members = '', leases = ''] = this.#queues.keys(queue)
    const main = await server.ready()
    const answer = await main.run(lua.orderedBoard, [root, members, leases], [])
    const [flat, living] = answer as [string[], string[]]
    const about = new Map(pairs(flat))
    if (!about.has('shards')) return null
    const shards = Number(about.get('shards'))
    const from = about.has('from') ? Number(about.get('from')) : null
    const isLiving = new Set(living)
    const owners: ShardOwner[] = [...allShards({ shards, from })].map((shard) => {
      const owner = about.get(`owner:${shard}`)
      return {
        shard,
        owner: owner !== undefined && isLiving.has(owner) ? owner : null,
        token: Number(about.get(`token:${shard}`) ?? 0),
      }
    })
    return { shards, from, paused: about.has('paused'), members: living.sort(), owners, about }
  }

  async join(queue: string, owner: string): Promise<boolean> {
    if (!(await this.#enter(owner, queue))) return false
    return (await this.#queues.run(queue, lua.orderedJoin, none, () => [owner])) === 1
  }

  /** Shard by shard: each is a bounded step, and one that is repeated finds what is left. */
  async leave(queue: string, owner: string): Promise<void> {
    for (;;) {
      const board = await this.board(queue)
      if (!board) return
      for (const shard of allShards(board)) {
        if (board.about.get(`owner:${shard}`) === owner) await this.#release(queue, shard, owner, '')
      }
      if ((await this.#queues.run(queue, lua.orderedLeave, allShards, () => [owner])) !== 0) return
    }
  }

  async own(
    queue: string,
    shard: number,
    owner: string,
    maxCrashes: number,
    now: number,
  ): Promise<{ token: number; restored: number; died: MorgueEntry[] } | null> {
    const error = `crashed ${maxCrashes} times`
    const args = [shard, owner, maxCrashes, now / 1000, writeError(error)]
    const answer = await this.#queues.run(queue, lua.orderedOwn, allShards, () => args)
    if (!answer) return null
    const [token, restored, died] = answer as [number, number, [string, number, string[]][]]
    return {
      token,
      restored,
      died: died.map(([id, deaths, flat]) => ({
        id,
        payloads: pairs(flat).map(([score, payload]): ScoredPayload => [payload, Number(score)]),
        updatedAt: now / 1000,
        error,
        deaths,
      })),
    }
  }

  release(queue: string, shard: number, owner: string, token: number): Promise<boolean> {
    return this.#release(queue, shard, owner, token)
  }

  async pause(queue: string, on: boolean): Promise<void> {
    await this.#queues.run(queue, lua.orderedPause, none, () => [on ? '1' : ''])
  }

  async reshard(queue: string, shards: number): Promise<boolean> {
    return (await this.#queues.run(queue, lua.orderedReshard, none, () => [shards])) === 1
  }

  /** A step may find nothing to move, and others come behind it. */
  async move(queue: string): Promise<number> {
    for (;;) {
      const answer = await this.#queues.run(queue, lua.orderedMove, allShards, () => [RESHARD_PAGE])
      const [moved, goesOn] = (answer ?? [0, 0]) as [number, number]
      if (goesOn === 2) await this.#queues.name(queue)
      else if (moved > 0 || goesOn === 0) return moved
    }
  }

  async #release(queue: string, shard: number, owner: string, token: number | ''): Promise<boolean> {
    return (await this.#queues.run(queue, lua.orderedRelease, allShards, () => [shard, owner, token])) === 1
  }
}
