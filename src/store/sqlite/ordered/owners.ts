/** The members of an ordered queue, and the owners of its shards. */

import type { MorgueEntry } from '../../contract.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import { InFlightTable } from './in-flight.ts'
import { nextNumber, type OpenQueue } from './open-queue.ts'

export class OrderedOwners extends Tables {
  readonly #flights = this.db.get(InFlightTable)

  /** `owner` is the id of an owner with a lease. */
  join(open: OpenQueue, owner: number): void {
    if (this.db.run(sql.ordered.join, open.id, owner) > 0) open.notify()
  }

  leave(open: OpenQueue, owner: string, now: number): void {
    for (const number of this.db.list<number>(sql.ordered.owned, open.id, owner)) this.#release(open, number, now)
    if (this.db.run(sql.ordered.removeMember, open.id, owner) > 0) open.notify()
  }

  members(open: OpenQueue): string[] {
    return this.db.list(sql.ordered.members, open.id)
  }

  acquire(
    open: OpenQueue,
    number: number,
    owner: string,
    maxCrashes: number,
    now: number,
  ): { token: number; restored: number; died: MorgueEntry[] } | null {
    if (!(number < open.width)) return null
    const member = this.db.first<{ id: number }>(sql.ordered.member, open.id, owner)
    const before = open.readShard(number)
    if (!member || !before) return null
    if (this.db.first(sql.ordered.hasLease, before.owner)) {
      return before.owner === member.id ? { token: before.token, restored: 0, died: [] } : null
    }
    const shard = open.changeShard(number)
    const ended = this.#flights.requeueShard(open, number, now, maxCrashes)
    shard.owner = member.id
    // An owner of a deleted queue of this name may still have a token of it.
    shard.token = shard.token === 0 ? nextNumber(this.db) : shard.token + 1
    open.setNextDue(shard, null)
    return { token: shard.token, ...ended }
  }

  release(open: OpenQueue, number: number, owner: number, token: number, now: number): boolean {
    const shard = open.readShard(number)
    if (shard?.owner !== owner || shard.token !== token) return false
    this.#release(open, number, now)
    open.notify()
    return true
  }

  #release(open: OpenQueue, number: number, now: number): void {
    this.#flights.requeueShard(open, number, now)
    open.changeShard(number).owner = 0
  }
}
