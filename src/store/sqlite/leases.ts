/** Who owns what, until when; and who has which duty. Times are the machine's monotonic clock. */

import { type Lease, machineOf, type OrphanedJob, type OwnedJob } from '../contract.ts'
import { bootId, isPast, monotonicNow } from './clock.ts'
import type { Database } from './database.ts'
import { parseTicket, ticketOf } from './queues.ts'
import { sql } from './sql.generated.ts'

interface LeaseRow {
  name: string
  host: string
  boot: string
  ends: number
  seconds: number
  claimed: number
}

/** A claimed owner's name is known for so long, lest it be used again. */
const REMEMBERED_MS = 3_600_000

const endIn = (seconds: number) => monotonicNow() + Math.round(seconds * 1000)

export class Leases {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  join(owner: string, seconds: number, host: string): boolean {
    this.#db.run(sql.owner.forgetOld, monotonicNow() - REMEMBERED_MS, bootId)
    return this.#db.first(sql.owner.join, owner, host, bootId, endIn(seconds), seconds) !== undefined
  }

  /** The owner's id, if it may act, and the newest version of a mark. */
  current(owner: string): { owner: number; marks: number } | undefined {
    return this.#db.first(sql.owner.current, owner)
  }

  renew(owner: string, seconds: number): boolean {
    return this.#db.first(sql.owner.renew, endIn(seconds), seconds, bootId, owner) !== undefined
  }

  leave(owner: string): boolean {
    return this.#db.first(sql.owner.leave, owner) !== undefined
  }

  list(): Lease[] {
    const now = monotonicNow()
    return this.#db.all<LeaseRow>(sql.owner.list).map((row) => ({
      owner: row.name,
      host: row.host,
      seconds: row.seconds,
      // Any time from before the last boot of the machine is older than all times since then.
      renewed: row.boot === bootId ? row.ends - Math.round(row.seconds * 1000) : 0,
      ends: row.ends,
      ended: isPast(row.ends, row.boot, row.seconds, now),
      claimed: row.claimed === 1,
    }))
  }

  ownersOn(machine: string): Lease[] {
    return this.list().filter(({ claimed, host }) => !claimed && machineOf(host) === machine)
  }

  unrenewed(since: number | null): { stamp: number; leases: Lease[] } {
    const stamp = monotonicNow()
    const leases = since === null ? [] : this.list().filter(({ claimed, renewed }) => !claimed && renewed <= since)
    return { stamp, leases }
  }

  /** `asked`: when the claim was wanted; one that had to wait for the file comes too late to judge anybody. */
  claim(owner: string, ends: number | null, asked: number): boolean {
    const row = this.#db.first<LeaseRow & { id: number }>(sql.owner.find, owner)
    if (!row || row.claimed) return false
    if (ends !== null) {
      if (row.ends !== ends) return false
      if (monotonicNow() - asked > (row.seconds * 1000) / 6) return false
    }
    this.#db.run(sql.owner.claim, monotonicNow(), row.id)
    return true
  }

  stranded(limit: number): OrphanedJob[] {
    return this.#db
      .all<{ owner: string; queue: string; queueId: number; place: number; text: string }>(sql.owner.stranded, limit)
      .map(({ owner, queue, queueId, place, text }) => ({ owner, queue, ticket: ticketOf(queueId, place), text }))
  }

  /** What belongs to owners, claimed or not. */
  taken({ after = '0:0:0', limit }: { after?: string | undefined; limit: number }) {
    const rows = this.#db.all<OwnedJob & { ownerId: number; queueId: number; place: number }>(
      ...([sql.owner.taken, ...(after.split(':').map(Number) as [number, number, number]), limit] as const),
    )
    const items = rows.map(({ owner, queue, text }): OwnedJob => ({ owner, queue, text }))
    const last = rows.at(-1)
    const next = last && rows.length === limit ? `${last.ownerId}:${last.queueId}:${last.place}` : null
    return { items, next }
  }

  /** Takes a job from a claimed owner; false when it is not there or the owner is not claimed. */
  takeBack(owner: string, ticket: string): boolean {
    const { queue, place } = parseTicket(ticket)
    return this.#db.first(sql.owner.restore, owner, queue, place) !== undefined
  }

  hold(duty: string, holder: string, seconds: number): boolean {
    const row = this.#db.first<{ holder: string; boot: string; ends: number }>(sql.owner.duty, duty)
    if (row && row.holder !== holder && !isPast(row.ends, row.boot, MAX_DUTY_SECONDS)) return false
    this.#db.run(sql.owner.takeDuty, duty, holder, bootId, endIn(seconds))
    return true
  }

  letGo(duty: string, holder: string): void {
    this.#db.run(sql.owner.dropDuty, duty, holder)
  }
}

/** Nobody holds a duty for longer at a time: an end further ahead is of an earlier start of the machine. */
const MAX_DUTY_SECONDS = 3600
