/**
 * Waits for jobs, with a blocking connection for each queue. BLMOVE moves a job into the owner's list of arrivals in the
 * same step that sends it. A command that pops would lose a job whose answer is lost.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { type ErrorCode, hasCode } from '../../../job/errors.ts'
import { baseQueue, isPriorityName } from '../../../job/priority.ts'
import type { FetchedJob } from '../../contract.ts'
import type { Pauses } from '../jobs/pauses.ts'
import type { PriorityQueues } from '../jobs/priority-queues.ts'
import { BlockingConnections, StopSignal } from '../server/blocking-connections.ts'
import type { Server } from '../server/server.ts'
import type { Owner, Wait } from './owner.ts'

/** The longest and the shortest wait of one command: the server serves it even when its client is gone. */
const MAX_MS = 2000
const SHORTEST_MS = 10
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
  /** A wait's connection broke: a job may be in the list of arrivals without this process knowing. */
  lost: () => void
  /** A job arrived that only the next settleAndFetch may return, within `ms`: it is among the undelivered jobs. */
  undelivered: (owner: Owner, ms?: number) => void
  /** A job arrived that must go back to its queue: it is among the requeued jobs. */
  requeue: (owner: Owner) => void
}

export class JobWaits {
  readonly #server: Server
  readonly #pauses: Pauses
  readonly #priorities: PriorityQueues
  readonly #events: WaitEvents
  readonly #connections: BlockingConnections
  /** When a waiting connection broke last, on the monotonic clock. */
  #brokeAt = Number.NEGATIVE_INFINITY

  constructor(server: Server, pauses: Pauses, priorities: PriorityQueues, events: WaitEvents) {
    this.#priorities = priorities
    this.#server = server
    this.#pauses = pauses
    this.#events = events
    this.#connections = new BlockingConnections(server)
  }

