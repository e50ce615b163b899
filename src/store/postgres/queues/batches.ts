/** The tables of batches, for one step; see batch-ledger.ts for what follows from a change. */

import { type BatchRow, rowOf, stateOf } from '../../contract/batch-rows.ts'
import {
  type BatchEffect,
  BatchLedger,
  type BatchNote,
  type BatchPush,
  type BatchState,
  type BatchTables,
  type LockHolder,
  MEMBER_STATES,
  type MemberState,
  type RecordEffect,
} from '../../contract.ts'
import { columns } from '../server/columns.ts'
import type { Database } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import { Arrivals } from './arrivals.ts'
import { appendEvents } from './job-events.ts'
import { keepResult, resultChannel } from './kept-results.ts'
import type { UniqueLocks } from './unique.ts'

interface Member {
  bid: string
  id: string
}

/** What a step may read: batches, with those around them, and members. */
interface Named {
  bids: readonly string[]
  members: readonly Member[]
}

interface LoadedRow extends BatchRow {
  ids: string[] | null
  states: number[] | null
}

/**
 * The batches that one step may change. They are read together, changed in memory by a BatchLedger, and written by `write`.
 */
export class LoadedBatches implements BatchTables {
  readonly #db: Database
  readonly #locks: UniqueLocks | undefined
  /** undefined: there is no such batch. */
  readonly #batches = new Map<string, BatchState | undefined>()
  /** A member without a state is not open. */
  readonly #members = new Map<string, Member & { state: MemberState | undefined }>()
  readonly #created = new Set<string>()
  readonly #changed = new Set<BatchState>()
  readonly #changedMembers = new Set<string>()
  readonly #notes = new Map<string, BatchNote & { bid: string }>()
  readonly #events: { event: RecordEffect; now: number }[] = []
  readonly #results: [jid: string, text: string, seconds: number][] = []

  private constructor(db: Database, locks?: UniqueLocks) {
    this.#db = db
    this.#locks = locks
  }

  /** Reads what `cancel` may read, and `change` for effects on these members. */
  static async load(db: Database, { bids, members }: Named): Promise<LoadedBatches> {
    const batches = new LoadedBatches(db)
    await batches.#read({ bids: [...bids, ...members.map(({ bid }) => bid)], members })
    return batches
  }

  /** Reads what a push may read. */
  static async loadForPush(db: Database, push: BatchPush, locks: UniqueLocks): Promise<LoadedBatches> {
    const batches = new LoadedBatches(db, locks)
    const created = new Set(push.batches.map(({ bid }) => bid))
    const bids = [
      ...created,
      ...push.batches.flatMap(({ parent }) => parent ?? []),
      ...push.members.map(({ bid }) => bid),
    ]
    const members = push.members.filter(({ bid }) => !created.has(bid)).map(({ bid, id }) => ({ bid, id }))
    await batches.#read({ bids, members: [...members, ...push.batches.flatMap(membersAround)] })
    return batches
  }

  async #read({ bids, members }: Named): Promise<void> {
    const rows = await this.#db.all<LoadedRow>(sql.batch.load, [...new Set(bids)], ...columns(members, ...BID_AND_ID))
    for (const bid of bids) this.#batches.set(bid, undefined)
    for (const member of members) this.#setLoaded(member, undefined)
    for (const { ids, states, ...row } of rows) {
      const batch = stateOf(row)
      this.#batches.set(batch.bid, batch)
      for (const member of membersAround(batch)) this.#setLoaded(member, undefined)
    }
    for (const { bid, ids, states } of rows) {
      for (const [i, id] of (ids ?? []).entries()) this.#setLoaded({ bid, id }, states?.[i])
    }
    // Callbacks and waiting jobs are named by the batches that were read, so they are looked up afterwards.
    const others = [...this.#batches.values()].flatMap((batch) => (batch ? membersAround(batch).slice(1) : []))
    if (others.length === 0) return
    type Row = Member & { state: number }
    const open = await this.#db.all<Row>(sql.batch.open, ...columns(others, ...BID_AND_ID))
    for (const { state, ...member } of open) this.#setLoaded(member, state)
  }

