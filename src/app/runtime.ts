/** Runs the jobs of an app: in workers, or in the calling process. */

import { unwrap } from '../activejob/wrapper.ts'
import { alertPlan } from '../alerts/options.ts'
import { AlertSender } from '../alerts/sender.ts'
import { BatchMaintenance } from '../batches/batch-maintenance.ts'
import { batchMembers } from '../batches/batch-plugin.ts'
import { accessTo } from '../batches/batches.ts'
import { cancelling } from '../cancellation/cancel.ts'
import { Client } from '../client/client.ts'
import { CronClock } from '../cron/clock.ts'
import { Crons } from '../cron/crons.ts'
import { cronRuns } from '../cron/run.ts'
import { variable } from '../environment.ts'
import { eventPlugin } from '../events/event-plugin.ts'
import { type Recording, recordingOf } from '../events/recording.ts'
import { iterations } from '../iterable/iteration.ts'
import { Chain } from '../job/chain.ts'
import { JobContext } from '../job/context.ts'
import type { JobDefinition } from '../job/definition.ts'
import { Encryption } from '../job/encryption.ts'
import { HighkiqError, invalidOption } from '../job/errors.ts'
import { type FinishedRules, finishedRules } from '../job/keep-finished.ts'
import type { Logger } from '../job/logger.ts'
import { given } from '../job/options.ts'
import type { Payload } from '../job/payload.ts'
import { type ContextOptions, type ContextStorage, PushContexts } from '../job/push-contexts.ts'
import { MetricsCollector, MetricsFlusher } from '../metrics/collector.ts'
import { QueueSizeRecorder } from '../metrics/queue-sizes.ts'
import { SnapshotRecorder } from '../metrics/snapshots.ts'
import { OrderedExecutor } from '../ordered/executor.ts'
import { OrderedRegistry } from '../ordered/registry.ts'
import type { Effect, Store } from '../store/contract.ts'
import { TaskMaintenance } from '../tasks/task-maintenance.ts'
import { trackedTasks } from '../tasks/task-plugin.ts'
import { OrphanedLocks } from '../unique/orphaned-locks.ts'
import { uniqueLocks } from '../unique/plugin.ts'
import { replaceHolder } from '../unique/replace.ts'
import { VERSION } from '../version.generated.ts'
import type { BackgroundService } from '../worker/background-service.ts'
import { Cancellations } from '../worker/cancellations.ts'
import { ControlVersion } from '../worker/control-version.ts'
import { definitionOf, type Engine, effectsOf, type WorkerAbout } from '../worker/engine.ts'
import { jobLogOf } from '../worker/job-log.ts'
import { FinishedTrimmer } from '../worker/lifecycle/finished-trimmer.ts'
import { startChecks } from '../worker/lifecycle/start-checks.ts'
import { type ExecutorPlan, Worker } from '../worker/lifecycle/worker.ts'
import { maintenanceLock } from '../worker/maintenance.ts'
import { isSplitter, type Splitter, type WorkerOptions, withQueues, workerSettings } from '../worker/options.ts'
import { type Outcome, type Plugin, Plugins } from '../worker/plugin.ts'
import { limitsOf } from '../worker/run/limit.ts'
import { endText, keepOutcome } from '../worker/run/results.ts'
import { runHandler } from '../worker/run/runner.ts'
import { threadApps } from '../worker/threads/inside.ts'
import { checkThread } from '../worker/threads/pool.ts'
import { Hooks } from './hooks.ts'
import { AppLimits } from './limits.ts'
import { type HighkiqOptions, maxLengthsOf } from './options.ts'
import type { AppPort, AppSettings } from './port.ts'
import { Registry } from './registry.ts'
import { Setup } from './setup.ts'
import { sharedCheck } from './shared-queues.ts'
import { Title } from './title.ts'
import { unservedCheck } from './unserved-queues.ts'

