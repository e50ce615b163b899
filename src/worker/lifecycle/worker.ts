/** A worker: it starts, runs jobs, becomes quiet, and stops. */

import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { JobContext } from '../../job/context.ts'
import { HighkiqError, invalidOption } from '../../job/errors.ts'
import { plural } from '../../job/plural.ts'
import type { SlotOptions } from '../../job/slots.ts'
import { within } from '../../job/wait.ts'
import type { BackgroundService } from '../background-service.ts'
import type { Engine, WorkerAbout } from '../engine.ts'
import type { Executor, Running, WorkerHandle } from '../executor.ts'
import { Rescuer } from '../lease/rescuer.ts'
import { WorkerLease } from '../lease/worker-lease.ts'
import { type WorkerOptions, type WorkerSettings, workerSettings } from '../options.ts'
import type { Attempt } from '../run/attempt.ts'
import { ThreadPool, type ThreadSource } from '../threads/pool.ts'
import { CancellationPoller } from './cancellation-poller.ts'
import { type Binding, type Capsule, Capsules, planCapsules, slotsOf } from './capsules.ts'
import { DueJobs } from './due-jobs.ts'
import { dump } from './dump.ts'
import { Heartbeat } from './heartbeat.ts'
import { ProgressRecorder } from './progress-recorder.ts'
import { ProgressUpdater } from './progress-updater.ts'
import { idleWithin, runningJobs, shownJobs, summaryOf } from './shown-jobs.ts'
import { openWhenPossible, retryLostCalls } from './start-retries.ts'
import { WorkerProcess } from './worker-process.ts'

/** Milliseconds that running jobs get after their signal was aborted. */
const GRACE_MS = 3000
/** Milliseconds to release the lease in the store. */
const RELEASE_MS = 5000
/** Milliseconds to settle and requeue the remaining jobs, even after the deadline of the stop. */
const SETTLE_MS = 2000
/** The most milliseconds for that, however long the timeout is. */
const MOST_SETTLE_MS = 30_000
/** Milliseconds to end the background services, even after the deadline. */
const SERVICES_MS = 500
/** Milliseconds that the handlers of `shutdown`, and those of `exit`, get even after the deadline. */
const HANDLERS_MS = 500
/** The longest time of a timer, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** How to make an executor that runs beside the capsules. */
export interface ExecutorPlan {
  /** The number of batches that it runs at the same time. */
  slots: number
  make(engine: Engine, handle: WorkerHandle): Executor
}

/** The settings that an app adds to the options of its worker. */
export interface WorkerParts {
  version: string
  services?: BackgroundService[]
  bindings?: readonly Binding[]
  /** The queues that the jobs of the app name. */
  defined?: readonly string[]
  /** The most jobs of each queue that has such a limit in the app. */
  maxLengths?: ReadonlyMap<string, number>
  executors?: readonly ExecutorPlan[]
  threads: () => ThreadSource
}

export class Worker extends WorkerProcess {
  readonly identity: string
  /** The number of batches of ordered queues that run at the same time, in addition. */
  readonly orderedConcurrency: number
  readonly options: WorkerSettings
  readonly #engine: Engine
  readonly #capsules: Capsules
  readonly #executors: readonly Executor[]
  readonly #lease: WorkerLease
  readonly #services: BackgroundService[]
  /** The services that were started and must be stopped. */
  readonly #started: BackgroundService[] = []
  readonly #rescuer: Rescuer
  readonly #heartbeat: Heartbeat
  readonly #threads: ThreadPool
  #state: 'new' | 'running' | 'quiet' | 'stopping' | 'stopped' = 'new'
  #starting: Promise<void> | undefined
  readonly #startAbort = new AbortController()
  #rejectStart: (why: Error) => void = () => {}
  #quieting: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #whenStopped: (() => void)[] = []

