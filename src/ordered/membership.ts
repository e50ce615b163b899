/**
 * Decides which shards of one queue this process owns: joins, acquires its share, and hands shards over after their
 * batches.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { MorgueEntry, ShardAssignments } from '../store/contract.ts'
import type { Engine } from '../worker/engine.ts'
import type { OrderedDeath, OrderedDefinition } from './definition.ts'
import { scoredValue } from './entry.ts'
import { Shard } from './shard.ts'

export interface MembershipHost {
  owner(): string
  onFenced(): Promise<void>
  /** Returns the shards that this process should own, by the splitter or as a fair share. */
  wanted(assignments: ShardAssignments, owner: string): readonly number[]
  /** Called when this process has acquired a shard. */
  acquired(shard: Shard): void
  /**
   * Called when a shard is about to be handed over. No new batch of it starts; ids that have not started are
   * requeued.
   */
  leaving(shard: Shard): void
  /** Called when this process no longer owns a shard. */
  lost(shard: Shard): void
  /** Called after each rebalancing. */
  rebalanced(assignments: ShardAssignments): void
  died(deaths: OrderedDeath[]): void
}

export interface MembershipOptions {
  pollMs: number
  leaseMs: number
  /** Whether to acquire shards that their owner has left unowned for long. */
  adoptsUnowned: boolean
}

/** Attempts to join before the lease counts as lost. */
const JOIN_ATTEMPTS = 3
const JOIN_RETRY_MS = 50

export class Membership {
  readonly shards = new Map<number, Shard>()
  readonly #engine: Engine
  readonly #definition: OrderedDefinition
  readonly #host: MembershipHost
  readonly #options: MembershipOptions
  #rebalancing: Promise<void> | undefined
  #rebalanceAgain = false
  /** The owner name under which this process joined. */
  #joined: string | undefined
  #timer: NodeJS.Timeout | undefined
  /** By shard of another owner: since when nobody owns it, on the monotonic clock. */
  #freeSince = new Map<number, number>()
  /** Shards acquired because their owner does not acquire them, until the members change. */
  #adopted = { members: '', shards: new Set<number>() }
  #hasWarned = false
  #isFailing = false
  isQuiet = false

  constructor(engine: Engine, definition: OrderedDefinition, host: MembershipHost, options: MembershipOptions) {
    this.#engine = engine
    this.#definition = definition
    this.#host = host
    this.#options = options
  }

  get hasJoined(): boolean {
    return this.#joined !== undefined
  }

  /**
   * Reads the members and acquires or hands over shards. One run at a time; a call during a run starts another one
   * after it.
   */
  rebalance(): void {
    if (this.#rebalancing) {
      this.#rebalanceAgain = true
      return
    }
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#rebalancing = this.#rebalance()
      .then(
        () => {
          this.#isFailing = false
        },
        (thrown) => {
          if (!this.#isFailing) this.#engine.report(thrown, { during: `sharing the ordered queue ${this.#queue}` })
          this.#isFailing = true
          this.#rebalanceSoon()
        },
      )
      .finally(() => {
        this.#rebalancing = undefined
        if (this.#rebalanceAgain) {
          this.#rebalanceAgain = false
          this.rebalance()
        }
      })
  }

  /** Acquires no more shards, and releases each shard when its batch has ended. */
  quiet(): void {
    this.isQuiet = true
    clearTimeout(this.#timer)
    for (const shard of this.shards.values()) this.#startLeaving(shard)
    this.rebalance()
  }

  /** Hands the shard over if it is leaving and idle. Call it after settlements of the shard were sent. */
  settled(shard: Shard): void {
    if (shard.leaving && shard.isIdle && this.shards.get(shard.shard) === shard) this.rebalance()
  }

  /** Leaves the queue, which releases all shards. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    this.isQuiet = true
    while (this.#rebalancing) await this.#rebalancing
    clearTimeout(this.#timer)
    if (this.#joined === undefined) return
    const owner = this.#joined
    this.#joined = undefined
    await this.#engine.store.ordered.leave(this.#queue, owner, this.#engine.now())
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
    if (this.#timer) return
    this.#timer = setTimeout(() => this.rebalance(), this.#options.pollMs)
  }

  async #rebalance(): Promise<void> {
    const { store } = this.#engine
    const owner = this.#host.owner()
    if (this.#joined !== owner) {
      if (this.isQuiet || !(await this.#join(owner))) return
    }
    const assignments = await store.ordered.assignments(this.#queue)
    // This process changed its owner name meanwhile.
    if (this.#joined !== owner) return
    if (!assignments?.members.includes(owner)) {
      this.#joined = undefined
      for (const shard of [...this.shards.values()]) this.#drop(shard)
      if (!this.isQuiet) this.#rebalanceSoon()
      return
    }
    await this.#applyAssignments(assignments, owner)
    if (this.isQuiet && this.shards.size === 0 && this.#joined === owner) {
      this.#joined = undefined
      await store.ordered.leave(this.#queue, owner, this.#engine.now())
    }
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
      if (owner !== this.#host.owner()) break
      if (await store.ordered.join(this.#queue, owner)) {
        // This process may have changed its owner name meanwhile.
        if (owner === this.#host.owner()) this.#joined = owner
        this.#rebalanceAgain = this.#joined !== owner
        return this.#joined === owner
      }
    }
    if (owner === this.#host.owner()) await this.#host.onFenced()
    this.#rebalanceSoon()
    return false
  }

  async #applyAssignments(assignments: ShardAssignments, owner: string): Promise<void> {
    const wanted = new Set(this.isQuiet ? [] : this.#host.wanted(assignments, owner))
    this.#adopt(assignments, wanted)
    for (const { shard: number, owner: by, token } of assignments.owners) {
      const shard = this.shards.get(number)
      if (shard && (by !== owner || token !== shard.token)) {
        this.#drop(shard)
        this.#rebalanceAgain = !this.isQuiet
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
    this.#host.rebalanced(assignments)
  }

  /** Acquires shards that nobody has owned for two thirds of a lease: their owner lives but acquires no more. */
  #adopt(assignments: ShardAssignments, wanted: Set<number>): void {
    const members = assignments.members.join('\n')
    if (this.#adopted.members !== members) {
      this.#adopted = { members, shards: new Set() }
      this.#freeSince.clear()
    }
    if (this.isQuiet || !this.#options.adoptsUnowned) return
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
    const { token, restored, died } = answer
    if (restored > 0) {
      log.warn({ queue: this.#queue, shard: number, ids: restored }, 'took back ordered jobs of a process that died')
    }
    if (died.length > 0) this.#host.died(died.map(deathIn))
    if (this.#joined === owner) this.#add(number, token)
    return true
  }

  #add(number: number, token: number): void {
    const { batchSize, serial } = this.#definition.options
    const settings = { queue: this.#queue, batchSize, serial, now: this.#engine.now }
    const shard = new Shard(number, token, settings)
    this.shards.set(number, shard)
    this.#host.acquired(shard)
  }

  #startLeaving(shard: Shard): void {
    if (shard.leaving) return
    shard.leaving = true
    this.#host.leaving(shard)
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
    this.#host.lost(shard)
  }
}

function deathIn({ id, payloads, error }: MorgueEntry): OrderedDeath {
  return { id, error, payloads: payloads.map(scoredValue) }
}
