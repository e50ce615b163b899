/**
 * Calls the store for all shards of one ordered queue that this process owns. Each call settles finished ids and fetches
 * due ones. Settlements that arrive during a call go into the next one, so that calls become batches under load.
 */

import { HighkiqError, hasCode } from '../job/errors.ts'
import type { FetchedBatch, OrderedEnd, OrderedSettleAndFetchAnswer, OrderedSettlement } from '../store/contract.ts'
import type { Engine } from '../worker/engine.ts'
import { Outage } from '../worker/loop/outage.ts'
import { idFields } from './context.ts'
import type { OrderedDeath, OrderedDefinition } from './definition.ts'
import { type BatchDeath, OrderedSettlementBuffer } from './settlement-buffer.ts'
import type { Shard } from './shard.ts'

export interface SettleAndFetchHost {
  owner(): string
  /** Called when batches may be able to start. */
  ready(): void
  /** Called when no call runs, and none is needed until an id is due or the store notifies. */
  idle(): void
  /** Called when a shard was lost, the number of shards changed, or a notification brought no ids. */
  rebalance(): void
  /** Called after a call that included the shard. */
  settled(shard: Shard): void
  /** Called with the deaths of one batch. */
  died(deaths: OrderedDeath[]): void
}

/** What a call asked for, and when: by the app's clock (`at`) and by the monotonic clock (`sentAt`). */
interface Sent {
  shards: readonly Shard[]
  requests: readonly { n: number }[]
  at: number
  sentAt: number
}

/** The most settlements in one call. */
const MAX_SETTLEMENTS = 500
/** Failed calls in a row after which `flush` gives up. */
const MAX_FAILURES = 5

const NONE: ReadonlySet<Shard> = new Set()

export class SettleAndFetch {
  readonly #engine: Engine
  readonly #definition: OrderedDefinition
  readonly #host: SettleAndFetchHost
  readonly #shards: ReadonlyMap<number, Shard>
  readonly #settlements = new OrderedSettlementBuffer()
  /** Grows with each reset, so that answers to earlier calls are ignored. */
  #generation = 0
  #callsInFlight = 0
  #planned = false
  /** A call failed, so ids that it may have fetched must be requeued. */
  #mustReconcile = false
  #reconciling: Promise<void> | undefined
  readonly #outage: Outage
  #pauseTimer: NodeJS.Timeout | undefined
  #paused = false
  #problem: string | undefined
  /** The store has notified, and no ids have come since. */
  #isNotified = false
  #shardCount: number | undefined
  #flushWaiters: (() => void)[] = []
  /** Whether this queue fetches no more ids. */
  isQuiet = false

  constructor(
    engine: Engine,
    definition: OrderedDefinition,
    shards: ReadonlyMap<number, Shard>,
    host: SettleAndFetchHost,
  ) {
    this.#engine = engine
    this.#outage = new Outage(engine)
    this.#definition = definition
    this.#shards = shards
    this.#host = host
  }

  get isIdle(): boolean {
    return this.#callsInFlight === 0 && !this.#planned && !this.#reconciling && !this.#pauseTimer
  }

