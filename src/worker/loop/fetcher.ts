/**
 * The heart of a worker: one loop that tells the store, in one call, what began and what ended, and takes what comes
 * next. Under load the calls batch themselves, for whatever ends while one is under way goes into the next; when there
 * is nothing to do the loop waits.
 */

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { HighkiqError } from '../../job/errors.ts'
import type { FetchedJob, SettleAndFetchAnswer, Settlement } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import type { EventLoopRecord } from '../executor.ts'
import type { QueueOrder } from '../queue-order.ts'
import type { Attempt } from '../run/attempt.ts'
import { Outage } from './outage.ts'
import type { Requeued } from './requeue-buffer.ts'
import { type Drained, endedJobs, SettlementBuffer } from './settlement-buffer.ts'
import { Slots } from './slots.ts'

export interface FetcherOptions {
  concurrency: number
  queues: QueueOrder
  owner: () => string
  eventLoop: EventLoopRecord
  /** Of the next job that its worker begins. */
  nextSlot: () => number
  /** The store says that this owner is not ours any more: become another one. */
  onFenced: () => Promise<void>
}

/** A wait is asked anew at least so often. */
const WAIT_MS = 2000
/** A call of its own is worth so many ends. */
const WORTH_A_CALL = 20
/** When no queue is to be asked just now. */
const UNASKED_MS = 1000

export class Fetcher {
  readonly #engine: Engine
  readonly #options: FetcherOptions
  readonly #report: SettlementBuffer
  readonly #slots: Slots
  #loop: Promise<void> | undefined
  /** The calls that are under way: they may bring jobs. */
  readonly #outstanding = new Set<Promise<void>>()
  /** Jobs that they ask for. */
  #wanted = 0
  readonly #outage: Outage
  /** Milliseconds to wait before the next call. */
  #rest = 0
  /** While the loop waits. */
  #wakeUp: (() => void) | undefined
  /** The last take brought less than was asked for. */
  #drained = false
  #orderBroke = false
  /** Jobs whose marks, if they have any, are of no use any more. */
  readonly #gone: string[] = []
  /** What the store complained of last: it is told once. */
  #problem: string | undefined

  constructor(engine: Engine, options: FetcherOptions) {
    const { eventLoop, nextSlot } = options
    this.#engine = engine
    this.#outage = new Outage(engine)
    this.#options = options
    this.#report = new SettlementBuffer(engine)
    this.#slots = new Slots(engine, { eventLoop, nextSlot, buffer: this.#report, wake: () => this.#wake() })
  }

  get busy(): number {
    return this.#slots.busy
  }

  get attempts(): Attempt[] {
    return this.#slots.attempts
  }

  start(): void {
    this.#loop = this.#turns()
  }

