/** Moves jobs that wait for room in a limit to the front of their queues, as many as have room. */

import { Process, serves } from '../../inspect/process.ts'
import { readPayload } from '../../job/payload.ts'
import { baseQueue } from '../../job/priority.ts'
import { type Entry, type LimitedSet, SLOT_CHECK_MS, type Swap } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'

/** The most limits that one call returns. */
const LIMITS_AT_ONCE = 100
const PAGE = 100
/** One check of a limit passes at most about this many jobs of blocked queues. */
const MOST_PASSED = 1000
/**
 * One run moves jobs with about this many characters in all, so that they fit into memory, and at least one page of each limit.
 * A job counts as at least MIN_CHARS, so that a run of short jobs does not take long.
 */
const MOST_CHARS = 10_000_000
const MIN_CHARS = 1000
/** When all jobs of a limit are of blocked queues, it is not checked again before this time. */
const BLOCKED_MS = 2000
/** The list of processes is read again after this time. */
const PROCESSES_MS = 1000
/** After this time a check reads from the oldest job again, because older jobs of other queues may have been added. */
const PASS_MS = 60_000
/** After a long pass through jobs of blocked queues, that time is this many times as long as the pass. */
const PASS_FACTOR = 20
/**
 * The next check comes after this time when a check found fewer jobs than have room, or has not read all jobs of
 * blocked queues.
 */
const READ_ON_MS = 100

type Mover = Pick<Engine, 'store' | 'now'>

/**
 * A queue is blocked while it is paused, and while no worker serves it: the jobs of other queues pass its jobs. A check of a
 * limit with many jobs of blocked queues, or with jobs that the store can't move, goes on where the one before stopped.
 */
export class LimitedJobs {
  readonly #engine: Mover
  /**
   * By limit: the next check begins behind `entry`, until the time `until` on the monotonic clock. `passMs` is how long the
   * checks took to pass the jobs before `entry`.
   */
  readonly #readTo = new Map<string, { entry: Entry; until: number; passMs: number }>()
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
    const mostChars = MOST_CHARS / limits.length
    const checks = await Promise.all(limits.map(({ name, room }) => this.#moveJobs(name, room, mostChars)))
    let next = nextMs
    for (const ms of [READ_ON_MS, BLOCKED_MS, SLOT_CHECK_MS]) {
      const names = limits.flatMap(({ name }, i) => (checks[i] === ms ? [name] : []))
      if (names.length === 0) continue
      await store.limits.postpone(names, ms)
      next = Math.min(next ?? ms, ms)
    }
    return next
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

  /**
   * Moves at most `room` jobs of queues that are not blocked, and jobs with at most about `mostChars` characters. Resolves with
   * the time in milliseconds until the next check of the limit; null: the store has planned it.
   */
  async #moveJobs(name: string, room: number, mostChars: number): Promise<number | null> {
    const { store, now } = this.#engine
    const set: LimitedSet = `limited:${name}`
    const began = performance.now()
    const known = this.#readTo.get(name)
    const begin = known && performance.now() < known.until ? known : undefined
    const found = await this.#findJobs(set, begin?.entry, room, mostChars)
    const { swaps, last, beforeFirst, passed, isAtEnd, isCut } = found
    // One call moves all jobs, the newest first, because each job goes to the front of its queue.
    const answers = swaps.length > 0 ? await store.jobSets.swap(set, swaps.toReversed(), now()) : []
    const hasMoved = answers.some((answer) => answer !== 'error')
    // Jobs that the store can't move stay at the front, where they would block all later ones.
    const hasErrors = answers.includes('error')
    // The next check reads from the oldest job again, unless it would pass too many jobs of blocked queues.
    const readsOn = !isAtEnd && (begin !== undefined || passed >= MOST_PASSED)
    // A moved job waits again when another job has used its room, so the next check begins before the first moved job. Jobs
    // that the store can't move are passed.
    const entry = hasMoved && !hasErrors ? beforeFirst : last
    if (entry && (readsOn || hasErrors)) {
      const forever = Number.POSITIVE_INFINITY
      const earlierMs = begin?.passMs ?? 0
      const end = performance.now()
      // A check that moves nothing adds its own time and the pause that follows it.
      const passMs = hasMoved ? earlierMs : earlierMs + end - began + READ_ON_MS
      const pause = Math.max(PASS_MS, PASS_FACTOR * passMs)
      const until = hasMoved ? Math.min(begin?.until ?? forever, end + pause) : forever
      this.#readTo.set(name, { entry, until, passMs })
    } else {
      this.#readTo.delete(name)
    }
    if (!hasMoved) return this.#readTo.has(name) ? READ_ON_MS : BLOCKED_MS
    // The moved jobs get this time to start before the other jobs with room follow.
    if (isCut) return SLOT_CHECK_MS
    // The room that is left is for the next jobs that wait.
    return answers.filter((answer) => answer === 'ok').length < room ? READ_ON_MS : null
  }

  /**
   * Reads the jobs of a limit behind `begin`, and returns at most `room` of them, with about `mostChars` characters. It stops after
   * about MOST_PASSED jobs of blocked queues. `isCut`: more jobs have room, but would have too many characters.
   */
  async #findJobs(set: LimitedSet, begin: Entry | undefined, room: number, mostChars: number) {
    const { store, now } = this.#engine
    const swaps: Swap[] = []
    let last = begin
    /** The last entry before the first one to move. */
    let beforeFirst = begin
    let hasMore = true
    let chars = 0
    let passed = 0
    while (hasMore && swaps.length < room && chars < mostChars && passed < MOST_PASSED) {
      // Full pages are read only after jobs of blocked queues were found.
      const limit = passed === 0 ? Math.min(room - swaps.length, PAGE) : PAGE
      const entries = await store.jobSets.page(set, { ...(last ? { after: last } : {}), limit })
      hasMore = entries.length === limit
      for (const entry of entries) {
        if (swaps.length === room) break
        const swap = this.#moved(entry, now())
        if (swap) {
          swaps.push(swap)
          chars += Math.max(entry.text.length, MIN_CHARS)
        } else passed++
        last = entry
        if (swaps.length === 0) beforeFirst = entry
      }
    }
    const hasRoom = swaps.length < room
    const isAtEnd = hasRoom && !hasMore
    const isCut = hasRoom && hasMore && chars >= mostChars
    return { swaps, last, beforeFirst, passed, isAtEnd, isCut }
  }

  /** Returns undefined for a job of a blocked queue. */
  #moved(entry: Entry, now: number): Swap | undefined {
    const { text } = entry
    const payload = readPayload(text)
    if (!payload) return { ...entry, to: { to: 'dead', text, score: now / 1000 } }
    const queue = baseQueue(payload.queue)
    if (!this.#isBlocked(queue)) return { ...entry, to: { to: 'queue', queue: payload.queue, text, end: 'front' } }
    this.#passed.add(queue)
    return undefined
  }
}
