/**
 * Renews the lease of a worker. A thread does it, so that a handler which blocks the event loop keeps its job. The thread
 * also warns of a blocked event loop, and stops renewing when that lasts too long. Without a renewer for threads – a
 * database in memory – the main thread renews.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { HeldLease } from '../../job/context.ts'
import { within } from '../../job/wait.ts'
import type { Renewer } from '../../store/contract.ts'
import { Thread } from '../../thread.ts'
import type { Engine } from '../engine.ts'
import { type Block, describe, fieldsOf } from './block.ts'
import { type Pace, paceOf } from './event-loop-monitor.ts'
import type { EventLoopState } from './event-loop-state.ts'

export interface LeaseOptions {
  seconds: number
  /** The event loop may be blocked this long; longer when the blocking job has a longer timeout. */
  maxBlockSeconds: number
  eventLoop: EventLoopState
  onLost: (owner: string) => void
}

export interface ThreadData {
  renewer: Renewer
  owner: string
  seconds: number
  maxBlockSeconds: number
  /** The memory of the EventLoopState. */
  memory: SharedArrayBuffer
  pace: Pace
  /**
   * One double: the time at which the last successful renewal was sent, on the clock of `performance.now` in the main
   * thread.
   */
  renewedAt: SharedArrayBuffer
  /** The milliseconds between that clock and `process.hrtime`, which is the same in all threads. */
  clockOffset: number
}

export type ToThread = { renew: string } | { stopIn: number } | { stop: true }
export type FromThread = { lost: string } | { error: string } | { unblocked: Block }

/** The wait before a failed thread is started again. */
const RESTART_MS = 500
/** A stopped thread that has not ended after this time is terminated: its store may not answer. */
const STOP_MS = 1000
/**
 * The part of a lease in which its worker starts jobs. No observer claims the lease of a living process before all of it has passed
 * since the renewal, and the lease thread renews after each third: one renewal may fail.
 */
const SURE_PART = 2 / 3

export class LeaseRenewer implements HeldLease {
  readonly #engine: Engine
  readonly #options: LeaseOptions
  readonly #renewedAt = new Float64Array(new SharedArrayBuffer(8)).fill(Number.NEGATIVE_INFINITY)
  #confirming: Promise<boolean> | undefined
  #owner = ''
  #stopped = false
  #thread: Thread | undefined
  #timer: NodeJS.Timeout | undefined
  #beatTimer: NodeJS.Timeout | undefined

  constructor(engine: Engine, options: LeaseOptions) {
    this.#engine = engine
    this.#options = options
  }

  get safeUntil(): number {
    return (this.#renewedAt[0] as number) + this.#options.seconds * 1000 * SURE_PART
  }

  /** The id of the lease thread; undefined where there is none. */
  get threadId(): number | undefined {
    return this.#thread?.threadId
  }

  confirm(): Promise<boolean> {
    this.#confirming ??= this.#confirm().finally(() => {
      this.#confirming = undefined
    })
    return this.#confirming
  }

  /**
   * Renews the lease of this owner from now on. `joinedAt` is the time on the monotonic clock at which its join was sent.
   */
  keep(owner: string, joinedAt: number): void {
    this.#owner = owner
    this.#renewedAt[0] = joinedAt
    if (this.#stopped) return
    if (this.#thread) this.#thread.postMessage({ renew: owner } satisfies ToThread)
    else if (!this.#timer) this.#begin()
  }

  /** The worker stops within `ms`: if its event loop is blocked then, the thread stops renewing at once. */
  stopIn(ms: number): void {
    this.#thread?.postMessage({ stopIn: ms } satisfies ToThread)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    clearInterval(this.#beatTimer)
    const thread = this.#thread
    this.#thread = undefined
    if (!thread) return
    const exited = new Promise((resolve) => thread.once('exit', resolve))
    thread.postMessage({ stop: true } satisfies ToThread)
    if (!(await within(STOP_MS, exited))) void thread.terminate()
  }

  #begin(): void {
    const { seconds, eventLoop } = this.#options
    const renewer = this.#engine.store.workers.renewer()
    if (!renewer) {
      const renew = () => this.#renew().catch((thrown) => this.#engine.report(thrown, { during: 'renewing the lease' }))
      this.#timer = setInterval(() => void renew(), (seconds * 1000) / 3)
      return
    }
    this.#beatTimer = setInterval(() => eventLoop.beat(), paceOf(seconds).stepMs).unref()
    this.#thread = this.#startThread(renewer)
  }

  #startThread(renewer: Renewer): Thread {
    const { seconds, maxBlockSeconds, eventLoop, onLost } = this.#options
    const workerData: ThreadData = {
      renewer,
      owner: this.#owner,
      seconds,
      maxBlockSeconds,
      memory: eventLoop.memory,
      pace: paceOf(seconds),
      renewedAt: this.#renewedAt.buffer as SharedArrayBuffer,
      clockOffset: performance.now() - Number(process.hrtime.bigint()) / 1e6,
    }
    const thread = new Thread('worker/lease/lease-thread.js', {
      workerData,
      // The thread needs none of the process's flags, such as a debugger's port or a TypeScript loader.
      execArgv: [],
    })
    thread.on('message', (message: FromThread) => {
      if ('lost' in message) onLost(message.lost)
      else if ('unblocked' in message) {
        // The thread itself could only write to stderr.
        this.#engine.log.warn(fieldsOf(message.unblocked), `event loop was ${describe(message.unblocked)}`)
      } else this.#engine.report(new Error(message.error), { during: 'renewing the lease' })
    })
    thread.on('error', (thrown) => {
      this.#engine.report(thrown, { during: 'the lease thread; it is started again' })
      if (this.#thread !== thread || this.#stopped) return
      this.#thread = undefined
      this.#timer = setTimeout(() => {
        this.#thread = this.#startThread(renewer)
      }, RESTART_MS)
    })
    return thread
  }

  /** Renews the lease once; returns false when it is lost. */
  async #renew(): Promise<boolean> {
    const owner = this.#owner
    const sentAt = performance.now()
    const isHeld = await this.#engine.store.workers.renew(owner, this.#options.seconds)
    if (owner !== this.#owner) return false
    if (isHeld) this.#renewedAt[0] = Math.max(this.#renewedAt[0] as number, sentAt)
    else this.#options.onLost(owner)
    return isHeld
  }

  async #confirm(): Promise<boolean> {
    const owner = this.#owner
    for (;;) {
      if (this.#stopped || owner !== this.#owner) return false
      if (performance.now() < this.safeUntil) return true
      try {
        if (!(await this.#renew())) return false
      } catch {
        // The loop that fetches jobs reports an outage; the thread's renewal may succeed first.
        await sleep((this.#options.seconds * 1000) / 30)
      }
    }
  }
}
