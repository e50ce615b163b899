/** Computes which process should own which shard. Every process computes the same answer. */

import { crc32 } from 'node:zlib'
import type { ShardAssignments } from '../store/contract.ts'
import type { Engine } from '../worker/engine.ts'
import type { QueueShard, Splitter } from '../worker/options.ts'
import type { OrderedDefinition } from './definition.ts'

/** Says which shards of all ordered queues this process should own: by the splitter, or its fair share. */
export class ShardPlan {
  readonly #engine: Engine
  readonly #splitter: Splitter | undefined
  readonly #concurrency: number
  /** The number of shards of each queue, as last read from the store. */
  readonly #counts: Map<string, number>
  readonly #shares = new Map<string, { key: string; share: readonly number[] }>()
  #hasWarned = false

  constructor(
    engine: Engine,
    definitions: readonly OrderedDefinition[],
    { splitter, concurrency }: { splitter: Splitter | undefined; concurrency: number },
  ) {
    this.#engine = engine
    this.#splitter = splitter
    this.#concurrency = concurrency
    this.#counts = new Map(definitions.map(({ queue, options: { shards } }) => [queue, shards]))
  }

  /** Whether to acquire shards that have no owner for long. A splitter function may leave a shard out on purpose. */
  get adoptsUnowned(): boolean {
    return typeof this.#splitter !== 'function'
  }

  wanted(queue: string, assignments: ShardAssignments, owner: string): readonly number[] {
    const shards = assignments.owners.length
    this.#counts.set(queue, shards)
    this.#warnOfFewSlots(assignments.members.length)
    if (this.#splitter) {
      const queues = [...this.#counts].map(([name, count]) => ({ queue: name, shards: count }))
      return splitShards(this.#splitter, queues).get(queue) ?? []
    }
    const key = `${shards}\n${assignments.members.join('\n')}\n${owner}`
    const known = this.#shares.get(queue)
    if (known?.key === key) return known.share
    const share = fairShare(queue, shards, assignments.members, owner)
    this.#shares.set(queue, { key, share })
    return share
  }

  /** Warns when there are more shards than all processes together can run, because shards then wait for each other. */
  #warnOfFewSlots(members: number): void {
    let shards = 0
    for (const count of this.#counts.values()) shards += count
    const capacity = members * this.#concurrency
    if (this.#hasWarned || shards <= capacity) return
    this.#hasWarned = true
    this.#engine.log.warn(
      { shards, capacity },
      `the ordered queues have ${shards} shards, but all processes together can run only ${capacity} batches at a time: raise orderedConcurrency, or start more processes`,
    )
  }
}

/**
 * Returns the shards of a queue for one member: as many as all others have, or one less. A hash of queue and shard
 * decides which member gets which shard, so that no member gets the first shards of all queues.
 */
export function fairShare(queue: string, shards: number, members: readonly string[], self: string): number[] {
  const hash = (text: string) => crc32(`${queue}\n${text}`)
  const ranked = [...members].sort((a, b) => hash(a) - hash(b) || (a < b ? -1 : 1))
  const mine: number[] = []
  const room = new Map(ranked.map((member, i) => [member, countOf(shards, ranked.length, i)]))
  const order = Array.from({ length: shards }, (_, shard) => shard)
  const key = order.map((shard) => hash(String(shard)))
  order.sort((a, b) => (key[a] as number) - (key[b] as number) || a - b)
  for (const shard of order) {
    // Rendezvous hashing: few shards change their owner when a member comes or goes.
    let best: string | undefined
    let highest = -1
    for (const member of ranked) {
      if (room.get(member) === 0) continue
      const weight = hash(`${shard}\n${member}`)
      if (weight <= highest) continue
      best = member
      highest = weight
    }
    if (best === undefined) continue
    room.set(best, (room.get(best) as number) - 1)
    if (best === self) mine.push(shard)
  }
  return mine.sort((a, b) => a - b)
}

/** The number of shards of the i-th of n members. */
function countOf(shards: number, n: number, i: number): number {
  return Math.floor(shards / n) + (i < shards % n ? 1 : 0)
}

/** Returns the shards of this node by queue: assigned round robin, or chosen by the splitter function. */
export function splitShards(
  splitter: Exclude<Splitter, undefined>,
  queues: readonly { queue: string; shards: number }[],
): Map<string, number[]> {
  const all: QueueShard[] = []
  for (const { queue, shards } of queues) for (let shard = 0; shard < shards; shard++) all.push({ queue, shard })
  const mine =
    typeof splitter === 'function' ? splitter(all) : all.filter((_, i) => i % splitter.nodes === splitter.node)
  const byQueue = new Map<string, number[]>(queues.map(({ queue }) => [queue, []]))
  for (const { queue, shard } of mine) byQueue.get(queue)?.push(shard)
  return byQueue
}
