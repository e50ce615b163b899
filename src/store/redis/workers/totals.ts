/** Totals of the whole store, for display. */

import type { MetricStore, StoreStats } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { type Server, StorePart } from '../server/server.ts'
import type { Leases } from './leases.ts'

/** A command that counts, and its key. */
type Count = readonly [command: string, key: string]

export class Totals extends StorePart implements Partial<MetricStore> {
  readonly #leases: Leases

  constructor(server: Server, leases: Leases) {
    super(server)
    this.#leases = leases
  }

  /** Counts everything in one step, so that a job that moves meanwhile is counted once. */
  async totals(): Promise<StoreStats> {
    const { queues: names, taskQueues } = this.keys
    const [queues = [], ours = []] = (await this.server.all((pipeline) =>
      pipeline.smembers(names).smembers(taskQueues),
    )) as string[][]
    const owners = await this.#leases.ownedQueues()
    const counted: Count[] = [
      ['GET', this.keys.processed()],
      ['GET', this.keys.failed()],
      ...(['schedule', 'retry', 'dead'] as const).map((set) => ['ZCARD', this.keys.set(set)] as const),
      ...queues.map((queue) => ['LLEN', this.keys.queue(queue)] as const),
      ...ours.map((queue) => ['GET', this.keys.backlog(queue)] as const),
      ['HVALS', this.keys.limitedQueues],
      ...owners.flatMap(
        ({ owner, queue }) =>
          [
            ['HLEN', this.keys.working(queue, owner)],
            ['LLEN', this.keys.arriving(queue, owner)],
          ] as const,
      ),
    ]
    const [commands, keys] = [counted.map(([command]) => command), counted.map(([, key]) => key)]
    const counts = (await this.server.run(lua.count, keys, commands)) as number[]
    const [processed = 0, failed = 0, scheduled = 0, retries = 0, dead = 0] = counts
    const sum = (from: number, to?: number) => sumOf(counts.slice(from, to))
    const [afterQueues, afterBacklogs] = [5 + queues.length, 5 + queues.length + ours.length]
    return {
      processed,
      failed,
      enqueued: sum(5, afterQueues),
      backlog: sum(afterQueues, afterBacklogs),
      limited: counts[afterBacklogs] ?? 0,
      fetched: sum(afterBacklogs + 1),
      scheduled,
      retries,
      dead,
    }
  }

  async resetTotals(which: 'processed' | 'failed'): Promise<void> {
    await this.server.call((client) => client.set(this.keys[which](), 0))
  }

  async history(days: readonly string[]): Promise<{ processed: number; failed: number }[]> {
    if (days.length === 0) return []
    const wanted = days.flatMap((day) => [this.keys.processed(day), this.keys.failed(day)])
    const counts = await this.server.call((client) => client.mget(...wanted))
    return days.map((_, i) => ({ processed: Number(counts[i * 2] ?? 0), failed: Number(counts[i * 2 + 1] ?? 0) }))
  }
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
