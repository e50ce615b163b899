/** A worker's life: start, run, quiet, stop. */

import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { HighkiqError } from '../../job/errors.ts'
import { plural } from '../../job/plural.ts'
import { within } from '../../job/wait.ts'
import type { RunningJob } from '../../store/contract.ts'
import type { BackgroundService } from '../background-service.ts'
import type { Engine, WorkerAbout } from '../engine.ts'
import type { Executor, Running, WorkerHandle } from '../executor.ts'
import { EventLoopState } from '../lease/event-loop-state.ts'
import { thisHostText } from '../lease/host.ts'
import { LeaseRenewer } from '../lease/lease-renewer.ts'
import { Recovery } from '../lease/recovery.ts'
import { type WorkerOptions, type WorkerSettings, workerSettings } from '../options.ts'
import { ThreadPool, type ThreadSource } from '../threads/pool.ts'
import { CancellationPoller } from './cancellation-poller.ts'
import { type Binding, Capsules, planCapsules, slotsOf } from './capsules.ts'
import { DueJobs } from './due-jobs.ts'
import { dump } from './dump.ts'
import { Heartbeat } from './heartbeat.ts'
import { inWords, nextLine, shownJobs } from './shown-jobs.ts'
import { hearProcess, type Order } from './signals.ts'
import { joinWhenPossible, retryLostCalls } from './start-retries.ts'

const GRACE_MS = 3000
const LAST_WORDS_MS = 5000
/** For taking leave of the store. */
const LEAVE_MS = 5000
/** Milliseconds to settle and put back the remaining jobs, even after the deadline of the stop. */
const SETTLE_MS = 2000
/** Milliseconds to end the background services, even after the deadline. */
const SERVICES_MS = 500
/** The longest time of a timer, in milliseconds. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** A line of work beside the capsules, which a feature brings. */
export interface ExecutorPlan {
  /** What runs in it at the same time. */
  slots: number
  make(engine: Engine, host: WorkerHandle): Executor
}

/** What somebody wants to know, and to have a say in, while a worker runs. */
export interface RunOptions {
  /** It takes jobs from now on. */
  onStart?: () => void
  /** It was told to stop, by whomever. */
  onStop?: () => void
  /** A second SIGTERM or SIGINT; without it the process ends at once. */
  onSecondSignal?: () => void
}

export class Worker {
  readonly identity: string
  /** Jobs that run at the same time, in all capsules. */
  readonly concurrency: number
  /** Batches of ordered queues at the same time, beside them. */
  readonly orderedConcurrency: number
  readonly options: WorkerSettings
  readonly #engine: Engine
  readonly #capsules: Capsules
  /** The capsules, and what features add. */
  readonly #lines: readonly Executor[]
  readonly #lease: LeaseRenewer
  readonly #services: BackgroundService[]
  /** Those that have begun, and so must be ended. */
  readonly #started: BackgroundService[] = []
  readonly #recovery: Recovery
  readonly #heartbeat: Heartbeat
  readonly #threads: ThreadPool
  #epoch = 0
  #state: 'new' | 'running' | 'quiet' | 'stopping' | 'stopped' = 'new'
  #starting: Promise<void> | undefined
  /** Aborts when a start must not wait any more. */
  readonly #startEnd = new AbortController()
  #abandonStart: (why: Error) => void = () => {}
  #quieted: Promise<void> | undefined
  #stopped: Promise<void> | undefined
  #fencing: Promise<void> | undefined
  /** On its way out: no new epoch begins. */
  #left = false
  #whenStopped: (() => void)[] = []
  /** The process is there for this worker alone. */
  #alone = false
  /** When an error that nobody caught came. */
  #fatalAt: number | undefined
  /** Ends with the process. */
  #dying: Promise<never> | undefined
  /** Who wants to know how `run` goes on. */
  #watcher: RunOptions = {}

