/** Runs one ordered queue in one process: its shards, its store calls and its batches. */

import type { FetchedBatch, OrderedEnd, OrderedSettleAndFetchAnswer } from '../store/contract.ts'
import type { Engine } from '../worker/engine.ts'
import type { WorkerHandle } from '../worker/executor.ts'
import { CallLoop } from '../worker/loop/call-loop.ts'
import { Batch, deathOf } from './batch.ts'
import { idFields } from './context.ts'
import type { OrderedDeath, OrderedDefinition } from './definition.ts'
import { Membership, type MembershipEvent, type MembershipOptions } from './membership.ts'
import { MorguePruner } from './morgue-pruner.ts'
import { type Sent, SettleAndFetch } from './settle-and-fetch.ts'
import type { Shard } from './shard.ts'
import type { ShardPlan } from './shard-assignments.ts'

const REQUEUE: OrderedEnd = { kind: 'requeue' }

/**
 * The shards of the queue have changed; ids were fetched, so that batches can start; or the queue has nothing to do until
 * an id is due or the store notifies.
 */
export type QueueEvent = 'shards-changed' | 'fetched' | 'idle'

export class QueueRunner extends CallLoop<Sent, OrderedSettleAndFetchAnswer> {
  readonly definition: OrderedDefinition
  readonly #worker: WorkerHandle
  readonly #emit: (event: QueueEvent, runner: QueueRunner) => void
  readonly #membership: Membership
  readonly #settleAndFetch: SettleAndFetch
  readonly #pruner: MorguePruner
  /** A call failed, so ids that it may have fetched must be requeued. */
  #mustReconcile = false
  #mayHaveCrashed = false

  constructor(
    engine: Engine,
    definition: OrderedDefinition,
    worker: WorkerHandle,
    plan: ShardPlan,
    options: MembershipOptions,
    emit: (event: QueueEvent, runner: QueueRunner) => void,
  ) {
    super(engine, `fetching from the ordered queue ${definition.queue}`)
    this.definition = definition
    this.#worker = worker
    this.#emit = emit
    this.#membership = new Membership(engine, definition, worker, plan, options, (event) => this.#onMembership(event))
    this.#pruner = new MorguePruner(engine, definition, () => this.#ownsFirstShard)
    this.#settleAndFetch = new SettleAndFetch(engine, definition, this.#membership.shards)
  }

  get shards(): Iterable<Shard> {
    return this.#membership.shards.values()
  }

  /** Whether the queue can wait for a notification of the store. */
  get isWaiting(): boolean {
    return this.isIdle && this.#membership.hasJoined
  }

  /** The time at which the next known id is due, in seconds. */
  get nextDue(): number {
    return this.#settleAndFetch.nextDue
  }

  start(): void {
    void this.#membership.start()
    void this.#pruner.start()
  }

