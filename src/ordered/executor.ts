/**
 * Runs the ordered queues of one worker: starts batches while slots are free, and waits for work when there is none.
 */

import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { within } from '../job/wait.ts'
import type { ShardUpdate } from '../store/contract.ts'
import type { Engine } from '../worker/engine.ts'
import type { Executor, WorkerHandle } from '../worker/executor.ts'
import type { ShardScheduler, Splitter } from '../worker/options.ts'
import type { Batch } from './batch.ts'
import type { OrderedDefinition } from './definition.ts'
import { QueueRunner, type RunnerEvent } from './runner.ts'
import { Scheduler } from './scheduler.ts'
import type { Shard } from './shard.ts'
import { ShardPlan } from './shard-assignments.ts'

export interface ExecutorOptions {
  concurrency: number
  scheduler: ShardScheduler
  splitter: Splitter | undefined
  pollSeconds: number
  leaseSeconds: number
}

/** The longest wait for work, in milliseconds. Then the next one starts. */
const WAIT_MS = 10_000
/** The shortest pause after a wait that failed, in milliseconds. */
const FAILED_MS = 100
/** Batches start in a row for this long. Then the event loop handles timers, signals and answers of the store. */
const WITHOUT_YIELD_MS = 20
/** Milliseconds that `stop` waits for a store that does not answer. */
const STOP_MS = 2000

export class OrderedExecutor implements Executor {
  readonly queues: readonly string[]
  readonly #engine: Engine
  readonly #worker: WorkerHandle
  readonly #options: ExecutorOptions
  readonly #runners: readonly QueueRunner[]
  readonly #scheduler: Scheduler
  /** The shards of all queues that this worker owns, and their runners. */
  #shards: Shard[] = []
  readonly #owners = new Map<Shard, QueueRunner>()
  #busy = 0
  /** The start of the last known iteration of the event loop, on the monotonic clock. */
  #yieldedAt = 0
  #yielding: NodeJS.Immediate | undefined
  /** The number of batches that ended and still have their slots. */
  #ended = 0
  #idleWaiters: (() => void)[] = []
  #state: 'new' | 'open' | 'quiet' | 'stopped' = 'new'
  #waitLoop: Promise<void> | undefined
  /** The current wait, and the runners it is for. */
  #wait = { runners: [] as readonly QueueRunner[], controller: new AbortController(), until: 0 }
  #waitFailing = false

