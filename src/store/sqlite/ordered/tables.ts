/** Defines, fills and deletes ordered queues, and assigns their shards to owners. */

import type { AcquiredShard, OrderedPush, OrderedSettleAndFetch, OrderedSettleAndFetchAnswer } from '../../contract.ts'
import { checkItems } from '../../sql/ordered-pushes.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import { Leases } from '../workers/leases.ts'
import { OrderedActions } from './actions.ts'
import { InFlightTable } from './in-flight.ts'
import { MorgueTable } from './morgue.ts'
import { nextNumber, OpenQueue } from './open-queue.ts'
import { pushItems } from './push.ts'
import { OrderedQueries } from './queries.ts'
import { SettleAndFetchStep } from './settle-and-fetch.ts'
import { WaitingTable } from './waiting.ts'

export class OrderedTables extends Tables {
  readonly waiting = this.db.get(WaitingTable)
  readonly morgue = this.db.get(MorgueTable)
  readonly flights = this.db.get(InFlightTable)
  readonly actions = this.db.get(OrderedActions)
  readonly queries = this.db.get(OrderedQueries)
  readonly #step = this.db.get(SettleAndFetchStep)

  /** Opens a queue; undefined: there is no such queue. Close it after a change. */
  open(queue: string): OpenQueue | undefined {
    return OpenQueue.open(this.db, queue)
  }

  define(queue: string, shards: number): OpenQueue {
    const there = this.open(queue)
    if (there) return there
    this.db.run(sql.ordered.define, queue, shards)
    const open = this.open(queue) as OpenQueue
    // The new shards must not repeat a ticket of a deleted queue of this name.
    this.db.run(sql.ordered.addShards, open.id, shards, nextNumber(this.db))
    return open
  }

  /** Opens a queue, runs `work`, and writes the changes; returns `none` if there is no such queue. */
  change<T>(queue: string, none: T, work: (open: OpenQueue) => T): T {
    const open = this.open(queue)
    if (!open) return none
    const answer = work(open)
    open.close()
    return answer
  }

  push(queue: string, shards: number, items: readonly OrderedPush[]): void {
    checkItems(items)
    const open = this.define(queue, shards)
    pushItems(open, this.waiting, this.flights, items)
    open.close()
  }

  /** Makes an owner a member. Returns false if it has no lease. */
  join(open: OpenQueue, owner: string): boolean {
    const id = this.#ownerId(owner)
    if (id !== undefined && this.db.run(sql.ordered.join, open.id, id) > 0) open.notify()
    return id !== undefined
  }

  leave(open: OpenQueue, owner: string, now: number): void {
    for (const number of this.db.list<number>(sql.ordered.owned, open.id, owner)) this.#release(open, number, now)
    if (this.db.run(sql.ordered.removeMember, open.id, owner) > 0) open.notify()
  }

  acquire(open: OpenQueue, number: number, owner: string, maxCrashes: number, now: number): AcquiredShard | null {
    if (!(number < open.width)) return null
    const member = this.db.first<{ id: number }>(sql.ordered.member, open.id, owner)
    const before = open.readShard(number)
    if (!member || !before) return null
    if (this.db.first(sql.ordered.hasLease, before.owner)) {
      return before.owner === member.id ? { token: before.token, rescued: 0, died: [] } : null
    }
    const shard = open.changeShard(number)
    const ended = this.flights.requeueShard(open, number, now, maxCrashes)
    shard.owner = member.id
    // An owner of a deleted queue of this name may still have a token of it.
    shard.token = shard.token === 0 ? nextNumber(this.db) : shard.token + 1
    open.setNextDue(shard, null)
    return { token: shard.token, ...ended }
  }

  release(open: OpenQueue, number: number, owner: string, token: number, now: number): boolean {
    const shard = open.readShard(number)
    if (!shard || shard.owner !== this.#ownerId(owner) || shard.token !== token) return false
    this.#release(open, number, now)
    open.notify()
    return true
  }

  settleAndFetch(
    queue: string,
    owner: string,
    request: OrderedSettleAndFetch,
    oneByOne: boolean,
  ): OrderedSettleAndFetchAnswer {
    const id = this.#ownerId(owner)
    const answer =
      id === undefined ? null : this.change(queue, null, (open) => this.#step.run(open, id, request, oneByOne))
    if (answer) return answer
    const { paused, shards } = this.open(queue)?.queue ?? { paused: 0, shards: 0 }
    return {
      settled: request.settlements.map(() => 'fenced'),
      fetched: request.fetch.map(() => ({ lost: true, ids: [], next: null })),
      paused: paused === 1,
      shards,
      cancelled: [],
    }
  }

  /** Deletes a queue. Returns false if it has ids, morgue entries or members. */
  delete(open: OpenQueue): boolean {
    const { shards, morgueLength } = this.queries.counts(open, 0)
    const { members } = this.queries.assignments(open)
    if (shards.some(({ busy }) => busy > 0) || morgueLength > 0 || members.length > 0) return false
    if (this.db.first(sql.waiting.some, open.id)) return false
    const { keepNumbers, deleteMembers, deleteShards, delete: deleteQueue } = sql.ordered
    for (const statement of [keepNumbers, deleteMembers, deleteShards, deleteQueue]) this.db.run(statement, open.id)
    return true
  }

  /** Returns the id of an owner; undefined: it has no lease. */
  #ownerId(owner: string): number | undefined {
    return this.db.get(Leases).current(owner)?.owner
  }

  #release(open: OpenQueue, number: number, now: number): void {
    this.flights.requeueShard(open, number, now)
    open.changeShard(number).owner = 0
  }
}
