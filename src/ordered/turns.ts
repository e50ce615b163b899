/**
 * The calls of one ordered queue: each tells the store what ended, and takes what is due, for all of this process's shards
 * together. Under load they batch themselves: whatever ends while one is under way goes into the next.
 */

import { HighkiqError, hasCode } from '../job/errors.ts'
import type { FetchedBatch, OrderedEnd, OrderedSettleAndFetchAnswer, OrderedSettlement } from '../store/contract.ts'
import type { Engine } from '../worker/engine.ts'
import { Outage } from '../worker/loop/outage.ts'
import { idFields } from './context.ts'
import type { OrderedDeath, OrderedDefinition } from './definition.ts'
import { type Dies, Settling } from './settling.ts'
import type { Shard } from './shard.ts'

export interface TurnsHost {
  owner(): string
  /** Ids may be at hand. */
  ready(): void
  /** Nothing is under way, and nothing to be told or asked before the clock or a bell says so. */
  idle(): void
  /** A shard was lost, or their number has changed, or it is not known why the bell rang. */
  look(): void
  /** Something of it ended, and was told. */
  settled(shard: Shard): void
  /** Of one batch. */
  died(deaths: OrderedDeath[]): void
}

/** What a call asked, and when: by the app's clock, and on the monotonic one. */
interface Sent {
  shards: readonly Shard[]
  takes: readonly { n: number }[]
  at: number
  sentAt: number
}

/** Most that one call tells. */
const MOST_SETTLEMENTS = 500
/** So often in a row a call may fail when nothing is left to do but to tell. */
const MOST_FAILURES = 5

const NONE: ReadonlySet<Shard> = new Set()

export class Turns {
  readonly #engine: Engine
  readonly #definition: OrderedDefinition
  readonly #host: TurnsHost
  readonly #shards: ReadonlyMap<number, Shard>
  readonly #settling = new Settling()
  /** Another one when all was forgotten. */
  #generation = 0
  #underWay = 0
  #planned = false
  /** A call failed: what it may have taken is looked for. */
  #inDoubt = false
  #reconciling: Promise<void> | undefined
  readonly #outage: Outage
  #resting: NodeJS.Timeout | undefined
  #paused = false
  #problem: string | undefined
  /** The bell rang, and nothing came of it yet. */
  #rung = false
  #count: number | undefined
  #whenFlushed: (() => void)[] = []
  /** Takes nothing any more. */
  isQuiet = false

  constructor(engine: Engine, definition: OrderedDefinition, shards: ReadonlyMap<number, Shard>, host: TurnsHost) {
    this.#engine = engine
    this.#outage = new Outage(engine)
    this.#definition = definition
    this.#shards = shards
    this.#host = host
  }

  get isIdle(): boolean {
    return this.#underWay === 0 && !this.#planned && !this.#reconciling && !this.#resting
  }