  /** Takes no more. */
  quiet(): void {
    if (this.#slots.state === 'open') this.#slots.state = 'quiet'
    this.#wake()
  }

  /** Resolves when nothing runs, and nothing is about to. */
  async idle(): Promise<void> {
    await Promise.all(this.#outstanding)
    await this.#slots.empty()
  }

  /** Tells every handler that runs to end. */
  abort(code: 'SHUTDOWN' | 'LEASE_LOST', message: string): void {
    this.#slots.abort(code, message)
  }

  /** Lets go of all that still runs or waits to go back; answers what puts it back. */
  drain(): Requeued[] {
    this.quiet()
    return this.#slots.drain()
  }

  /** Tells the store these and all else that is left to tell, and ends. */
  async stop(settlements: readonly Settlement[]): Promise<void> {
    for (const settlement of settlements) this.#report.add(settlement)
    this.#slots.state = 'stopping'
    this.#wake()
    await this.#loop
  }

  /** The owner's jobs belong to others now: forget them. */
  onLeaseLost(): void {
    this.abort('LEASE_LOST', 'this process lost its lease: the job may run elsewhere by now')
    this.#report.clear()
    this.#slots.onLeaseLost()
    // All slots are free now.
    this.#wake()
  }

  async #turns(): Promise<void> {
    const { maxConcurrentCalls: turnsAtOnce } = this.#engine.store
    for (;;) {
      const free = this.#free
      const telling = !this.#report.isEmpty
      const underWay = this.#outstanding.size
      // At the end there is no point in asking for ever: the lease ends, and what we hold is found.
      const isVain = this.#outage.failures > 5 || this.#outage.isFinal
      if (this.#slots.state === 'stopping' && underWay === 0 && (!telling || isVain)) return
      if (this.#rest > 0 && underWay === 0) {
        const ms = this.#rest
        this.#rest = 0
        await sleep(ms)
      } else if (this.#rest === 0 && underWay < turnsAtOnce && (telling || (free > 0 && !this.#drained))) {
        // Handlers that take no time have ended after this, and are told in the same call.
        await nextTurn()
        this.#launch()
      } else if (underWay > 0 || free === 0) {
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
   * How many slots the next call is about. Of a store that wants several calls at once each gets its part: it works on one
   * while here handlers run whose ends go into another.
   */
  get #share(): number {
    const calls = this.#engine.store.maxConcurrentCalls - this.#outstanding.size
    return Math.max(Math.ceil(this.#options.concurrency / calls), WORTH_A_CALL)
  }

  /** Slots for which no job was asked yet. */
  get #free(): number {
    if (this.#slots.state !== 'open') return 0
    return Math.max(this.#options.concurrency - this.#slots.busy - this.#wanted, 0)
  }

  #launch(): void {
    const share = this.#share
    const n = Math.min(this.#free, share)
    this.#wanted += n
    const turn = this.#turn(n, this.#report.drain(share))
      .then(
        () => this.#outage.over(),
        (thrown) => this.#failed(thrown),
      )
      .finally(() => {
        this.#outstanding.delete(turn)
        this.#wake()
      })
    this.#outstanding.add(turn)
  }

  #failed(thrown: unknown): void {
    this.#outage.failed(thrown, 'taking jobs')
    this.#rest = this.#outage.restMs
  }

  async #turn(n: number, telling: Drained): Promise<void> {
    const { store, cancellations, now } = this.#engine
    const owner = this.#options.owner()
    let answer: SettleAndFetchAnswer
    try {
      const take = { queues: n > 0 ? this.#nextQueues() : [], n }
      const settlements = telling.ends.map(({ settlement }) => settlement)
      answer = await store.workers.settleAndFetch(owner, {
        now: now(),
        started: telling.started,
        settlements,
        fetch: take,
      })
    } catch (thrown) {
      if (owner !== this.#options.owner()) {
        this.#report.reportLost(telling)
        return
      }
      this.#report.restore(telling)
      throw thrown
    } finally {
      this.#wanted -= n
    }
    // We became another owner meanwhile: what this call was about belongs to others.
    if (owner !== this.#options.owner()) {
      this.#report.reportLost(telling, answer)
      return
    }
    if (answer.fenced) {
      this.#report.reportLost(telling)
      await this.#options.onFenced()
      return
    }
    cancellations.noteVersion(answer.cancellations)
    const applied = this.#report.applyAnswer(telling, answer)
    if (n > 0) this.#drained = answer.fetched.length < n
    if (cancellations.isBehind || !cancellations.isEmpty) this.#gone.push(...endedJobs(telling, answer))
    if (cancellations.isBehind && !(await this.#applyCancellations(owner, answer.fetched))) return
    this.#unmarkGone()
    if (this.#slots.state === 'stopping')
      for (const fetched of answer.fetched.toReversed()) this.#slots.requeue(fetched)
    else for (const fetched of answer.fetched) this.#slots.begin(fetched)
    this.#tellProblem(answer.problem)
    if (!applied) {
      throw new HighkiqError(
        'STORE_UNUSABLE',
        `the store could not settle a job: asking again. ${answer.problem ?? ''}`,
      )
    }
  }

  #tellProblem(problem: string | undefined): void {
    if (problem === this.#problem) return
    this.#problem = problem
    if (problem) {
      this.#engine.report(new HighkiqError('STORE_UNUSABLE', problem), { during: 'taking and settling jobs' })
    }
  }

  /** A strategy that breaks must not hold up what ended. */
  #nextQueues(): readonly string[] {
    const { queues } = this.#options
    try {
      const next = queues.next()
      this.#orderBroke = false
      return next
    } catch (thrown) {
      if (!this.#orderBroke) this.#engine.report(thrown, { during: 'fetchOrder; queues are asked as listed' })
      this.#orderBroke = true
      return queues.names
    }
  }

  /** Something was cancelled: no job begins before it is known which. False: the jobs taken belong to others by now. */
  async #applyCancellations(owner: string, fetched: readonly FetchedJob[]): Promise<boolean> {
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

  /** They have ended by themselves before anybody stopped them. */
  #unmarkGone(): void {
    const { store, cancellations, now, report } = this.#engine
    for (const jid of this.#gone.splice(0)) {
      if (cancellations.has(jid))
        store.cancellations.withdraw(jid, now()).catch((thrown) => report(thrown, { during: 'taking a mark back' }))
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
    const handed: FetchedJob[] =
      queues.length > 0
        ? await store.workers.waitForJobs(owner, queues, free, WAIT_MS, signal)
        : await sleep(UNASKED_MS, [], { signal }).catch(() => [])
    this.#drained = false
    if (owner !== this.#options.owner()) return
    // Another capsule's turn may just have heard of a mark.
    if (this.#engine.cancellations.isBehind && !(await this.#applyCancellations(owner, handed))) return
    if (this.#slots.state === 'open') for (const fetched of handed) this.#slots.begin(fetched)
    else for (const fetched of handed.toReversed()) this.#slots.requeue(fetched)
  }

  #wake(): void {
    this.#wakeUp?.()
    this.#wakeUp = undefined
  }
}
