/** One step of a worker: records the starts of tracked jobs, settles attempts that ended, and fetches jobs. */

import { fencedAnswer } from '../../contract/fenced-answer.ts'
import type {
  FinishedJob,
  SettleAndFetch,
  SettleAndFetchAnswer,
  SettleAnswer,
  Settlement,
  StartAnswer,
} from '../../contract.ts'
import { move } from '../jobs/moves.ts'
import { type Ledgers, withLedgers } from '../ledgers/ledgers.ts'
import { JobSets } from '../queues/job-sets.ts'
import { Queues } from '../queues/queues.ts'
import { ticketsOf } from '../queues/tickets.ts'
import type { Database } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import { Leases } from './leases.ts'

/** Runs one step, whose fetch has this number, inside a transaction. It throws if any item can't be applied. */
export async function settleAndFetch(
  db: Database,
  name: string,
  request: SettleAndFetch,
  fetchNumber: number,
): Promise<SettleAndFetchAnswer> {
  const current = await db.get(Leases).current(name)
  if (!current) return fencedAnswer(request)
  const { owner, cancellations } = current
  const { started, settled } = await withLedgers(db, request.now, async (ledgers) => {
    const begun = request.started.flatMap(({ effects }) => effects)
    const applied = await ledgers.advance(begun)
    await ledgers.prepare(begun, applied)
    const started: StartAnswer[] = []
    for (const { effects } of request.started) started.push(await ledgers.apply(effects, applied))
    const settled = await settle(db, ledgers, owner, request.settlements)
    await count(db, request, settled)
    return { started, settled }
  })
  // The rows that entered the window can be fetched in the same step.
  const { queues, n } = request.fetch
  const fetched = n > 0 && queues.length > 0 ? await db.get(Queues).fetch(owner, queues, n, fetchNumber) : []
  return { fenced: false, started, settled, fetched, cancellations }
}

async function settle(
  db: Database,
  ledgers: Ledgers,
  owner: number,
  settlements: readonly Settlement[],
): Promise<SettleAnswer[]> {
  const own = await deleteFetched(db, owner, settlements)
  // A ticket that is named twice in a call is settled once.
  const isOwn = settlements.map(({ ticket }) => own.delete(ticket))
  const ended = settlements.filter(({ move, effects, also }, i) => isOwn[i] && (move || effects || also))
  const finished: FinishedJob[] = []
  const effects = ended.flatMap((one) => [one, ...(one.also ?? [])].flatMap((branch) => branch.effects ?? []))
  const applied = await ledgers.advance(effects)
  await ledgers.prepare(effects, applied)
  for (const { move: to, effects, also = [] } of ended) {
    if (to && to.to !== 'finished') await move(db, ledgers, to, effects, applied)
    else {
      if (effects) await ledgers.apply(effects, applied)
      if (to) finished.push(to)
    }
    for (const branch of also) await move(db, ledgers, branch.to, branch.effects, applied)
  }
  if (finished.length > 0) await db.get(JobSets).addFinished(finished)
  return isOwn.map((own) => (own ? 'ok' : 'fenced'))
}

/** Deletes fetched jobs of an owner. Returns the tickets of those that it had. */
async function deleteFetched(db: Database, owner: number, settlements: readonly Settlement[]): Promise<Set<string>> {
  const { all, queues, positions, fetchNumbers } = ticketsOf(settlements)
  if (all.length === 0) return new Set()
  const rows = await db.all<{ nth: number }>(sql.owner.settle, owner, queues, positions, fetchNumbers)
  return new Set(rows.map(({ nth }) => all[nth - 1] as string))
}

async function count(db: Database, request: SettleAndFetch, settled: readonly SettleAnswer[]): Promise<void> {
  let processed = 0
  let failed = 0
  for (const [i, settlement] of request.settlements.entries()) {
    if (settled[i] !== 'ok') continue
    processed += settlement.processed
    failed += settlement.failed
  }
  if (processed + failed === 0) return
  await db.run(sql.stat.count, new Date(request.now).toISOString().slice(0, 10), processed, failed)
}
