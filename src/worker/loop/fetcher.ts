/**
 * The loop of a capsule. Each call settles what ended and fetches the next jobs, in one step of the store. Under load the
 * calls batch themselves: whatever ends during one call goes with the next. When there is nothing to do, the loop waits.
 */

import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises'
import { HighkiqError } from '../../job/errors.ts'
import type { FetchedJob, SettleAndFetchAnswer, Settlement } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import type { WorkerHandle } from '../executor.ts'
import type { QueueOrder } from '../queue-order.ts'
import type { Attempt } from '../run/attempt.ts'
import { Outage } from './outage.ts'
import type { Requeued } from './requeue-buffer.ts'
import { type Drained, endedJobs, SettlementBuffer } from './settlement-buffer.ts'
import { Slots } from './slots.ts'

export interface FetcherOptions extends WorkerHandle {
  concurrency: number
  queues: QueueOrder
}

/** The store waits for jobs at most this long before it is asked again. */
const WAIT_MS = 2000
/** One call settles and fetches at least this many jobs if there are as many. */
const MIN_BATCH = 20
/** The wait while `fetchOrder` names no queue. */
const NO_QUEUES_MS = 1000

export class Fetcher {
  readonly #engine: Engine
  readonly #options: FetcherOptions
  readonly #buffer: SettlementBuffer
  readonly #slots: Slots
  #loop: Promise<void> | undefined
  /** The calls under way; each may fetch jobs. */
  readonly #calls = new Set<Promise<void>>()
  /** The number of jobs that the calls under way may fetch. */
  #wanted = 0
  readonly #outage: Outage
  /** Milliseconds to wait before the next call, after one that failed. */
  #pauseMs = 0
  /** Ends the wait of the loop. */
  #wakeUp: (() => void) | undefined
  /** The last fetch returned fewer jobs than asked for. */
  #queuesEmpty = false
  #orderFailed = false
  /** Jobs that ended; their cancellations, if any, have no use any more. */
  readonly #ended: string[] = []
  /** The problem that the store reported last; each is logged once. */
  #problem: string | undefined

  constructor(engine: Engine, options: FetcherOptions) {
    const { eventLoop, nextSlot } = options
    this.#engine = engine
    this.#outage = new Outage(engine)
    this.#options = options
    this.#buffer = new SettlementBuffer(engine)
    this.#slots = new Slots(engine, { eventLoop, nextSlot, buffer: this.#buffer, wake: () => this.#wake() })
  }

  get busy(): number {
    return this.#slots.busy
  }

  get attempts(): Attempt[] {
    return this.#slots.attempts
  }

  start(): void {
    this.#loop = this.#run()
  }

