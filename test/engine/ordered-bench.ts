import type { OrderedContext, OrderedDeath, OrderedOptions } from 'highkiq'
import { textOf, textOfWaiting } from '../conformance/ordered/ordered-queue.ts'
import { type Bench, bench, Collector, until } from './bench.ts'

export interface Call {
  ctx: OrderedContext
  batch: Map<string, string[]>
}

/** An ordered queue with one shard, whose calls are collected; what `handle` throws fails the batch. */
export function ordered(
  { hq }: Bench,
  options: OrderedOptions<string> = {},
  handle: (call: Call, n: number) => unknown = () => {},
) {
  /** Each call as `1[v1,v2] 2[w]`. */
  const calls = new Collector<string>()
  const job = hq.ordered<string>('Sync', { shards: 1, ...options }, async (ctx, batch) => {
    const text = [...batch].map(([id, payloads]) => `${id}[${payloads}]`).join(' ')
    calls.add(text)
    await handle({ ctx, batch }, calls.all.length)
  })
  return { job, calls, ...shown(hq, 'Sync') }
}

function shown(hq: Bench['hq'], queue: string) {
  return {
    /** What waits, by id: `1{1000,-1,{v1:1}}`. */
    async waiting(): Promise<string[]> {
      return (await hq.store.ordered.waiting(queue, 'id', { limit: 100, payloads: 100 })).map(textOfWaiting)
    },
    /** The morgue: `1{1000,{v1:1},"x"}`. */
    async dead(): Promise<string[]> {
      const entries = await hq.store.ordered.morgue(queue, 'id', { limit: 100 })
      return entries.map(({ id, updatedAt, payloads, error }) => `${id}{${updatedAt},${textOf(payloads)},"${error}"}`)
    },
    /** Nothing is in flight. */
    idle: () => until(async () => (await hq.store.ordered.inFlight(queue)).length === 0),
    /** Nothing waits or is in flight. */
    empty: () =>
      until(async () => {
        const { shards = [] } = (await hq.store.ordered.counts(queue, 0)) ?? {}
        return shards.every(({ length, busy }) => length + busy === 0)
      }),
  }
}

/** The queue of the specification: its clock stands at 1000 seconds, 3 failures are the last, each waits 10 s longer. */
export function frozen(options: OrderedOptions<string> = {}, handle?: (call: Call, n: number) => unknown) {
  const time = { now: 1000 }
  const here = bench({ clock: { now: () => time.now * 1000 } })
  const exhausted: string[] = []
  const onExhausted = (dead: OrderedDeath<string>[]) => {
    for (const { id, payloads, error } of dead) {
      exhausted.push(`${id}{${payloads.map(({ payload, score }) => `${payload}:${score}`)}} ${error}`)
    }
  }
  const about = { batchSize: 10, maxRetries: 3, retryIn: (n: number) => 10 * (n + 1), onExhausted, ...options }
  return { here, time, exhausted, ...ordered(here, about, handle) }
}
