/**
 * Finds the jobs that an owner fetched in a step whose answer was lost. They belong to the owner, who does not know them. The
 * statement of such a step may even run later, so the search is repeated for a while.
 */

import type { FetchedJob } from '../../contract.ts'
import { queueAt, ticketOf } from '../queues/queues.ts'
import type { StoreServer } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'

/** How long after a lost answer, and how often, the jobs of the owner are read. */
const SEARCH_MS = 60_000
const INTERVAL_MS = 1000

interface Owner {
  /** The tickets that were returned to the owner and are not settled. */
  tickets: Set<string>
  searchUntil: number
  searchedAt: number
}

export class LostFetches {
  readonly #server: StoreServer
  readonly #owners = new Map<string, Owner>()

  constructor(server: StoreServer) {
    this.#server = server
  }

  /** Returns at most `n` jobs that the owner has and does not know. They count as known once `returned` is called. */
  async find(owner: string, n: number): Promise<FetchedJob[]> {
    const known = this.#owners.get(owner)
    const now = performance.now()
    if (!known || now > known.searchUntil || now < known.searchedAt + INTERVAL_MS) return []
    known.searchedAt = now
    type Row = { queue: string; queueId: number; position: number; text: string }
    const rows = await this.#server.runOne((db) => db.all<Row>(sql.owner.fetchedBy, owner))
    const jobs = rows.map(({ queue, queueId, position, text }) => ({
      queue: queueAt(queue, position),
      ticket: ticketOf(queueId, position),
      text,
    }))
    return jobs.filter(({ ticket }) => !known.tickets.has(ticket)).slice(0, n)
  }

  returned(owner: string, jobs: readonly FetchedJob[]): void {
    if (jobs.length === 0) return
    const { tickets } = this.#of(owner)
    for (const { ticket } of jobs) tickets.add(ticket)
  }

  settled(owner: string, settlements: readonly { ticket: string }[]): void {
    const tickets = this.#owners.get(owner)?.tickets
    if (tickets) for (const { ticket } of settlements) tickets.delete(ticket)
  }

  /** An answer to the owner was lost. */
  answerLost(owner: string): void {
    this.#of(owner).searchUntil = performance.now() + SEARCH_MS
  }

  /** The owner has lost its lease, or was released. */
  forget(owner: string): void {
    this.#owners.delete(owner)
  }

  #of(name: string): Owner {
    let owner = this.#owners.get(name)
    if (!owner) {
      owner = { tickets: new Set(), searchUntil: 0, searchedAt: Number.NEGATIVE_INFINITY }
      this.#owners.set(name, owner)
    }
    return owner
  }
}
