/** The tables of ordered queues, as one transaction uses them. */

import type { OrderedPush, OrderedSettleAndFetch, OrderedSettleAndFetchAnswer } from '../../contract.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import { Leases } from '../workers/leases.ts'
import { OrderedActions } from './actions.ts'
import { InFlightTable } from './in-flight.ts'
import { MorgueTable } from './morgue.ts'
import { nextNumber, OpenQueue } from './open-queue.ts'
import { OrderedOwners } from './owners.ts'
import { checkItems, pushItems } from './push.ts'
import { OrderedQueries } from './queries.ts'
import { SettleAndFetchStep } from './settle-and-fetch.ts'
import { WaitingTable } from './waiting.ts'

export class OrderedTables extends Tables {
  readonly waiting = this.db.get(WaitingTable)
  readonly morgue = this.db.get(MorgueTable)
  readonly flights = this.db.get(InFlightTable)
  readonly owners = this.db.get(OrderedOwners)
  readonly actions = this.db.get(OrderedActions)
  readonly queries = this.db.get(OrderedQueries)
  readonly #step = this.db.get(SettleAndFetchStep)

  names(): string[] {
    return this.db.list(sql.ordered.names)
  }

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

  /** Opens a queue, runs `work`, and writes the changes; undefined: there is no such queue. */
  change<T>(queue: string, work: (open: OpenQueue) => T): T | undefined {
    const open = this.open(queue)
    if (!open) return undefined
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

  /** Returns the id of an owner; undefined: it has no lease. */
  ownerId(owner: string): number | undefined {
    return this.db.get(Leases).current(owner)?.owner
  }

  settleAndFetch(
    queue: string,
    owner: string,
    request: OrderedSettleAndFetch,
    oneByOne: boolean,
  ): OrderedSettleAndFetchAnswer {
    const id = this.ownerId(owner)
    const answer =
      id === undefined ? undefined : this.change(queue, (open) => this.#step.run(open, id, request, oneByOne))
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
    const { busy } = this.queries
      .counts(open, 0)
      .shards.reduce((sum, { busy }) => ({ busy: sum.busy + busy }), { busy: 0 })
    if (busy > 0 || open.queue.morgue > 0 || this.owners.members(open).length > 0) return false
    if (this.db.first(sql.waiting.some, open.id)) return false
    const { keepNumbers, deleteMembers, deleteShards, delete: deleteQueue } = sql.ordered
    for (const statement of [keepNumbers, deleteMembers, deleteShards, deleteQueue]) this.db.run(statement, open.id)
    return true
  }
}