/** The app, without its public API: what it consists of, and how its jobs run. */
export class Runtime implements AppPort {
  readonly setup: Setup
  readonly registry: Registry
  readonly ordered = new OrderedRegistry()
  readonly hooks: Hooks
  readonly client: Client
  readonly crons: Crons
  readonly title = new Title()
  readonly limits: AppLimits
  /** The server middleware. */
  readonly server = new Chain<JobContext, unknown>()
  readonly #contexts = new PushContexts()
  #hasContexts = false
  readonly #collector = new MetricsCollector()
  readonly #encryption: Encryption | undefined
  readonly #plugins = new Plugins()
  readonly #features: Pick<Engine, 'plugins' | 'now' | 'batches'>
  readonly #workers = new Set<Worker>()
  /** The serializers of ActiveJob that the app does not know; each is logged once. */
  readonly #unknownSerializers = new Set<string>()

  constructor(options: HighkiqOptions) {
    const { defaultJobOptions = {}, wire = 8, random = Math.random, strictArgs = 'raise', maxArgsBytes = {} } = options
    const { refuse = 10_000_000 } = maxArgsBytes
    this.setup = new Setup(options, (thrown, { jid }, line) => this.hooks.reportLogger(thrown, jid, line))
    this.hooks = new Hooks(() => this.log)
    this.limits = new AppLimits(options, { store: () => this.store, workers: this.#workers })
    this.#encryption = options.encryption && new Encryption(options.encryption)
    this.registry = new Registry(defaultJobOptions, this.#encryption !== undefined)
    this.client = new Client({
      store: () => this.store,
      open: (url) => this.setup.open(url),
      definition: (name) => this.registry.get(name),
      isOrdered: (name) => this.ordered.get(name) !== undefined,
      defaults: defaultJobOptions,
      now: this.now,
      encryption: this.#encryption,
      replaceHolder: (store, payload, conflict) => replaceHolder(this, store, payload, conflict),
      within: this.within,
      log: this.log,
      maxArgsBytes: { warn: Math.min(64_000, refuse), refuse, ...given(maxArgsBytes) },
      maxLengths: maxLengthsOf(options),
      isSharded: () => this.setup.isSharded,
      wire,
      random,
      strictArgs,
    })
    this.crons = new Crons(this)
    const members = [trackedTasks(this), cancelling, iterations, cronRuns(), uniqueLocks, batchMembers]
    for (const plugin of [...members, eventPlugin(() => this.recording), this.#collector]) this.addPlugin(plugin)
    this.#features = { plugins: this.#plugins, now: this.now, batches: accessTo(this) }
  }

  get store(): Store {
    return this.setup.store
  }

  get recording(): Recording {
    return recordingOf(this.store, this.now)
  }

  get log(): Logger {
    return this.setup.log
  }

  get settings(): AppSettings {
    return this.setup.settled
  }

  readonly now = (): number => this.setup.now()

  addPlugin(plugin: Plugin): void {
    this.#plugins.add(plugin)
  }

  /** Makes each later definition of a name replace the one before it. */
  allowRedefinition(): void {
    this.registry.canReplace = true
    this.ordered.canReplace = true
    this.crons.canReplace = true
  }

  /** @throws INVALID_OPTION */
  declareContext(name: string, storage: ContextStorage<unknown>, options: ContextOptions<unknown, unknown>): void {
    this.refuseAfterWorker(`hq.context ${name}`, 'know it')
    this.#contexts.declare(name, storage, options)
    if (!this.#hasContexts) this.client.carry(this.#contexts.carry)
    this.#hasContexts = true
  }

  /** Runs `work` with the values that came with a payload. */
  readonly within = (payload: Payload, work: () => unknown): unknown => this.#contexts.within(payload, work)

  /** @throws INVALID_OPTION when there is a worker */
  refuseAfterWorker(where: string, what: string): void {
    if (this.#workers.size === 0) return
    throw invalidOption(`${where}: call it before hq.worker, because a worker that exists does not ${what}`)
  }

  /** @throws INVALID_OPTION */
  worker(options: WorkerOptions): Worker {
    if (threadApps()) {
      throw invalidOption(
        'this file starts a worker, and the thread of a job has loaded it: move the jobs to a file of their own',
      )
    }
    const { setup, registry } = this
    for (const definition of registry.all) checkThread(definition, setup.files)
    const plain = this.engine()
    const engine = { ...plain, jobLog: jobLogOf(setup.log, options.logJobs ?? false, plain) }
    const { bindings } = registry
    const defined = registry.queues
    const unserved = unservedCheck(engine, { worker: () => worker, defined, advice: () => setup.unservedAdvice })
    const services = [...this.#services(engine, options), unserved, sharedCheck(engine, () => worker)]
    const threads = () => setup.threadSource
    const executors = this.#executors(options)
    const { maxLengths } = this.client.writer
    const about = { version: VERSION, services, bindings, defined, maxLengths, executors, threads }
    const queues = [...new Set(['default', ...defined])]
    const worker: Worker = new Worker(engine, withQueues(options, queues, setup.store.url), about)
    this.#workers.add(worker)
    return worker
  }

  /** Stops all workers. @returns the errors of those that failed to stop */
  async stop(): Promise<unknown[]> {
    const stops = await Promise.allSettled([...this.#workers].map((worker) => worker.stop()))
    this.#workers.clear()
    return stops.flatMap((stop) => (stop.status === 'rejected' ? [stop.reason] : []))
  }

  async run(payload: Payload, chain = this.server): Promise<unknown> {
    const engine = { ...this.engine(), chain }
    const ctx = new JobContext(payload, payload.queue, engine)
    const definition = definitionOf(engine, payload, payload.queue)
    const names = limitsOf(engine, { definition, payload, ctx }).map(({ name }) => name)
    this.limits.noteInline(ctx, names)
    return runHandler(engine, ctx, definition)
  }

  effects(payload: Payload, outcome: Outcome): Effect[] | undefined {
    return effectsOf(this.#features, payload, outcome)
  }

  async keepEnd(payload: Payload, outcome: Outcome): Promise<void> {
    const definition = this.#definitionOf(payload)
    if (definition?.options.keepResult !== undefined) await keepOutcome(this.engine(), payload, definition, outcome)
  }

  endText(payload: Payload, outcome: Outcome): string | undefined {
    const isKept = payload.hk_task !== undefined || this.#definitionOf(payload)?.options.keepResult !== undefined
    return isKept ? endText(this, payload, outcome) : undefined
  }

  #definitionOf(payload: Payload): JobDefinition | undefined {
    const definition = (name: string, queue?: string) => this.registry.of(name, queue)
    return definitionOf({ definition }, payload, payload.queue)
  }

  engine(): Engine {
    const { setup, registry, hooks, client, server: chain } = this
    const { random = Math.random, backtraceCleaner } = setup.options
    const { store, log } = setup
    const { limits, loggedJobAttributes } = setup.settled
    const cancellations = new Cancellations(store)
    const sharedLimits = this.limits.shared((error, about) => hooks.report(error, about))
    return {
      ...this.#features,
      limits,
      loggedJobAttributes,
      store,
      definition: (name, queue) => registry.of(name, queue),
      jobNames: () => registry.jobs.map(({ name }) => name),
      chain,
      unwrap: (ctx) => this.#unwrap(ctx),
      decrypt: this.#encryption ? this.#encryption.decrypt : refuseDecrypting,
      within: this.#hasContexts ? this.within : undefined,
      promote: (text) => client.promote(text),
      cancellations,
      control: new ControlVersion(store, cancellations, sharedLimits),
      recording: recordingOf(store, this.now),
      log,
      wire: client.wire,
      random,
      finished: this.#finishedRules(),
      sharedLimits,
      ...(backtraceCleaner ? { backtraceCleaner } : {}),
      isBusiness: (error) => hooks.isBusiness(error),
      report: (error, about) => hooks.report(error, about),
      died: (payload, error) => hooks.died(payload, error),
      emit: (event, worker) => hooks.emit(event, worker as WorkerAbout),
      emitFatal: (error, worker) => hooks.emitFatal(error, worker as WorkerAbout),
    }
  }

  #finishedRules(): FinishedRules | undefined {
    const { defaultJobOptions, queues = {} } = this.setup.options
    const ofQueue = Object.entries(queues).flatMap(([name, { keepFinished }]) =>
      keepFinished === undefined ? [] : [[name, keepFinished] as const],
    )
    const ofJobs = this.registry.all.map(({ own }) => own?.keepFinished)
    return finishedRules(defaultJobOptions?.keepFinished, new Map(ofQueue), ofJobs)
  }

  /** Unwraps a job of ActiveJob, unless its class is defined in this app. */
  #unwrap(ctx: JobContext): void {
    const { registry, setup } = this
    if (registry.get(ctx.payload.class)) return
    unwrap(ctx, (serializer) => {
      if (this.#unknownSerializers.has(serializer)) return
      this.#unknownSerializers.add(serializer)
      setup.log.warn({ serializer, class: ctx.payload.wrapped }, `arguments of ${serializer} are passed on unread`)
    })
  }

  #cancellerOf({ store, now, report }: Engine) {
    const effects = (payload: Payload, outcome: Outcome) => this.effects(payload, outcome)
    return {
      store,
      now,
      report,
      effects,
      keepEnd: (payload: Payload, outcome: Outcome) => this.keepEnd(payload, outcome),
    }
  }

  /** The background services that features add to a worker. */
  #services(engine: Engine, { pollInterval: pollSeconds = 1, leaseSeconds = 15 }: WorkerOptions): BackgroundService[] {
    const { store, now, report } = engine
    const clock = new CronClock(this, this.crons.entries, { pollSeconds, leaseSeconds })
    const clocks = this.setup.isDraining ? [] : [clock]
    const metrics = new MetricsFlusher(report, () => this.#collector.flush(store, now))
    const lock = maintenanceLock(engine, leaseSeconds)
    const maintenance = new TaskMaintenance(engine, { everySeconds: pollSeconds, lock })
    const batches = new BatchMaintenance(this.#cancellerOf(engine), { everySeconds: pollSeconds, lock })
    const sender = this.alertSender(engine)
    const trimmers = engine.finished ? [new FinishedTrimmer(engine, engine.finished)] : []
    return [
      startChecks(engine),
      metrics,
      ...clocks,
      maintenance,
      batches,
      new OrphanedLocks(engine, { lock }),
      new SnapshotRecorder(engine, { lock }),
      new QueueSizeRecorder(engine, { lock }),
      ...trimmers,
      ...(sender ? [sender] : []),
    ]
  }

  /** Returns the service that sends alerts; undefined without the option, and while another store is drained. */
  alertSender(engine = this.engine()): AlertSender | undefined {
    const { alerts, publicUrl } = this.settings
    if (!alerts || this.setup.isDraining) return undefined
    return new AlertSender(engine, { plan: alertPlan(alerts), publicUrl })
  }

  /** The executor of the ordered queues, if the app defines any. */
  #executors(options: WorkerOptions): ExecutorPlan[] {
    const definitions = this.ordered.all
    if (definitions.length === 0) return []
    const settings = workerSettings(options)
    const { orderedConcurrency: concurrency, scheduler, pollInterval: pollSeconds, leaseSeconds } = settings
    const splitter = settings.splitter ?? splitterFromEnvironment()
    const about = { concurrency, scheduler, splitter, pollSeconds, leaseSeconds }
    return [{ slots: concurrency, make: (engine, host) => new OrderedExecutor(engine, host, definitions, about) }]
  }
}

/** @throws DECRYPTION_FAILED */
function refuseDecrypting({ payload: { class: name } }: JobContext): never {
  const message = `${name}: the last argument is encrypted, and this app has no keys: give it the option encryption`
  throw new HighkiqError('DECRYPTION_FAILED', message, { job: name })
}

/** HIGHKIQ_NODES and HIGHKIQ_NODE. @throws INVALID_OPTION */
function splitterFromEnvironment(): Splitter | undefined {
  const [nodes, node] = [variable('HIGHKIQ_NODES'), variable('HIGHKIQ_NODE')]
  if (nodes === undefined && node === undefined) return undefined
  const splitter = { nodes: Number(nodes), node: Number(node) }
  if (isSplitter(splitter)) return splitter
  throw invalidOption(
    `HIGHKIQ_NODES and HIGHKIQ_NODE must be whole numbers, the second from 0 to below the first (got ${nodes} and ${node})`,
  )
}