  load(bid: string): BatchState | undefined {
    if (!this.#batches.has(bid)) throw new Error(`the batch ${bid} was not read`)
    return this.#batches.get(bid)
  }

  create(batch: BatchState): void {
    if (this.load(batch.bid)) return
    this.#batches.set(batch.bid, batch)
    this.#created.add(batch.bid)
  }

  save(batch: BatchState): void {
    this.#changed.add(batch)
  }

  addMembers(bid: string, ids: readonly string[]): number {
    const added = ids.filter((id) => this.member(bid, id) === undefined)
    for (const id of added) this.setMember(bid, id, 'waiting')
    return added.length
  }

  member(bid: string, id: string): MemberState | undefined {
    const member = this.#members.get(keyOf({ bid, id }))
    if (!member && this.load(bid) && !this.#created.has(bid))
      throw new Error(`the member ${id} of the batch ${bid} was not read`)
    return member?.state
  }

  setMember(bid: string, id: string, state: MemberState | null): void {
    const key = keyOf({ bid, id })
    this.#members.set(key, { bid, id, state: state ?? undefined })
    this.#changedMembers.add(key)
  }

  note(bid: string, { key, text }: BatchNote): void {
    this.#notes.set(`${bid} ${key}`, { bid, key, text })
  }

  push(queue: string, text: string): void {
    this.#db.get(Arrivals).add({ to: 'queue', queue, text, end: 'back' })
  }

  addToDead(text: string, now: number): void {
    this.#db.get(Arrivals).add({ to: 'dead', text, score: now / 1000 })
  }

  keepResult(jid: string, text: string, seconds: number): void {
    this.#results.push([jid, text, seconds])
  }

  record(jid: string, about: string, now: number): void {
    this.#events.push({ event: { kind: 'record', jid, about }, now })
  }

  holder(key: string): LockHolder | undefined {
    return this.#locks?.holder(key)
  }

  /** Writes all that has changed, except jobs, which `Arrivals.store` stores. */
  async write(): Promise<void> {
    const created = Array.from(this.#created, (bid) => rowOf(this.#batches.get(bid) as BatchState))
    if (created.length > 0) await this.#db.run(sql.batch.create, ...columns(created, ...CREATED))
    const changed = Array.from(this.#changed, rowOf)
    const members = Array.from(
      this.#changedMembers,
      (key) => this.#members.get(key) as Member & { state?: MemberState },
    )
    if (changed.length + members.length > 0) {
      const ended = members.filter(({ state }) => state === undefined)
      const open = members.filter(({ state }) => state !== undefined)
      const states = open.map(({ state }) => MEMBER_STATES.indexOf(state as MemberState))
      const values = [...columns(changed, ...SAVED), ...columns(ended, ...BID_AND_ID), ...columns(open, ...BID_AND_ID)]
      await this.#db.run(sql.batch.save, ...values, states)
    }
    const notes = [...this.#notes.values()]
    if (notes.length > 0) await this.#db.run(sql.batch.note, ...columns(notes, ...NOTE))
    for (const { event, now } of this.#events) await appendEvents(this.#db, [event], now)
    for (const [jid, ...result] of this.#results) {
      await keepResult(this.#db, jid, ...result)
      this.#db.notify(resultChannel(jid))
    }
  }

  #setLoaded({ bid, id }: Member, state: number | undefined): void {
    const name = state === undefined ? undefined : MEMBER_STATES[state]
    this.#members.set(keyOf({ bid, id }), { bid, id, state: name })
  }
}

/** Applies effects in their order. Returns for each whether its member was open before it. `Arrivals.store` comes after it. */
export async function changeBatches(db: Database, effects: readonly BatchEffect[], now: number): Promise<boolean[]> {
  const members = effects.map(({ bid, member }) => ({ bid, id: member }))
  const batches = await LoadedBatches.load(db, { bids: [], members })
  const ledger = new BatchLedger(batches, now)
  const wereOpen = effects.map((effect) => {
    const wasOpen = batches.member(effect.bid, effect.member) !== undefined
    ledger.change(effect)
    return wasOpen
  })
  await batches.write()
  return wereOpen
}

const BID_AND_ID = [({ bid }: Member) => bid, ({ id }: Member) => id] as const

const NOTE = (['bid', 'key', 'text'] as const).map(
  (name) => (note: Record<typeof name, string>) => note[name].toWellFormed(),
)

const CREATED = (
  [
    ...(['bid', 'parent', 'depth', 'meta', 'on_complete', 'on_success', 'on_death', 'job'] as const),
    ...(['keep', 'created_at', 'progress_at'] as const),
  ] as const
).map((name) => (row: BatchRow) => row[name])

const SAVED = (
  [
    ...([
      'bid',
      'on_complete',
      'on_success',
      'on_death',
      'job',
      'total',
      'pending',
      'retrying',
      'dead',
      'failed',
    ] as const),
    ...(['succeeded', 'progress_at', 'completed_at', 'succeeded_at', 'died_at', 'expires_at', 'cancelling'] as const),
  ] as const
).map((name) => (row: BatchRow) => row[name])

function keyOf({ bid, id }: Member): string {
  return `${bid} ${id}`
}

/** Returns the members that a batch may have in the batch around it: itself, its waiting job, and its callbacks. */
function membersAround({ bid, parent, job, onComplete, onSuccess, onDeath }: AroundOf): Member[] {
  if (parent === null) return []
  const jobs = [job, onComplete, onSuccess, onDeath].flatMap((one) => one?.jid ?? [])
  return [bid, ...jobs].map((id) => ({ bid: parent, id }))
}

type AroundOf = Pick<BatchState, 'bid' | 'parent' | 'job' | 'onComplete' | 'onSuccess' | 'onDeath'>
