/** Defines, fills and deletes ordered queues, and assigns their shards to owners. */

import type { AcquiredShard, OrderedPush, OrderedSettleAndFetch, OrderedSettleAndFetchAnswer } from '../../contract.ts'
import { checkItems } from '../../sql/ordered-pushes.ts'
import { Tables } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import { Leases } from '../workers/leases.ts'
import { OrderedActions } from './actions.ts'
import { InFlightTable } from './in-flight.ts'
import { MorgueTable } from './morgue.ts'
import { nextNumber, OpenQueue } from './open-queue.ts'
import { PayloadTable } from './payloads.ts'
import { idsOf, pushItems } from './push.ts'
import { OrderedQueries } from './queries.ts'
import { SettleAndFetchStep } from './settle-and-fetch.ts'
import { WaitingTable } from './waiting.ts'

/** The ids of a queue that was just defined. */
const NONE: ReadonlySet<string> = new Set()

export class OrderedTables extends Tables {
  readonly waiting = this.db.get(WaitingTable)
  readonly payloads = this.db.get(PayloadTable)
  readonly morgue = this.db.get(MorgueTable)
  readonly flights = this.db.get(InFlightTable)
  readonly actions = this.db.get(OrderedActions)
  readonly queries = this.db.get(OrderedQueries)
  readonly #step = this.db.get(SettleAndFetchStep)

  /** Opens a queue; undefined: there is no such queue. Close it after a change. */
  async open(queue: string): Promise<OpenQueue | undefined> {
    return await OpenQueue.open(this.db, queue)
  }

  async define(queue: string, shards: number): Promise<OpenQueue> {
    const there = await this.open(queue)
    if (there) return there
    await this.db.run(sql.ordered.define, queue, shards)
    const open = (await this.open(queue)) as OpenQueue
    // The new shards must not repeat a ticket of a deleted queue of this name.
    await this.db.run(sql.ordered.addShards, open.id, shards, await nextNumber(this.db))
    return open
  }

  /** Opens a queue, runs `work`, and writes the changes; returns `none` if there is no such queue. */
  async change<T>(queue: string, none: T, work: (open: OpenQueue) => T | Promise<T>): Promise<T> {
    const open = await this.open(queue)
    if (!open) return none
    const answer = await work(open)
    await open.close()
    return answer
  }

  async push(queue: string, shards: number, items: readonly OrderedPush[]): Promise<void> {
    checkItems(items)
    const found = await OpenQueue.openAmong(this.db, queue, idsOf(items))
    const pushed = found ?? { open: await this.define(queue, shards), inFlight: NONE, waiting: NONE }
    await pushItems(this.db, pushed, items)
    await pushed.open.close()
  }

  /** Makes an owner a member. Returns false if it has no lease. */
  async join(open: OpenQueue, owner: string): Promise<boolean> {
    const id = await this.#ownerId(owner)
    if (id !== undefined && (await this.db.run(sql.ordered.join, open.id, id)) > 0) open.notify()
    return id !== undefined
  }

  async leave(open: OpenQueue, owner: string, now: number): Promise<void> {
    const owned = await this.db.all<{ shard: number }>(sql.ordered.owned, open.id, owner)
    await open.readShards(owned.map(({ shard }) => shard))
    for (const { shard } of owned) await this.#release(open, shard, now)
    if ((await this.db.run(sql.ordered.removeMember, open.id, owner)) > 0) open.notify()
  }

  async acquire(
    open: OpenQueue,
    number: number,
    owner: string,
    maxCrashes: number,
    now: number,
  ): Promise<AcquiredShard | null> {
    if (!(number < open.width)) return null
    const member = await this.db.first<{ id: number }>(sql.ordered.member, open.id, owner)
    const before = await open.readShard(number)
    if (!member || !before) return null
    if (await this.db.first(sql.ordered.hasLease, before.owner)) {
      if (before.owner !== member.id) return null
      // The owner asks again because it has lost the answer.
      return { token: before.token, rescued: 0, died: before.died === null ? [] : JSON.parse(before.died) }
    }
    const shard = await open.changeShard(number)
    const ended = await this.flights.requeueShard(open, number, now, maxCrashes)
    shard.owner = member.id
    shard.died = ended.died.length > 0 ? JSON.stringify(ended.died) : null
    // An owner of a deleted queue of this name may still have a token of it.
    shard.token = shard.token === 0 ? await nextNumber(this.db) : shard.token + 1
    open.setNextDue(shard, null)
    return { token: shard.token, ...ended }
  }

  async release(open: OpenQueue, number: number, owner: string, token: number, now: number): Promise<boolean> {
    const shard = await open.readShard(number)
    if (!shard || shard.owner !== (await this.#ownerId(owner)) || shard.token !== token) return false
    await this.#release(open, number, now)
    open.notify()
    return true
  }

  async settleAndFetch(
    queue: string,
    owner: string,
    request: OrderedSettleAndFetch,
  ): Promise<OrderedSettleAndFetchAnswer> {
    const shards = [...request.settlements, ...request.fetch].map(({ shard }) => shard)
    const found = await OpenQueue.openFor(this.db, queue, owner, [...new Set(shards)])
    if (found && found.ownerId !== null) {
      const answer = await this.#step.run(found, found.ownerId, request)
      await found.open.close()
      return answer
    }
    const { paused, shards: width } = found?.open.queue ?? { paused: 0, shards: 0 }
    return {
      settled: request.settlements.map(() => 'fenced'),
      fetched: request.fetch.map(() => ({ lost: true, ids: [], next: null })),
      paused: paused === 1,
      shards: width,
      cancelled: [],
    }
  }

  /** Deletes a queue. Returns false if it has ids, morgue entries or members. */
  async delete(open: OpenQueue): Promise<boolean> {
    const { shards, morgueLength } = await this.queries.counts(open, 0)
    const { members } = await this.queries.assignments(open)
    if (shards.some(({ busy }) => busy > 0) || morgueLength > 0 || members.length > 0) return false
    if (await this.db.first(sql.waiting.some, open.id)) return false
    const { keepNumbers, deleteMembers, deleteShards, delete: deleteQueue } = sql.ordered
    for (const statement of [keepNumbers, deleteMembers, deleteShards, deleteQueue])
      await this.db.run(statement, open.id)
    return true
  }

  /** Returns the id of an owner; undefined: it has no lease. */
  async #ownerId(owner: string): Promise<number | undefined> {
    return (await this.db.get(Leases).current(owner))?.owner
  }

  async #release(open: OpenQueue, number: number, now: number): Promise<void> {
    await this.flights.requeueShard(open, number, now)
    Object.assign(await open.changeShard(number), { owner: 0, died: null })
  }
}
