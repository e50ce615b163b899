/** The calls for all shards of one ordered queue that this process owns. Each settles finished ids and fetches due ones. */

import { HighkiqError, hasCode } from '../job/errors.ts'
import type {
  FetchedBatch,
  OrderedEnd,
  OrderedSettleAndFetch,
  OrderedSettleAndFetchAnswer,
  OrderedSettlement,
} from '../store/contract.ts'
import { CallLoop } from '../worker/loop/call-loop.ts'
import type { Batch } from './batch.ts'
import { idFields } from './context.ts'
import type { OrderedDeath } from './definition.ts'
import type { QueueEvent, QueueParts } from './parts.ts'
import type { Shard } from './shard.ts'

/** A settlement that the store has not confirmed. */
interface Ended {
  settlement: OrderedSettlement
  /** The death that it causes, which is reported after the confirmation, together with others of its batch. */
  dies: { batch: Batch; death: OrderedDeath } | undefined
  /** Whether it was sent before without an answer, so that it may be stored already. */
  isResent: boolean
}

/** The content of one call, and when it was made, by the monotonic clock. `shards` are those of `call.fetch`. */
interface Sent {
  call: OrderedSettleAndFetch
  ended: readonly Ended[]
  shards: readonly Shard[]
  sentAt: number
  generation: number
}

/** The most settlements in one call. */
const MAX_SETTLEMENTS = 500

const NONE: ReadonlySet<Shard> = new Set()

export class SettleAndFetch extends CallLoop<Sent, OrderedSettleAndFetchAnswer> {
  readonly #parts: QueueParts
  readonly #shards: ReadonlyMap<number, Shard>
  readonly #emit: (event: QueueEvent) => void
  #ended: Ended[] = []
  /** Settlements that the store has refused. No call sends them until `resendRefused` is called. */
  #refused: Ended[] = []
  /** Grows with each reset, so that answers to earlier calls are ignored. */
  #generation = 0
  #paused = false
  /** The store has notified, and no ids have come since. */
  #isNotified = false
  #shardCount: number | undefined
  /** A call failed, so ids that it may have fetched must be requeued. */
  #mustReconcile = false
  /** Whether this queue fetches no more ids. */
  isQuiet = false

