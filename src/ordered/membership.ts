/** Which shards of one queue this process owns: it joins, takes its share, and hands over at a batch's end. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { MorgueEntry, ShardAssignments } from '../store/contract.ts'
import type { Engine } from '../worker/engine.ts'
import type { OrderedDeath, OrderedDefinition } from './definition.ts'
import { scoredValue } from './entry.ts'
import { Shard } from './shard.ts'

export interface MembershipHost {
  owner(): string
  onFenced(): Promise<void>
  /** Of this queue, by the splitter or as a fair share. */
  wanted(board: ShardAssignments, owner: string): readonly number[]
  /** A shard is ours. */
  owned(shard: Shard): void
  /** Nothing of it begins any more; what has not begun is to go back. */
  leaving(shard: Shard): void
  /** A shard is not ours any more. */
  lost(shard: Shard): void
  /** It was looked at. */
  looked(board: ShardAssignments): void
  died(deaths: OrderedDeath[]): void
}

export interface MembershipOptions {
  pollMs: number
  leaseMs: number
  /** What nobody takes for long is taken, whoever should have it. */
  adopts: boolean
}

/** So often in a row a lease may seem lost. */
const DOUBTS = 3
const DOUBT_MS = 50

export class Membership {
  readonly shards = new Map<number, Shard>()
  readonly #engine: Engine
  readonly #definition: OrderedDefinition
  readonly #host: MembershipHost
  readonly #options: MembershipOptions
  #looking: Promise<void> | undefined
  #again = false
  /** Under whose name we joined. */
  #joined: string | undefined
  #soon: NodeJS.Timeout | undefined
  /** Since when a shard that should have another owner has none, on the monotonic clock. */
  #freeSince = new Map<number, number>()
  /** Taken because its owner does not; until the members change. */
  #adopted = { members: '', shards: new Set<number>() }
  #warned = false
  #failing = false
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