  /** Returns the first job to arrive, and ends the other commands. Jobs that these bring all the same become undelivered. */
  async run(
    owner: Owner,
    queues: readonly string[],
    n: number,
    ms: number,
    signal: AbortSignal,
  ): Promise<FetchedJob[]> {
    while (owner.reconciling) await owner.reconciling.catch(() => {})
    const names = new Set(queues)
    // settleAndFetch returns undelivered jobs: it learns whether a job was cancelled since.
    if (n <= 0 || ms <= 0 || signal.aborted || owner.undelivered.some(({ queue }) => names.has(queue))) return []
    const open = new Set(this.#pauses.unpaused(queues))
    const somePaused = open.size < names.size
    // A job too many goes back to its queue, so that a queue with priorities is waited on as if it were one list.
    const most = Math.min(n + queues.filter(isPriorityName).length, MAX_WAITS)
    const longest = somePaused ? RESUME_MS : open.size > most ? ROTATE_MS : ms
    const deadline = performance.now() + Math.max(Math.min(ms, longest), SHORTEST_MS)

    const waits = new Set<Wait>()
    const failures: unknown[] = []
    let resolve: (jobs: FetchedJob[]) => void
    const finished = new Promise<FetchedJob[]>((done) => {
      resolve = done
    })
    const stop = () => {
      for (const wait of waits) wait.signal.stop()
    }
    const finish = (jobs: FetchedJob[]) => {
      for (const wait of waits) wait.onEnd = undefined
      // A handler may block the event loop, and a job that came meanwhile would wait for it.
      stop()
      resolve(jobs)
    }
    const begin = (queue: string) => {
      const wait = this.#begin(owner, queue, Math.min(deadline - performance.now(), MAX_MS))
      waits.add(wait)
      wait.onEnd = (job, thrown) => {
        waits.delete(wait)
        if (thrown !== undefined) failures.push(thrown)
        if (job) {
          finish([job])
        } else if (thrown === undefined && deadline - performance.now() >= SHORTEST_MS && !wait.signal.isStopped) {
          // The queues that do not wait yet get their turn.
          open.add(wait.queue)
          begin(firstOf(open))
        } else if (waits.size === 0) {
          finish([])
        }
      }
    }
    while (waits.size < most && open.size > 0) begin(firstOf(open))
    // All queues are paused.
    if (waits.size === 0) begin('')
    const asked = waits.size
    signal.addEventListener('abort', stop, { once: true })
    const unsubscribe = somePaused ? this.#pauses.notifier.subscribe(() => finish([])) : undefined
    const offExpired = this.#priorities.onExpired(() => finish([]))

    const jobs = await finished
    unsubscribe?.()
    offExpired()
    signal.removeEventListener('abort', stop)
    const [failure] = failures
    // While one queue can be waited on, settleAndFetch reports what is wrong with the others.
    if (!failure || failures.length < asked || jobs.length > 0 || this.#server.isClosed) return jobs
    if (!REFUSALS.some((code) => hasCode(failure, code))) throw failure
    // settleAndFetch still works then, so this is no error of the wait.
    await sleep(Math.min(ms, ROTATE_MS), undefined, { signal }).catch(() => {})
    return jobs
  }

  brokeWithin(ms: number): boolean {
    return performance.now() - this.#brokeAt < ms
  }

  /** Starts to wait for a job of the queue. Without a queue it is a timer. */
  #begin(owner: Owner, queue: string, ms: number): Wait {
    const signal = new StopSignal()
    const wait: Wait = { queue, signal, onEnd: undefined }
    owner.waits.add(wait)
    const ended = (job?: FetchedJob, thrown?: unknown) => {
      if (!owner.waits.delete(wait)) return
      if (wait.onEnd) wait.onEnd(job, thrown)
      else if (job) {
        owner.addUndelivered(job)
        this.#events.undelivered(owner, 0)
      }
    }
    if (queue === '') {
      signal.onStop(ended)
      setTimeout(ended, ms).unref()
    } else {
      this.#wait(owner, queue, ms / 1000, signal).then(ended, (thrown) => ended(undefined, thrown))
    }
    return wait
  }

  async #wait(owner: Owner, queue: string, seconds: number, signal: StopSignal): Promise<FetchedJob | undefined> {
    const { keys, texts } = this.#server
    const ms = seconds * 1000 + LATE_MS
    const answer = await this.#connections.run(
      signal,
      ms + 1000,
      async (connection) => {
        const asked = performance.now()
        // The same write asks for the version and the pause just after the move, at no extra round trip.
        const [moved, version, paused] = await connection.callAll((client) => [
          client.blmoveBuffer(keys.queue(queue), keys.arriving(queue, owner.name), 'RIGHT', 'LEFT', seconds),
          client.get(keys.cancellationVersion),
          client.sismember(keys.paused, baseQueue(queue)),
        ])
        const [error, bytes] = moved as unknown as [Error | null, Buffer | null]
        if (error) throw connection.explain(error)
        const isLate = performance.now() - asked > ms
        const refused = version?.[0] ?? paused?.[0]
        const failure = refused ? connection.explain(refused) : undefined
        return { bytes, isLate, failure, version: Number(version?.[1]) || 0, isPaused: paused?.[1] === 1 }
      },
      () => {
        this.#brokeAt = performance.now()
        if (!this.#server.isClosed) this.#events.lost()
      },
    )
    if (!answer) return undefined
    // The node may refuse these two while the hash slot of a cluster moves. Then the job waits for settleAndFetch, which reads
    // cancellations and pauses.
    if (hasCode(answer.failure, 'STORE_UNREACHABLE')) {
      this.#events.lost()
      throw answer.failure
    }
    if (!answer.bytes) {
      if (answer.version !== owner.version) this.#priorities.expire()
      return undefined
    }
    // Another process may have claimed the owner since. If not, LostAnswers finds the job in the list of arrivals.
    if (answer.isLate || owner.left) {
      this.#events.lost()
      return undefined
    }
    const job = owner.arrived(queue, texts.read(answer.bytes))
    if (answer.isPaused) {
      this.#pauses.observe(baseQueue(queue), true)
      owner.requeued.push(job)
      this.#events.requeue(owner)
    } else if (answer.version !== owner.version) {
      // A job was cancelled since the last settleAndFetch: the next one reports that and returns this job.
      owner.addUndelivered(job)
      this.#events.undelivered(owner, signal.isStopped ? 0 : undefined)
    } else {
      return job
    }
    for (const wait of owner.waits) wait.signal.stop()
    return undefined
  }
}

/** Removes and returns the name that was added first. */
function firstOf(names: Set<string>): string {
  const [first] = names as Iterable<string> as [string]
  names.delete(first)
  return first
}
