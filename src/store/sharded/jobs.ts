/** Jobs and queues. A queue is on all shards: its jobs are spread by their jids. */

import type { IterationRecord, JobStore, QueueInfo } from '../contract.ts'
import type { PushShards } from './push-shards.ts'
import { pushToEach } from './pushes.ts'
import type { Shards } from './shards.ts'

export class ShardedJobStore implements JobStore {
  readonly #shards: Shards
  readonly #pushShards: PushShards
  /** No transaction spans several shards. */
  readonly transaction = null
  readonly pushThrough = null

  constructor(shards: Shards, pushShards: PushShards) {
    this.#shards = shards
    this.#pushShards = pushShards
  }

  readonly push: JobStore['push'] = (items, now) =>
    pushToEach(
      this.#shards,
      items,
      (item) => this.#pushShards.of(item),
      (store, some, shard) => this.#shards.checkingLate(shard, store.jobs.push(some, now)),
      {
        after: (refusals, item) => this.#pushShards.after(refusals, item),
        stored: (some, shard, refusals) => this.#pushShards.stored(some, shard, refusals),
      },
    )

  readonly queues: JobStore['queues'] = async (only) => {
    const queues = new Map<string, QueueInfo>()
    for (const infos of await this.#shards.each((store) => store.jobs.queues(only))) {
      for (const info of infos) {
        const before = queues.get(info.name)
        queues.set(info.name, before ? sumOf(before, info) : info)
      }
    }
    if (only) return only.map((name) => queues.get(name) ?? { name, size: 0, limited: 0, next: null })
    return [...queues.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  readonly peek: JobStore['peek'] = async (queue, offset, limit) => {
    const texts: string[] = []
    let skip = offset
    const sizes = await this.#shards.each(async ({ jobs }) => {
      const [info] = await jobs.queues([queue])
      return { jobs, size: info?.size ?? 0 }
    })
    for (const { jobs, size } of sizes) {
      if (texts.length >= limit) break
      if (skip < size) texts.push(...(await jobs.peek(queue, skip, limit - texts.length)))
      skip = Math.max(skip - size, 0)
    }
    return texts
  }

  readonly pauseQueue: JobStore['pauseQueue'] = async (queue, on) => {
    await this.#shards.each((store) => store.jobs.pauseQueue(queue, on))
  }

  readonly pausedQueues: JobStore['pausedQueues'] = async () => {
    const all = await this.#shards.reachable((store) => store.jobs.pausedQueues())
    return [...new Set(all.flatMap(({ answer }) => answer))].sort()
  }

  readonly iterations: JobStore['iterations'] = async (jids) => {
    const all = await this.#shards.reachable((store) => store.jobs.iterations(jids))
    return jids.map((_, i) =>
      all.reduce<IterationRecord | null>((newest, { answer }) => newer(newest, answer[i] ?? null), null),
    )
  }

  readonly saveIteration: JobStore['saveIteration'] = (jid, state, now) =>
    this.#shards.ofJob(jid).store.jobs.saveIteration(jid, state, now)
}

function sumOf(a: QueueInfo, b: QueueInfo): QueueInfo {
  const others = [...(a.others ?? []), ...(b.others ?? []), ...(a.next !== null && b.next !== null ? [b.next] : [])]
  return {
    name: a.name,
    size: a.size + b.size,
    limited: a.limited + b.limited,
    next: a.next ?? b.next,
    ...(others.length > 0 && { others }),
  }
}

function newer(a: IterationRecord | null, b: IterationRecord | null): IterationRecord | null {
  if (!a || !b) return a ?? b
  return b.executions > a.executions ? b : a
}
