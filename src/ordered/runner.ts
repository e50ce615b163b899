/** Runs one ordered queue in one process: its shards, its store calls and its batches. */

import type { FetchedBatch, OrderedEnd, ShardAssignments } from '../store/contract.ts'
import type { Engine } from '../worker/engine.ts'
import type { WorkerHandle } from '../worker/executor.ts'
import { Batch, deathOf } from './batch.ts'
import { idFields } from './context.ts'
import type { OrderedDeath, OrderedDefinition } from './definition.ts'
import { Membership, type MembershipOptions } from './membership.ts'
import { MorguePruner } from './morgue-pruner.ts'
import { SettleAndFetch } from './settle-and-fetch.ts'
import type { Shard } from './shard.ts'

const REQUEUE: OrderedEnd = { kind: 'requeue' }

export interface RunnerHost {
  worker: WorkerHandle
  wanted(assignments: ShardAssignments, owner: string): readonly number[]
  rebalanced(assignments: ShardAssignments): void
  /** Called when the shards of a queue have changed. */
  shardsChanged(): void
  /** Called when batches can start. */
  ready(): void
  /** Called when the queue has nothing to do until an id is due or the store notifies. */
  idle(): void
}

export class QueueRunner {
  readonly definition: OrderedDefinition
  readonly #engine: Engine
  readonly #host: RunnerHost
  readonly #membership: Membership
  readonly #settleAndFetch: SettleAndFetch
  readonly #pruner: MorguePruner
  #mayHaveCrashed = false

  constructor(engine: Engine, definition: OrderedDefinition, host: RunnerHost, options: MembershipOptions) {
    this.#engine = engine
    this.definition = definition
    this.#host = host
    this.#pruner = new MorguePruner(engine, definition)
    const { owner, onFenced } = host.worker
    const died = (deaths: OrderedDeath[]) => void this.#notifyDeaths(deaths)
    this.#membership = new Membership(
      engine,
      definition,
      {
        ...{ owner, onFenced, died },
        wanted: host.wanted,
        acquired: () => {
          host.shardsChanged()
          this.#settleAndFetch.plan()
        },
        leaving: (shard) => {
          for (const one of shard.dropReady()) this.#settleAndFetch.settle(shard, one, { kind: 'requeue' })
        },
        lost: (shard) => this.#dropShard(shard),
        rebalanced: (assignments) => {
          host.rebalanced(assignments)
          if (this.#membership.shards.has(0) && !this.#membership.isQuiet) this.#pruner.run(assignments)
          if (this.isWaiting) host.idle()
        },
      },
      options,
    )
    this.#settleAndFetch = new SettleAndFetch(engine, definition, this.#membership.shards, {
      ...{ owner, died },
      ready: host.ready,
      idle: host.idle,
      rebalance: () => this.#membership.rebalance(),
      settled: (shard) => this.#membership.settled(shard),
    })
  }

  get shards(): Iterable<Shard> {
    return this.#membership.shards.values()
  }

  /** Whether the queue can wait for a notification of the store. */
  get isWaiting(): boolean {
    return this.#settleAndFetch.isIdle && this.#membership.hasJoined
  }

  /** The time at which the next known id is due, in seconds. */
  get nextDue(): number {
    return this.#settleAndFetch.nextDue
  }

  rebalance(): void {
    if (!this.#membership.isQuiet) this.#membership.rebalance()
  }

  poll(notified: boolean, shard?: number): void {
    this.#settleAndFetch.poll(notified, shard)
  }

  /** Fetches the ids that are due by now. */
  plan(): void {
    this.#settleAndFetch.plan()
  }

  reconcile(): void {
    void this.#settleAndFetch.reconcile()
  }

  quiet(): void {
    this.#settleAndFetch.isQuiet = true
    this.#membership.quiet()
  }

  /** Runs a shard's next batch. Never rejects. */
  async run(shard: Shard): Promise<void> {
    const { eventLoop, nextSlot } = this.#host.worker
    const ids = shard.nextBatch()
    const { shard: place, token } = shard
    const batch = new Batch(this.#engine, this.definition, ids, { shard: place, token, place: nextSlot() })
    shard.running.add(batch)
    const life = eventLoop.began(batch.payload.jid, this.definition.name)
    const running = batch.run()
    eventLoop.yielded()
    const ends = await running
    eventLoop.ended(life)
    shard.running.delete(batch)
    if (batch.isLost) return
    const hadFatalError = batch.began <= this.#fatalErrorAt
    for (let i = 0; i < ids.length; i++) {
      const taken = ids[i] as FetchedBatch
      const end = ends[i] ?? REQUEUE
      if (hadFatalError && end.kind === 'requeue') {
        // The batch may have caused the fatal error. It stays in flight, so that the next owner counts a crash.
        this.#mayHaveCrashed = true
        continue
      }
      const dies = end.kind === 'dead' ? { batch, death: deathOf(taken, end.error) } : undefined
      this.#settleAndFetch.settle(shard, taken, end, dies)
    }
  }

  abort(code: 'SHUTDOWN' | 'LEASE_LOST', message: string): void {
    for (const shard of this.shards) for (const { ctx } of shard.running) ctx.abort(code, message)
  }

  /** Requeues the batches that still run, leaves the queue, and returns these batches. */
  async stop(): Promise<Batch[]> {
    this.quiet()
    const left = [...this.shards].flatMap(({ running }) => [...running])
    for (const batch of left) batch.isLost = true
    await this.#settleAndFetch.flush()
    await this.#pruner.stop()
    // Leaving the queue requeues what is in flight.
    if (this.#mayHaveCrashed || left.some(({ began }) => began <= this.#fatalErrorAt)) return left
    try {
      await this.#membership.stop()
    } catch (thrown) {
      this.#engine.report(thrown, { during: `leaving the ordered queue ${this.definition.queue}` })
    }
    return left
  }

  forget(): void {
    this.#settleAndFetch.reset()
    this.#membership.dropAll()
  }

  /** On the monotonic clock: the time of an uncaught error that ends the process; 0 if there was none. */
  get #fatalErrorAt(): number {
    return this.#engine.fatalAt?.() ?? 0
  }

  #dropShard(shard: Shard): void {
    for (const batch of shard.running) {
      batch.isLost = true
      batch.ctx.abort('LEASE_LOST', 'this process lost the shard: its ids may run elsewhere by now')
    }
    shard.leaving = true
    shard.dropReady()
    this.#settleAndFetch.dropShard(shard.shard)
    this.#host.shardsChanged()
  }

  async #notifyDeaths(deaths: OrderedDeath[]): Promise<void> {
    const { name, queue, options } = this.definition
    try {
      await options.onExhausted?.(deaths)
    } catch (thrown) {
      this.#engine.report(thrown, {
        ...{ during: 'onExhausted', class: name, queue },
        ...idFields(deaths.map(({ id }) => id)),
      })
    }
    for (const { id, payloads, error } of deaths) {
      const args = [{ id, payloads }]
      await this.#engine.died({ class: name, queue, jid: id, args }, new Error(error ?? 'it died'))
    }
  }
}