  /** @throws INVALID_OPTION */
  constructor(
    app: Engine,
    options: WorkerOptions,
    about: {
      version: string
      services?: BackgroundService[]
      bindings?: readonly Binding[]
      /** The queues that the app's jobs name. */
      defined?: readonly string[]
      lines?: readonly ExecutorPlan[]
      threads: () => ThreadSource
    },
  ) {
    this.options = workerSettings(options)
    this.identity = `${process.env.DYNO ?? hostname()}:${process.pid}:${randomBytes(6).toString('hex')}`
    const { leaseSeconds, maxBlockSeconds, pollInterval, promote, tag, labels } = this.options
    const plan = planCapsules(this.options, about.bindings ?? [], app.random)
    const { lines = [] } = about
    this.concurrency = slotsOf(plan)
    this.orderedConcurrency = lines.reduce((sum, { slots }) => sum + slots, 0)
    const eventLoop = new EventLoopState(this.concurrency + this.orderedConcurrency)
    this.#lease = new LeaseRenewer(app, {
      seconds: leaseSeconds,
      maxBlockSeconds,
      eventLoop,
      onLost: (owner) => {
        if (owner !== this.#owner) return
        // If this fails, the next fetch is refused, and this is tried again.
        this.#newEpoch().catch((thrown) => app.report(thrown, { during: 'beginning anew' }))
      },
    })
    this.#threads = new ThreadPool(about.threads, app.report)
    const engine: Engine = {
      ...app,
      emit: (event) => app.emit(event, this.#about),
      threads: this.#threads,
      isStopping: () => this.#state !== 'running',
      lease: this.#lease,
      fatalAt: () => this.#fatalAt,
    }
    this.#engine = engine
    let begun = 0
    const host: WorkerHandle = {
      owner: () => this.#owner,
      eventLoop,
      nextSlot: () => begun++,
      onFenced: () => this.#newEpoch(),
    }
    this.#capsules = new Capsules(engine, plan, host)
    this.#lines = [this.#capsules, ...lines.map(({ make }) => make(engine, host))]
    this.#recovery = new Recovery(engine, leaseSeconds, () => this.#owner)
    this.#heartbeat = new Heartbeat(
      engine,
      {
        identity: this.identity,
        ...{ tag, labels, capsules: plan },
        ...{ concurrency: this.concurrency, orderedConcurrency: this.orderedConcurrency },
        ...{ startedAt: engine.now(), version: about.version, defined: about.defined ?? [] },
      },
      () => ({ quiet: this.#state !== 'running', running: this.#running() }),
      (signal) => this.#obey(signal),
    )
    this.#services = [
      this.#recovery,
      new DueJobs(engine, this.identity, pollInterval, promote),
      new CancellationPoller(engine, () => this.#capsules.attempts),
      this.#heartbeat,
      this.#threads,
      ...(about.services ?? []),
    ]
  }

  get busy(): number {
    return this.#lines.reduce((sum, { busy }) => sum + busy, 0)
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

  get #about(): WorkerAbout {
    const { identity, queues, concurrency, orderedConcurrency } = this
    return { identity, queues, concurrency, orderedConcurrency }
  }

  get #owner(): string {
    return `${this.identity}.${this.#epoch}`
  }