  /** Looks who is there, and takes or hands over. One at a time; a call meanwhile is another look behind it. */
  look(): void {
    if (this.#looking) {
      this.#again = true
      return
    }
    clearTimeout(this.#soon)
    this.#soon = undefined
    this.#looking = this.#look()
      .then(
        () => {
          this.#failing = false
        },
        (thrown) => {
          if (!this.#failing) this.#engine.report(thrown, { during: `sharing the ordered queue ${this.#queue}` })
          this.#failing = true
          this.#lookSoon()
        },
      )
      .finally(() => {
        this.#looking = undefined
        if (this.#again) {
          this.#again = false
          this.look()
        }
      })
  }

  /** Takes no more, and lets go of each shard when its batch has ended. */
  quiet(): void {
    this.isQuiet = true
    clearTimeout(this.#soon)
    for (const shard of this.shards.values()) this.#letGo(shard)
    this.look()
  }

  /** Something of it ended, and was told: is it time to hand over? */
  settled(shard: Shard): void {
    if (shard.leaving && shard.isIdle && this.shards.get(shard.shard) === shard) this.look()
  }

  /** Lets go of everything. */
  async stop(): Promise<void> {
    clearTimeout(this.#soon)
    this.isQuiet = true
    while (this.#looking) await this.#looking
    clearTimeout(this.#soon)
    if (this.#joined === undefined) return
    const owner = this.#joined
    this.#joined = undefined
    await this.#engine.store.ordered.leave(this.#queue, owner, this.#engine.now())
  }

  /** What the owner holds belongs to others now. */
  forget(): void {
    this.#joined = undefined
    for (const shard of [...this.shards.values()]) this.#lose(shard)
    if (!this.isQuiet) this.#lookSoon()
  }

  get #queue(): string {
    return this.#definition.queue
  }

  #lookSoon(): void {
    if (this.#soon) return
    this.#soon = setTimeout(() => this.look(), this.#options.pollMs)
  }

  async #look(): Promise<void> {
    const { store } = this.#engine
    const owner = this.#host.owner()
    if (this.#joined !== owner) {
      if (this.isQuiet || !(await this.#join(owner))) return
    }
    const board = await store.ordered.assignments(this.#queue)
    // Another epoch began meanwhile.
    if (this.#joined !== owner) return
    if (!board?.members.includes(owner)) {
      this.#joined = undefined
      for (const shard of [...this.shards.values()]) this.#lose(shard)
      if (!this.isQuiet) this.#lookSoon()
      return
    }
    await this.#share(board, owner)
    if (this.isQuiet && this.shards.size === 0 && this.#joined === owner) {
      this.#joined = undefined
      await store.ordered.leave(this.#queue, owner, this.#engine.now())
    }
  }

  /** False: there is no lease, and another epoch begins. */
  async #join(owner: string): Promise<boolean> {
    const { store, log } = this.#engine
    const { shards, reshard } = this.#definition.options
    const stored = await store.ordered.define(this.#queue, shards)
    if (stored !== shards && reshard === 'auto') await store.ordered.reshard(this.#queue, shards)
    else if (stored !== shards && !this.#warned) {
      this.#warned = true
      log.warn(
        { queue: this.#queue, stored, defined: shards },
        `${this.#definition.name} has ${stored} shards, not ${shards}: call its reshard(${shards}), or define it with reshard: 'auto'`,
      )
    }
    for (let doubts = 0; doubts < DOUBTS; doubts++) {
      if (doubts > 0) await sleep(DOUBT_MS)
      if (owner !== this.#host.owner()) break
      if (await store.ordered.join(this.#queue, owner)) {
        // Another epoch may have begun meanwhile.
        if (owner === this.#host.owner()) this.#joined = owner
        this.#again = this.#joined !== owner
        return this.#joined === owner
      }
    }
    if (owner === this.#host.owner()) await this.#host.onFenced()
    this.#lookSoon()
    return false
  }

  async #share(board: ShardAssignments, owner: string): Promise<void> {
    const wanted = new Set(this.isQuiet ? [] : this.#host.wanted(board, owner))
    this.#adopt(board, wanted)
    for (const { shard: place, owner: by, token } of board.owners) {
      const shard = this.shards.get(place)
      if (shard && (by !== owner || token !== shard.token)) {
        this.#lose(shard)
        this.#again = !this.isQuiet
      } else if (shard && (shard.released || !wanted.has(place))) {
        await this.#handOver(shard, owner)
      } else if (shard) {
        shard.leaving = false
      } else if (wanted.has(place) && by === null) {
        if (!(await this.#take(place, owner))) this.#lookSoon()
      } else if (by === owner) {
        // We asked for it, and the answer was lost: it says what died, too.
        await this.#take(place, owner)
        const taken = this.shards.get(place)
        if (taken && !wanted.has(place)) await this.#handOver(taken, owner)
      } else if (wanted.has(place)) {
        this.#lookSoon()
      }
      if (this.#joined !== owner) return
    }
    // Of more shards than there are.
    for (const shard of [...this.shards.values()]) {
      if (shard.shard >= board.owners.length) await this.#handOver(shard, owner)
    }
    this.#host.looked(board)
  }

  /** What nobody has taken for two thirds of a lease: its owner is there, but takes no more. */
  #adopt(board: ShardAssignments, wanted: Set<number>): void {
    const members = board.members.join('\n')
    if (this.#adopted.members !== members) {
      this.#adopted = { members, shards: new Set() }
      this.#freeSince.clear()
    }
    if (this.isQuiet || !this.#options.adopts) return
    const now = performance.now()
    for (const { shard, owner } of board.owners) {
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

  async #take(place: number, owner: string): Promise<boolean> {
    const { store, now, log } = this.#engine
    const { maxCrashes } = this.#definition.options
    const answer = await store.ordered.acquireShard(this.#queue, place, owner, maxCrashes, now())
    if (!answer) return false
    const { token, restored, died } = answer
    if (restored > 0) {
      log.warn({ queue: this.#queue, shard: place, ids: restored }, 'took back ordered jobs of a process that died')
    }
    if (died.length > 0) this.#host.died(died.map(deathIn))
    if (this.#joined === owner) this.#own(place, token)
    return true
  }

  #own(place: number, token: number): void {
    const { batchSize, serial } = this.#definition.options
    const settings = { queue: this.#queue, batchSize, serial, now: this.#engine.now }
    const shard = new Shard(place, token, settings)
    this.shards.set(place, shard)
    this.#host.owned(shard)
  }

  #letGo(shard: Shard): void {
    if (shard.leaving) return
    shard.leaving = true
    this.#host.leaving(shard)
  }

  async #handOver(shard: Shard, owner: string): Promise<void> {
    this.#letGo(shard)
    if (!shard.isIdle) return
    shard.released = true
    await this.#engine.store.ordered.releaseShard(this.#queue, shard.shard, owner, shard.token, this.#engine.now())
    this.#lose(shard)
  }

  #lose(shard: Shard): void {
    if (this.shards.get(shard.shard) !== shard) return
    this.shards.delete(shard.shard)
    this.#host.lost(shard)
  }
}

function deathIn({ id, payloads, error }: MorgueEntry): OrderedDeath {
  return { id, error, payloads: payloads.map(scoredValue) }
}
