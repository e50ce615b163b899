/** The loop of a capsule: each call settles what ended and fetches the next jobs, in one step of the store. */

import { setTimeout as sleep } from 'node:timers/promises'
import { HighkiqError } from '../../job/errors.ts'
import type { FetchedJob, SettleAndFetchAnswer } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import type { WorkerHandle } from '../executor.ts'
import type { QueueOrder } from '../queue-order.ts'
import type { Attempt } from '../run/attempt.ts'
import { eventsOfEnd, withEvents } from './attempt-events.ts'
import { CallLoop } from './call-loop.ts'
import { LateCancellations } from './late-cancellations.ts'
import { PostponedSettlements } from './postponed-settlements.ts'
import type { Requeued } from './requeue-buffer.ts'
import { clearingCancellations, type Drained, endedJobs, SettlementBuffer } from './settlement-buffer.ts'
import { Slots } from './slots.ts'

export interface FetcherOptions extends WorkerHandle {
  concurrency: number
  queues: QueueOrder
}

/** The content of one call: `n` is the number of jobs that it fetches at most. */
interface Sent extends Drained {
  owner: string
  n: number
  /** Whether it requeues jobs that were fetched ahead. */
  requeues: boolean
  /** Whether it carries the events of its attempts. */
  isRecorded?: boolean
  /** The version of the cancellations that the worker knew. The call removes those of the jobs that it ends. */
  knownVersion?: number
  /** Called when the jobs of all calls that were sent before this one are in the slots. */
  onFirst?: () => void
}

/** The store waits for jobs at most this long before it is asked again. */
const WAIT_MS = 10_000
/** The same for capsules with `fetchOrder`, whose answer may change meanwhile. */
const CHOSEN_WAIT_MS = 2000
/** One call settles and fetches at least this many jobs if there are as many. */
const MIN_BATCH = 20
/** The wait while `fetchOrder` names no queue. */
const NO_QUEUES_MS = 1000

export class Fetcher extends CallLoop<Sent, SettleAndFetchAnswer> {
  readonly #options: FetcherOptions
  readonly #buffer: SettlementBuffer
  readonly #postponed: PostponedSettlements
  readonly #slots: Slots
  /** The calls that fetch, in the order in which they were sent, until their jobs are in the slots. */
  readonly #fetching: Sent[] = []
  /**
   * Jobs that were fetched ahead are requeued: `waiting` for the calls that fetch and for the end of the wait for jobs, `ready`
   * for the next call, and `sent` until it is answered. Meanwhile no call fetches, so that the jobs keep their order. `blocking`
   * is like `waiting`, but no job starts, because jobs that were fetched ahead must come before newer ones.
   */
  #requeuing: 'no' | 'waiting' | 'blocking' | 'ready' | 'sent' = 'no'
  /** Ends the wait for jobs; undefined once the slots have its jobs. Meanwhile calls settle jobs and fetch none. */
  #waiting: AbortController | undefined
  /** The last fetch returned fewer jobs than asked for. */
  #queuesEmpty = false
  #orderFailed = false
  readonly #lateCancellations: LateCancellations