  /** Fetches no more jobs. */
  quiet(): void {
    if (this.#slots.state === 'open') this.#slots.state = 'quiet'
    this.#wake()
  }

  /** Resolves when no job runs and none is about to start. */
  async idle(): Promise<void> {
    await Promise.all(this.#calls)
    await this.#slots.empty()
  }

  /** Aborts the signal of every running job. */
  abort(code: 'SHUTDOWN' | 'LEASE_LOST', message: string): void {
    this.#slots.abort(code, message)
  }

  /** Fetches no more jobs and empties all slots. Returns each job with the settlement that requeues it. */
  drain(): Requeued[] {
    this.quiet()
    return this.#slots.drain()
  }

  /** Sends these settlements and all that are left to the store, and ends. */
  async stop(settlements: readonly Settlement[]): Promise<void> {
    for (const settlement of settlements) this.#buffer.add(settlement)
    this.#slots.state = 'stopping'
    this.#wake()
    await this.#loop
  }

  /** Drops all jobs without settling them: they belong to other workers now. */
  onLeaseLost(): void {
    this.abort('LEASE_LOST', 'this process lost its lease: the job may run elsewhere by now')
    this.#buffer.clear()
    this.#slots.onLeaseLost()
    this.#wake()
  }

  async #run(): Promise<void> {
    const { maxConcurrentCalls } = this.#engine.store
    for (;;) {
      const free = this.#free
      const hasSettlements = !this.#buffer.isEmpty
      const calls = this.#calls.size
      // A stopping worker gives up on a store that does not answer: other workers rescue its jobs once the lease ends.
      const isHopeless = this.#outage.failures > 5 || this.#outage.isFinal
      if (this.#slots.state === 'stopping' && calls === 0 && (!hasSettlements || isHopeless)) return
      if (this.#pauseMs > 0 && calls === 0) {
        const ms = this.#pauseMs
        this.#pauseMs = 0
        await sleep(ms)
      } else if (
        this.#pauseMs === 0 &&
        calls < maxConcurrentCalls &&
        (hasSettlements || (free > 0 && !this.#queuesEmpty))
      ) {
        // Handlers that return at once end before this resolves, so that the same call settles them.
        await nextTick()
        this.#startCall()
      } else if (calls > 0 || free === 0) {
        await this.#waitForWake()
      } else {
        await this.#waitForJobs(free).then(
          () => this.#outage.over(),
          (thrown) => this.#failed(thrown),
        )
      }
    }
  }

  /**
   * The number of jobs that the next call settles and fetches at most. A store that takes several calls at once works on
   * one while the worker runs the handlers whose settlements go into another.
   */
  get #batchSize(): number {
    const calls = this.#engine.store.maxConcurrentCalls - this.#calls.size
    return Math.max(Math.ceil(this.#options.concurrency / calls), MIN_BATCH)
  }

  /** The number of free slots for which no call fetches a job yet. */
  get #free(): number {
    if (this.#slots.state !== 'open') return 0
    return Math.max(this.#options.concurrency - this.#slots.busy - this.#wanted, 0)
  }

  #startCall(): void {
    const size = this.#batchSize
    const n = Math.min(this.#free, size)
    this.#wanted += n
    const call = this.#call(n, this.#buffer.drain(size))
      .then(
        () => this.#outage.over(),
        (thrown) => this.#failed(thrown),
      )
      .finally(() => {
        this.#calls.delete(call)
        this.#wake()
      })
    this.#calls.add(call)
  }

  #failed(thrown: unknown): void {
    this.#outage.failed(thrown, 'fetching jobs')
    this.#pauseMs = this.#outage.pauseMs
  }

  async #call(n: number, drained: Drained): Promise<void> {
    const { store, cancellations, now } = this.#engine
    const owner = this.#options.owner()
    let answer: SettleAndFetchAnswer
    try {
      const fetch = { queues: n > 0 ? this.#nextQueues() : [], n }
      const settlements = drained.ended.map(({ settlement }) => settlement)
      answer = await store.workers.settleAndFetch(owner, {
        now: now(),
        started: drained.started,
        settlements,
        fetch,
      })
    } catch (thrown) {
      if (owner !== this.#options.owner()) {
        this.#buffer.reportLost(drained)
        return
      }
      this.#buffer.restore(drained)
      throw thrown
    } finally {
      this.#wanted -= n
    }
    // The lease was lost during the call: its jobs belong to other workers.
    if (owner !== this.#options.owner()) {
      this.#buffer.reportLost(drained, answer)
      return
    }
    if (answer.fenced) {
      this.#buffer.reportLost(drained)
      await this.#options.onFenced()
      return
    }
    cancellations.noteVersion(answer.cancellations)
    const allApplied = this.#buffer.applyAnswer(drained, answer)
    if (n > 0) this.#queuesEmpty = answer.fetched.length < n
    if (cancellations.isBehind || !cancellations.isEmpty) this.#ended.push(...endedJobs(drained, answer))
    if (cancellations.isBehind && !(await this.#learnCancellations(owner, answer.fetched))) return
    this.#withdrawOfEnded()
    if (this.#slots.state === 'stopping') for (const job of answer.fetched.toReversed()) this.#slots.requeue(job)
    else for (const job of answer.fetched) this.#slots.begin(job)
    this.#reportProblem(answer.problem)
    if (!allApplied) {
      throw new HighkiqError(
        'STORE_UNUSABLE',
        `the store could not settle a job; the worker tries again. ${answer.problem ?? ''}`,
      )
    }
  }

  #reportProblem(problem: string | undefined): void {
    if (problem === this.#problem) return
    this.#problem = problem
    if (problem) {
      this.#engine.report(new HighkiqError('STORE_UNUSABLE', problem), { during: 'fetching and settling jobs' })
    }
  }

  /** A `fetchOrder` that throws must not block the settlements. */
  #nextQueues(): readonly string[] {
    const { queues } = this.#options
    try {
      const next = queues.next()
      this.#orderFailed = false
      return next
    } catch (thrown) {
      if (!this.#orderFailed)
        this.#engine.report(thrown, { during: 'fetchOrder; the queues are fetched from as listed' })
      this.#orderFailed = true
      return queues.names
    }
  }

  /** Learns which jobs were cancelled, before any starts. Returns false when the jobs belong to other workers by now. */
  async #learnCancellations(owner: string, fetched: readonly FetchedJob[]): Promise<boolean> {
    this.#wanted += fetched.length
    try {
      await this.#engine.cancellations.catchUp()
    } catch (thrown) {
      if (owner === this.#options.owner()) for (const one of fetched.toReversed()) this.#slots.requeue(one)
      throw thrown
    } finally {
      this.#wanted -= fetched.length
    }
    return owner === this.#options.owner()
  }

  /** Withdraws the cancellations of jobs that ended on their own before anything stopped them. */
  #withdrawOfEnded(): void {
    const { store, cancellations, now, report } = this.#engine
    for (const jid of this.#ended.splice(0)) {
      if (cancellations.has(jid))
        store.cancellations
          .withdraw(jid, now())
          .catch((thrown) => report(thrown, { during: 'withdrawing a cancellation' }))
    }
  }

  #waitForWake(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeUp = resolve
    })
  }

  async #waitForJobs(free: number): Promise<void> {
    const { store } = this.#engine
    const controller = new AbortController()
    const { signal } = controller
    this.#wakeUp = () => controller.abort()
    const owner = this.#options.owner()
    const queues = this.#nextQueues()
    const fetched: FetchedJob[] =
      queues.length > 0
        ? await store.workers.waitForJobs(owner, queues, free, WAIT_MS, signal)
        : await sleep(NO_QUEUES_MS, [], { signal }).catch(() => [])
    this.#queuesEmpty = false
    if (owner !== this.#options.owner()) return
    // A call of another capsule may just have heard of a cancellation.
    if (this.#engine.cancellations.isBehind && !(await this.#learnCancellations(owner, fetched))) return
    if (this.#slots.state === 'open') for (const job of fetched) this.#slots.begin(job)
    else for (const job of fetched.toReversed()) this.#slots.requeue(job)
  }

  #wake(): void {
    this.#wakeUp?.()
    this.#wakeUp = undefined
  }
}
