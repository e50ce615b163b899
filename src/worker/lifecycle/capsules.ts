/**
 * The capsules of a worker: each has its own queues and slots. They share the owner, its lease and its tickets, so a job that
 * one capsule fetched may be settled by another.
 */

import { invalidOption } from '../../job/errors.ts'
import { checkSlots, type SlotOptions } from '../../job/slots.ts'
import type { Engine } from '../engine.ts'
import type { Executor, WorkerHandle } from '../executor.ts'
import { Fetcher } from '../loop/fetcher.ts'
import { newestFirst } from '../loop/requeue-buffer.ts'
import { type CapsuleSettings, capsuleSettings, type WorkerSettings } from '../options.ts'
import { parseQueue, QueueOrder } from '../queue-order.ts'
import type { Attempt } from '../run/attempt.ts'
import { reportCrashedOut } from '../run/crash.ts'

/** A queue with a handler by `hq.process`. With `concurrency` it gets a capsule of its own. */
export interface Binding {
  queue: string
  concurrency?: number | undefined
}

export interface Capsule extends CapsuleSettings {
  name: string
  order: QueueOrder
}

/** Returns the number of jobs that run at the same time in all capsules. */
export function slotsOf(capsules: readonly Capsule[]): number {
  return capsules.reduce((sum, { concurrency }) => sum + concurrency, 0)
}

/** @throws INVALID_OPTION */
export function planCapsules(settings: WorkerSettings, bindings: readonly Binding[], random: () => number): Capsule[] {
  const alone = bindings.filter(({ concurrency }) => concurrency !== undefined)
  const apart = new Set(alone.map(({ queue }) => queue))
  const others = Object.entries(settings.capsules).map(([name, options]) => ({
    ...capsuleSettings(name, options),
    name,
  }))
  for (const { name, queues } of others) {
    const twice = queues.map(nameOf).find((queue) => apart.has(queue))
    if (twice === undefined) continue
    throw invalidOption(
      `capsule ${name}: queue ${twice} has its own concurrency by hq.process: remove the queue here, or "concurrency" there`,
    )
  }
  const served = new Set([...others, settings].flatMap(({ queues }) => queues.map(nameOf)))
  const queues = [
    ...settings.queues.filter((queue) => !apart.has(nameOf(queue))),
    ...bindings.map(({ queue }) => queue).filter((queue) => !apart.has(queue) && !served.has(queue)),
  ]
  const own = queues.length > 0 || alone.length === 0 ? [{ ...settings, name: 'default', queues }] : []
  const bound = alone.map(({ queue, concurrency = 0 }) => ({
    name: `process ${queue}`,
    queues: [queue],
    concurrency,
    use: [],
    fetchOrder: undefined,
  }))
  return [...own, ...others, ...bound].map(({ name, concurrency, queues, use, fetchOrder }) => {
    return { name, concurrency, queues, use, order: new QueueOrder(queues, random, fetchOrder) }
  })
}

const nameOf = (queue: Parameters<typeof parseQueue>[0]) => parseQueue(queue).name

export class Capsules implements Executor {
  readonly plan: readonly Capsule[]
  readonly #engine: Engine
  readonly #fetchers: readonly Fetcher[]

  constructor(engine: Engine, plan: readonly Capsule[], shared: WorkerHandle) {
    this.plan = plan
    this.#engine = engine
    this.#fetchers = plan.map(
      ({ concurrency, order, use }) =>
        new Fetcher(use.length > 0 ? { ...engine, use } : engine, { concurrency, queues: order, ...shared }),
    )
  }

  get queues(): string[] {
    return [...new Set(this.plan.flatMap(({ order }) => order.names))]
  }

  get busy(): number {
    let busy = 0
    for (const fetcher of this.#fetchers) busy += fetcher.busy
    return busy
  }

  get attempts(): Attempt[] {
    return this.#fetchers.flatMap((fetcher) => fetcher.attempts)
  }

  /** Changes the number of slots of a capsule. @throws INVALID_OPTION */
  resize(where: string, options: SlotOptions): void {
    const names = this.plan.map(({ name }) => name)
    const { concurrency, capsule } = checkSlots(where, options, names)
    const i = names.indexOf(capsule)
    Object.assign(this.plan[i] as Capsule, { concurrency })
    this.#fetchers[i]?.resize(concurrency)
  }

  start(): void {
    for (const fetcher of this.#fetchers) fetcher.start()
  }

  quiet(): void {
    for (const fetcher of this.#fetchers) fetcher.quiet()
  }

  /** Records the progress that running jobs have reported since it was called last. */
  recordProgress(): void {
    for (const fetcher of this.#fetchers) fetcher.recordProgress()
  }

  async idle(): Promise<void> {
    await Promise.all(this.#fetchers.map((fetcher) => fetcher.idle()))
  }

  abort(code: 'SHUTDOWN' | 'LEASE_LOST', message: string): void {
    for (const fetcher of this.#fetchers) fetcher.abort(code, message)
  }

  /**
   * Requeues the jobs that still run or were interrupted, newest first across all capsules, and ends. Returns these jobs, or
   * none when the stop had to end before they were requeued.
   */
  async stop(signal: AbortSignal): Promise<Attempt[]> {
    const requeued = newestFirst(this.#fetchers.flatMap((fetcher) => fetcher.drain()))
    const [areRequeued] = await Promise.all(
      this.#fetchers.map((fetcher, i) => fetcher.stop(i === 0 ? requeued : [], signal)),
    )
    // The store may have requeued some of them.
    if (!areRequeued) return []
    for (const { settlement } of requeued) {
      const { queue, move } = settlement
      await reportCrashedOut(this.#engine, queue, move)
    }
    return requeued.map(({ attempt }) => attempt)
  }

  onLeaseLost(): void {
    for (const fetcher of this.#fetchers) fetcher.onLeaseLost()
  }
}
