/**
 * Waiting for jobs: each queue is waited on over a connection of its own with BLMOVE, which moves a job into the owner's
 * list of arrivals in the step that hands it over. Never with a command that pops: what was popped and not received is
 * lost.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { type ErrorCode, hasCode } from '../../job/errors.ts'
import type { FetchedJob } from '../contract.ts'
import { maybeDone } from './connection.ts'
import { Lanes } from './lanes.ts'
import type { Owner } from './owner.ts'
import type { Pauses } from './pauses.ts'
import type { Server } from './server.ts'

/** The server must stop serving a client that is gone. */
const MOST_SECONDS = 2
/** An answer that is later than this comes to a process that was stopped, or over a line that was cut. */
const LATE_MS = 1500
/** Connections that wait at the same time. */
const MOST_WAITS = 16
/** With more queues than waits the others are looked at so often. */
const LOOK_MS = 1000
/** So soon it is seen that a queue goes on, if nobody tells. */
const RESUME_MS = 500
const REFUSALS: readonly ErrorCode[] = ['STORE_FULL', 'STORE_UNUSABLE']
export interface WaitEvents {
  /** A wait's connection broke; what it brought may lie in the list of arrivals, unknown. */
  lost: () => void
  /** A job came that can't be handed over as it is: it is among those found, for the next turn. */
  found: (owner: Owner) => void
  /** A job came that must go back: it is among those returning. */
  returning: (owner: Owner) => void
}

export class Waits {
  readonly #server: Server
  readonly #pauses: Pauses
  readonly #events: WaitEvents
  readonly #lanes: Lanes
  /** When a line broke that waited, on the monotonic clock. */
  #brokeAt = Number.NEGATIVE_INFINITY

  constructor(server: Server, pauses: Pauses, events: WaitEvents) {
    this.#server = server
    this.#pauses = pauses
    this.#events = events
    this.#lanes = new Lanes(server)
  }

  /** At most `n` jobs: the first to come, and what came while the other waits were ended. */
  async run(
    owner: Owner,
    queues: readonly string[],
    n: number,
    ms: number,
    signal: AbortSignal,
  ): Promise<FetchedJob[]> {
    while (owner.reconciling) await owner.reconciling.catch(() => {})
    const found = owner.handOver(queues, n)
    if (found.length > 0 || n <= 0 || signal.aborted || ms <= 0) return found
    const open = this.#pauses.open(queues)
    const waited = [...new Set(open)].slice(0, Math.min(n, MOST_WAITS))
    const somePaused = open.length < queues.length
    const limit = Math.min(ms, somePaused ? RESUME_MS : waited.length < queues.length ? LOOK_MS : ms)
    const seconds = Math.max(Math.min(limit / 1000, MOST_SECONDS), 0.01)

    const over = new AbortController()
    const end = () => over.abort()
    owner.waits.add(end)
    signal.addEventListener('abort', end, { once: true })
    const leaveBell = somePaused ? this.#pauses.bell.hear(end) : undefined
    const taken: FetchedJob[] = []
    const failures: unknown[] = []
    try {
      if (waited.length === 0) await sleep(limit, undefined, { signal: over.signal }).catch(() => {})
      await Promise.all(
        waited.map((queue) =>
          this.#wait(owner, queue, seconds, over.signal).then(
            (one) => {
              if (!one) return
              taken.push(one)
              end()
            },
            (thrown) => {
              failures.push(thrown)
              // One queue that can't be waited on must not make the others spin.
              if (failures.length === waited.length) end()
            },
          ),
        ),
      )
    } finally {
      leaveBell?.()
      owner.waits.delete(end)
      signal.removeEventListener('abort', end)
    }
    const [failure] = failures
    // While one queue can be waited on, what is wrong with others is told by turns.
    if (!failure || failures.length < waited.length || taken.length > 0 || this.#server.isClosed) return taken
    if (!REFUSALS.some((code) => hasCode(failure, code))) throw failure
    // The server refuses to move a job to who waits: out of memory, or a key holds something else. Turns go on.
    await sleep(Math.min(ms, LOOK_MS), undefined, { signal }).catch(() => {})
    return taken
  }

  brokeWithin(ms: number): boolean {
    return performance.now() - this.#brokeAt < ms
  }

  async #wait(owner: Owner, queue: string, seconds: number, over: AbortSignal): Promise<FetchedJob | undefined> {
    const { keys, texts } = this.#server
    const lane = await this.#lanes.take(over)
    if (!lane) return undefined
    if (over.aborted) {
      this.#lanes.giveBack(lane)
      return undefined
    }
    const { connection } = lane
    const asked = performance.now()
    let waiting = true
    const stop = () => void this.#lanes.unblock(lane, () => waiting)
    over.addEventListener('abort', stop, { once: true })
    // A server that is gone without a word answers nothing: the line is cut then.
    const deadline = setTimeout(() => connection.client.disconnect(), seconds * 1000 + LATE_MS + 1000)
    try {
      // What holds just after the move is answered with it, at no cost.
      const [moved, version, paused] = await connection.each((pipeline) =>
        pipeline
          .blmoveBuffer(keys.queue(queue), keys.arriving(queue, owner.name), 'RIGHT', 'LEFT', seconds)
          .get(keys.marks(''))
          .sismember(keys.paused, queue),
      )
      const [error, bytes] = moved as unknown as [Error | null, Buffer | null]
      if (error) throw connection.explain(error)
      this.#lanes.giveBack(lane)
      if (!bytes) return undefined
      // Too late to be sure that the job is still ours: it lies in our list, and is found there if it is.
      if (performance.now() - asked > seconds * 1000 + LATE_MS || owner.left) {
        this.#events.lost()
        return undefined
      }
      const taken = owner.arrived(queue, texts.read(bytes))
      if (paused?.[1] === 1) {
        this.#pauses.tell(queue, true)
        owner.returning.push(taken)
        this.#events.returning(owner)
      } else if ((Number(version?.[1]) || 0) !== owner.version) {
        // Something was marked since the last turn: the job comes with the next one, which tells of that.
        owner.found.push(taken)
        this.#events.found(owner)
      } else {
        return taken
      }
      for (const end of owner.waits) end()
      return undefined
    } catch (thrown) {
      if (!maybeDone(thrown) && connection.isReady) {
        this.#lanes.giveBack(lane)
      } else {
        this.#brokeAt = performance.now()
        this.#server.disconnect(connection)
        if (!this.#server.isClosed) this.#events.lost()
      }
      throw thrown
    } finally {
      waiting = false
      clearTimeout(deadline)
      over.removeEventListener('abort', stop)
    }
  }
}
