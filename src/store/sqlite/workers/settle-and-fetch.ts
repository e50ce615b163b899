/** One step of a worker: records the starts of tracked jobs, settles attempts that ended, and fetches jobs. */

import { fencedAnswer } from '../../contract/fenced-answer.ts'
import type { FinishedJob, SettleAndFetch, SettleAndFetchAnswer, SettleAnswer, Settlement } from '../../contract.ts'
import type { Database } from '../file/database.ts'
import { move } from '../jobs/moves.ts'
import { type Ledgers, withLedgers } from '../ledgers/ledgers.ts'
import { JobSets } from '../queues/job-sets.ts'
import { parseTicket, Queues, ticketOf } from '../queues/queues.ts'
import { sql } from '../sql.generated.ts'
import { Leases } from './leases.ts'

/** The owner does not have all the jobs of the settlements. The call must run again and read which tickets exist. */
export class MissingJobs extends Error {}

/**
 * Runs one step inside a write transaction. It throws if any item can't be applied.
 * @throws MissingJobs unless `readsTicketsFirst`
 */
export function settleAndFetch(
  db: Database,
  name: string,
  request: SettleAndFetch,
  readsTicketsFirst: boolean,
): SettleAndFetchAnswer {
  const current = db.get(Leases).current(name)
  if (!current) return fencedAnswer(request)
  const { owner, cancellations } = current
  return withLedgers(db, request.now, (ledgers) => {
    const begun = request.started.flatMap(({ effects }) => effects)
    const applied = ledgers.advance(begun)
    ledgers.prepare(begun, applied)
    const started = request.started.map(({ effects }) => ledgers.apply(effects, applied))
    const settled = settle(db, ledgers, owner, request.settlements, readsTicketsFirst)
    count(db, request, settled)
    // The rows that enter the window now can be fetched in the same step.
    ledgers.close()
    const { queues, n } = request.fetch
    const fetched = n > 0 ? db.get(Queues).fetch(owner, queues, n) : []
    return { fenced: false, started, settled, fetched, cancellations }
  })
}

function settle(
  db: Database,
  ledgers: Ledgers,
  owner: number,
  settlements: readonly Settlement[],
  readsTicketsFirst: boolean,
): SettleAnswer[] {
  const own = new Set<string>()
  const tickets = new Map<number, Set<number>>()
  for (const { ticket } of settlements) {
    const { queue, position } = parseTicket(ticket)
    // A malformed ticket such as `1:02` parses like `1:2`.
    if (ticketOf(queue, position) !== ticket) continue
    own.add(ticket)
    const positions = tickets.get(queue)
    if (positions) positions.add(position)
    else tickets.set(queue, new Set([position]))
  }
  for (const [queue, positions] of tickets) {
    if (readsTicketsFirst) {
      const there = new Set(db.list<number>(sql.owner.fetchedOf, owner, queue, JSON.stringify([...positions])))
      for (const position of positions) {
        if (there.has(position)) continue
        positions.delete(position)
        own.delete(ticketOf(queue, position))
      }
    }
    if (deleteFetched(db, owner, queue, positions) < positions.size) throw new MissingJobs()
  }
  // A ticket that is named twice in a call is settled once.
  const isOwn = settlements.map(({ ticket }) => own.delete(ticket))
  const ended = settlements.filter(({ move, effects, also }, i) => isOwn[i] && (move || effects || also))
  const finished: FinishedJob[] = []
  const effects = ended.flatMap((one) => [one, ...(one.also ?? [])].flatMap((branch) => branch.effects ?? []))
  const applied = ledgers.advance(effects)
  ledgers.prepare(effects, applied)
  for (const { move: to, effects, also = [] } of ended) {
    if (to && to.to !== 'finished') move(db, ledgers, to, effects, applied)
    else {
      if (effects) ledgers.apply(effects, applied)
      if (to) finished.push(to)
    }
    for (const branch of also) move(db, ledgers, branch.to, branch.effects, applied)
  }
  if (finished.length > 0) db.get(JobSets).addFinished(finished)
  return isOwn.map((own) => (own ? 'ok' : 'fenced'))
}

/** Deletes fetched jobs of an owner. Returns how many of them it had. */
function deleteFetched(db: Database, owner: number, queue: number, positions: ReadonlySet<number>): number {
  const first = Math.min(...positions)
  const last = Math.max(...positions)
  // A range takes less time than a list.
  if (last - first + 1 === positions.size) return db.run(sql.owner.settleRange, owner, queue, first, last)
  return db.run(sql.owner.settle, owner, queue, JSON.stringify([...positions]))
}

function count(db: Database, request: SettleAndFetch, settled: readonly SettleAnswer[]): void {
  let processed = 0
  let failed = 0
  for (const [i, settlement] of request.settlements.entries()) {
    if (settled[i] !== 'ok') continue
    processed += settlement.processed
    failed += settlement.failed
  }
  if (processed + failed === 0) return
  db.run(sql.stat.count, new Date(request.now).toISOString().slice(0, 10), processed, failed)
}