  /** Polls one shard, or all of them, after a notification or because it is time to. */
  poll(notified: boolean, shard?: number): void {
    if (this.#settleAndFetch.poll(notified, shard)) this.plan()
    else if (notified) this.#membership.rebalance()
  }

  override plan(): void {
    if (this.#mustReconcile) this.step(() => this.#requeueUnknown())
    else super.plan()
  }

  /** Requeues ids that are in flight for this owner but unknown to it, because an answer was lost. */
  reconcile(): void {
    this.#mustReconcile = true
    this.plan()
  }

  quiet(): void {
    this.#settleAndFetch.isQuiet = true
    this.#membership.quiet()
  }

  /** Runs a shard's next batch. Never rejects. */
  async run(shard: Shard): Promise<void> {
    const { eventLoop, nextSlot } = this.#worker
    const ids = shard.nextBatch()
    const { shard: number, token } = shard
    const batch = new Batch(this.engine, this.definition, ids, { shard: number, token, slot: nextSlot() })
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
      this.#settleAndFetch.settle(shard, fetched, end, dies)
    }
    this.plan()
  }

  abort(code: 'SHUTDOWN' | 'LEASE_LOST', message: string): void {
    for (const shard of this.shards) for (const { ctx } of shard.running) ctx.abort(code, message)
  }

  /** Requeues the batches that still run, leaves the queue, and returns these batches. */
  async stop(): Promise<Batch[]> {
    this.quiet()
    const left = [...this.shards].flatMap(({ running }) => [...running])
    for (const batch of left) batch.isLost = true
    await this.finish()
    await this.#pruner.stop()
    // Leaving the queue requeues what is in flight.
    if (this.#mayHaveCrashed || left.some(({ began }) => began <= this.#fatalErrorAt)) return left
    try {
      await this.#membership.stop()
    } catch (thrown) {
      this.engine.report(thrown, { during: `leaving the ordered queue ${this.definition.queue}` })
    }
    return left
  }

  /** Drops everything: the shards belong to other processes now. */
  onLeaseLost(): void {
    this.#settleAndFetch.reset()
    this.#mustReconcile = false
    this.#membership.dropAll()
    this.plan()
  }

  protected override get hasSettlements(): boolean {
    return this.#settleAndFetch.hasSettlements
  }

  protected override get hasWork(): boolean {
    return this.#settleAndFetch.hasWork
  }

  protected override drainCall(): Sent | undefined {
    return this.#settleAndFetch.drain(this.callCount)
  }

  protected override send({ call }: Sent): Promise<OrderedSettleAndFetchAnswer> {
    return this.engine.store.ordered.settleAndFetch(this.definition.queue, this.#worker.owner(), call)
  }

  protected override applyAnswer(sent: Sent, answer: OrderedSettleAndFetchAnswer): boolean {
    const applied = this.#settleAndFetch.applyAnswer(sent, answer)
    if (!applied) return true
    for (const deaths of applied.dead) void this.#notifyDeaths(deaths)
    if (applied.mustRebalance) this.#membership.rebalance()
    if (applied.received > 0) this.#emit('fetched', this)
    return applied.refused === 0
  }

  protected override restore(sent: Sent, thrown: unknown): boolean {
    if (!this.#settleAndFetch.restore(sent, thrown)) return false
    this.#mustReconcile = true
    return true
  }

  protected override callEnded(sent: Sent): void {
    this.#settleAndFetch.callEnded(sent)
    for (const shard of sent.shards) this.#membership.settled(shard)
  }

  protected override onIdle(): void {
    this.#emit('idle', this)
  }

  /** On the monotonic clock: the time of an uncaught error that ends the process; 0 if there was none. */
  get #fatalErrorAt(): number {
    return this.engine.fatalAt?.() ?? 0
  }

  get #ownsFirstShard(): boolean {
    return this.#membership.shards.has(0) && !this.#membership.isQuiet
  }

  #onMembership(event: MembershipEvent): void {
    switch (event.kind) {
      case 'acquired':
        this.#emit('shards-changed', this)
        this.plan()
        break
      case 'leaving':
        this.#settleAndFetch.requeueReady(event.shard)
        this.plan()
        break
      case 'lost':
        this.#dropShard(event.shard)
        break
      case 'died':
        void this.#notifyDeaths(event.deaths)
        break
      case 'shared':
        if (this.#ownsFirstShard) this.#pruner.rebalanced(event.assignments.from !== null)
        if (this.isWaiting) this.#emit('idle', this)
    }
  }

  #dropShard(shard: Shard): void {
    for (const batch of shard.running) {
      batch.isLost = true
      batch.ctx.abort('LEASE_LOST', 'this process lost the shard: its ids may run elsewhere by now')
    }
    shard.leaving = true
    shard.dropReady()
    this.#settleAndFetch.dropShard(shard.shard)
    this.#emit('shards-changed', this)
  }

  async #requeueUnknown(): Promise<void> {
    await this.#settleAndFetch.requeueUnknown(this.#worker.owner())
    this.#mustReconcile = false
  }

  async #notifyDeaths(deaths: OrderedDeath[]): Promise<void> {
    const { name, queue, options } = this.definition
    try {
      await options.onExhausted?.(deaths)
    } catch (thrown) {
      this.engine.report(thrown, {
        ...{ during: 'onExhausted', class: name, queue },
        ...idFields(deaths.map(({ id }) => id)),
      })
    }
    for (const { id, payloads, error } of deaths) {
      const args = [{ id, payloads }]
      await this.engine.died({ class: name, queue, jid: id, args }, new Error(error ?? 'it died'))
    }
  }
}
