/** Transfers of jobs between stores. Each method is one write transaction. */

import { baseQueue } from '../../../job/priority.ts'
import {
  type Destination,
  movingTasksOf,
  outcomeWith,
  type PageName,
  type PageOutcome,
  type PageTransferStore,
  type TransferPage,
  type TransferSource,
} from '../../contract.ts'
import { pruneArguments } from '../../sql/stored-pages.ts'
import { withLedgers } from '../ledgers/ledgers.ts'
import { cancel } from '../queues/cancellations.ts'
import { JobSets } from '../queues/job-sets.ts'
import { queueAt } from '../queues/queues.ts'
import { acquireUnique } from '../queues/unique.ts'
import type { Database } from '../server/database.ts'
import { PostgresArea } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'
import { move } from './moves.ts'
import { pushAll } from './push.ts'

/** The search for a job covers this many jobs on both sides of where it was. */
const NEAR = 500

export abstract class PostgresTransferStore extends PostgresArea implements PageTransferStore {
  readonly hold: PageTransferStore['hold'] = (transfer, target, from) =>
    this.server.write(async (db) => {
      const held = await heldPage(db)
      if (held) return held
      const jobs = 'set' in from ? await removeEntries(db, from) : await removeQueued(db, from)
      if (jobs.length === 0) return null
      const row = await db.first<PageName>(sql.transfer.hold, transfer, target, JSON.stringify(jobs))
      return { transfer, target, jobs, number: (row as PageName).number }
    })

  readonly held: PageTransferStore['held'] = () => this.server.read(async (db) => (await heldPage(db)) ?? null)

  readonly put: PageTransferStore['put'] = (page, items, now, outcome = outcomeWith(items)) =>
    this.server.write(async (db) => {
      const known = await remember(db, page, outcome)
      if (known) return known
      for (const item of items) {
        const { jid = '', claims = [] } = item.unique ?? {}
        for (const claim of claims) await acquireUnique(db, { ...item, unique: { jid, claims: [claim] } }, now)
      }
      for (const { cancelled } of items) if (cancelled !== undefined) await cancel(db, cancelled, now)
      const plain = items.map(({ unique: _, cancelled: __, ...item }) => item)
      await pushAll(db, plain, now)
      return outcome
    })

  readonly endPage: PageTransferStore['endPage'] = ({ transfer, number }, moves, now) =>
    this.server.write(async (db) => {
      for (const task of movingTasksOf(moves)) if (!(await db.first(sql.moving.isMoving, task))) return false
      if ((await db.run(sql.transfer.endPage, transfer, number)) === 0) return false
      await withLedgers(db, now, async (ledgers) => {
        for (const { to, effects } of moves) await move(db, ledgers, to, effects)
      })
      return true
    })
}

export async function heldPage(db: Database): Promise<TransferPage | undefined> {
  const row = await db.first<PageName & { target: string; jobs: string }>(sql.transfer.held)
  if (!row) return undefined
  const jobs = JSON.parse(row.jobs) as Destination[] | TransferPage['ordered']
  return { ...row, ...(Array.isArray(jobs) ? { jobs } : { jobs: [], ordered: jobs }) }
}

/** Returns what became of a page; undefined: it is not known. */
export async function outcomeOf(db: Database, { transfer, number }: PageName): Promise<PageOutcome | undefined> {
  return (await db.first<{ outcome: PageOutcome }>(sql.transfer.outcome, transfer, number))?.outcome
}

/** Remembers what becomes of a page. Returns what became of it before, and then changes nothing; undefined: it is new. */
export async function remember(db: Database, page: PageName, outcome: PageOutcome): Promise<PageOutcome | undefined> {
  const { transfer, number } = page
  const known = await db.first<{ outcome: PageOutcome }>(sql.transfer.remember, transfer, number, outcome)
  const pruned = known ? undefined : pruneArguments(page)
  if (pruned) await db.run(sql.transfer.prune, ...pruned)
  return known?.outcome
}

async function removeEntries(
  db: Database,
  { set, entries }: Extract<TransferSource, { set: unknown }>,
): Promise<Destination[]> {
  const jobs: Destination[] = []
  for (const entry of entries) {
    if (await db.get(JobSets).remove(set, entry)) jobs.push({ to: set, text: entry.text, score: entry.score })
  }
  return jobs
}

async function removeQueued(db: Database, { queue, offset, texts }: Extract<TransferSource, { queue: unknown }>) {
  const name = baseQueue(queue)
  const id = (await db.first<{ id: number }>(sql.queue.id, name))?.id
  const jobs: Destination[] = []
  if (id === undefined) return jobs
  const positions: number[] = []
  const left = [...texts]
  const range = [left.length + 2 * NEAR, Math.max(offset - NEAR, 0)] as const
  for (const { position, text } of await db.all<{ position: number; text: string }>(sql.transfer.near, id, ...range)) {
    const i = left.indexOf(text)
    if (i === -1) continue
    left.splice(i, 1)
    positions.push(position)
    jobs.push({ to: 'queue', queue: queueAt(name, position), text, end: 'front' })
  }
  if (positions.length === 0) return jobs
  await db.run(sql.queue.unpackAt, id, positions)
  await db.run(sql.transfer.removeQueued, id, positions)
  return jobs
}
