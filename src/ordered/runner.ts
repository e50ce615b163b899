/** Runs one ordered queue in one process: its shards, its store calls and its batches. */

import { answerOfHandler } from '../job/wait.ts'
import type { FetchedBatch, OrderedEnd } from '../store/contract.ts'
import type { Engine } from '../worker/engine.ts'
import type { WorkerHandle } from '../worker/executor.ts'
import { Batch, deathOf } from './batch.ts'
import { idFields } from './context.ts'
import type { OrderedDeath, OrderedDefinition } from './definition.ts'
import { Maintenance } from './maintenance.ts'
import { Membership } from './membership.ts'
import type { QueueEvent, QueueParts } from './parts.ts'
import { SettleAndFetch } from './settle-and-fetch.ts'
import type { Shard } from './shard.ts'

const REQUEUE: OrderedEnd = { kind: 'requeue' }

/**
 * The shards of the queue have changed; ids were fetched, so that batches can start; or the queue has nothing to do until
 * an id is due or the store notifies.
 */
export type RunnerEvent = 'shards-changed' | 'fetched' | 'idle'

export class QueueRunner {
  readonly definition: OrderedDefinition
  readonly #engine: Engine
  readonly #worker: WorkerHandle
  readonly #emit: (event: RunnerEvent, runner: QueueRunner) => void
  readonly #membership: Membership
  readonly #maintenance: Maintenance
  readonly calls: SettleAndFetch
  #mayHaveCrashed = false

  constructor(parts: QueueParts, emit: (event: RunnerEvent, runner: QueueRunner) => void) {
    this.definition = parts.definition
    this.#engine = parts.engine
    this.#worker = parts.worker
    this.#emit = emit
    const on = (event: QueueEvent) => this.#on(event)
    this.#membership = new Membership(parts, on)
    this.calls = new SettleAndFetch(parts, this.#membership.shards, on)
    this.#maintenance = new Maintenance(parts, this.calls, this.#membership)
  }

  get shards(): Iterable<Shard> {
    return this.#membership.shards.values()
  }

  /** Whether the queue can wait for a notification of the store. */
  get isWaiting(): boolean {
    return this.calls.isIdle && this.#membership.hasJoined
  }

  start(): void {
    void this.#membership.start()
    void this.#maintenance.start()
  }

  quiet(): void {
    this.calls.isQuiet = true
    this.#membership.quiet()
  }

  /** Runs a shard's next batch. Never rejects. */
  async run(shard: Shard): Promise<void> {
    const { eventLoop, nextSlot } = this.#worker
    const ids = shard.nextBatch()
    const { shard: number, token } = shard
    const batch = new Batch(this.#engine, this.definition, ids, { shard: number, token, slot: nextSlot() })
    shard.running.add(batch)
    const record = eventLoop.began(batch.payload.jid, this.definition.name)
    const running = batch.run()
    eventLoop.yielded()
    const ends = await running
    eventLoop.ended(record)
    shard.running.delete(batch)
    if (batch.isLost) return
    const hadFatalError = batch.began <= this.#fatalErrorAt
    for (let i = 0; i < ids.length; i++) {
      const fetched = ids[i] as FetchedBatch
      const end = ends[i] ?? REQUEUE
      if (hadFatalError && end.kind === 'requeue') {
        // The batch may have caused the fatal error. It stays in flight, so that the next owner counts a crash.
        this.#mayHaveCrashed = true
        continue
      }
      const dies = end.kind === 'dead' ? { batch, death: deathOf(fetched, end.error) } : undefined
      this.calls.settle(shard, fetched, end, dies)
    }
    this.calls.plan()
  }

  abort(code: 'SHUTDOWN' | 'LEASE_LOST', message: string): void {
    for (const shard of this.shards) for (const { ctx } of shard.running) ctx.abort(code, message)
  }

  /** Requeues the batches that still run, leaves the queue, and returns these batches. */
  async stop(signal: AbortSignal): Promise<Batch[]> {
    this.quiet()
    const left = [...this.shards].flatMap(({ running }) => [...running])
    for (const batch of left) batch.isLost = true
    const maintained = this.#maintenance.stop()
    this.calls.resendRefused()
    await this.calls.finish(signal)
    await maintained
    // Leaving the queue would requeue these ids without a crash being counted.
    if (this.#mayHaveCrashed || left.some(({ began }) => began <= this.#fatalErrorAt)) return left
    try {
      await this.#membership.stop()
    } catch (thrown) {
      this.#engine.report(thrown, { during: `leaving the ordered queue ${this.definition.queue}` })
    }
    return left
  }

  /** Drops everything: the shards belong to other processes now. */
  onLeaseLost(): void {
    this.calls.reset()
    this.#membership.dropAll()
    this.calls.plan()
  }

  /** On the monotonic clock: the time of an uncaught error that ends the process; 0 if there was none. */
  get #fatalErrorAt(): number {
    return this.#engine.fatalAt?.() ?? 0
  }

  #on(event: QueueEvent): void {
    switch (event.kind) {
      case 'acquired':
        this.#emit('shards-changed', this)
        this.calls.plan()
        break
      case 'leaving':
        this.calls.requeueReady(event.shard)
        this.calls.plan()
        break
      case 'lost':
        this.#dropShard(event.shard)
        break
      case 'assigned':
        if (this.#membership.ownsFirstShard) this.#maintenance.runIfDue(event.isResharding)
        if (this.isWaiting) this.#emit('idle', this)
        break
      case 'assignments-changed':
        this.#membership.rebalance()
        break
      case 'settled':
        for (const shard of event.shards) this.#membership.settled(shard)
        break
      case 'died':
        void this.#notifyDeaths(event.deaths)
        break
      default:
        this.#emit(event.kind, this)
    }
  }

  #dropShard(shard: Shard): void {
    for (const batch of shard.running) {
      batch.isLost = true
      batch.ctx.abort('LEASE_LOST', 'this process lost the shard: its ids may run elsewhere by now')
    }
    shard.leaving = true
    shard.dropReady()
    this.calls.dropShard(shard.shard)
    this.#emit('shards-changed', this)
  }

  async #notifyDeaths(deaths: OrderedDeath[]): Promise<void> {
    const { name, queue, options } = this.definition
    try {
      await answerOfHandler(`onExhausted of ${name}`, () => options.onExhausted?.(deaths))
    } catch (thrown) {
      const ids = idFields(deaths.map(({ id }) => id))
      this.#engine.report(thrown, { during: 'onExhausted', class: name, queue, ...ids })
    }
    for (const { id, payloads, error } of deaths) {
      const args = [{ id, payloads }]
      await this.#engine.died({ class: name, queue, jid: id, args }, new Error(error ?? 'it died'))
    }
  }
}