  /** @throws INVALID_OPTION */
  constructor(app: Engine, options: WorkerOptions, parts: WorkerParts) {
    super()
    this.options = workerSettings(options)
    this.identity = `${process.env.DYNO ?? hostname()}:${process.pid}:${randomBytes(6).toString('hex')}`
    const { leaseSeconds, pollInterval, promote } = this.options
    const plan = planCapsules(this.options, parts.bindings ?? [], app.random)
    const { executors = [], services = [] } = parts
    this.orderedConcurrency = executors.reduce((sum, { slots }) => sum + slots, 0)
    this.#lease = this.#createLease(app)
    this.#threads = new ThreadPool(parts.threads, app.report)
    const engine = this.#createEngine(app)
    this.#engine = engine
    const handle = this.#createHandle()
    this.#capsules = new Capsules(engine, plan, handle)
    this.#executors = [this.#capsules, ...executors.map(({ make }) => make(engine, handle))]
    this.#rescuer = new Rescuer(engine, leaseSeconds, () => this.#lease.owner)
    const updater = new ProgressUpdater(engine, this.identity, () => this.#attempts)
    this.#heartbeat = this.#createHeartbeat(updater, plan, parts)
    this.#services = [
      this.#rescuer,
      new DueJobs(engine, pollInterval, promote),
      new CancellationPoller(engine, () => this.#capsules.attempts),
      new ProgressRecorder(engine, this.#capsules),
      updater,
      this.#heartbeat,
      this.#threads,
      ...services,
    ]
  }

  #createLease(app: Engine): WorkerLease {
    const { leaseSeconds, maxBlockSeconds } = this.options
    return new WorkerLease(app, {
      identity: this.identity,
      seconds: leaseSeconds,
      maxBlockSeconds,
      queues: () => this.#executors.flatMap(({ queues }) => queues),
      onLost: () => {
        for (const executor of this.#executors) executor.onLeaseLost()
      },
      onRejoined: () => this.#rescuer.claimAndRescue(),
    })
  }

  /** Returns the engine of the app, with the state of this worker. */
  #createEngine(app: Engine): Engine {
    return {
      ...app,
      emit: (event) => app.emit(event, this.about),
      threads: this.#threads,
      isStopping: () => this.#state !== 'running',
      lease: this.#lease.renewer,
      fatalAt: () => this.fatalAt,
    }
  }

  #createHandle(): WorkerHandle {
    let nextSlot = 0
    return {
      owner: () => this.#lease.owner,
      eventLoop: this.#lease.eventLoop,
      nextSlot: () => nextSlot++,
      onFenced: () => this.#lease.rejoin(),
    }
  }

