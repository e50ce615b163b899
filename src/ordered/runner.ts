/** One ordered queue in one process: what it owns of it, its calls, and its batches. */

import type { FetchedBatch, OrderedEnd, ShardAssignments } from '../store/contract.ts'
import type { Engine } from '../worker/engine.ts'
import type { WorkerHandle } from '../worker/executor.ts'
import { Batch, deathOf } from './batch.ts'
import { idFields } from './context.ts'
import type { OrderedDeath, OrderedDefinition } from './definition.ts'
import { Keeper } from './keeper.ts'
import { Membership, type MembershipOptions } from './membership.ts'
import type { Shard } from './shard.ts'
import { Turns } from './turns.ts'

const BACK: OrderedEnd = { kind: 'back' }

export interface RunnerHost {
  line: WorkerHandle
  wanted(board: ShardAssignments, owner: string): readonly number[]
  looked(board: ShardAssignments): void
  /** The shards of all queues have changed. */
  changed(): void
  /** Batches may begin. */
  ready(): void
  /** There is nothing to do before the clock or a bell says so. */
  idle(): void
}

export class QueueRunner {
  readonly definition: OrderedDefinition
  readonly #engine: Engine
  readonly #host: RunnerHost
  readonly #membership: Membership
  readonly #turns: Turns
  readonly #keeper: Keeper
  #mayBeToBlame = false

  constructor(engine: Engine, definition: OrderedDefinition, host: RunnerHost, options: MembershipOptions) {
    this.#engine = engine
    this.definition = definition
    this.#host = host
    this.#keeper = new Keeper(engine, definition)
    const { owner, onFenced } = host.line
    const died = (deaths: OrderedDeath[]) => void this.#tellDeaths(deaths)
    this.#membership = new Membership(
      engine,
      definition,
      {
        ...{ owner, onFenced, died },
        wanted: host.wanted,
        owned: () => {
          host.changed()
          this.#turns.plan()
        },
        leaving: (shard) => {
          for (const one of shard.drop()) this.#turns.end(shard, one, { kind: 'back' })
        },
        lost: (shard) => this.#lose(shard),
        looked: (board) => {
          host.looked(board)
          if (this.#membership.shards.has(0) && !this.#membership.isQuiet) this.#keeper.keep(board)
          if (this.isWaiting) host.idle()
        },
      },
      options,
    )
    this.#turns = new Turns(engine, definition, this.#membership.shards, {
      ...{ owner, died },
      ready: host.ready,
      idle: host.idle,
      look: () => this.#membership.look(),
      settled: (shard) => this.#membership.settled(shard),
    })
  }

  get shards(): Iterable<Shard> {
    return this.#membership.shards.values()
  }

  /** It may wait for its bell. */
  get isWaiting(): boolean {
    return this.#turns.isIdle && this.#membership.hasJoined
  }

  /** When something is due of which we know, in seconds. */
  get next(): number {
    return this.#turns.next
  }

  look(): void {
    if (!this.#membership.isQuiet) this.#membership.look()
  }

  ask(rung: boolean, shard?: number): void {
    this.#turns.ask(rung, shard)
  }

  /** Asks for what is due by now. */
  plan(): void {
    this.#turns.plan()
  }

  reconcile(): void {
    void this.#turns.reconcile()
  }

  quiet(): void {
    this.#turns.isQuiet = true
    this.#membership.quiet()
  }

  /** Runs a shard's next batch. Never rejects. */
  async run(shard: Shard): Promise<void> {
    const { eventLoop, nextSlot } = this.#host.line
    const ids = shard.draw()
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
    const doomed = batch.began <= this.#doomedAt
    for (let i = 0; i < ids.length; i++) {
      const taken = ids[i] as FetchedBatch
      const end = ends[i] ?? BACK
      if (doomed && end.kind === 'back') {
        // It may have doomed the process: it stays in flight, and who takes over counts a crash.
        this.#mayBeToBlame = true
        continue
      }
      const dies = end.kind === 'dead' ? { batch, death: deathOf(taken, end.error) } : undefined
      this.#turns.end(shard, taken, end, dies)
    }
  }

  abort(code: 'SHUTDOWN' | 'LEASE_LOST', message: string): void {
    for (const shard of this.shards) for (const { ctx } of shard.running) ctx.abort(code, message)
  }

  /** Puts back what still runs, and leaves; answers what that was. */
  async stop(): Promise<Batch[]> {
    this.quiet()
    const left = [...this.shards].flatMap(({ running }) => [...running])
    for (const batch of left) batch.isLost = true
    await this.#turns.flush()
    await this.#keeper.stop()
    // Leaving puts back what is in flight.
    if (this.#mayBeToBlame || left.some(({ began }) => began <= this.#doomedAt)) return left
    try {
      await this.#membership.stop()
    } catch (thrown) {
      this.#engine.report(thrown, { during: `leaving the ordered queue ${this.definition.queue}` })
    }
    return left
  }

  forget(): void {
    this.#turns.reset()
    this.#membership.forget()
  }

  /** On the monotonic clock: when an error that nobody caught doomed the process; 0: none did. */
  get #doomedAt(): number {
    return this.#engine.fatalAt?.() ?? 0
  }

  #lose(shard: Shard): void {
    for (const batch of shard.running) {
      batch.isLost = true
      batch.ctx.abort('LEASE_LOST', 'this process lost the shard: its ids may run elsewhere by now')
    }
    shard.leaving = true
    shard.drop()
    this.#turns.forget(shard.shard)
    this.#host.changed()
  }

  async #tellDeaths(deaths: OrderedDeath[]): Promise<void> {
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