  /** When something is due of which we know, in seconds. */
  get next(): number {
    let next = Number.POSITIVE_INFINITY
    if (this.#paused || this.isQuiet) return next
    for (const shard of this.#shards.values()) {
      if (shard.next !== undefined && shard.next < next && shard.room > 0) next = shard.next
    }
    return next
  }

  /** An id that was taken ended so. */
  end(shard: Shard, { id, ticket }: FetchedBatch, end: OrderedEnd, dies?: Dies): void {
    this.#settling.add({ id, ticket, shard: shard.shard, token: shard.token, end }, dies)
    this.plan()
  }

  /** Somebody rang, or it is time to look: asks what there is in a shard, or in all. */
  ask(rung: boolean, only?: number): void {
    const shards = [...this.#shards.values()].filter(({ shard }) => only === undefined || shard === only)
    if (shards.length === 0) {
      if (rung) this.#host.look()
      return
    }
    this.#rung ||= rung
    for (const shard of shards) {
      shard.ask = true
      shard.stuck = false
    }
    this.plan()
  }

  /** A call in the next turn of the event loop, if there is anything to say or to ask. */
  plan(): void {
    if (this.#planned || this.#resting || this.#reconciling || this.#outage.isFinal) return
    if (this.#underWay >= this.#engine.store.maxConcurrentCalls) return
    if (this.#inDoubt) {
      if (this.#underWay === 0) void this.reconcile()
      return
    }
    if (!this.#hasWork) return
    this.#planned = true
    // Handlers that take no time have ended after this, and are told in the same call.
    setImmediate(() => {
      this.#planned = false
      void this.#launch()
    })
  }

  /** Looks for what lies with us and we do not know, and gives it back: an answer was lost. */
  async reconcile(): Promise<void> {
    if (this.#reconciling || this.#underWay > 0 || this.#planned) {
      this.#inDoubt = true
      return
    }
    const generation = this.#generation
    this.#reconciling = this.#lookInFlight(generation)
      .then(() => {
        if (generation === this.#generation) this.#inDoubt = false
      })
      .catch((thrown) => this.#failed(thrown))
      .finally(() => {
        this.#reconciling = undefined
        this.#next()
      })
    await this.#reconciling
  }

  /** Resolves when all is told, or the store is away. */
  async flush(): Promise<void> {
    this.plan()
    if (this.#isFlushed) return
    await new Promise<void>((resolve) => this.#whenFlushed.push(resolve))
  }

  /** What the owner holds belongs to others now. */
  reset(): void {
    this.#generation++
    this.#settling.reset()
    this.#inDoubt = false
    this.#next()
  }

  /** A shard is not ours any more: nothing of it is told. */
  forget(shard: number): void {
    this.#settling.forget(shard)
  }

  get #hasWork(): boolean {
    if (this.#settling.size > 0) return true
    if (this.isQuiet) return false
    const now = this.#engine.now() / 1000
    for (const shard of this.#shards.values()) if (shard.ask || this.#wantedOf(shard, now) > 0) return true
    return false
  }

  #wantedOf(shard: Shard, now: number): number {
    if (this.isQuiet || (this.#paused && !shard.ask)) return 0
    return shard.ask || shard.next === undefined || shard.next <= now ? shard.room : 0
  }

  get #isFlushed(): boolean {
    if (this.#underWay > 0 || this.#planned) return false
    const isVain = this.#outage.failures > MOST_FAILURES || this.#outage.isFinal
    return this.#settling.size === 0 || (isVain && this.isQuiet)
  }

  /** Who has least at hand is asked first: a call hands out so many bytes, and no more. */
  #inNeed(): Shard[] {
    return [...this.#shards.values()].sort((a, b) => a.size - b.size || a.fedAt - b.fedAt)
  }

  /**
   * Where more waits than can be at hand, a part of the shards is left to the next call: while the store works on one,
   * this process works on what the other has brought.
   */
  #deferred(wanting: readonly { shard: Shard; n: number }[], now: number): ReadonlySet<Shard> {
    const { maxConcurrentCalls: turnsAtOnce } = this.#engine.store
    if (turnsAtOnce === 1 || this.#underWay > 0) return NONE
    const piled = wanting.filter(({ shard, n }) => n > 0 && !shard.ask && shard.next !== undefined && shard.next <= now)
    return new Set(piled.slice(Math.ceil(piled.length / turnsAtOnce)).map(({ shard }) => shard))
  }

  async #launch(): Promise<void> {
    const { store, now } = this.#engine
    const generation = this.#generation
    const owner = this.#host.owner()
    const at = now()
    const settlements = this.#settling.draw(MOST_SETTLEMENTS)
    const touched = new Set<number>()
    for (const { shard } of settlements) touched.add(shard)
    const asked: Shard[] = []
    const takes: { shard: number; token: number; n: number }[] = []
    const wanting = this.#inNeed().map((shard) => ({ shard, n: this.#wantedOf(shard, at / 1000) }))
    const deferred = this.#deferred(wanting, at / 1000)
    for (const { shard, n } of wanting) {
      if (deferred.has(shard)) continue
      if (n === 0 && !shard.ask && !touched.has(shard.shard)) continue
      shard.ask = false
      if (n > 0) shard.taking = true
      asked.push(shard)
      takes.push({ shard: shard.shard, token: shard.token, n })
    }
    if (settlements.length + takes.length === 0) {
      this.#next()
      return
    }
    this.#underWay++
    const { maxPayloads } = this.#definition.options
    const sentAt = performance.now()
    try {
      const turn = { now: at, settlements, fetch: takes, maxPayloads }
      const answering = store.ordered.settleAndFetch(this.#definition.queue, owner, turn)
      if (deferred.size > 0) this.plan()
      const answer = await answering
      if (generation === this.#generation) this.#hear(settlements, { shards: asked, takes, at, sentAt }, answer)
    } catch (thrown) {
      if (generation === this.#generation) this.#giveBack(settlements, thrown)
    } finally {
      takes.forEach(({ n }, i) => {
        if (n > 0) (asked[i] as Shard).taking = false
      })
      this.#underWay--
      for (const shard of asked) this.#host.settled(shard)
      this.#next()
    }
  }

  #next(): void {
    this.plan()
    if (this.#isFlushed) for (const resolve of this.#whenFlushed.splice(0)) resolve()
    if (this.isIdle) this.#host.idle()
  }

  #hear(
    settlements: readonly OrderedSettlement[],
    { shards, takes, at, sentAt }: Sent,
    answer: OrderedSettleAndFetchAnswer,
  ): void {
    this.#outage.over()
    const refused = this.#hearSettled(settlements, answer)
    let took = 0
    let handed = 0
    let lost = false
    for (const [i, shard] of shards.entries()) {
      const taken = answer.fetched[i]
      // Released, lost or forgotten meanwhile: what came goes back with the shard.
      if (!taken || this.#shards.get(shard.shard) !== shard) continue
      if (taken.lost) {
        lost = true
        continue
      }
      // What others got may be all that a call hands out.
      const isAnswered = (takes[i]?.n ?? 0) > 0 && handed === 0
      handed += taken.ids.length
      if (taken.ids.length > 0) shard.fedAt = sentAt
      took += this.#accept(shard, taken)
      // By the clock of the call: what has become due since then, nobody was asked for.
      if (isAnswered && taken.ids.length === 0 && taken.next !== null && taken.next <= at / 1000) shard.stuck = true
    }
    this.#hearCancelled(answer.cancelled)
    if (answer.paused && !this.#paused) this.#giveUpReady()
    this.#paused = answer.paused
    const reshaped = this.#count !== undefined && this.#count !== answer.shards
    this.#count = answer.shards
    if (lost || reshaped || (this.#rung && took === 0)) this.#host.look()
    this.#rung = false
    if (took > 0) this.#host.ready()
    this.#tellProblem(answer.problem)
    if (refused > 0) this.#rest()
  }

  /** @returns how many could not be settled */
  #hearSettled(settlements: readonly OrderedSettlement[], answer: OrderedSettleAndFetchAnswer): number {
    const { refused, fenced, dead } = this.#settling.hear(settlements, answer, ({ shard: place, token }) => {
      const shard = this.#shards.get(place)
      if (shard?.token !== token) return
      shard.held--
      shard.stuck = false
    })
    for (const deaths of dead) this.#host.died(deaths)
    if (fenced.length > 0) this.#tellFenced(fenced)
    return refused
  }

  /** @returns how many ids came */
  #accept(shard: Shard, taken: OrderedSettleAndFetchAnswer['fetched'][number]): number {
    shard.next = taken.next ?? Number.POSITIVE_INFINITY
    let { ids } = taken
    if (shard.leaving || this.isQuiet) {
      shard.held += ids.length
      for (const one of ids) this.end(shard, one, { kind: 'back' })
      return 0
    }
    const suspect = ids.some((one) => one.suspect)
    if (suspect && (shard.held > 0 || ids.length > 1)) {
      // It must not be in flight beside others, or nobody knows whom the next crash is to blame on.
      shard.held += ids.length
      for (const one of ids) this.end(shard, one, { kind: 'back' })
      ids = []
    }
    if (suspect) shard.alone = true
    else if (ids.length > 0) shard.alone = false
    if (ids.length > 0) shard.add(ids)
    return ids.length
  }

  #hearCancelled(cancelled: OrderedSettleAndFetchAnswer['cancelled']): void {
    if (cancelled.length === 0) return
    for (const { ticket } of cancelled) {
      for (const shard of this.#shards.values()) {
        const ready = shard.dropOne(ticket)
        if (ready) this.end(shard, ready, { kind: 'cancelled' })
        for (const batch of shard.running) if (batch.ids.some((one) => one.ticket === ticket)) batch.cancel(ticket)
      }
    }
  }

  /** What has not begun goes back. */
  #giveUpReady(): void {
    for (const shard of this.#shards.values()) {
      for (const one of shard.drop()) this.end(shard, one, { kind: 'back' })
    }
  }

  #giveBack(settlements: readonly OrderedSettlement[], thrown: unknown): void {
    const isOurs = ({ shard, token }: OrderedSettlement) => this.#shards.get(shard)?.token === token
    this.#settling.repeat(settlements, isOurs, hasCode(thrown, 'STORE_FULL'))
    this.#inDoubt = true
    for (const shard of this.#shards.values()) shard.ask = true
    this.#failed(thrown)
  }

  #failed(thrown: unknown): void {
    this.#outage.failed(thrown, `taking from the ordered queue ${this.#definition.queue}`)
    this.#rest()
  }

  #rest(): void {
    if (this.#outage.isFinal) return
    this.#resting ??= setTimeout(() => {
      this.#resting = undefined
      this.#next()
    }, this.#outage.restMs)
  }

  async #lookInFlight(generation: number): Promise<void> {
    const { store } = this.#engine
    const inFlight = await store.ordered.inFlight(this.#definition.queue, this.#host.owner())
    if (generation !== this.#generation) return
    const known = new Set(this.#settling.tickets)
    for (const shard of this.#shards.values()) for (const ticket of shard.tickets()) known.add(ticket)
    for (const { id, ticket, shard: place, token } of inFlight) {
      this.#settling.confirmUnsettled(ticket)
      const shard = this.#shards.get(place)
      if (known.has(ticket) || shard?.token !== token) continue
      shard.held++
      this.#settling.addDoubtful({ id, ticket, shard: place, token, end: { kind: 'back' } })
    }
  }

  #tellFenced(fenced: readonly OrderedSettlement[]): void {
    const ids = fenced.map(({ id }) => id)
    const shards = [...new Set(fenced.map(({ shard }) => shard))]
    this.#engine.report(
      new HighkiqError('LEASE_LOST', 'a shard went to another process while a batch of it ran: its ids run again'),
      { queue: this.#definition.queue, shards, ...idFields(ids) },
    )
    this.#host.look()
  }

  #tellProblem(problem: string | undefined): void {
    if (problem === this.#problem) return
    this.#problem = problem
    if (problem) {
      this.#engine.report(new HighkiqError('STORE_UNUSABLE', problem), { during: 'taking and settling ordered jobs' })
    }
  }
}
