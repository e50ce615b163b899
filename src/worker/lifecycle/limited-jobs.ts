/** Moves jobs that wait for room in a limit to the front of their queues, as many as have room. */

import { Process, serves } from '../../inspect/process.ts'
import { readPayload } from '../../job/payload.ts'
import { baseQueue } from '../../job/priority.ts'
import { type Entry, LIMIT_BATCH, type LimitedSet, type Swap } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'

/** The most limits that one call returns. */
const LIMITS_AT_ONCE = 100
/** Of a limit whose first jobs are of blocked queues, one check reads at most this many pages. */
const MOST_PAGES = 10
/** When all jobs of a limit are of blocked queues, it is not checked again before this time. */
const BLOCKED_MS = 2000
/** The list of processes is read again after this time. */
const PROCESSES_MS = 1000
/** When a check found only jobs of blocked queues and has not read them all, the next one follows after this time. */
const READ_ON_MS = 100

type Mover = Pick<Engine, 'store' | 'now'>

/**
 * A queue is blocked while it is paused, and while no worker serves it: the jobs of other queues pass its jobs. A check of a
 * limit with many jobs of blocked queues, or with jobs that the store can't move, goes on where the one before stopped.
 */
export class LimitedJobs {
  readonly #engine: Mover
  /** The last entry that was read of each limit, when further ones follow. */
  readonly #readTo = new Map<string, Entry>()
  /** The queues whose jobs were passed. */
  readonly #passed = new Set<string>()
  #isBlocked = (_queue: string) => false
  /** The processes that fetch jobs. */
  #processes: Process[] = []
  /** When they are read again, on the monotonic clock. */
  #readAt = 0

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
    await this.#findBlocked()
    const found = await Promise.all(limits.map(({ name, room }) => this.#moveJobs(name, room)))
    const without = limits.filter((_, i) => !found[i]).map(({ name }) => name)
    const unread = without.filter((name) => this.#readTo.has(name))
    const blocked = without.filter((name) => !this.#readTo.has(name))
    if (blocked.length > 0) await store.limits.postpone(blocked, BLOCKED_MS)
    if (unread.length === 0) return nextMs
    await store.limits.postpone(unread, READ_ON_MS)
    return Math.min(nextMs ?? READ_ON_MS, READ_ON_MS)
  }

  async #findBlocked(): Promise<void> {
    const { store } = this.#engine
    const paused = new Set(await store.jobs.pausedQueues())
    if (performance.now() >= this.#readAt) {
      const processes = (await store.workers.processes()).map((record) => new Process(store, record, null))
      this.#processes = processes.filter(({ isQuiet }) => !isQuiet)
      this.#readAt = performance.now() + PROCESSES_MS
    }
    const known = new Map<string, boolean>()
    this.#isBlocked = (queue) => {
      const blocked = known.get(queue) ?? (paused.has(queue) || !this.#processes.some((one) => serves(one, queue)))
      known.set(queue, blocked)
      return blocked
    }
    // The jobs of a queue that is not blocked any more may be the oldest.
    if ([...this.#passed].every(this.#isBlocked)) return
    this.#readTo.clear()
    this.#passed.clear()
  }

  /** Moves at most `room` jobs of queues that are not blocked. Resolves with false when it found none that it could move. */
  async #moveJobs(name: string, room: number): Promise<boolean> {
    const { store, now } = this.#engine
    const set: LimitedSet = `limited:${name}`
    const swaps: Swap[] = []
    const begin = this.#readTo.get(name)
    let after = begin
    let hasMore = true
    for (let page = 0; hasMore && page < MOST_PAGES && swaps.length < room; page++) {
      // It reads further entries only when jobs of blocked queues come first.
      const limit = page === 0 ? room : LIMIT_BATCH
      const entries = await store.jobSets.page(set, { ...(after ? { after } : {}), limit })
      hasMore = entries.length === limit
      for (const entry of entries) {
        if (swaps.length === room) break
        swaps.push(...this.#moved(entry, now()))
        after = entry
      }
    }
    const isAtEnd = !hasMore && swaps.length < room
    // The oldest jobs come first again after the end, and always when the pages suffice to reach the first one to move.
    if (after && !isAtEnd && (begin || swaps.length < room)) this.#readTo.set(name, after)
    else this.#readTo.delete(name)
    if (swaps.length === 0) return false
    // The job that goes to the front last comes first.
    const answers = await store.jobSets.swap(set, swaps.toReversed(), now())
    // Jobs that the store can't move stay at the front, where they would block all later ones.
    if (after && answers.includes('error')) this.#readTo.set(name, after)
    return answers.some((answer) => answer !== 'error')
  }

  #moved(entry: Entry, now: number): Swap[] {
    const { text } = entry
    const payload = readPayload(text)
    if (!payload) return [{ ...entry, to: { to: 'dead', text, score: now / 1000 } }]
    const queue = baseQueue(payload.queue)
    if (!this.#isBlocked(queue)) return [{ ...entry, to: { to: 'queue', queue: payload.queue, text, end: 'front' } }]
    this.#passed.add(queue)
    return []
  }
}
