/**
 * A worker's capsules: each has queues and slots of its own. They share the owner, its lease and its tickets, so a job
 * that one of them took may be settled by any other.
 */

import { HighkiqError } from '../../job/errors.ts'
import type { Engine } from '../engine.ts'
import type { Executor, WorkerHandle } from '../executor.ts'
import { Fetcher } from '../loop/fetcher.ts'
import { type CapsuleSettings, capsuleSettings, type WorkerSettings } from '../options.ts'
import { parseQueue, QueueOrder } from '../queue-order.ts'
import type { Attempt } from '../run/attempt.ts'
import { reportCrashedOut } from '../run/crash.ts'

/** A queue that the app has bound to a handler. With `concurrency` it gets a capsule of its own. */
export interface Binding {
  queue: string
  concurrency?: number | undefined
}

export interface Capsule extends CapsuleSettings {
  name: string
  order: QueueOrder
}

/** Jobs at the same time in all of them. */
export function slotsOf(capsules: readonly Capsule[]): number {
  return capsules.reduce((sum, { concurrency }) => sum + concurrency, 0)
}

/** @throws INVALID_OPTION */
export function planCapsules(settings: WorkerSettings, bindings: readonly Binding[], random: () => number): Capsule[] {
  const plan: { name: string; settings: CapsuleSettings }[] = []
  const alone = bindings.filter(({ concurrency }) => concurrency !== undefined)
  const apart = new Set(alone.map(({ queue }) => queue))
  const others = Object.entries(settings.capsules).map(([name, options]) => ({
    name,
    settings: capsuleSettings(name, options),
  }))
  for (const {
    name,
    settings: { queues },
  } of others) {
    const twice = queues.map(nameOf).find((queue) => apart.has(queue))
    if (twice === undefined) continue
    throw new HighkiqError(
      'INVALID_OPTION',
      `capsule ${name}: queue ${twice} has slots of its own by hq.process: leave it out here, or "concurrency" there`,
    )
  }
  const served = new Set([...others, { settings }].flatMap(({ settings: { queues } }) => queues.map(nameOf)))
  const queues = [
    ...settings.queues.filter((queue) => !apart.has(nameOf(queue))),
    ...bindings.map(({ queue }) => queue).filter((queue) => !apart.has(queue) && !served.has(queue)),
  ]
  if (queues.length > 0 || alone.length === 0) plan.push({ name: 'default', settings: { ...settings, queues } })
  plan.push(...others)
  for (const { queue, concurrency = 0 } of alone) {
    plan.push({ name: `process ${queue}`, settings: { queues: [queue], concurrency, use: [] } })
  }
  return plan.map(({ name, settings: { concurrency, queues, use, fetchOrder } }) => ({
    name,
    concurrency,
    queues,
    use,
    order: new QueueOrder(queues, random, fetchOrder),
  }))
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

  /** The names of all queues, each once. */
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

  start(): void {
    for (const fetcher of this.#fetchers) fetcher.start()
  }

  /** Takes no more. */
  quiet(): void {
    for (const fetcher of this.#fetchers) fetcher.quiet()
  }

  /** Resolves when nothing runs, and nothing is about to. */
  async idle(): Promise<void> {
    await Promise.all(this.#fetchers.map((fetcher) => fetcher.idle()))
  }

  /** Tells every handler that runs to end. */
  abort(code: 'SHUTDOWN' | 'LEASE_LOST', message: string): void {
    for (const fetcher of this.#fetchers) fetcher.abort(code, message)
  }

  /**
   * Puts the jobs that still run or were interrupted back into their queues, newest first across all capsules, and
   * ends.
   */
  async stop(): Promise<Attempt[]> {
    const back = this.#fetchers.flatMap((fetcher) => fetcher.drain())
    back.sort((a, b) => b.attempt.slot - a.attempt.slot)
    const settlements = back.map(({ settlement }) => settlement)
    await Promise.all(this.#fetchers.map((fetcher, i) => fetcher.stop(i === 0 ? settlements : [])))
    for (const { queue, move } of settlements) await reportCrashedOut(this.#engine, queue, move)
    return back.map(({ attempt }) => attempt)
  }

  /** The owner's jobs belong to others now: forget them. */
  onLeaseLost(): void {
    for (const fetcher of this.#fetchers) fetcher.onLeaseLost()
  }
}
