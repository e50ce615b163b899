/** Runs the jobs of an app: in workers, or in the calling process. */

import { unwrap } from '../activejob/wrapper.ts'
import { cancelling } from '../cancellation/cancel.ts'
import { Client } from '../client/client.ts'
import { CronClock } from '../cron/clock.ts'
import { Crons } from '../cron/crons.ts'
import { lockedRuns } from '../cron/run.ts'
import { variable } from '../environment.ts'
import { iterations } from '../iterable/iteration.ts'
import { Chain } from '../job/chain.ts'
import { JobContext } from '../job/context.ts'
import { invalidOption } from '../job/errors.ts'
import type { Logger } from '../job/logger.ts'
import { given } from '../job/options.ts'
import type { Payload } from '../job/payload.ts'
import { MetricsCollector, MetricsFlusher } from '../metrics/collector.ts'
import { OrderedExecutor } from '../ordered/executor.ts'
import { OrderedRegistry } from '../ordered/registry.ts'
import type { Effect, Store } from '../store/contract.ts'
import { TaskMaintenance } from '../tasks/task-maintenance.ts'
import { trackedTasks } from '../tasks/task-plugin.ts'
import { VERSION } from '../version.generated.ts'
import type { BackgroundService } from '../worker/background-service.ts'
import { Cancellations } from '../worker/cancellations.ts'
import { definitionOf, type Engine, effectsOf, type WorkerAbout } from '../worker/engine.ts'
import { jobLogOf } from '../worker/job-log.ts'
import { startChecks } from '../worker/lifecycle/start-checks.ts'
import { type ExecutorPlan, Worker } from '../worker/lifecycle/worker.ts'
import { isSplitter, type Splitter, type WorkerOptions, withQueues, workerSettings } from '../worker/options.ts'
import type { Outcome } from '../worker/plugin.ts'
import { keepOutcome } from '../worker/run/results.ts'
import { runHandler } from '../worker/run/runner.ts'
import { threadApps } from '../worker/threads/inside.ts'
import { checkThread } from '../worker/threads/pool.ts'
import { Hooks } from './hooks.ts'
import type { HighkiqOptions } from './options.ts'
import type { AppPort, Settled } from './port.ts'
import { Registry } from './registry.ts'
import { Setup } from './setup.ts'

/** The app, without its public API: what it consists of, and how its jobs run. */
export class Runtime implements AppPort {
  readonly setup: Setup
  readonly registry: Registry
  readonly ordered = new OrderedRegistry()
  readonly hooks: Hooks
  readonly client: Client
  readonly crons: Crons
  /** The server middleware. */
  readonly server = new Chain<JobContext, unknown>()
  readonly #collector = new MetricsCollector()
  readonly #features: Pick<Engine, 'plugins' | 'now'>
  readonly #workers = new Set<Worker>()
  /** The serializers of ActiveJob that the app does not know; each is logged once. */
  readonly #unknownSerializers = new Set<string>()

  constructor(options: HighkiqOptions) {
    const { defaultJobOptions = {}, wire = 8, random = Math.random, strictArgs = 'raise', maxArgsBytes = {} } = options
    this.setup = new Setup(options, (thrown, { jid }, line) => this.hooks.reportLogger(thrown, jid, line))
    this.hooks = new Hooks(() => this.log)
    this.registry = new Registry(defaultJobOptions)
    this.client = new Client({
      store: () => this.store,
      open: (url) => this.setup.open(url),
      definition: (name) => this.registry.get(name),
      isOrdered: (name) => this.ordered.get(name) !== undefined,
      defaults: defaultJobOptions,
      now: this.now,
      log: this.log,
      maxArgsBytes: { warn: 64_000, refuse: 10_000_000, ...given(maxArgsBytes) },
      wire,
      random,
      strictArgs,
    })
    this.crons = new Crons(this)
    const plugins = [trackedTasks(this), cancelling, iterations, lockedRuns, this.#collector]
    this.#features = { plugins, now: this.now }
  }

  get store(): Store {
    return this.setup.store
  }

  get log(): Logger {
    return this.setup.log
  }

  get settings(): Settled {
    return this.setup.settled
  }

  readonly now = (): number => this.setup.now()

  get hasWorkers(): boolean {
    return this.#workers.size > 0
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
    const services = this.#services(engine, options)
    const threads = () => setup.threadSource
    const executors = this.#executors(options)
    const defined = registry.queues
    const about = { version: VERSION, services, bindings, defined, executors, threads }
    const worker = new Worker(engine, withQueues(options, defined, setup.store.url), about)
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
    return runHandler(engine, ctx, definitionOf(engine, payload, payload.queue))
  }

  effects(payload: Payload, outcome: Outcome): Effect[] | undefined {
    return effectsOf(this.#features, payload, outcome)
  }

  async keepEnd(payload: Payload, outcome: Outcome): Promise<void> {
    const ofName = (name: string, queue?: string) => this.registry.of(name, queue)
    const definition = definitionOf({ definition: ofName }, payload, payload.queue)
    if (definition?.options.keepResult !== undefined) await keepOutcome(this.engine(), payload, definition, outcome)
  }

  engine(): Engine {
    const { setup, registry, hooks, client, server: chain } = this
    const { random = Math.random, backtraceCleaner } = setup.options
    const { store, log } = setup
    const { limits, loggedJobAttributes } = setup.settled
    return {
      ...this.#features,
      limits,
      loggedJobAttributes,
      store,
      definition: (name, queue) => registry.of(name, queue),
      chain,
      unwrap: (ctx) => this.#unwrap(ctx),
      promote: (text) => client.promote(text),
      cancellations: new Cancellations(store),
      log,
      wire: client.wire,
      random,
      ...(backtraceCleaner ? { backtraceCleaner } : {}),
      isBusiness: (error) => hooks.isBusiness(error),
      report: (error, about) => hooks.report(error, about),
      died: (payload, error) => hooks.died(payload, error),
      emit: (event, worker) => hooks.emit(event, worker as WorkerAbout),
      emitFatal: (error, worker) => hooks.emitFatal(error, worker as WorkerAbout),
    }
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

  /** The background services that features add to a worker. */
  #services(engine: Engine, { pollInterval: pollSeconds = 1, leaseSeconds = 15 }: WorkerOptions): BackgroundService[] {
    const { store, now, report } = engine
    const clock = new CronClock(this, this.crons.entries, { pollSeconds, leaseSeconds })
    const clocks = this.setup.isDraining ? [] : [clock]
    const metrics = new MetricsFlusher(report, () => this.#collector.flush(store, now))
    const maintenance = new TaskMaintenance(engine, { everySeconds: pollSeconds })
    return [startChecks(engine), metrics, ...clocks, maintenance]
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
