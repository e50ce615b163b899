/**
 * Finds the jobs that belong to an owner who does not know them. The answer to its fetch was lost; the statement may even run
 * later, so the search is repeated for a while. Or a standby was promoted that had not received the end of the job: so the
 * search also follows the loss of any connection.
 */

import type { FetchedJob, SettleAndFetchAnswer } from '../../contract.ts'
import { queueAt } from '../queues/queues.ts'
import { ticketOf } from '../queues/tickets.ts'
import type { StoreServer } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'

/**
 * After a lost answer or connection the jobs of the owner are read for this long. One more search follows, because the owner
 * may have had no free slot, and then further ones while a search finds unknown jobs.
 */
const SEARCH_MS = 60_000
/** The time between two searches. */
const INTERVAL_MS = 1000

interface Owner {
  /** The tickets that were returned to the owner and are not settled. */
  tickets: Set<string>
  /** The tickets whose settlement was sent, and the answer was lost. */
  sent: Set<string>
  isSearching: boolean
  /** The times are in milliseconds of the monotonic clock. */
  searchUntil: number
  /** The start of the last search that left no unknown job. */
  searchedAt: number
  nextSearchAt: number
}

export class LostFetches {
  readonly #server: StoreServer
  readonly #owners = new Map<string, Owner>()
  /** The number of the last fetch. It begins above those of earlier processes. */
  #fetchNumber = Date.now()
  /** The numbers of the fetches whose answers may still come. */
  readonly #underWay = new Set<number>()

  constructor(server: StoreServer) {
    this.#server = server
  }

  /** Returns the number of a fetch that is sent now. */
  beginFetch(): number {
    const fetchNumber = ++this.#fetchNumber
    this.#underWay.add(fetchNumber)
    return fetchNumber
  }

  /** Ends a fetch that failed, or whose jobs `noteReturned` adds in the same iteration of the event loop. */
  endFetch(fetchNumber: number): void {
    this.#underWay.delete(fetchNumber)
  }

  /**
   * Returns at most `n` jobs of the queues that the owner has and does not know. From now on it knows them. If the caller can't
   * return them, it calls `notReturned`. Jobs of other queues are left to the fetches from these.
   */
  async find(owner: string, n: number, queues: readonly string[]): Promise<FetchedJob[]> {
    const known = this.#owners.get(owner)
    const now = performance.now()
    if (!known || known.isSearching || now < known.nextSearchAt) return []
    const end = Math.max(known.searchUntil, this.#server.lostAt + SEARCH_MS)
    if (known.searchedAt >= end) return []
    known.nextSearchAt = now + INTERVAL_MS
    known.isSearching = true
    // A fetch that is under way, or begins during the search, returns its jobs itself. If it fails, a later search finds them.
    const tickets = new Set(known.tickets)
    const underWay = new Set(this.#underWay)
    const last = this.#fetchNumber
    type Row = { queue: string; queueId: number; position: number; fetchNumber: number; text: string }
    const rows = await this.#server
      .runOne((db) => db.all<Row>(sql.owner.fetchedBy, owner))
      .finally(() => {
        known.isSearching = false
      })
    const unknown = rows
      .filter(({ fetchNumber }) => fetchNumber <= last && !underWay.has(fetchNumber))
      .map(({ queue, queueId, position, fetchNumber, text }) => ({
        base: queue,
        job: { queue: queueAt(queue, position), ticket: ticketOf({ queue: queueId, position, fetchNumber }), text },
      }))
      .filter(({ job: { ticket } }) => !tickets.has(ticket))
    const own = unknown.filter(({ base }) => queues.includes(base))
    // The next fetch may be from the other queues.
    if (own.length < unknown.length && now <= end) known.nextSearchAt = now
    const found = own.slice(0, n).map(({ job }) => job)
    if (found.length === unknown.length) known.searchedAt = now
    this.noteReturned(owner, found)
    return found
  }

  /** Records that the owner knows these jobs: an answer has brought them. */
  noteReturned(owner: string, jobs: readonly FetchedJob[]): void {
    if (jobs.length === 0) return
    const { tickets } = this.#of(owner)
    for (const { ticket } of jobs) tickets.add(ticket)
  }

  /** The call that found the jobs has failed, so a search must find them again. */
  notReturned(owner: string, found: readonly FetchedJob[]): void {
    const known = this.#owners.get(owner)
    if (!known || found.length === 0) return
    for (const { ticket } of found) known.tickets.delete(ticket)
    known.searchUntil = Math.max(known.searchUntil, performance.now())
  }

  settled(owner: string, settlements: readonly { ticket: string }[]): void {
    const known = this.#owners.get(owner)
    if (!known) return
    for (const { ticket } of settlements) {
      known.tickets.delete(ticket)
      known.sent.delete(ticket)
    }
  }

  /**
   * Returns the answers with `ok` for jobs that are gone because an earlier step, whose answer was lost, has settled them:
   * no other process could, while the owner holds its lease.
   */
  withEarlier(
    owner: string,
    settlements: readonly { ticket: string }[],
    answers: SettleAndFetchAnswer['settled'],
  ): SettleAndFetchAnswer['settled'] {
    const sent = this.#owners.get(owner)?.sent
    if (!sent?.size) return answers
    return answers.map((one, i) => (one === 'fenced' && sent.has(settlements[i]?.ticket ?? '') ? 'ok' : one))
  }

  /** The answer to a step of the owner was lost. */
  answerLost(owner: string, settlements: readonly { ticket: string }[]): void {
    const known = this.#of(owner)
    known.searchUntil = performance.now() + SEARCH_MS
    for (const { ticket } of settlements) known.sent.add(ticket)
  }

  /** The owner has lost its lease, or was released. */
  forget(owner: string): void {
    this.#owners.delete(owner)
  }

  #of(name: string): Owner {
    let owner = this.#owners.get(name)
    if (!owner) {
      owner = {
        tickets: new Set(),
        sent: new Set(),
        isSearching: false,
        searchUntil: Number.NEGATIVE_INFINITY,
        searchedAt: Number.NEGATIVE_INFINITY,
        nextSearchAt: 0,
      }
      this.#owners.set(name, owner)
    }
    return owner
  }
}
