/**
 * Decides which shards of one queue this process owns: joins, acquires its share, and hands shards over after their
 * batches.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { MorgueEntry, ShardAssignments } from '../store/contract.ts'
import { Periodic } from '../worker/background-service.ts'
import type { Engine } from '../worker/engine.ts'
import type { WorkerHandle } from '../worker/executor.ts'
import type { OrderedDeath, OrderedDefinition } from './definition.ts'
import { scoredValue } from './entry.ts'
import { Shard } from './shard.ts'
import type { ShardPlan } from './shard-assignments.ts'

/** A change of the shards that this process owns. */
export type MembershipEvent =
  | { kind: 'acquired'; shard: Shard }
  /** The shard is about to be handed over: no new batch of it starts, and ids that have not started are requeued. */
  | { kind: 'leaving'; shard: Shard }
  /** This process no longer owns the shard. */
  | { kind: 'lost'; shard: Shard }
  /** These ids were orphaned when the former owner of their shard died. */
  | { kind: 'died'; deaths: OrderedDeath[] }
  /** This process owns its share. */
  | { kind: 'shared'; assignments: ShardAssignments }

export interface MembershipOptions {
  pollMs: number
  leaseMs: number
}

/** Attempts to join before the lease counts as lost. */
const JOIN_ATTEMPTS = 3
const JOIN_RETRY_MS = 50

/** Each run reads the members and acquires or hands over shards. */
export class Membership extends Periodic {
  readonly shards = new Map<number, Shard>()
  readonly #engine: Engine
  readonly #definition: OrderedDefinition
  readonly #worker: WorkerHandle
  readonly #plan: ShardPlan
  readonly #options: MembershipOptions
  readonly #emit: (event: MembershipEvent) => void
  /** The owner name under which this process joined. */
  #joined: string | undefined
  /** By shard of another owner: since when nobody owns it, on the monotonic clock. */
  #freeSince = new Map<number, number>()
  /** Shards acquired because their owner does not acquire them, until the members change. */
  #adopted = { members: '', shards: new Set<number>() }
  #hasWarned = false
  isQuiet = false

  constructor(
    engine: Engine,
    definition: OrderedDefinition,
    worker: WorkerHandle,
    plan: ShardPlan,
    options: MembershipOptions,
    emit: (event: MembershipEvent) => void,
  ) {
    const during = `sharing the ordered queue ${definition.queue}`
    super(engine.report, { during, everyMs: options.leaseMs / 3 })
    this.#engine = engine
    this.#definition = definition
    this.#worker = worker
    this.#plan = plan
    this.#options = options
    this.#emit = emit
  }

  get hasJoined(): boolean {
    return this.#joined !== undefined
  }

  /** Reads the members and acquires or hands over shards, now or after the run under way. */
  rebalance(): void {
    if (!this.isStopping) void this.runNow()
  }

  /** Acquires no more shards, and releases each shard when its batch has ended. */
  override quiet(): void {
    this.isQuiet = true
    for (const shard of this.shards.values()) this.#startLeaving(shard)
    this.rebalance()
  }

  /** Hands the shard over if it is leaving and idle. Call it after settlements of the shard were sent. */
  settled(shard: Shard): void {
    if (shard.leaving && shard.isIdle && this.shards.get(shard.shard) === shard) this.rebalance()
  }

  /** Leaves the queue, which releases all shards. */
  override async stop(): Promise<void> {
    this.isQuiet = true
    await super.stop()
    await this.#leave()
  }

  /** Drops all shards: they belong to other processes now. */
  dropAll(): void {
    this.#joined = undefined
    for (const shard of [...this.shards.values()]) this.#drop(shard)
    if (!this.isQuiet) this.#rebalanceSoon()
  }

