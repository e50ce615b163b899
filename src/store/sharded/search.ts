/** Searches: shard by shard. The hint `at` of a job begins with the index of its shard. */

import type { Entry, Pull, SearchStore, SwapAnswer, WaitingJob } from '../contract.ts'
import { pageThrough } from './pages.ts'
import { jidIn, prefixed, readPrefixed, type Shard, type Shards } from './shards.ts'

export class ShardedSearchStore implements SearchStore {
  readonly #shards: Shards

  constructor(shards: Shards) {
    this.#shards = shards
  }

  readonly scanQueue: SearchStore['scanQueue'] = async (queue, needle, { after, at, limit, ...page }) => {
    let scanned = 0
    const start = at === undefined || after !== undefined ? undefined : readPrefixed(at)
    const cursor = start ? prefixed(this.#shards.at(start.index), '') : after
    const found = await pageThrough(this.#shards, cursor, limit, async ({ search }, own, shard) => {
      const hint = start?.index === shard.index && own.after === undefined ? { at: start.text } : {}
      const found = await search.scanQueue(queue, needle, { ...page, ...own, ...hint })
      scanned += found.scanned
      return { items: found.items.map((job) => jobAt(job, shard)), next: found.next }
    })
    return { ...found, scanned }
  }

  readonly scanQueues: SearchStore['scanQueues'] = async (queues, needle) => {
    const all = await this.#shards.each(async ({ search }, shard) => {
      const { items, sizes } = await search.scanQueues(queues, needle)
      return { sizes, items: items.map((job) => ({ ...jobAt(job, shard), queue: job.queue })) }
    })
    // Only queues that all shards have searched count.
    const searched = Math.min(...all.map(({ sizes }) => sizes.length))
    const wanted = queues.slice(0, searched)
    return {
      items: wanted.flatMap((queue) => all.flatMap(({ items }) => items.filter((job) => job.queue === queue))),
      sizes: wanted.map((_, i) => all.reduce((sum, { sizes }) => sum + (sizes[i] as number), 0)),
    }
  }

  readonly scanSet: SearchStore['scanSet'] = async (set, needle, { after, limit, ...page }) => {
    let scanned = 0
    const found = await pageThrough(this.#shards, after, limit, async ({ search }, own) => {
      const found = await search.scanSet(set, needle, { ...page, ...own })
      scanned += found.scanned
      return found
    })
    return { ...found, scanned }
  }

  readonly pull: SearchStore['pull'] = (queue, items, now) =>
    this.#shards.spread<Pull, SwapAnswer>(
      items,
      ({ text, at }) => (at === undefined ? this.#shards.ofJob(jidIn(text)) : this.#shards.at(readPrefixed(at).index)),
      async ({ search }, some, shard) => {
        const own = some.map(({ at, ...item }) => ({ ...item, ...hintOn(at, shard) }))
        const answers = await search.pull(queue, own, now)
        const pulled = some.filter((_, i) => answers[i] === 'ok')
        await this.#shards.withdrawElsewhere(shard, pulled, now)
        return answers
      },
      (answer) => answer === 'gone',
    )

  readonly clearQueue: SearchStore['clearQueue'] = async (queue, needles, limit) => {
    const all = await this.#shards.each((store) => store.search.clearQueue(queue, needles, limit))
    return {
      removed: all.reduce((sum, { removed }) => sum + removed, 0),
      kept: all.flatMap(({ kept }, i) => kept.map((job): WaitingJob => jobAt(job, this.#shards.at(i)))),
      done: all.every(({ done }) => done),
    }
  }

  readonly clearSet: SearchStore['clearSet'] = async (set, needles) => {
    const all = await this.#shards.each((store) => store.search.clearSet(set, needles))
    return {
      removed: all.reduce((sum, { removed }) => sum + removed, 0),
      kept: all.flatMap(({ kept }): Entry[] => kept),
      done: all.every(({ done }) => done),
    }
  }
}

function jobAt<Job extends WaitingJob>(job: Job, shard: Shard): Job {
  return { ...job, at: prefixed(shard, job.at) }
}

/** Returns the hint for a shard, if it is about this one. */
function hintOn(at: string | undefined, { index }: Shard): { at?: string } {
  if (at === undefined) return {}
  const hint = readPrefixed(at)
  return hint.index === index ? { at: hint.text } : {}
}