  constructor(
    engine: Engine,
    worker: WorkerHandle,
    definitions: readonly OrderedDefinition[],
    options: ExecutorOptions,
  ) {
    this.#engine = engine
    this.#worker = worker
    this.#options = options
    this.queues = definitions.map(({ queue }) => queue)
    this.#scheduler = new Scheduler(options.scheduler, (thrown) =>
      engine.report(thrown, { during: 'scheduler; the shard that has waited longest is next' }),
    )
    const plan = new ShardPlan(engine, definitions, options)
    const shared = { engine, worker, plan, pollMs: options.pollSeconds * 1000, leaseMs: options.leaseSeconds * 1000 }
    const act = (event: RunnerEvent, runner: QueueRunner) => this.#act(event, runner)
    this.#runners = definitions.map((definition) => new QueueRunner({ ...shared, definition }, act))
  }

  get busy(): number {
    return this.#busy
  }

  get attempts(): Batch[] {
    return this.#shards.flatMap(({ running }) => [...running])
  }

  start(): void {
    if (this.#state !== 'new') return
    this.#state = 'open'
    for (const runner of this.#runners) runner.start()
    this.#waitLoop = this.#runWaitLoop()
  }

  quiet(): void {
    if (this.#state === 'quiet' || this.#state === 'stopped') return
    const begun = this.#state === 'open'
    this.#state = 'quiet'
    if (begun) for (const runner of this.#runners) runner.quiet()
  }

  async idle(): Promise<void> {
    if (this.#busy === 0) return
    await new Promise<void>((resolve) => this.#idleWaiters.push(resolve))
  }

  abort(code: 'SHUTDOWN' | 'LEASE_LOST', message: string): void {
    for (const runner of this.#runners) runner.abort(code, message)
  }

  async stop(signal: AbortSignal): Promise<Batch[]> {
    this.quiet()
    this.#state = 'stopped'
    const left = await Promise.all(this.#runners.map((runner) => runner.stop(signal)))
    this.#wait.controller.abort()
    if (this.#waitLoop) await within(STOP_MS, this.#waitLoop)
    return left.flat()
  }

  onLeaseLost(): void {
    this.abort('LEASE_LOST', 'this process lost its lease: the batch may run elsewhere by now')
    for (const runner of this.#runners) runner.onLeaseLost()
  }

  #act(event: RunnerEvent, runner: QueueRunner): void {
    if (event === 'shards-changed') this.#collectShards()
    else if (event === 'fetched') {
      // The answer of a call starts a new iteration of the event loop.
      this.#yieldedAt = performance.now()
      this.#startBatches()
    } else this.#runnerIsIdle(runner)
  }

  #collectShards(): void {
    this.#owners.clear()
    for (const runner of this.#runners) for (const shard of runner.shards) this.#owners.set(shard, runner)
    this.#shards = [...this.#owners.keys()]
  }

  /** Starts batches until `concurrency` of them run. */
  #startBatches(): void {
    while (this.#state !== 'stopped' && this.#busy < this.#options.concurrency) {
      if (!this.#shards.some(({ isReady }) => isReady) || !this.#isLeaseCertain()) return
      const shard = this.#scheduler.pick(this.#shards)
      const runner = shard && this.#owners.get(shard)
      if (!runner) return
      this.#busy++
      void this.#run(shard, runner)
    }
  }

  /**
   * Returns false when the lease may have run out, for example because the process was stopped: other workers may own
   * its shards now. Then it asks the store, and starts batches later if the lease still holds.
   */
  #isLeaseCertain(): boolean {
    const { lease } = this.#engine
    if (!lease || performance.now() < lease.safeUntil) return true
    void lease.confirm().then((isHeld) => {
      if (isHeld) this.#startBatches()
    })
    return false
  }

  async #run(shard: Shard, runner: QueueRunner): Promise<void> {
    await runner.run(shard)
    this.#ended++
    // Handlers without I/O end in the iteration of the event loop in which they start.
    if (performance.now() - this.#yieldedAt < WITHOUT_YIELD_MS) this.#freeSlots()
    else this.#yielding ??= setImmediate(() => this.#freeAfterYield())
  }

  #freeAfterYield(): void {
    this.#yielding = undefined
    this.#yieldedAt = performance.now()
    this.#freeSlots()
  }

  #freeSlots(): void {
    this.#busy -= this.#ended
    this.#ended = 0
    this.#startBatches()
    if (this.#busy === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }

  #runnerIsIdle(runner: QueueRunner): void {
    const { runners, controller, until } = this.#wait
    // The last call may have shown that an id becomes due before the wait ends.
    if (!runners.includes(runner) || performance.now() + this.#waitMs([runner]) < until - 1) controller.abort()
  }

  /** Waits for the runners that are idle. `Maintenance` polls the store for the others. */
  async #runWaitLoop(): Promise<void> {
    while (this.#state !== 'stopped') {
      const runners = this.#runners.filter(({ isWaiting }) => isWaiting)
      const ms = this.#waitMs(runners)
      const controller = new AbortController()
      this.#wait = { runners, controller, until: performance.now() + ms }
      if (runners.length === 0) {
        await once(controller.signal, 'abort')
        continue
      }
      const update = await this.#waitFor(runners, ms, controller.signal)
      if (update) runners.find(({ definition }) => definition.queue === update.queue)?.calls.poll(true, update.shard)
      else if (!controller.signal.aborted) for (const { calls } of runners) calls.plan()
    }
  }

  /** Returns the milliseconds until the next known id is due, at most WAIT_MS. */
  #waitMs(idle: readonly QueueRunner[]): number {
    const now = this.#engine.now()
    let ms = WAIT_MS
    for (const { calls } of idle) ms = Math.min(ms, calls.nextDue * 1000 - now)
    return Math.max(Math.ceil(ms), 1)
  }

  async #waitFor(idle: readonly QueueRunner[], ms: number, signal: AbortSignal): Promise<ShardUpdate | undefined> {
    const { store, report } = this.#engine
    const queues = idle.map(({ definition }) => definition.queue)
    try {
      const update = await store.ordered.wait(this.#worker.owner(), queues, ms, signal)
      this.#waitFailing = false
      return update
    } catch (thrown) {
      if (!this.#waitFailing && !signal.aborted) report(thrown, { during: 'waiting for ordered jobs' })
      this.#waitFailing = true
      await sleep(Math.max(ms, FAILED_MS), undefined, { signal }).catch(() => {})
      return undefined
    }
  }
}
