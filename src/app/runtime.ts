/** Runs the jobs of an app: in workers, or in the calling process. */

import { unwrap } from '../activejob/wrapper.ts'
import type { Client } from '../client/client.ts'
import type { OrderedPushed } from '../client/push-target.ts'
import type { PushRequest } from '../client/request.ts'
import { CronClock } from '../cron/clock.ts'
import type { Entry } from '../cron/entry.ts'
import { variable } from '../environment.ts'
import { findJob } from '../inspect/find.ts'
import type { InspectHost } from '../inspect/host.ts'
import type { Chain } from '../job/chain.ts'
import { JobContext } from '../job/context.ts'
import { HighkiqError } from '../job/errors.ts'
import { type Payload, readPayload, writePayload } from '../job/payload.ts'
import type { MetricsCollector } from '../metrics/collector.ts'
import { MetricsFlusher } from '../metrics/flusher.ts'
import type { OrderedDefinition } from '../ordered/definition.ts'
import { OrderedExecutor } from '../ordered/executor.ts'
import { runOrderedInline } from '../ordered/inline.ts'
import type { OrderedRegistry } from '../ordered/registry.ts'
import { TaskMaintenance } from '../tasks/task-maintenance.ts'
import { VERSION } from '../version.generated.ts'
import type { BackgroundService } from '../worker/background-service.ts'
import { Cancellations } from '../worker/cancellations.ts'
import { definitionOf, type Engine, type WorkerAbout } from '../worker/engine.ts'
import { StoreAdvice } from '../worker/lifecycle/store-advice.ts'
import { WireCheck } from '../worker/lifecycle/wire-check.ts'
import { type ExecutorPlan, Worker } from '../worker/lifecycle/worker.ts'
import { type Splitter, type WorkerOptions, withQueues, workerSettings } from '../worker/options.ts'
import type { Outcome } from '../worker/plugin.ts'
import { runHandler } from '../worker/run/handler.ts'
import { jobLogOf } from '../worker/run/job-log.ts'
import { keepOutcome } from '../worker/run/results.ts'
import { threadApps } from '../worker/threads/inside.ts'
import { checkThread } from '../worker/threads/pool.ts'
import type { Hooks } from './hooks.ts'
import type { Registry } from './registry.ts'
import type { Setup } from './setup.ts'

export interface RuntimeParts {
  setup: Setup
  registry: Registry
  hooks: Hooks
  client: Client
  /** The server middleware. */
  chain: Chain<JobContext, unknown>
  /** The plugins of all features. */
  features: Pick<Engine, 'plugins' | 'now'>
  collector: MetricsCollector
  crons: ReadonlyMap<string, Entry>
  ordered: OrderedRegistry
  host: InspectHost
}

export class Runtime {
  readonly #parts: RuntimeParts
  readonly #workers = new Set<Worker>()
  /** The serializers of ActiveJob that the app does not know; each is logged once. */
  readonly #unknownSerializers = new Set<string>()

  constructor(parts: RuntimeParts) {
    this.#parts = parts
  }

  get hasWorkers(): boolean {
    return this.#workers.size > 0
  }

  /** @throws INVALID_OPTION */
  worker(options: WorkerOptions): Worker {
    if (threadApps()) {
      throw new HighkiqError(
        'INVALID_OPTION',
        'this file starts a worker, and the thread of a job has loaded it: move the jobs to a file of their own',
      )
    }
    const { setup, registry } = this.#parts
    for (const definition of registry.all) checkThread(definition, setup.files)
    const plain = this.#engine()
    const engine = { ...plain, jobLog: jobLogOf(setup.log, options.logJobs ?? false, plain.isBusiness) }
    const { bindings } = registry
    const services = this.#services(engine, options)
    const threads = () => setup.threadSource
    const executors = this.#executors(options)
    const defined = registry.queues
    const worker = new Worker(engine, withQueues(options, defined, setup.store.url), {
      ...{ version: VERSION, services, bindings, defined, executors, threads },
    })
    this.#workers.add(worker)
    return worker
  }

