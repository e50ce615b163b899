/**
 * Waits for jobs, with a blocking connection for each queue. BLMOVE moves a job into the owner's list of arrivals in the
 * same step that sends it. A command that pops would lose a job whose answer is lost.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { type ErrorCode, hasCode } from '../../../job/errors.ts'
import type { FetchedJob } from '../../contract.ts'
import type { Pauses } from '../jobs/pauses.ts'
import { BlockingConnections } from '../server/blocking-connections.ts'
import type { Server } from '../server/server.ts'
import type { Owner } from './owner.ts'

/** The longest wait of one command: the server serves it even when its client is gone. */
const MAX_SECONDS = 2
/** A later answer reaches a process that was stopped, or comes over a connection that was cut. */
const LATE_MS = 1500
/** The most connections that one wait uses. */
const MAX_WAITS = 16
/** With more queues than connections a wait ends after this time, so that the other queues get their turn. */
const ROTATE_MS = 1000
/** A wait ends after this time while a queue is paused, in case the message that it was resumed is lost. */
const RESUME_MS = 500
/** Errors with which the server refuses to move a job to its owner: out of memory, or a key of the wrong type. */
const REFUSALS: readonly ErrorCode[] = ['STORE_FULL', 'STORE_UNUSABLE']

export interface WaitEvents {
  /** A wait's connection broke: a job may lie in the list of arrivals without this process knowing. */
  lost: () => void
  /** A job arrived that only the next settleAndFetch may hand out: it is among the recovered jobs. */
  recovered: (owner: Owner) => void
  /** A job arrived that must go back to its queue: it is among the requeued jobs. */
  requeue: (owner: Owner) => void
}

export class JobWaits {
  readonly #server: Server
  readonly #pauses: Pauses
  readonly #events: WaitEvents
  readonly #connections: BlockingConnections
  /** When a waiting connection broke last, on the monotonic clock. */
  #brokeAt = Number.NEGATIVE_INFINITY

  constructor(server: Server, pauses: Pauses, events: WaitEvents) {
    this.#server = server
    this.#pauses = pauses
    this.#events = events
    this.#connections = new BlockingConnections(server)
  }

  /** Returns at most `n` jobs: the first one to arrive, and those that arrived while the other waits ended. */
  async run(
    owner: Owner,
    queues: readonly string[],
    n: number,
    ms: number,
    signal: AbortSignal,
  ): Promise<FetchedJob[]> {
    while (owner.reconciling) await owner.reconciling.catch(() => {})
    const recovered = owner.drainRecovered(queues, n)
    if (recovered.length > 0 || n <= 0 || signal.aborted || ms <= 0) return recovered
    const open = this.#pauses.unpaused(queues)
    const waited = [...new Set(open)].slice(0, Math.min(n, MAX_WAITS))
    const somePaused = open.length < queues.length
    const limit = Math.min(ms, somePaused ? RESUME_MS : waited.length < queues.length ? ROTATE_MS : ms)
    const seconds = Math.max(Math.min(limit / 1000, MAX_SECONDS), 0.01)

    const over = new AbortController()
    const end = () => over.abort()
    owner.waits.add(end)
    signal.addEventListener('abort', end, { once: true })
    const unsubscribe = somePaused ? this.#pauses.notifier.subscribe(end) : undefined
    const jobs: FetchedJob[] = []
    const failures: unknown[] = []
    try {
      if (waited.length === 0) await sleep(limit, undefined, { signal: over.signal }).catch(() => {})
      await Promise.all(
        waited.map((queue) =>
          this.#wait(owner, queue, seconds, over.signal).then(
            (one) => {
              if (!one) return
              jobs.push(one)
              end()
            },
            (thrown) => {
              failures.push(thrown)
              // One queue that cannot be waited on must not end the waits on the others.
              if (failures.length === waited.length) end()
            },
          ),
        ),
      )
    } finally {
      unsubscribe?.()
      owner.waits.delete(end)
      signal.removeEventListener('abort', end)
    }
    const [failure] = failures
    // While one queue can be waited on, settleAndFetch reports what is wrong with the others.
    if (!failure || failures.length < waited.length || jobs.length > 0 || this.#server.isClosed) return jobs
    if (!REFUSALS.some((code) => hasCode(failure, code))) throw failure
    // settleAndFetch still works then, so this is no error of the wait.
    await sleep(Math.min(ms, ROTATE_MS), undefined, { signal }).catch(() => {})
    return jobs
  }

  brokeWithin(ms: number): boolean {
    return performance.now() - this.#brokeAt < ms
  }

  async #wait(owner: Owner, queue: string, seconds: number, over: AbortSignal): Promise<FetchedJob | undefined> {
    const { keys, texts } = this.#server
    const ms = seconds * 1000 + LATE_MS
    const answer = await this.#connections.run(
      over,
      ms + 1000,
      async (connection) => {
        const asked = performance.now()
        // The same pipeline reads the version and the pause just after the move, at no extra round trip.
        const [moved, version, paused] = await connection.each((pipeline) =>
          pipeline
            .blmoveBuffer(keys.queue(queue), keys.arriving(queue, owner.name), 'RIGHT', 'LEFT', seconds)
            .get(keys.cancellationVersion)
            .sismember(keys.paused, queue),
        )
        const [error, bytes] = moved as unknown as [Error | null, Buffer | null]
        if (error) throw connection.explain(error)
        const isLate = performance.now() - asked > ms
        return { bytes, isLate, version: Number(version?.[1]) || 0, isPaused: paused?.[1] === 1 }
      },
      () => {
        this.#brokeAt = performance.now()
        if (!this.#server.isClosed) this.#events.lost()
      },
    )
    if (!answer?.bytes) return undefined
    // Another process may have claimed the owner since. If not, the reconciler finds the job in the list of arrivals.
    if (answer.isLate || owner.left) {
      this.#events.lost()
      return undefined
    }
    const job = owner.arrived(queue, texts.read(answer.bytes))
    if (answer.isPaused) {
      this.#pauses.observe(queue, true)
      owner.requeued.push(job)
      this.#events.requeue(owner)
    } else if (answer.version !== owner.version) {
      // A job was cancelled since the last settleAndFetch: the next one reports that and hands this job out.
      owner.recovered.push(job)
      this.#events.recovered(owner)
    } else {
      return job
    }
    for (const end of owner.waits) end()
    return undefined
  }
}