  constructor(parts: QueueParts, shards: ReadonlyMap<number, Shard>, emit: (event: QueueEvent) => void) {
    super(parts.engine, `fetching from the ordered queue ${parts.definition.queue}`)
    this.#parts = parts
    this.#shards = shards
    this.#emit = emit
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

  override plan(): void {
    if (this.#mustReconcile) this.step(() => this.#requeueUnknown())
    else super.plan()
  }

  /** Requeues ids that are in flight for this owner but unknown to it, because an answer was lost. */
  reconcile(): void {
    this.#mustReconcile = true
    this.plan()
  }

  /** Adds the settlement of a fetched id. */
  settle(shard: Shard, { id, ticket }: FetchedBatch, end: OrderedEnd, dies?: Ended['dies']): void {
    const settlement = { id, ticket, shard: shard.shard, token: shard.token, end }
    this.#ended.push({ settlement, dies, isResent: false })
  }

  /** Sends the settlements again that the store has refused. */
  resendRefused(): void {
    this.#ended.unshift(...this.#refused.splice(0))
    this.plan()
  }

  /** Makes the next call ask for one shard, or for all of them. `notified`: because the store has notified. */
  poll(notified: boolean, only?: number): void {
    const shards = [...this.#shards.values()].filter(({ shard }) => only === undefined || shard === only)
    for (const shard of shards) {
      shard.mustPoll = true
      shard.stuck = false
    }
    if (shards.length > 0) {
      this.#isNotified ||= notified
      this.plan()
    } else if (notified) this.#emit({ kind: 'assignments-changed' })
  }

  protected override get hasSettlements(): boolean {
    return this.#ended.length > 0
  }

  protected override get hasWork(): boolean {
    if (this.#ended.length > 0) return true
    if (this.isQuiet) return false
    const now = this.engine.now() / 1000
    for (const shard of this.#shards.values()) if (shard.mustPoll || this.#roomOf(shard, now) > 0) return true
    return false
  }

  protected override send({ call }: Sent): Promise<OrderedSettleAndFetchAnswer> {
    const { definition, worker } = this.#parts
    return this.engine.store.ordered.settleAndFetch(definition.queue, worker.owner(), call)
  }

  protected override drainCall(): Sent | undefined {
    const now = this.engine.now()
    const ended = this.#ended.splice(0, MAX_SETTLEMENTS)
    const settlements = ended.map(({ settlement }) => settlement)
    const settledShards = new Set<number>()
    for (const { shard } of settlements) settledShards.add(shard)
    const shards: Shard[] = []
    const fetch: { shard: number; token: number; n: number }[] = []
    const wanting = this.#byNeed().map((shard) => ({ shard, n: this.#roomOf(shard, now / 1000) }))
    const deferred = this.callCount > 0 ? NONE : this.#deferred(wanting, now / 1000)
    for (const { shard, n } of wanting) {
      if (deferred.has(shard)) continue
      if (n === 0 && !shard.mustPoll && !settledShards.has(shard.shard)) continue
      shard.mustPoll = false
      if (n > 0) shard.isFetching = true
      shards.push(shard)
      fetch.push({ shard: shard.shard, token: shard.token, n })
    }
    if (settlements.length + fetch.length === 0) return undefined
    const { maxPayloads } = this.#parts.definition.options
    const call = { now, settlements, fetch, maxPayloads }
    return { call, ended, shards, sentAt: performance.now(), generation: this.#generation }
  }

  /** An answer to a call before the last reset changes nothing. */
  protected override applyAnswer(sent: Sent, answer: OrderedSettleAndFetchAnswer): void {
    const { call, ended, shards, sentAt, generation } = sent
    if (generation !== this.#generation) return
    const { fenced, dead } = this.#applySettled(ended, answer)
    let received = 0
    let fetchedInAll = 0
    let lost = fenced > 0
    for (const [i, shard] of shards.entries()) {
      const fetched = answer.fetched[i]
      // The shard was released or lost meanwhile. Its ids are requeued with it.
      if (!fetched || this.#shards.get(shard.shard) !== shard) continue
      if (isFetchedAgain(shard, fetched.ids)) shard.hasLostFetches = true
      if (fetched.lost || shard.hasLostFetches) {
        lost = true
        continue
      }
      // Ids of earlier shards may have used up the size of the answer.
      const isAnswered = (call.fetch[i]?.n ?? 0) > 0 && fetchedInAll === 0
      fetchedInAll += fetched.ids.length
      if (fetched.ids.length > 0) shard.fetchedAt = sentAt
      received += this.#accept(shard, fetched)
      // Compare with the time of the call: ids that became due since then were not asked for.
      if (isAnswered && fetched.ids.length === 0 && fetched.next !== null && fetched.next <= call.now / 1000)
        shard.stuck = true
    }
    this.#applyCancelled(answer.cancelled)
    if (answer.paused && !this.#paused) for (const shard of this.#shards.values()) this.requeueReady(shard)
    this.#paused = answer.paused
    const resharded = this.#shardCount !== undefined && this.#shardCount !== answer.shards
    this.#shardCount = answer.shards
    const isUnexplained = this.#isNotified && received === 0
    this.#isNotified = false
    for (const deaths of dead) this.#emit({ kind: 'died', deaths })
    if (lost || resharded || isUnexplained) this.#emit({ kind: 'assignments-changed' })
    if (received > 0) this.#emit({ kind: 'fetched' })
  }

  /** While settlements are refused, ignores answers without a problem, so that the same refusal is not reported again. */
  protected override reportProblem(problem: string | undefined): void {
    if (problem || this.#refused.length === 0) super.reportProblem(problem)
  }

  protected override restore({ ended, generation }: Sent, thrown: unknown): boolean {
    if (generation !== this.#generation) return false
    const ours = ended.filter(({ settlement: { shard, token } }) => this.#shards.get(shard)?.token === token)
    // A full store has certainly changed nothing, so the next call is no repeat of this one.
    if (!hasCode(thrown, 'STORE_FULL')) for (const one of ours) one.isResent = true
    this.#ended = [...ours, ...this.#ended]
    for (const shard of this.#shards.values()) shard.mustPoll = true
    this.#mustReconcile = true
    return true
  }

  /** The shards of the call can be fetched from again. */
  protected override callEnded({ call, shards }: Sent): void {
    for (const [i, shard] of shards.entries()) if ((call.fetch[i]?.n ?? 0) > 0) shard.isFetching = false
    this.#emit({ kind: 'settled', shards })
  }

  protected override onIdle(): void {
    this.#emit({ kind: 'idle' })
  }

  /** Requeues the ids of a shard that have not started. */
  requeueReady(shard: Shard): void {
    for (const one of shard.dropReady()) this.settle(shard, one, { kind: 'requeue' })
  }

  /** Drops all settlements: the ids belong to other owners now. */
  reset(): void {
    this.#generation++
    this.#mustReconcile = false
    this.#ended = []
    this.#refused = []
  }

  /** Drops the settlements of a shard that this process no longer owns. */
  dropShard(shard: number): void {
    const isOther = ({ settlement }: Ended) => settlement.shard !== shard
    this.#ended = this.#ended.filter(isOther)
    this.#refused = this.#refused.filter(isOther)
  }

  #roomOf(shard: Shard, now: number): number {
    if (this.isQuiet || (this.#paused && !shard.mustPoll)) return 0
    return shard.mustPoll || shard.nextDue === undefined || shard.nextDue <= now ? shard.room : 0
  }

  /** Returns the shards with the fewest ready ids first, since an answer has a limited size. */
  #byNeed(): Shard[] {
    return [...this.#shards.values()].sort((a, b) => a.size - b.size || a.fetchedAt - b.fetchedAt)
  }

  /**
   * Returns the shards that are left to the next call, if more than one has due ids. While the store answers one call,
   * this process runs the ids that the other call has brought.
   */
  #deferred(wanting: readonly { shard: Shard; n: number }[], now: number): ReadonlySet<Shard> {
    const { maxConcurrentCalls } = this.engine.store
    if (maxConcurrentCalls === 1) return NONE
    const due = wanting.filter(
      ({ shard, n }) => n > 0 && !shard.mustPoll && shard.nextDue !== undefined && shard.nextDue <= now,
    )
    return new Set(due.slice(Math.ceil(due.length / maxConcurrentCalls)).map(({ shard }) => shard))
  }

  /** Applies the answers to settlements. */
  #applySettled(ended: readonly Ended[], { settled }: OrderedSettleAndFetchAnswer) {
    const fenced: OrderedSettlement[] = []
    const dead = new Map<Batch, OrderedDeath[]>()
    for (const [i, one] of ended.entries()) {
      const { settlement, dies, isResent } = one
      if (settled[i] === 'error') {
        this.#refused.push(one)
        continue
      }
      const shard = this.#shards.get(settlement.shard)
      if (shard?.token === settlement.token) {
        shard.inFlight--
        shard.stuck = false
      }
      if (settled[i] === 'fenced' && !isResent) fenced.push(settlement)
      else if (dies) dead.set(dies.batch, [...(dead.get(dies.batch) ?? []), dies.death])
    }
    if (fenced.length > 0) this.#reportFenced(fenced)
    return { fenced: fenced.length, dead: dead.values() }
  }

  /** Returns how many ids were accepted. */
  #accept(shard: Shard, fetched: OrderedSettleAndFetchAnswer['fetched'][number]): number {
    shard.nextDue = fetched.next ?? Number.POSITIVE_INFINITY
    let { ids } = fetched
    const suspect = ids.some((one) => one.suspect)
    // A suspect runs alone, because after a crash beside other ids the store could not tell which id caused it.
    const isLeaving = shard.leaving || this.isQuiet
    if (isLeaving || (suspect && (shard.inFlight > 0 || ids.length > 1))) {
      shard.inFlight += ids.length
      for (const one of ids) this.settle(shard, one, { kind: 'requeue' })
      ids = []
    }
    if (isLeaving) return 0
    if (suspect) shard.alone = true
    else if (ids.length > 0) shard.alone = false
    if (ids.length > 0) shard.add(ids)
    return ids.length
  }

  #applyCancelled(cancelled: OrderedSettleAndFetchAnswer['cancelled']): void {
    for (const { ticket } of cancelled) {
      for (const shard of this.#shards.values()) {
        const ready = shard.dropOne(ticket)
        if (ready) this.settle(shard, ready, { kind: 'cancelled' })
        for (const batch of shard.running) if (batch.ids.some((one) => one.ticket === ticket)) batch.cancel(ticket)
      }
    }
  }

  async #requeueUnknown(): Promise<void> {
    const generation = this.#generation
    const { definition, worker } = this.#parts
    const inFlight = await this.engine.store.ordered.inFlight(definition.queue, worker.owner())
    this.#mustReconcile = false
    if (generation !== this.#generation) return
    const known = new Map([...this.#ended, ...this.#refused].map((one) => [one.settlement.ticket, one]))
    const unsettled = new Set(
      [...this.#shards.values()].flatMap((shard) => Array.from(shard.fetched(), ({ ticket }) => ticket)),
    )
    for (const { id, ticket, shard: number, token } of inFlight) {
      const ended = known.get(ticket)
      // No earlier call has settled it.
      if (ended) ended.isResent = false
      const shard = this.#shards.get(number)
      if (ended || unsettled.has(ticket) || shard?.token !== token) continue
      shard.inFlight++
      const settlement: OrderedSettlement = { id, ticket, shard: number, token, end: { kind: 'requeue' } }
      this.#ended.push({ settlement, dies: undefined, isResent: true })
    }
  }

  #reportFenced(fenced: readonly OrderedSettlement[]): void {
    const ids = fenced.map(({ id }) => id)
    const shards = [...new Set(fenced.map(({ shard }) => shard))]
    this.engine.report(
      new HighkiqError('LEASE_LOST', 'a shard went to another process while a batch of it ran: its ids run again'),
      { queue: this.#parts.definition.queue, shards, ...idFields(ids) },
    )
  }
}

/**
 * Returns whether an id was fetched again although this process has not settled it. Then the store has lost the earlier
 * fetch: it failed over to a standby that had not received it.
 */
function isFetchedAgain(shard: Shard, ids: readonly FetchedBatch[]): boolean {
  if (ids.length === 0) return false
  const unsettled = new Set(Array.from(shard.fetched(), ({ id }) => id))
  return ids.some(({ id }) => unsettled.has(id))
}
