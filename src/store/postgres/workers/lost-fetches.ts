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
  /** The tickets that the last search found. An answer may have been on its way to the owner, so the next one decides. */
  suspects: Set<string>
  /** While a search is under way: the tickets that the owner has known since its beginning. */
  knownMeanwhile?: Set<string>
  searchUntil: number
  /** When the last search began, and when the next one may. */
  searchedAt: number
  nextSearchAt: number
}

export class LostFetches {
  readonly #server: StoreServer
  readonly #owners = new Map<string, Owner>()

  constructor(server: StoreServer) {
    this.#server = server
  }

  /**
   * Returns at most `n` jobs of the queues that the owner has and does not know. From now on it knows them: a late answer to
   * another call does not return them, too. If the caller can't return them, it calls `notReturned`. Jobs of other queues are
   * left to the fetches from these.
   */
  async find(owner: string, n: number, queues: readonly string[]): Promise<FetchedJob[]> {
    const known = this.#owners.get(owner)
    const now = performance.now()
    if (!known || known.knownMeanwhile || now < known.nextSearchAt) return []
    const end = Math.max(known.searchUntil, this.#server.lostAt + SEARCH_MS)
    if (known.searchedAt >= end && known.suspects.size === 0) return []
    const isAnswerLost = known.searchedAt < known.searchUntil
    known.nextSearchAt = now + INTERVAL_MS
    type Row = { queue: string; queueId: number; position: number; fetchNumber: number; text: string }
    const knownMeanwhile = new Set(known.tickets)
    known.knownMeanwhile = knownMeanwhile
    const rows = await this.#server
      .runOne((db) => db.all<Row>(sql.owner.fetchedBy, owner))
      .finally(() => {
        known.knownMeanwhile = undefined
      })
    known.searchedAt = now
    const unknown = rows
      .map(({ queue, queueId, position, fetchNumber, text }) => ({
        base: queue,
        job: { queue: queueAt(queue, position), ticket: ticketOf({ queue: queueId, position, fetchNumber }), text },
      }))
      .filter(({ job: { ticket } }) => !knownMeanwhile.has(ticket))
    const { suspects } = known
    known.suspects = new Set(unknown.map(({ job }) => job.ticket))
    const own = unknown.filter(({ base }) => queues.includes(base))
    // The next fetch may be from the other queues.
    if (own.length < unknown.length && now <= end) known.nextSearchAt = now
    const found = own.flatMap(({ job }) => (isAnswerLost || suspects.has(job.ticket) ? job : [])).slice(0, n)
    for (const { ticket } of found) known.tickets.add(ticket)
    return found
  }

  /**
   * Notes the jobs that an answer brings to the owner. Returns those that it does not know yet: another call may have found the
   * job of an answer that was on its way.
   */
  returned(owner: string, jobs: FetchedJob[]): FetchedJob[] {
    if (jobs.length === 0) return jobs
    const { tickets, knownMeanwhile } = this.#of(owner)
    const isNew = ({ ticket }: FetchedJob) => !tickets.has(ticket)
    const fresh = jobs.every(isNew) ? jobs : jobs.filter(isNew)
    for (const { ticket } of fresh) {
      tickets.add(ticket)
      knownMeanwhile?.add(ticket)
    }
    return fresh
  }

  notReturned(owner: string, found: readonly FetchedJob[]): void {
    for (const { ticket } of found) this.#owners.get(owner)?.tickets.delete(ticket)
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
   * nobody else could, while the owner has its lease.
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
        suspects: new Set(),
        searchUntil: Number.NEGATIVE_INFINITY,
        searchedAt: Number.NEGATIVE_INFINITY,
        nextSearchAt: 0,
      }
      this.#owners.set(name, owner)
    }
    return owner
  }
}