  #createHeartbeat(updater: ProgressUpdater, plan: readonly Capsule[], parts: WorkerParts): Heartbeat {
    const { tag, labels } = this.options
    const shown = {
      identity: this.identity,
      tag,
      labels,
      capsules: plan,
      get concurrency() {
        return slotsOf(plan)
      },
      orderedConcurrency: this.orderedConcurrency,
      startedAt: this.#engine.now(),
      version: parts.version,
      defined: parts.defined ?? [],
      maxLengths: parts.maxLengths ?? new Map(),
      isEmbedded: () => !this.ownsProcess,
    }
    const state = () => {
      const running = this.#attempts
      updater.addListed(running)
      return { quiet: this.#state !== 'running', running: runningJobs(running) }
    }
    return new Heartbeat(this.#engine, shown, state, (signal) => this.obey(signal))
  }

  /** The number of jobs that run at the same time, in all capsules. */
  get concurrency(): number {
    return slotsOf(this.#capsules.plan)
  }

  get busy(): number {
    return this.#executors.reduce((sum, { busy }) => sum + busy, 0)
  }

  /** The concurrency for display: `10`, or `10 + 5` with 5 batches of ordered queues. */
  get slots(): string {
    const { concurrency, orderedConcurrency } = this
    return orderedConcurrency > 0 ? `${concurrency} + ${orderedConcurrency}` : String(concurrency)
  }

  /** The names of the queues that it serves. */
  get queues(): string[] {
    return this.#capsules.queues
  }

  /** @internal */
  protected override get engine(): Engine {
    return this.#engine
  }

  protected override get about(): WorkerAbout {
    const { identity, queues, concurrency, orderedConcurrency } = this
    return { identity, queues, concurrency, orderedConcurrency }
  }

  /** Starts to fetch jobs. Rejects when the store or a `startup` handler fails; the worker is stopped then. */
  override async start(): Promise<void> {
    if (this.#state !== 'new')
      throw invalidOption('this worker was started or stopped before: create another one with hq.worker()')
    this.#state = 'running'
    this.#starting = this.#start().finally(() => {
      // A stop need not wait for the start any more.
      this.#starting = undefined
    })
    await new Promise<void>((resolve, reject) => {
      this.#rejectStart = reject
      this.#starting?.then(resolve, reject)
    })
  }

  /**
   * Changes how many jobs a capsule runs at the same time, until the worker stops; default: the worker's own capsule. With
   * fewer slots, running jobs go on, and the next ones wait. Resolves when the list of processes shows it.
   *
   * @example await worker.set({ concurrency: 20 })
   * @throws INVALID_OPTION
   */
  override async set(options: SlotOptions): Promise<void> {
    this.#capsules.resize('worker.set', options)
    await this.#heartbeat.changed()
  }

  /** Fetches no more jobs; running jobs continue. This can't be undone. */
  override quiet(): Promise<void> {
    if (this.#state === 'running') this.#quieting ??= this.#quiet()
    return this.#quieting ?? Promise.resolve()
  }

  /**
   * Stops gracefully: the worker fetches no more jobs, and running jobs get `timeout` seconds. Then it aborts `ctx.signal`,
   * and 3 seconds later puts the jobs that still run back to the front of their queues. If the store does not answer within
   * 2 more seconds, other workers run these jobs again when the lease has ended.
   */
  override stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  /** Rescues the jobs of dead processes of this machine at once, for instance when a parent process saw one die. */
  async rescue(): Promise<void> {
    if (this.#state === 'running' || this.#state === 'quiet') await this.#rescuer.checkProcessesNow()
  }

  protected override get isFetching(): boolean {
    return this.#state === 'running'
  }

  protected override get isStopping(): boolean {
    return this.#stopping !== undefined
  }

  protected override async ended(): Promise<void> {
    if (this.#state === 'stopped') return
    await new Promise<void>((resolve) => this.#whenStopped.push(resolve))
  }

  async #quiet(): Promise<void> {
    this.#state = 'quiet'
    for (const executor of this.#executors) executor.quiet()
    const emitted = this.#engine.emit('quiet')
    for (const service of this.#started) await service.quiet?.()
    await emitted
  }

  async #start(): Promise<void> {
    const { store, emit, log } = this.#engine
    try {
      await openWhenPossible(() => retryLostCalls(() => store.open()), log, this.#startAbort.signal)
    } catch (thrown) {
      this.#state = 'stopped'
      throw thrown
    }
    try {
      // A stop may have ended before this start: nothing may start after it.
      const throwIfLeft = () => {
        if (this.#lease.hasLeft) throw stoppedBefore()
      }
      await retryLostCalls(() => this.#lease.join())
      throwIfLeft()
      await emit('startup')
      throwIfLeft()
      this.#started.push(...this.#services)
      const starts = await Promise.allSettled(this.#services.map(async (service) => service.start()))
      throwIfLeft()
      for (const start of starts) if (start.status === 'rejected') throw start.reason
      // The worker became quiet while it started.
      if (this.#state !== 'running') for (const service of this.#started) await service.quiet?.()
      for (const executor of this.#executors) executor.start()
    } catch (thrown) {
      await this.#leave()
      this.#state = 'stopped'
      throw thrown
    }
  }

  async #stop(): Promise<void> {
    const { log, emit } = this.#engine
    const { timeout } = this.options
    const deadline = performance.now() + timeout * 1000 + GRACE_MS
    const withinDeadline = (work: Promise<unknown>, reserveMs: number, leastMs: number, mostMs = MAX_TIMER_MS) => {
      const ms = Math.max(deadline - reserveMs - performance.now(), leastMs)
      return within(Math.min(ms, mostMs), work)
    }
    this.#startAbort.abort(stoppedBefore())
    // A start under way completes first, so that nothing is half started.
    const starting = this.#starting?.catch(() => undefined)
    if (starting && !(await withinDeadline(starting, SETTLE_MS, 0))) this.#rejectStart(stoppedBefore())
    if (this.#state === 'new') this.#state = 'stopped'
    if (this.#state === 'stopped') return
    // The timeout runs from now on, however long the `quiet` handlers take.
    const quieting = this.quiet()
    this.#state = 'stopping'
    this.stopBegan()
    this.#lease.renewer.stopIn(timeout * 1000 + GRACE_MS)
    if (!(await idleWithin(timeout * 1000, this.#executors, this.#engine)) && this.busy > 0) {
      for (const executor of this.#executors) executor.abort('SHUTDOWN', 'the worker is stopping')
      await idleWithin(GRACE_MS, this.#executors, this.#engine)
    }
    await withinDeadline(quieting, SETTLE_MS + SERVICES_MS, 0, GRACE_MS)
    const handled = async (event: 'shutdown' | 'exit', reserveMs: number) => {
      if (await withinDeadline(emit(event), reserveMs, HANDLERS_MS)) return
      log.warn(
        { event },
        `a handler of hq.on('${event}') has not ended in time: the worker stops without waiting for it`,
      )
    }
    await handled('shutdown', SETTLE_MS + SERVICES_MS)
    const late = this.#attempts
    const givingUp = new AbortController()
    const settled = this.#stopExecutors(late.length, givingUp.signal)
    if (!(await withinDeadline(settled, SERVICES_MS, SETTLE_MS, MOST_SETTLE_MS))) {
      givingUp.abort()
      log.error(
        { jobs: shownJobs(late, this.#engine.now()) },
        'the store did not settle all jobs before the stop had to end: those that ended just now or still ran will run again on other workers when the lease has ended',
      )
    }
    await this.#leave(Math.max(deadline - performance.now(), SERVICES_MS), givingUp.signal.aborted ? 0 : RELEASE_MS)
    await handled('exit', 0)
    this.#state = 'stopped'
    for (const resolve of this.#whenStopped.splice(0)) resolve()
  }

  /** Settles all ended jobs and requeues the others. `late` is the number of jobs that did not end in time. */
  async #stopExecutors(late: number, signal: AbortSignal): Promise<void> {
    const { log, now } = this.#engine
    const requeued = (await Promise.all(this.#executors.map((executor) => executor.stop(signal)))).flat()
    await this.#lease.settled()
    if (requeued.length === 0 || signal.aborted) return
    const jobs = shownJobs(requeued, now())
    const some = late > 0 ? ` (${late} did not end in time)` : ''
    log[late > 0 ? 'warn' : 'info']({ jobs }, `requeued ${plural(requeued.length, 'job')}${some}: ${summaryOf(jobs)}`)
  }

  /** Stops the services and releases the lease. Does not wait for a store that does not answer: the lease ends by itself. */
  async #leave(servicesMs = RELEASE_MS, releaseMs = RELEASE_MS): Promise<void> {
    this.#lease.leave()
    const stop = async (service: BackgroundService) => service.stop?.()
    const stopSafely = (service: BackgroundService) =>
      stop(service).catch((thrown) => this.#engine.report(thrown, { during: 'stopping' }))
    const inTime = await within(Math.min(servicesMs, RELEASE_MS), Promise.all(this.#started.map(stopSafely)))
    await this.#lease.release(inTime ? releaseMs : 0)
  }

  /** Returns the attempt to which a context belongs, and its owner; undefined when it does not run here. @internal */
  attemptOf(ctx: JobContext): { attempt: Attempt; owner: string } | undefined {
    const attempt = this.#capsules.attempts.find((one) => one.ctx === ctx)
    return attempt && { attempt, owner: this.#lease.owner }
  }

  get #attempts(): Running[] {
    return this.#executors.flatMap(({ attempts }) => attempts)
  }

  protected override dump(): void {
    const { identity, slots } = this
    const threads = { lease: this.#lease.renewer.threadId, jobs: this.#threads.running }
    void dump(this.#engine, { identity, slots, owner: this.#lease.owner, attempts: this.#attempts, threads })
  }
}

function stoppedBefore(): HighkiqError {
  const message = 'the worker was stopped while it waited for the store to start: start it again'
  return new HighkiqError('STORE_TIMEOUT', message)
}
