/** Job sets. Each is on all shards, and an entry stays on its shard when it moves. */

import type { Entry, JobSetStore, Store, Swap, SwapAnswer } from '../contract.ts'
import { byBytes, merged } from './pages.ts'
import { RepeatedCalls } from './repeated-calls.ts'
import { jidIn, type Shards } from './shards.ts'

export class ShardedJobSetStore implements JobSetStore {
  readonly #shards: Shards
  readonly #due = new RepeatedCalls<Awaited<ReturnType<JobSetStore['due']>>>()

  constructor(shards: Shards) {
    this.#shards = shards
  }

  readonly due: JobSetStore['due'] = async (set, now, limit) => {
    const answers = await this.#due.inTime(this.#shards, set, ({ jobSets }) => jobSets.due(set, now, limit))
    const found = answers.map(({ answer }) => answer)
    const all = merged(
      found.map(({ entries }) => entries),
      compare,
      Number.POSITIVE_INFINITY,
    )
    const nexts = [...all.slice(limit).map(({ score }) => score), ...found.flatMap(({ next }) => next ?? [])]
    return { entries: all.slice(0, limit), next: nexts.length > 0 ? Math.min(...nexts) : null }
  }

  /**
   * Tries the shard of an entry's jid first, then the others: a job with a lock, or of a batch, may be on any shard.
   */
  readonly swap: JobSetStore['swap'] = (set, swaps, now) =>
    this.#shards.spread<Swap, SwapAnswer>(
      swaps,
      ({ text }) => this.#shards.ofJob(jidIn(text)),
      async (store, some, shard) => {
        const answers = await store.jobSets.swap(set, some, now)
        const moved = some.filter((_, i) => answers[i] === 'ok')
        await this.#shards.withdrawElsewhere(shard, moved, now)
        return answers
      },
      (answer) => answer === 'gone',
    )

  readonly waitUntilDue: JobSetStore['waitUntilDue'] = async (ms, signal) => {
    const ended = () => true
    await this.#shards.race(signal, ms, ended, ({ jobSets }, wait) => jobSets.waitUntilDue(wait.ms, wait.signal))
  }

  readonly size: JobSetStore['size'] = async (set) => {
    const sizes = await this.#shards.each((store) => store.jobSets.size(set))
    return sizes.reduce((sum, size) => sum + size, 0)
  }

  readonly page: JobSetStore['page'] = async (set, page) => {
    const read = (store: Store) => store.jobSets.page(set, page)
    // Workers move the waiting jobs of a limit on the shards that they can reach. Other lists must be complete.
    const pages = set.startsWith('limited:')
      ? (await this.#shards.reachable(read)).map(({ answer }) => answer)
      : await this.#shards.each(read)
    return merged(pages, page.desc ? (a, b) => compare(b, a) : compare, page.limit)
  }

  readonly findFinished: JobSetStore['findFinished'] = async (jid) => {
    const found = (await this.#shards.each((store) => store.jobSets.findFinished(jid))).filter(
      (entry) => entry !== null,
    )
    return found.sort((a, b) => compare(b, a))[0] ?? null
  }

  /** Each shard keeps `max` entries. */
  readonly prune: JobSetStore['prune'] = async (set, max, since, needle) => {
    const removed = await this.#shards.reachable((store) => store.jobSets.prune(set, max, since, needle))
    return removed.flatMap(({ answer }) => answer)
  }
}

function compare(a: Entry, b: Entry): number {
  return a.score - b.score || byBytes(a.text, b.text)
}