  get #queue(): string {
    return this.#definition.queue
  }

  #rebalanceSoon(): void {
    this.runWithin(this.#options.pollMs)
  }

  protected override failed(): void {
    this.#rebalanceSoon()
  }

  protected override async run(): Promise<void> {
    const { store } = this.#engine
    const owner = this.#worker.owner()
    if (this.#joined !== owner) {
      if (this.isQuiet || !(await this.#join(owner))) return
    }
    const assignments = await store.ordered.assignments(this.#queue)
    // This process changed its owner name meanwhile.
    if (this.#joined !== owner) return
    if (!assignments?.members.includes(owner)) {
      this.dropAll()
      return
    }
    await this.#applyAssignments(assignments, owner)
    if (this.isQuiet && this.shards.size === 0 && this.#joined === owner) await this.#leave()
  }

  async #leave(): Promise<void> {
    const owner = this.#joined
    if (owner === undefined) return
    this.#joined = undefined
    await this.#engine.store.ordered.leave(this.#queue, owner, this.#engine.now())
  }

  /** Returns false when the lease is lost; the worker then joins under a new owner name. */
  async #join(owner: string): Promise<boolean> {
    const { store, log } = this.#engine
    const { shards, reshard } = this.#definition.options
    const stored = await store.ordered.define(this.#queue, shards)
    if (stored !== shards && reshard === 'auto') await store.ordered.reshard(this.#queue, shards)
    else if (stored !== shards && !this.#hasWarned) {
      this.#hasWarned = true
      log.warn(
        { queue: this.#queue, stored, defined: shards },
        `${this.#definition.name} has ${stored} shards, not ${shards}: call its reshard(${shards}), or define it with reshard: 'auto'`,
      )
    }
    for (let attempt = 0; attempt < JOIN_ATTEMPTS; attempt++) {
      if (attempt > 0) await sleep(JOIN_RETRY_MS)
      if (owner !== this.#worker.owner()) break
      if (await store.ordered.join(this.#queue, owner)) {
        // This process may have changed its owner name meanwhile.
        if (owner === this.#worker.owner()) this.#joined = owner
        else this.rebalance()
        return this.#joined === owner
      }
    }
    if (owner === this.#worker.owner()) await this.#worker.onFenced()
    this.#rebalanceSoon()
    return false
  }

  async #applyAssignments(assignments: ShardAssignments, owner: string): Promise<void> {
    const wanted = new Set(this.isQuiet ? [] : this.#plan.wanted(this.#queue, assignments, owner))
    this.#adopt(assignments, wanted)
    for (const { shard: number, owner: by, token } of assignments.owners) {
      const shard = this.shards.get(number)
      if (shard && (by !== owner || token !== shard.token)) {
        this.#drop(shard)
        if (!this.isQuiet) this.rebalance()
      } else if (shard && (shard.released || !wanted.has(number))) {
        await this.#handOver(shard, owner)
      } else if (shard) {
        shard.leaving = false
      } else if (wanted.has(number) && by === null) {
        if (!(await this.#acquire(number, owner))) this.#rebalanceSoon()
      } else if (by === owner) {
        // The answer to an earlier acquireShard was lost. The second one also reports the deaths.
        await this.#acquire(number, owner)
        const acquired = this.shards.get(number)
        if (acquired && !wanted.has(number)) await this.#handOver(acquired, owner)
      } else if (wanted.has(number)) {
        this.#rebalanceSoon()
      }
      if (this.#joined !== owner) return
    }
    // Shards above the current number of shards.
    for (const shard of [...this.shards.values()]) {
      if (shard.shard >= assignments.owners.length) await this.#handOver(shard, owner)
    }
    this.#emit({ kind: 'shared', assignments })
  }

  /** Acquires shards that nobody has owned for two thirds of a lease: their owner lives but acquires no more. */
  #adopt(assignments: ShardAssignments, wanted: Set<number>): void {
    const members = assignments.members.join('\n')
    if (this.#adopted.members !== members) {
      this.#adopted = { members, shards: new Set() }
      this.#freeSince.clear()
    }
    if (this.isQuiet || !this.#plan.adoptsUnowned) return
    const now = performance.now()
    for (const { shard, owner } of assignments.owners) {
      if (this.#adopted.shards.has(shard)) wanted.add(shard)
      if (owner !== null || wanted.has(shard)) {
        this.#freeSince.delete(shard)
        continue
      }
      const since = this.#freeSince.get(shard) ?? now
      this.#freeSince.set(shard, since)
      if (now - since < (this.#options.leaseMs * 2) / 3) continue
      this.#adopted.shards.add(shard)
      wanted.add(shard)
    }
  }

  async #acquire(number: number, owner: string): Promise<boolean> {
    const { store, now, log } = this.#engine
    const { maxCrashes } = this.#definition.options
    const answer = await store.ordered.acquireShard(this.#queue, number, owner, maxCrashes, now())
    if (!answer) return false
    const { token, rescued, died } = answer
    if (rescued > 0) {
      log.warn({ queue: this.#queue, shard: number, ids: rescued }, 'rescued ordered jobs of a process that died')
    }
    if (died.length > 0) this.#emit({ kind: 'died', deaths: died.map(deathIn) })
    if (this.#joined === owner) this.#add(number, token)
    return true
  }

  #add(number: number, token: number): void {
    const { batchSize, serial } = this.#definition.options
    const settings = { queue: this.#queue, batchSize, serial, now: this.#engine.now }
    const shard = new Shard(number, token, settings)
    this.shards.set(number, shard)
    this.#emit({ kind: 'acquired', shard })
  }

  #startLeaving(shard: Shard): void {
    if (shard.leaving) return
    shard.leaving = true
    this.#emit({ kind: 'leaving', shard })
  }

  async #handOver(shard: Shard, owner: string): Promise<void> {
    this.#startLeaving(shard)
    if (!shard.isIdle) return
    shard.released = true
    await this.#engine.store.ordered.releaseShard(this.#queue, shard.shard, owner, shard.token, this.#engine.now())
    this.#drop(shard)
  }

  #drop(shard: Shard): void {
    if (this.shards.get(shard.shard) !== shard) return
    this.shards.delete(shard.shard)
    this.#emit({ kind: 'lost', shard })
  }
}

function deathIn({ id, payloads, error }: MorgueEntry): OrderedDeath {
  return { id, error, payloads: payloads.map(scoredValue) }
}