  /** Begins to take jobs. When it can't – the store, or a `startup` handler – it throws, and nothing is left behind. */
  async start(): Promise<void> {
    if (this.#state !== 'new')
      throw new HighkiqError('INVALID_OPTION', 'this worker was started or stopped before: make another one')
    this.#state = 'running'
    this.#starting = this.#start().finally(() => {
      // A later stop quiets at once.
      this.#starting = undefined
    })
    await new Promise<void>((resolve, reject) => {
      this.#abandonStart = reject
      this.#starting?.then(resolve, reject)
    })
  }

  /** Takes no more jobs; those that run go on. There is no way back. */
  quiet(): Promise<void> {
    if (this.#state === 'running') this.#quieted ??= this.#quiet()
    return this.#quieted ?? Promise.resolve()
  }

  /**
   * Ends: no new jobs, `timeout` seconds for those that run, then they are told to end (`ctx.signal`), and what still
   * runs 3 seconds later goes back to the front of its queue. A store that does not answer by then is left alone after 2
   * more seconds: other workers run its jobs again when the lease has ended.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  /** Looks at once for jobs of processes that died on this machine, say because their parent saw it; else it takes seconds. */
  async recover(): Promise<void> {
    if (this.#state === 'running' || this.#state === 'quiet') await this.#recovery.lookForDead()
  }

  /**
   * Starts, and works until SIGTERM or SIGINT; SIGTSTP quiets, SIGTTIN tells what runs, SIGUSR2 lets loggers reopen their
   * files. A second SIGTERM or SIGINT ends the process at once: what it held is found and run by others. An error that
   * nobody caught ends it too, in order: see `Highkiq.onFatal`.
   */
  async run(watcher: RunOptions = {}): Promise<void> {
    this.#watcher = watcher
    this.#alone = true
    this.#heartbeat.embedded = false
    const release = hearProcess(
      (order) => this.#obey(order),
      (error) => this.#fatal(error),
    )
    try {
      await this.start()
      watcher.onStart?.()
      await new Promise<void>((resolve) => {
        if (this.#state === 'stopped') resolve()
        else this.#whenStopped.push(resolve)
      })
      // The process ends there.
      await this.#dying
      this.#engine.log.info({}, 'stopped')
    } finally {
      release()
    }
  }

  async #quiet(): Promise<void> {
    this.#state = 'quiet'
    for (const line of this.#lines) line.quiet()
    const told = this.#engine.emit('quiet')
    for (const service of this.#started) await service.quiet()
    await told
  }

  async #start(): Promise<void> {
    const { store, emit } = this.#engine
    try {
      await retryLostCalls(() => store.open())
    } catch (thrown) {
      this.#state = 'stopped'
      throw thrown
    }
    try {
      // A stop that did not wait for the start has left already: nothing may begin behind it.
      const refuseLate = () => {
        if (this.#left) throw stoppedBefore()
      }
      await joinWhenPossible(() => retryLostCalls(() => this.#join()), this.#engine.log, this.#startEnd.signal)
      refuseLate()
      await emit('startup')
      refuseLate()
      for (const service of this.#services) {
        this.#started.push(service)
        await service.start()
        refuseLate()
      }
      // Told to be quiet while it started.
      if (this.#state !== 'running') for (const service of this.#started) await service.quiet()
      for (const line of this.#lines) line.start()
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
    const withinDeadline = (work: Promise<unknown>, reserveMs: number, leastMs: number) => {
      const ms = Math.max(deadline - reserveMs - performance.now(), leastMs)
      return within(Math.min(ms, LONGEST_TIMER_MS), work)
    }
    this.#startEnd.abort(stoppedBefore())
    // One that is just starting is ready first, so that nothing is half begun.
    const starting = this.#starting?.catch(() => undefined)
    if (starting && !(await withinDeadline(starting, SETTLE_MS, 0))) this.#abandonStart(stoppedBefore())
    if (this.#state === 'new') this.#state = 'stopped'
    if (this.#state === 'stopped') return
    // Its time runs from now on, however long quieting takes.
    const quieted = this.quiet()
    this.#state = 'stopping'
    this.#watcher.onStop?.()
    this.#lease.leaveIn(timeout * 1000 + GRACE_MS)
    if (!(await this.#idleWithin(timeout * 1000)) && this.busy > 0) {
      for (const line of this.#lines) line.abort('SHUTDOWN', 'the worker is stopping')
      await this.#idleWithin(GRACE_MS)
    }
    await withinDeadline(Promise.race([quieted, sleep(GRACE_MS)]), SETTLE_MS + SERVICES_MS, 0)
    await emit('shutdown')
    const late = this.#attempts
    const settled = this.#endLines(late.length)
    if (!(await withinDeadline(settled, SERVICES_MS, SETTLE_MS))) {
      log.error(
        { jobs: shownJobs(late, this.#engine.now()) },
        'the store did not answer before the stop had to end: jobs that ended just now, or still ran, run again elsewhere when the lease has ended',
      )
    }
    await this.#leave(Math.max(deadline - performance.now(), SERVICES_MS))
    await emit('exit')
    this.#state = 'stopped'
    for (const resolve of this.#whenStopped.splice(0)) resolve()
  }

  /** Settles all ended jobs and puts the others back; `late` is the number of jobs that did not end in time. */
  async #endLines(late: number): Promise<void> {
    const { log, now } = this.#engine
    const back = (await Promise.all(this.#lines.map((line) => line.stop()))).flat()
    await this.#fencing?.catch(() => undefined)
    if (back.length === 0) return
    const jobs = shownJobs(back, now())
    const some = late > 0 ? ` (${late} did not end in time)` : ''
    log[late > 0 ? 'warn' : 'info']({ jobs }, `put back ${plural(back.length, 'job')}${some}: ${inWords(jobs)}`)
  }

  /** Takes down what was begun beside the jobs. A store that is away does not hold up the end: leases clean up. */
  async #leave(servicesMs = LEAVE_MS): Promise<void> {
    this.#left = true
    const safely = (during: string, work: () => Promise<unknown> | unknown) =>
      (async () => work())().catch((thrown) => this.#engine.report(thrown, { during }))
    const stopped = Promise.all(this.#started.map((service) => safely('stopping', () => service.stop())))
    const inTime = await within(Math.min(servicesMs, LEAVE_MS), stopped)
    await this.#lease.stop()
    const left = safely('leaving', () => this.#engine.store.workers.release(this.#owner))
    if (inTime) await within(LEAVE_MS, left)
  }

  /** True when nothing runs any more. Meanwhile it logs what it waits for, less and less often. */
  async #idleWithin(ms: number): Promise<boolean> {
    const idle = Promise.all(this.#lines.map((line) => line.idle()))
    const began = performance.now()
    const end = began + ms
    for (let line = nextLine(0); ; line = nextLine(line)) {
      const until = Math.min(end, began + line * 1000)
      if (await within(Math.max(until - performance.now(), 0), idle)) return true
      if (performance.now() >= end) return this.busy === 0
      const { busy } = this
      const { log } = this.#engine
      if (busy === 0) log.info({ busy }, 'waiting for the store')
      else {
        const jobs = shownJobs(this.#attempts, this.#engine.now())
        log.info({ busy, jobs }, `waiting for ${plural(busy, 'job')} to end: ${inWords(jobs)}`)
      }
    }
  }

  async #join(): Promise<void> {
    const sentAt = performance.now()
    const isNew = await this.#engine.store.workers.join(this.#owner, {
      queues: [...new Set(this.#lines.flatMap(({ queues }) => queues))],
      seconds: this.options.leaseSeconds,
      host: thisHostText(),
      isWorker: true,
    })
    // A known owner has joined before, and that answer was lost; the first renewal shows whether its lease holds.
    this.#lease.keep(this.#owner, isNew ? sentAt : Number.NEGATIVE_INFINITY)
  }

  /** The lease was lost: what this owner held belongs to others. Go on as a new owner, holding nothing. */
  #newEpoch(): Promise<void> {
    if (this.#left) return Promise.resolve()
    this.#fencing ??= (async () => {
      this.#engine.report(
        new HighkiqError('LEASE_LOST', 'this process lost its lease; its jobs go to others and it begins anew'),
        { owner: this.#owner },
      )
      for (const line of this.#lines) line.onLeaseLost()
      const lost = this.#owner
      this.#epoch++
      try {
        // A store that lost its data does not know that we ever were: what still comes in our old name is found so.
        await this.#engine.store.workers.claim(lost, null)
        await this.#join()
        await this.#recovery.sweep()
      } finally {
        this.#fencing = undefined
      }
    })()
    return this.#fencing
  }

  get #attempts(): Running[] {
    return this.#lines.flatMap(({ attempts }) => attempts)
  }

  #running(): RunningJob[] {
    return this.#attempts.map(({ ctx, fetched, startedAt, slot }) => ({
      slot: slot.toString(36),
      queue: fetched.queue,
      text: fetched.text,
      startedAt,
      ...(ctx.progressed ? { progress: ctx.progressed } : {}),
    }))
  }

  /** Orders come as signals to the process, or through the store. */
  #obey(order: Order): void {
    const { emit, log } = this.#engine
    if (order === 'TSTP') {
      if (this.#state === 'running') log.info({}, 'quiet: takes no more jobs, what runs goes on')
      void this.quiet()
    } else if (order === 'USR2') void emit('reopen')
    else if (order === 'TTIN') {
      const { identity, slots } = this
      const attempts = this.#attempts
      const threads = { lease: this.#lease.threadId, jobs: this.#threads.running }
      void dump(this.#engine, { identity, slots, owner: this.#owner, attempts, threads })
    } else if (this.#alone && this.#stopped) {
      const { onSecondSignal = () => process.exit(1) } = this.#watcher
      onSecondSignal()
    } else {
      log.info({}, this.#alone && !this.#watcher.onSecondSignal ? 'stopping: again ends at once' : 'stopping')
      void this.stop()
    }
  }

  /** The program is not in order any more: nothing new is begun, what runs may end, and then so does the process. */
  #fatal(error: unknown): void {
    const { report, emitFatal } = this.#engine
    this.#fatalAt ??= performance.now()
    report(error, { during: 'nothing that is known: an error that nobody caught; this worker ends' })
    this.#dying ??= (async () => {
      await this.stop().catch((thrown) => report(thrown, { during: 'stopping' }))
      await within(LAST_WORDS_MS, emitFatal(error, this.#about))
      return process.exit(1)
    })()
  }
}

function stoppedBefore(): HighkiqError {
  return new HighkiqError(
    'STORE_TIMEOUT',
    'the worker was told to stop while it waited for the store to start: start it again',
  )
}
