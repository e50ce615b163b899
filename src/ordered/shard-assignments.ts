/** Computes who should own which shard. Every process computes the same answer. */

import { crc32 } from 'node:zlib'
import type { QueueShard, Splitter } from '../worker/options.ts'

/**
 * A member's fair share of a queue: as many as all others, or one less. Who gets which is shuffled by a hash of the queue
 * and the shard, so that of many queues nobody has the first shards of all.
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
    let pull = -1
    for (const member of ranked) {
      if (room.get(member) === 0) continue
      const drawn = hash(`${shard}\n${member}`)
      if (drawn <= pull) continue
      best = member
      pull = drawn
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

/** Returns the shards of this node by queue: dealt round robin, or chosen by the splitter function. */
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
