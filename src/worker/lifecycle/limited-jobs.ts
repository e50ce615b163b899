/** Moves jobs that wait for room in a limit to the front of their queues, as many as have room. */

import { readPayload } from '../../job/payload.ts'
import { baseQueue } from '../../job/priority.ts'
import { type Entry, LIMIT_BATCH, type LimitedSet, type Swap } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'

/** The most limits that one call returns. */
const LIMITS_AT_ONCE = 100
/** Of a limit whose first jobs wait for paused queues, one check reads at most this many pages. */
const MOST_PAGES = 10
/** When all jobs of a limit wait for paused queues, it is not looked at before this time. */
const PAUSED_MS = 2000
/** When a check found only jobs of paused queues and has not read them all, the next one follows after this time. */
const READ_ON_MS = 100

type Mover = Pick<Engine, 'store' | 'now'>

/** A check of a limit with many jobs of paused queues goes on where the one before stopped. */
export class LimitedJobs {
  readonly #engine: Mover
  /** By the limit, the last entry that was read, when further ones follow. */
  readonly #readTo = new Map<string, Entry>()
  #paused: ReadonlySet<string> = new Set()

  constructor(engine: Mover) {
    this.#engine = engine
  }

  /**
   * A job that was moved asks for room when a worker starts it; when another job was faster, it waits again. The caller holds
   * a leader lock. Resolves with the time in milliseconds until the next job has room; null when no job waits.
   */
  async move(): Promise<number | null> {
    const { store } = this.#engine
    const { limits, nextMs } = await store.limits.due(LIMITS_AT_ONCE)
    if (limits.length === 0) return nextMs
    const paused = new Set(await store.jobs.pausedQueues())
    // The jobs of a queue that was resumed may be the oldest.
    if ([...this.#paused].some((queue) => !paused.has(queue))) this.#readTo.clear()
    this.#paused = paused
    const found = await Promise.all(limits.map(({ name, room }) => this.#moveJobs(name, room)))
    const without = limits.filter((_, i) => !found[i]).map(({ name }) => name)
    const unread = without.filter((name) => this.#readTo.has(name))
    const blocked = without.filter((name) => !this.#readTo.has(name))
    if (blocked.length > 0) await store.limits.postpone(blocked, PAUSED_MS)
    if (unread.length === 0) return nextMs
    await store.limits.postpone(unread, READ_ON_MS)
    return Math.min(nextMs ?? READ_ON_MS, READ_ON_MS)
  }

  /** Moves at most `room` jobs of queues that are not paused. Resolves with false when it found none. */
  async #moveJobs(name: string, room: number): Promise<boolean> {
    const { store, now } = this.#engine
    const set: LimitedSet = `limited:${name}`
    const swaps: Swap[] = []
    const begin = this.#readTo.get(name)
    let after = begin
    let hasMore = true
    for (let page = 0; hasMore && page < MOST_PAGES && swaps.length < room; page++) {
      // It reads further entries only when jobs of paused queues come first.
      const limit = page === 0 ? room : LIMIT_BATCH
      const entries = await store.jobSets.page(set, { ...(after ? { after } : {}), limit })
      hasMore = entries.length === limit
      for (const entry of entries) {
        if (swaps.length === room) break
        swaps.push(...moved(entry, now(), this.#paused))
        after = entry
      }
    }
    const isAtEnd = !hasMore && swaps.length < room
    // The oldest jobs come first again after the end, and always when the pages suffice to reach the first one to move.
    if (after && !isAtEnd && (begin || swaps.length < room)) this.#readTo.set(name, after)
    else this.#readTo.delete(name)
    // The job that goes to the front last comes first.
    if (swaps.length > 0) await store.jobSets.swap(set, swaps.toReversed(), now())
    return swaps.length > 0
  }
}

function moved(entry: Entry, now: number, paused: ReadonlySet<string>): Swap[] {
  const { text } = entry
  const payload = readPayload(text)
  if (!payload) return [{ ...entry, to: { to: 'dead', text, score: now / 1000 } }]
  if (paused.has(baseQueue(payload.queue))) return []
  return [{ ...entry, to: { to: 'queue', queue: payload.queue, text, end: 'front' } }]
}
