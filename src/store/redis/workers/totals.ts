/** Totals of the whole store, for display. */

import type { MetricStore, StoreStats } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { StorePart } from '../server/server.ts'
import { aroundQueues } from './held-queues.ts'

/** A command that counts, and the keys that it counts. */
type Count = readonly [command: 'GET' | 'HVALS' | 'LLEN' | 'ZCARD', keys: readonly string[]]

export class Totals extends StorePart implements Partial<MetricStore> {
  /** Counts everything in one step, so that a job that moves meanwhile is counted once. */
  async totals(): Promise<StoreStats> {
    const { queues: names, taskQueues } = this.keys
    const [queues = [], ours = []] = (await this.server.all((pipeline) =>
      pipeline.smembers(names).smembers(taskQueues),
    )) as string[][]
    const set = (name: 'schedule' | 'retry' | 'dead'): Count => ['ZCARD', [this.keys.set(name)]]
    const counted = {
      processed: ['GET', [this.keys.processed()]],
      failed: ['GET', [this.keys.failed()]],
      scheduled: set('schedule'),
      retries: set('retry'),
      dead: set('dead'),
      enqueued: ['LLEN', queues.map((queue) => this.keys.queue(queue))],
      backlog: ['GET', ours.map((queue) => this.keys.backlog(queue))],
      limited: ['HVALS', [this.keys.limitedQueues]],
    } satisfies Record<string, Count>
    const groups: Count[] = Object.values(counted)
    const keys = [this.keys.leases, ...groups.flatMap(([, some]) => some)]
    const ofOwners = [this.keys.owner(''), ...aroundQueues(this.keys)]
    const args = [...ofOwners, ...groups.flatMap(([command, some]) => [command, some.length])]
    const sums = (await this.server.run(lua.count, keys, args)) as number[]
    const counts = Object.keys(counted).map((name, i) => [name, sums[i] ?? 0])
    return {
      ...(Object.fromEntries(counts) as Record<keyof typeof counted, number>),
      fetched: sums[groups.length] ?? 0,
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
