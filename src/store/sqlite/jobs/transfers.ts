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
import type { Database } from '../file/database.ts'
import { SqliteArea } from '../file/store-file.ts'
import { withLedgers } from '../ledgers/ledgers.ts'
import { cancel } from '../queues/cancellations.ts'
import { JobSets } from '../queues/job-sets.ts'
import { queueAt } from '../queues/queues.ts'
import { acquireUnique } from '../queues/unique.ts'
import { sql } from '../sql.generated.ts'
import { move } from './moves.ts'
import { pushAll } from './push.ts'

/** The search for a job covers this many jobs on both sides of where it was. */
const NEAR = 500

export abstract class SqliteTransferStore extends SqliteArea implements PageTransferStore {
  readonly hold: PageTransferStore['hold'] = (transfer, target, from) =>
    this.file.write((db) => {
      const held = heldPage(db)
      if (held) return held
      const jobs = 'set' in from ? removeEntries(db, from) : removeQueued(db, from)
      if (jobs.length === 0) return null
      const row = db.first<PageName>(sql.transfer.hold, transfer, target, JSON.stringify(jobs))
      return { transfer, target, jobs, number: (row as PageName).number }
    })

  readonly held: PageTransferStore['held'] = () => this.file.read((db) => heldPage(db) ?? null)

  readonly put: PageTransferStore['put'] = (page, items, now, outcome = outcomeWith(items)) =>
    this.file.write((db) => {
      const known = outcomeOf(db, page)
      if (known) return known
      for (const item of items) {
        const { jid = '', claims = [] } = item.unique ?? {}
        for (const claim of claims) acquireUnique(db, { ...item, unique: { jid, claims: [claim] } }, now)
      }
      for (const { cancelled } of items) if (cancelled !== undefined) cancel(db, cancelled, now)
      const plain = items.map(({ unique: _, cancelled: __, ...item }) => item)
      pushAll(db, plain, now)
      return remember(db, page, outcome)
    })

  readonly endPage: PageTransferStore['endPage'] = ({ transfer, number }, moves, now) =>
    this.file.write((db) => {
      if (movingTasksOf(moves).some((task) => !db.first(sql.moving.isMoving, task))) return false
      if (db.run(sql.transfer.endPage, transfer, number) === 0) return false
      withLedgers(db, now, (ledgers) => {
        for (const { to, effects } of moves) move(db, ledgers, to, effects)
      })
      return true
    })
}

export function heldPage(db: Database): TransferPage | undefined {
  const row = db.first<PageName & { target: string; jobs: string }>(sql.transfer.held)
  if (!row) return undefined
  const jobs = JSON.parse(row.jobs) as Destination[] | TransferPage['ordered']
  return { ...row, ...(Array.isArray(jobs) ? { jobs } : { jobs: [], ordered: jobs }) }
}

/** Returns what became of a page; undefined: it is not known. */
export function outcomeOf(db: Database, { transfer, number }: PageName): PageOutcome | undefined {
  return db.first<{ outcome: PageOutcome }>(sql.transfer.outcome, transfer, number)?.outcome
}

export function remember(db: Database, page: PageName, outcome: PageOutcome): PageOutcome {
  db.run(sql.transfer.remember, page.transfer, page.number, outcome)
  const pruned = pruneArguments(page)
  if (pruned) db.run(sql.transfer.prune, ...pruned)
  return outcome
}

function removeEntries(db: Database, { set, entries }: Extract<TransferSource, { set: unknown }>): Destination[] {
  const there = entries.filter((entry) => db.get(JobSets).remove(set, entry))
  return there.map(({ text, score }) => ({ to: set, text, score }))
}

function removeQueued(db: Database, { queue, offset, texts }: Extract<TransferSource, { queue: unknown }>) {
  const name = baseQueue(queue)
  const id = db.first<{ id: number }>(sql.queue.id, name)?.id
  const jobs: Destination[] = []
  if (id === undefined) return jobs
  const left = [...texts]
  const range = [left.length + 2 * NEAR, Math.max(offset - NEAR, 0)] as const
  for (const { position, text } of db.all<{ position: number; text: string }>(sql.transfer.near, id, ...range)) {
    const i = left.indexOf(text)
    if (i === -1) continue
    left.splice(i, 1)
    db.first(sql.queue.remove, id, position, text)
    jobs.push({ to: 'queue', queue: queueAt(name, position), text, end: 'front' })
  }
  if (jobs.length > 0) db.run(sql.queue.shrink, jobs.length, id)
  return jobs
}