  /** Stops all workers. @returns the errors of those that failed to stop */
  async stop(): Promise<unknown[]> {
    const stops = await Promise.allSettled([...this.#workers].map((worker) => worker.stop()))
    this.#workers.clear()
    return stops.flatMap((stop) => (stop.status === 'rejected' ? [stop.reason] : []))
  }

  /** Runs a push at once: through the client middleware, then as a worker would. @throws what the handler throws */
  async runInline(request: PushRequest, client: Client): Promise<unknown> {
    const payload = await client.pass(client.normalise(request))
    if (!payload) return null
    client.check(payload)
    return this.run(readPayload(writePayload(payload)) as Payload, this.#parts.chain)
  }

  /** Runs a job in this process, inside the chain. @throws what the handler throws */
  async run(payload: Payload, chain: Chain<JobContext, unknown>): Promise<unknown> {
    const engine = { ...this.#engine(), chain }
    const { log, loggedJobAttributes: attributes, now } = engine
    const ctx = new JobContext(payload, payload.queue, { log, attributes, now })
    return runHandler(engine, ctx, definitionOf(engine, payload, payload.queue))
  }

  /** Runs items of an ordered queue in this process, inside the chain. @throws what the handler throws */
  async runOrdered(
    definition: OrderedDefinition,
    items: readonly OrderedPushed[],
    chain: Chain<JobContext, unknown>,
  ): Promise<void> {
    await runOrderedInline({ ...this.#engine(), chain }, definition, items)
  }

  /** Keeps the outcome of a job that ended without running, for callers that wait for its result. Never throws. */
  async keepEnd(payload: Payload, outcome: Outcome): Promise<void> {
    const definition = definitionOf(
      { definition: (name, queue) => this.#parts.registry.of(name, queue) },
      payload,
      payload.queue,
    )
    if (definition?.options.keepResult !== undefined) await keepOutcome(this.#engine(), payload, definition, outcome)
  }

  #engine(): Engine {
    const { setup, registry, hooks, client, chain, features } = this.#parts
    const { random = Math.random, backtraceCleaner } = setup.options
    const { store, log } = setup
    const { limits, loggedJobAttributes } = setup.settled
    return {
      ...features,
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
    const { registry, setup } = this.#parts
    if (registry.get(ctx.payload.class)) return
    unwrap(ctx, (serializer) => {
      if (this.#unknownSerializers.has(serializer)) return
      this.#unknownSerializers.add(serializer)
      setup.log.warn({ serializer, class: ctx.payload.wrapped }, `arguments of ${serializer} are passed on unread`)
    })
  }

  /** The background services that features add to a worker. */
  #services(engine: Engine, { pollInterval: pollSeconds = 1, leaseSeconds = 15 }: WorkerOptions): BackgroundService[] {
    const { client, collector, crons, host } = this.#parts
    const { store, now, report } = engine
    const stateOf = async (jid: string) => (await findJob(host, jid)).state
    const clock = new CronClock({ ...engine, client, stateOf }, crons, { pollSeconds, leaseSeconds })
    const clocks = this.#parts.setup.isDraining ? [] : [clock]
    const metrics = new MetricsFlusher(report, () => collector.flush(store, now))
    const maintenance = new TaskMaintenance({ store: () => store, now, report }, { everySeconds: pollSeconds })
    return [new StoreAdvice(engine), new WireCheck(engine), metrics, ...clocks, maintenance]
  }

  /** The executor of the ordered queues, if the app defines any. */
  #executors(options: WorkerOptions): ExecutorPlan[] {
    const definitions = this.#parts.ordered.all
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
  if (Number.isInteger(splitter.nodes) && Number.isInteger(splitter.node) && splitter.node >= 0) {
    if (splitter.node < splitter.nodes) return splitter
  }
  throw new HighkiqError(
    'INVALID_OPTION',
    `HIGHKIQ_NODES and HIGHKIQ_NODE must be whole numbers, the second from 0 to below the first (got ${nodes} and ${node})`,
  )
}