  constructor(engine: Engine, options: FetcherOptions) {
    super(engine, 'fetching jobs')
    const { concurrency, eventLoop, nextSlot } = options
    this.#options = options
    this.#buffer = new SettlementBuffer(engine)
    this.#postponed = new PostponedSettlements(this.#buffer, () => this.#wake())
    this.#lateCancellations = new LateCancellations(engine)
    this.#slots = new Slots(engine, {
      concurrency,
      eventLoop,
      owner: () => options.owner(),
      nextSlot,
      buffer: this.#buffer,
      mayFill: () => this.#requeuing === 'no' || this.#requeuing === 'waiting',
      askRequeuePrefetched: () => this.#askRequeuePrefetched(),
      wake: () => this.#wake(),
    })
  }

  get busy(): number {
    return this.#slots.running.size
  }

  get attempts(): Attempt[] {
    return this.#slots.running.all
  }

  start(): void {
    this.plan()
  }

  /** Changes the number of jobs that run at the same time. Jobs that were fetched ahead go back to their queues. */
  resize(concurrency: number): void {
    this.#options.concurrency = concurrency
    this.#askRequeuePrefetched()
    this.#slots.resize(concurrency)
    this.#wake()
  }

  quiet(): void {
    if (this.#slots.state === 'open') this.#slots.state = 'quiet'
    this.#askRequeuePrefetched()
    this.#wake()
  }

  recordProgress(): void {
    this.#slots.recorder.recordProgress()
  }

  async idle(): Promise<void> {
    await this.callsEnded()
    await this.#slots.running.empty()
  }

  abort(code: 'SHUTDOWN' | 'LEASE_LOST', message: string): void {
    this.#slots.abort(code, message)
  }

  /** Fetches no more jobs and empties all slots. Returns each job with the settlement that requeues it. */
  drain(): Requeued[] {
    this.quiet()
    this.#slots.requeuePrefetched()
    return this.#slots.drain()
  }

  /**
   * Sends these settlements and all that are left to the store, and ends. After an abort it drops those that are left. Resolves
   * with whether none was dropped.
   */
  async stop(requeued: readonly Requeued[], signal: AbortSignal): Promise<boolean> {
    for (const { settlement, attempt } of requeued) this.#buffer.add(settlement, [], attempt)
    this.#slots.state = 'stopping'
    this.#wake()
    return this.finish(signal)
  }

  onLeaseLost(): void {
    this.abort('LEASE_LOST', 'this process lost its lease: the job may run elsewhere by now')
    this.#buffer.clear()
    this.#requeuing = 'no'
    this.#slots.onLeaseLost()
    this.#waiting?.abort('lost')
    this.#wake()
  }

  protected override get hasSettlements(): boolean {
    return !this.#buffer.isEmpty || this.#buffer.hasPostponed
  }

  protected override get callsDuringStep(): boolean {
    // The wait must not fetch the jobs that a call requeues.
    return this.#waiting !== undefined && this.#requeuing === 'no'
  }

  protected override get hasWork(): boolean {
    return !this.#buffer.isEmpty || (!this.#queuesEmpty && this.#free > 0)
  }

  protected override drainCall(): Sent | undefined {
    // A store that takes several calls at once works on one while the worker runs the jobs of another.
    const calls = this.engine.store.maxConcurrentCalls - this.callCount
    if (!this.#options.queues.forbidsPrefetch) this.#slots.prefetch.measure()
    const size = Math.max(Math.ceil((this.#options.concurrency + this.#slots.prefetch.limit) / calls), MIN_BATCH)
    const free = Math.min(this.#free, size)
    if (free === 0 && this.#buffer.isEmpty) return undefined
    const requeues = this.#requeuing === 'ready'
    if (requeues) this.#requeuing = 'sent'
    const drained = this.#buffer.drain(requeues ? undefined : size)
    // A store may fetch before it has settled them all. Then it would return a job of those that go to the front.
    const n = drained.ended.length > size ? 0 : free
    const sent = { ...drained, owner: this.#options.owner(), n, requeues }
    if (n > 0) this.#fetching.push(sent)
    return sent
  }

  protected override send(sent: Sent): Promise<SettleAndFetchAnswer> {
    const asking = this.engine.recording.refreshed()
    return asking ? asking.then(() => this.#settleAndFetch(sent)) : this.#settleAndFetch(sent)
  }

  #settleAndFetch(sent: Sent): Promise<SettleAndFetchAnswer> {
    const { owner, n, started: starts, ended, records } = sent
    const { store, now, recording, cancellations } = this.engine
    sent.isRecorded = recording.mayBeOn()
    sent.knownVersion = cancellations.version
    const started = [...starts.values()].flat()
    if (records.length > 0) started.push({ queue: '', ticket: '', effects: [...records] })
    const at = now()
    const settlements = ended.map((one) => {
      const settlement = sent.isRecorded ? withEvents(one.settlement, one.attempt, at) : one.settlement
      return clearingCancellations(one, settlement, cancellations, at)
    })
    const fetch = { queues: n > 0 ? this.#nextQueues() : [], n }
    return store.workers.settleAndFetch(owner, { now: at, started, settlements, fetch })
  }

  protected override restore(sent: Sent): boolean {
    this.#noteFetched(sent)
    const isOwner = this.#isOwner(sent.owner)
    if (isOwner && sent.requeues) this.#requeuing = 'ready'
    if (isOwner) this.#buffer.restore(sent)
    else this.#buffer.reportLost(sent)
    return isOwner
  }

  protected override async applyAnswer(sent: Sent, answer: SettleAndFetchAnswer): Promise<void> {
    let isApplied: boolean | 'lost'
    try {
      isApplied = await this.#applyAnswer(sent, answer)
    } finally {
      this.#noteFetched(sent)
    }
    if (isApplied === 'lost') return
    if (!sent.isRecorded && this.engine.recording.mayBeOn()) await this.#recordLate(sent, answer)
    if (!this.#lateCancellations.isEmpty) await this.#lateCancellations.withdraw()
    if (isApplied) return
    throw new HighkiqError(
      'STORE_UNUSABLE',
      `the store could not settle a job, and the worker tries again${answer.problem ? `: ${answer.problem}` : ''}`,
    )
  }

  /** Resolves with whether the store could settle all jobs; `lost` when the jobs belong to other workers by now. */
  async #applyAnswer(sent: Sent, answer: SettleAndFetchAnswer): Promise<boolean | 'lost'> {
    const { owner, n } = sent
    const { cancellations, control } = this.engine
    // The lease was lost during the call: its jobs belong to other workers.
    if (!this.#isOwner(owner)) {
      this.#buffer.reportLost(sent, answer)
      return 'lost'
    }
    if (answer.fenced) {
      this.#buffer.reportLost(sent)
      await this.#options.onFenced()
      return 'lost'
    }
    if (sent.requeues) this.#requeuing = 'no'
    control.note(answer.cancellations)
    const allApplied = this.#buffer.applyAnswer(sent, answer)
    this.#postponed.plan()
    const areKnown = !control.isBehind && cancellations.version === sent.knownVersion
    if (!areKnown) this.#lateCancellations.addEnded(endedJobs(sent, answer))
    // Jobs start in the order in which they were fetched. Answers that arrive together may be read in any order.
    if (n > 0 && this.#fetching[0] !== sent) {
      await new Promise<void>((resolve) => {
        sent.onFirst = resolve
      })
      if (!this.#isOwner(owner)) return 'lost'
    }
    if (n > 0) this.#queuesEmpty = answer.fetched.length < n
    if (control.isBehind && !(await this.#readControl(owner, answer.fetched))) return 'lost'
    this.#slots.add(answer.fetched)
    // The capsule became quiet during the call: its jobs are requeued, after newer ones that calls under way bring.
    if (this.#slots.state !== 'open') this.#askRequeuePrefetched()
    return allApplied
  }

  /** Notes that the slots have the jobs of a call, or that it has none. */
  #noteFetched(sent: Sent): void {
    const at = this.#fetching.indexOf(sent)
    if (at < 0) return
    this.#fetching.splice(at, 1)
    if (at === 0) this.#fetching[0]?.onFirst?.()
  }

  /** Records the events of a call that took so long that a recording may have been confirmed meanwhile. */
  async #recordLate({ ended }: Sent, { settled }: SettleAndFetchAnswer): Promise<void> {
    const { store, recording, now, report } = this.engine
    await recording.ask()
    if (!recording.isOn) return
    const attempts = ended.flatMap(({ attempt }, i) => (settled[i] === 'ok' && attempt ? [attempt] : []))
    const records = attempts.flatMap((attempt) => eventsOfEnd(attempt, now()))
    await store.events.append(records, now()).catch((thrown) => report(thrown, { during: 'recording events of jobs' }))
  }

  protected override callEnded(): void {
    if (this.#requeueWaits) this.#askRequeuePrefetched()
  }

  protected override onIdle(): void {
    // A wait has brought these jobs. `callEnded` runs only after calls.
    if (this.#requeueWaits) this.#askRequeuePrefetched()
    if (this.#free > 0) this.step(() => this.#waitForJobs(this.#free))
  }

  /** The number of jobs that could be fetched now, besides those that calls under way fetch. */
  get #free(): number {
    const { running, prefetch, state } = this.#slots
    if (state !== 'open' || this.#requeuing !== 'no' || this.#waiting) return 0
    let free = this.#options.concurrency - running.size + prefetch.limit - prefetch.size
    for (const { n } of this.#fetching) free -= n
    return Math.max(free, 0)
  }

  /**
   * Requeues the jobs fetched ahead, but first waits for calls under way and the wait for jobs: they bring newer jobs, which must
   * be requeued first.
   */
  #askRequeuePrefetched(): void {
    if (this.#requeuing === 'sent') return
    if (this.#fetching.length > 0 || this.#waiting) {
      if (this.#requeuing !== 'blocking') this.#requeuing = this.#slots.prefetch.size > 0 ? 'blocking' : 'waiting'
    } else if (this.#slots.requeuePrefetched()) this.#requeuing = 'ready'
    else if (this.#requeueWaits) this.#requeuing = 'no'
    this.#wake()
  }

  /** Whether a requeue waits for the calls that fetch, or for the end of the wait for jobs. */
  get #requeueWaits(): boolean {
    return this.#requeuing === 'waiting' || this.#requeuing === 'blocking'
  }

  #isOwner(owner: string): boolean {
    return owner === this.#options.owner()
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
        this.engine.report(thrown, { during: 'fetchOrder; the queues are fetched from as listed' })
      this.#orderFailed = true
      return queues.names
    }
  }

  /**
   * Reads which jobs were cancelled and which limits were set, before any job starts. Resolves with false when the jobs
   * belong to other workers by now.
   */
  async #readControl(owner: string, fetched: readonly FetchedJob[]): Promise<boolean> {
    try {
      await this.engine.control.refresh()
    } catch (thrown) {
      if (fetched.length > 0 && this.#isOwner(owner)) this.#requeueFetched(fetched)
      throw thrown
    }
    return this.#isOwner(owner)
  }

  /**
   * Requeues the jobs that a call or a wait has fetched. No job starts until the calls under way have brought newer jobs, because
   * those must be requeued first. While the worker waits for jobs, no call fetches: then a closed capsule requeues at once.
   */
  #requeueFetched(fetched: readonly FetchedJob[]): void {
    if (this.#waiting && this.#slots.state !== 'open') {
      this.#slots.requeue(fetched)
      return
    }
    for (const job of fetched) this.#slots.prefetch.add(job)
    this.#askRequeuePrefetched()
  }

  async #waitForJobs(free: number): Promise<void> {
    const { store, control } = this.engine
    const { isChosen } = this.#options.queues
    const owner = this.#options.owner()
    const queues = this.#nextQueues()
    this.#waiting = new AbortController()
    const { signal } = this.#waiting
    try {
      const fetched =
        queues.length > 0
          ? await store.workers.waitForJobs(owner, queues, free, isChosen ? CHOSEN_WAIT_MS : WAIT_MS, signal)
          : await sleep(NO_QUEUES_MS, [], { signal }).catch((): FetchedJob[] => [])
      this.#queuesEmpty = false
      if (!this.#isOwner(owner)) return
      // A call of another capsule may have reported a new cancellation meanwhile.
      if (control.isBehind && !(await this.#readControl(owner, fetched))) return
      // A wait that brings no job may not have asked the store: the worker may not know of new cancellations.
      if (fetched.length > 0) {
        if (this.#slots.state === 'open') this.#slots.add(fetched)
        else this.#slots.requeue(fetched)
      }
      this.answered()
    } finally {
      this.#waiting = undefined
    }
  }

  /** Plans a call, because a job has ended or a slot is free. Ends the wait for jobs when the worker must fetch none. */
  #wake(): void {
    // A reason spares the error with a stack that an abort makes.
    if (this.#slots.state !== 'open' || this.#requeuing !== 'no') this.#waiting?.abort('stop')
    this.plan()
  }
}