  /** The time at which the next known id is due, in seconds. */
  get nextDue(): number {
    let next = Number.POSITIVE_INFINITY
    if (this.#paused || this.isQuiet) return next
    for (const shard of this.#shards.values()) {
      if (shard.nextDue !== undefined && shard.nextDue < next && shard.room > 0) next = shard.nextDue
    }
    return next
  }

  /** Queues the settlement of a fetched id. */
  settle(shard: Shard, { id, ticket }: FetchedBatch, end: OrderedEnd, dies?: BatchDeath): void {
    this.#settlements.add({ id, ticket, shard: shard.shard, token: shard.token, end }, dies)
    this.plan()
  }

  /** Polls one shard, or all of them, after a notification or because it is time to. */
  poll(notified: boolean, only?: number): void {
    const shards = [...this.#shards.values()].filter(({ shard }) => only === undefined || shard === only)
    if (shards.length === 0) {
      if (notified) this.#host.rebalance()
      return
    }
    this.#isNotified ||= notified
    for (const shard of shards) {
      shard.mustPoll = true
      shard.stuck = false
    }
    this.plan()
  }

  /** Schedules a call after the current turn of the event loop if there is something to settle or to fetch. */
  plan(): void {
    if (this.#planned || this.#pauseTimer || this.#reconciling || this.#outage.isFinal) return
    if (this.#callsInFlight >= this.#engine.store.maxConcurrentCalls) return
    if (this.#mustReconcile) {
      if (this.#callsInFlight === 0) void this.reconcile()
      return
    }
    if (!this.#hasWork) return
    this.#planned = true
    // Handlers that take no time have ended by then, and are settled in the same call.
    setImmediate(() => {
      this.#planned = false
      void this.#call()
    })
  }

  /** Requeues ids that are in flight for this owner but unknown to it, because an answer was lost. */
  async reconcile(): Promise<void> {
    if (this.#reconciling || this.#callsInFlight > 0 || this.#planned) {
      this.#mustReconcile = true
      return
    }
    const generation = this.#generation
    this.#reconciling = this.#requeueUnknown(generation)
      .then(() => {
        if (generation === this.#generation) this.#mustReconcile = false
      })
      .catch((thrown) => this.#failed(thrown))
      .finally(() => {
        this.#reconciling = undefined
        this.#afterCall()
      })
    await this.#reconciling
  }

  /** Resolves when all settlements are stored, or the store stays away. */
  async flush(): Promise<void> {
    this.plan()
    if (this.#isFlushed) return
    await new Promise<void>((resolve) => this.#flushWaiters.push(resolve))
  }

  /** Drops all settlements: the ids belong to other owners now. */
  reset(): void {
    this.#generation++
    this.#settlements.reset()
    this.#mustReconcile = false
    this.#afterCall()
  }

  /** Drops the settlements of a shard that this process no longer owns. */
  dropShard(shard: number): void {
    this.#settlements.dropShard(shard)
  }

  get #hasWork(): boolean {
    if (this.#settlements.size > 0) return true
    if (this.isQuiet) return false
    const now = this.#engine.now() / 1000
    for (const shard of this.#shards.values()) if (shard.mustPoll || this.#roomOf(shard, now) > 0) return true
    return false
  }

  #roomOf(shard: Shard, now: number): number {
    if (this.isQuiet || (this.#paused && !shard.mustPoll)) return 0
    return shard.mustPoll || shard.nextDue === undefined || shard.nextDue <= now ? shard.room : 0
  }

  get #isFlushed(): boolean {
    if (this.#callsInFlight > 0 || this.#planned) return false
    const isVain = this.#outage.failures > MAX_FAILURES || this.#outage.isFinal
    return this.#settlements.size === 0 || (isVain && this.isQuiet)
  }

  /** Returns the shards with the fewest ready ids first, since an answer has a limited size. */
  #byNeed(): Shard[] {
    return [...this.#shards.values()].sort((a, b) => a.size - b.size || a.fetchedAt - b.fetchedAt)
  }

  /**
   * Where more waits than can be at hand, a part of the shards is left to the next call: while the store works on one,
   * this process works on what the other has brought.
   */
  #deferred(wanting: readonly { shard: Shard; n: number }[], now: number): ReadonlySet<Shard> {
    const { maxConcurrentCalls } = this.#engine.store
    if (maxConcurrentCalls === 1 || this.#callsInFlight > 0) return NONE
    const piled = wanting.filter(
      ({ shard, n }) => n > 0 && !shard.mustPoll && shard.nextDue !== undefined && shard.nextDue <= now,
    )
    return new Set(piled.slice(Math.ceil(piled.length / maxConcurrentCalls)).map(({ shard }) => shard))
  }

  async #call(): Promise<void> {
    const { store, now } = this.#engine
    const generation = this.#generation
    const owner = this.#host.owner()
    const at = now()
    const settlements = this.#settlements.drain(MAX_SETTLEMENTS)
    const settledShards = new Set<number>()
    for (const { shard } of settlements) settledShards.add(shard)
    const asked: Shard[] = []
    const requests: { shard: number; token: number; n: number }[] = []
    const wanting = this.#byNeed().map((shard) => ({ shard, n: this.#roomOf(shard, at / 1000) }))
    const deferred = this.#deferred(wanting, at / 1000)
    for (const { shard, n } of wanting) {
      if (deferred.has(shard)) continue
      if (n === 0 && !shard.mustPoll && !settledShards.has(shard.shard)) continue
      shard.mustPoll = false
      if (n > 0) shard.isFetching = true
      asked.push(shard)
      requests.push({ shard: shard.shard, token: shard.token, n })
    }
    if (settlements.length + requests.length === 0) {
      this.#afterCall()
      return
    }
    this.#callsInFlight++
    const { maxPayloads } = this.#definition.options
    const sentAt = performance.now()
    try {
      const turn = { now: at, settlements, fetch: requests, maxPayloads }
      const answering = store.ordered.settleAndFetch(this.#definition.queue, owner, turn)
      if (deferred.size > 0) this.plan()
      const answer = await answering
      if (generation === this.#generation)
        this.#applyAnswer(settlements, { shards: asked, requests, at, sentAt }, answer)
    } catch (thrown) {
      if (generation === this.#generation) this.#restore(settlements, thrown)
    } finally {
      requests.forEach(({ n }, i) => {
        if (n > 0) (asked[i] as Shard).isFetching = false
      })
      this.#callsInFlight--
      for (const shard of asked) this.#host.settled(shard)
      this.#afterCall()
    }
  }

  #afterCall(): void {
    this.plan()
    if (this.#isFlushed) for (const resolve of this.#flushWaiters.splice(0)) resolve()
    if (this.isIdle) this.#host.idle()
  }

  #applyAnswer(
    settlements: readonly OrderedSettlement[],
    { shards, requests, at, sentAt }: Sent,
    answer: OrderedSettleAndFetchAnswer,
  ): void {
    this.#outage.over()
    const refused = this.#applySettled(settlements, answer)
    let received = 0
    let fetchedInAll = 0
    let lost = false
    for (const [i, shard] of shards.entries()) {
      const fetched = answer.fetched[i]
      // The shard was released or lost meanwhile. Its ids are requeued with it.
      if (!fetched || this.#shards.get(shard.shard) !== shard) continue
      if (fetched.lost) {
        lost = true
        continue
      }
      // Ids of earlier shards may have used up the size of the answer.
      const isAnswered = (requests[i]?.n ?? 0) > 0 && fetchedInAll === 0
      fetchedInAll += fetched.ids.length
      if (fetched.ids.length > 0) shard.fetchedAt = sentAt
      received += this.#accept(shard, fetched)
      // Compare with the time of the call: ids that became due since then were not asked for.
      if (isAnswered && fetched.ids.length === 0 && fetched.next !== null && fetched.next <= at / 1000)
        shard.stuck = true
    }
    this.#applyCancelled(answer.cancelled)
    if (answer.paused && !this.#paused) this.#requeueReady()
    this.#paused = answer.paused
    const resharded = this.#shardCount !== undefined && this.#shardCount !== answer.shards
    this.#shardCount = answer.shards
    if (lost || resharded || (this.#isNotified && received === 0)) this.#host.rebalance()
    this.#isNotified = false
    if (received > 0) this.#host.ready()
    this.#reportProblem(answer.problem)
    if (refused > 0) this.#pause()
  }

  /** Returns how many settlements the store could not apply. */
  #applySettled(settlements: readonly OrderedSettlement[], answer: OrderedSettleAndFetchAnswer): number {
    const { refused, fenced, dead } = this.#settlements.applyAnswer(settlements, answer, ({ shard: number, token }) => {
      const shard = this.#shards.get(number)
      if (shard?.token !== token) return
      shard.inFlight--
      shard.stuck = false
    })
    for (const deaths of dead) this.#host.died(deaths)
    if (fenced.length > 0) this.#reportFenced(fenced)
    return refused
  }

  /** Returns how many ids were accepted. */
  #accept(shard: Shard, fetched: OrderedSettleAndFetchAnswer['fetched'][number]): number {
    shard.nextDue = fetched.next ?? Number.POSITIVE_INFINITY
    let { ids } = fetched
    if (shard.leaving || this.isQuiet) {
      shard.inFlight += ids.length
      for (const one of ids) this.settle(shard, one, { kind: 'requeue' })
      return 0
    }
    const suspect = ids.some((one) => one.suspect)
    if (suspect && (shard.inFlight > 0 || ids.length > 1)) {
      // Requeue it: next to others in flight, the next crash could not be blamed on one id.
      shard.inFlight += ids.length
      for (const one of ids) this.settle(shard, one, { kind: 'requeue' })
      ids = []
    }
    if (suspect) shard.alone = true
    else if (ids.length > 0) shard.alone = false
    if (ids.length > 0) shard.add(ids)
    return ids.length
  }

  #applyCancelled(cancelled: OrderedSettleAndFetchAnswer['cancelled']): void {
    if (cancelled.length === 0) return
    for (const { ticket } of cancelled) {
      for (const shard of this.#shards.values()) {
        const ready = shard.dropOne(ticket)
        if (ready) this.settle(shard, ready, { kind: 'cancelled' })
        for (const batch of shard.running) if (batch.ids.some((one) => one.ticket === ticket)) batch.cancel(ticket)
      }
    }
  }

  /** Requeues the ids that have not started. */
  #requeueReady(): void {
    for (const shard of this.#shards.values()) {
      for (const one of shard.dropReady()) this.settle(shard, one, { kind: 'requeue' })
    }
  }

  #restore(settlements: readonly OrderedSettlement[], thrown: unknown): void {
    const isOurs = ({ shard, token }: OrderedSettlement) => this.#shards.get(shard)?.token === token
    this.#settlements.restore(settlements, isOurs, hasCode(thrown, 'STORE_FULL'))
    this.#mustReconcile = true
    for (const shard of this.#shards.values()) shard.mustPoll = true
    this.#failed(thrown)
  }

  #failed(thrown: unknown): void {
    this.#outage.failed(thrown, `taking from the ordered queue ${this.#definition.queue}`)
    this.#pause()
  }

  #pause(): void {
    if (this.#outage.isFinal) return
    this.#pauseTimer ??= setTimeout(() => {
      this.#pauseTimer = undefined
      this.#afterCall()
    }, this.#outage.pauseMs)
  }

  async #requeueUnknown(generation: number): Promise<void> {
    const { store } = this.#engine
    const inFlight = await store.ordered.inFlight(this.#definition.queue, this.#host.owner())
    if (generation !== this.#generation) return
    const known = new Set(this.#settlements.tickets)
    for (const shard of this.#shards.values()) for (const ticket of shard.tickets()) known.add(ticket)
    for (const { id, ticket, shard: number, token } of inFlight) {
      this.#settlements.confirmUnsettled(ticket)
      const shard = this.#shards.get(number)
      if (known.has(ticket) || shard?.token !== token) continue
      shard.inFlight++
      this.#settlements.addUncertain({ id, ticket, shard: number, token, end: { kind: 'requeue' } })
    }
  }

  #reportFenced(fenced: readonly OrderedSettlement[]): void {
    const ids = fenced.map(({ id }) => id)
    const shards = [...new Set(fenced.map(({ shard }) => shard))]
    this.#engine.report(
      new HighkiqError('LEASE_LOST', 'a shard went to another process while a batch of it ran: its ids run again'),
      { queue: this.#definition.queue, shards, ...idFields(ids) },
    )
    this.#host.rebalance()
  }

  #reportProblem(problem: string | undefined): void {
    if (problem === this.#problem) return
    this.#problem = problem
    if (problem) {
      this.#engine.report(new HighkiqError('STORE_UNUSABLE', problem), { during: 'taking and settling ordered jobs' })
    }
  }
}
