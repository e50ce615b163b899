/**
 * Decides which shards of one queue this process owns: joins, acquires its share, and hands shards over after their
 * batches.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { hasCode, isUnreachable } from '../job/errors.ts'
import type { ShardAssignments, ShardOwner } from '../store/contract.ts'
import { Periodic } from '../worker/background-service.ts'
import { scoredValue } from './entry.ts'
import type { QueueEvent, QueueParts } from './parts.ts'
import { Shard } from './shard.ts'

/** Attempts to join before the lease counts as lost. */
const JOIN_ATTEMPTS = 3
const JOIN_RETRY_MS = 50

/** Each run reads the members and acquires or hands over shards. */
export class Membership extends Periodic {
  readonly shards = new Map<number, Shard>()
  readonly #parts: QueueParts
  readonly #emit: (event: QueueEvent) => void
  /** The owner name under which this process joined. */
  #joined: string | undefined
  /** By shard: since when a shard that is assigned to another process has no owner, on the monotonic clock. */
  #freeSince = new Map<number, number>()
  /** Shards that this process acquires for members that do not acquire theirs, until the members change. */
  #adopted = { members: '', shards: new Set<number>() }
  #hasWarned = false
  isQuiet = false

  constructor(parts: QueueParts, emit: (event: QueueEvent) => void) {
    const during = `sharing the ordered queue ${parts.definition.queue}`
    super(parts.engine.report, { during, everyMs: parts.leaseMs / 3 })
    this.#parts = parts
    this.#emit = emit
  }

  get hasJoined(): boolean {
    return this.#joined !== undefined
  }

  get ownsFirstShard(): boolean {
    return this.shards.has(0) && !this.isQuiet
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
    return this.#parts.definition.queue
  }

  #rebalanceSoon(): void {
    this.runWithin(this.#parts.pollMs)
  }

  protected override failed(): void {
    this.#rebalanceSoon()
  }

  protected override async run(): Promise<void> {
    const { store } = this.#parts.engine
    const owner = this.#parts.worker.owner()
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
    await this.#parts.engine.store.ordered.leave(this.#queue, owner, this.#parts.engine.now())
  }

  /** Returns false when the lease is lost; the worker then joins under a new owner name. */
  async #join(owner: string): Promise<boolean> {
    const { store, log } = this.#parts.engine
    const { shards, reshard } = this.#parts.definition.options
    const stored = await store.ordered.define(this.#queue, shards)
    if (stored !== shards && reshard === 'auto') await store.ordered.reshard(this.#queue, shards)
    else if (stored !== shards && !this.#hasWarned) {
      this.#hasWarned = true
      log.warn(
        { queue: this.#queue, stored, defined: shards },
        `${this.#parts.definition.name} has ${stored} shards, not ${shards}: call its reshard(${shards}), or define it with reshard: 'auto'`,
      )
    }
    for (let attempt = 0; attempt < JOIN_ATTEMPTS; attempt++) {
      if (attempt > 0) {
        await sleep(JOIN_RETRY_MS)
        // The queue may have been deleted meanwhile.
        await store.ordered.define(this.#queue, shards)
      }
      if (owner !== this.#parts.worker.owner()) break
      if (await store.ordered.join(this.#queue, owner)) {
        // This process may have changed its owner name meanwhile.
        if (owner === this.#parts.worker.owner()) this.#joined = owner
        else this.rebalance()
        return this.#joined === owner
      }
    }
    if (owner === this.#parts.worker.owner()) await this.#parts.worker.onFenced()
    this.#rebalanceSoon()
    return false
  }

  async #applyAssignments(assignments: ShardAssignments, owner: string): Promise<void> {
    const wanted = new Set(this.isQuiet ? [] : this.#parts.plan.wanted(this.#queue, assignments, owner))
    this.#adopt(assignments, wanted)
    const failures: unknown[] = []
    // If the store refuses one shard, the others are acquired and handed over all the same.
    const tryShard = async (work: Promise<void>) => {
      try {
        await work
      } catch (thrown) {
        // A call for another shard would fail, too.
        if (isUnreachable(thrown) || hasCode(thrown, 'STORE_CLOSED')) throw thrown
        failures.push(thrown)
      }
    }
    for (const assigned of assignments.owners) {
      const isWanted = wanted.has(assigned.shard)
      const shard = this.shards.get(assigned.shard)
      await tryShard(
        shard ? this.#keepOrHandOver(shard, assigned, isWanted, owner) : this.#acquireIfFree(assigned, isWanted, owner),
      )
      if (this.#joined !== owner) return
    }
    // After a change of the number of shards: those that no longer exist.
    for (const shard of [...this.shards.values()]) {
      if (shard.shard >= assignments.owners.length) await tryShard(this.#handOver(shard, owner))
    }
    this.#emit({ kind: 'assigned', isResharding: assignments.from !== null })
    if (failures.length > 0) throw failures[0]
  }

  /** Keeps a shard of this process, hands it over, or drops it because another process has acquired it. */
  async #keepOrHandOver(
    shard: Shard,
    { owner: current, token }: ShardOwner,
    isWanted: boolean,
    owner: string,
  ): Promise<void> {
    if (current !== owner || token !== shard.token) {
      this.#drop(shard)
      if (!this.isQuiet) this.rebalance()
    } else if (isWanted && !shard.released && !shard.hasLostFetches) {
      shard.leaving = false
    } else {
      await this.#handOver(shard, owner)
      if (shard.hasLostFetches && !this.shards.has(shard.shard)) this.rebalance()
    }
  }

  /** Acquires a wanted shard if no other process owns it; if one does, tries again soon. */
  async #acquireIfFree({ shard: number, owner: current }: ShardOwner, isWanted: boolean, owner: string): Promise<void> {
    if (current === owner) {
      // The answer to an earlier acquireShard was lost. The second one also reports the deaths.
      await this.#acquire(number, owner)
      const acquired = this.shards.get(number)
      if (acquired && !isWanted) await this.#handOver(acquired, owner)
    } else if (isWanted && (current !== null || !(await this.#acquire(number, owner)))) {
      this.#rebalanceSoon()
    }
  }

  /**
   * Adds the shards that have had no owner for two thirds of a lease: the member to which they are assigned lives, but
   * does not acquire them.
   */
  #adopt(assignments: ShardAssignments, wanted: Set<number>): void {
    const members = assignments.members.join('\n')
    if (this.#adopted.members !== members) {
      this.#adopted = { members, shards: new Set() }
      this.#freeSince.clear()
    }
    if (this.isQuiet || !this.#parts.plan.adoptsUnowned) return
    const now = performance.now()
    for (const { shard, owner } of assignments.owners) {
      if (this.#adopted.shards.has(shard)) wanted.add(shard)
      if (owner !== null || wanted.has(shard)) {
        this.#freeSince.delete(shard)
        continue
      }
      const since = this.#freeSince.get(shard) ?? now
      this.#freeSince.set(shard, since)
      if (now - since < (this.#parts.leaseMs * 2) / 3) continue
      this.#adopted.shards.add(shard)
      wanted.add(shard)
    }
  }

  async #acquire(number: number, owner: string): Promise<boolean> {
    const { store, now, log } = this.#parts.engine
    const { maxCrashes } = this.#parts.definition.options
    const answer = await store.ordered.acquireShard(this.#queue, number, owner, maxCrashes, now())
    if (!answer) return false
    const { token, rescued, died } = answer
    if (rescued > 0) {
      log.warn({ queue: this.#queue, shard: number, ids: rescued }, 'rescued ordered jobs of a process that died')
    }
    const deaths = died.map(({ id, payloads, error }) => ({ id, error, payloads: payloads.map(scoredValue) }))
    if (deaths.length > 0) this.#emit({ kind: 'died', deaths })
    if (this.#joined === owner) this.#add(number, token)
    return true
  }

  #add(number: number, token: number): void {
    const { batchSize, serial } = this.#parts.definition.options
    const settings = { queue: this.#queue, batchSize, serial, now: this.#parts.engine.now }
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
    const { store, now } = this.#parts.engine
    await store.ordered.releaseShard(this.#queue, shard.shard, owner, shard.token, now())
    this.#drop(shard)
  }

  #drop(shard: Shard): void {
    if (this.shards.get(shard.shard) !== shard) return
    this.shards.delete(shard.shard)
    this.#emit({ kind: 'lost', shard })
  }
}
