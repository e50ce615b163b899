/** Transfers of ordered queues. Each method is one write transaction. */

import {
  type MovedId,
  ORDERED_STEP,
  type PageName,
  shardOf,
  type TransferPage,
  type TransferStore,
} from '../../contract.ts'
import { newRow } from '../../sql/ordered-rows.ts'
import type { Database } from '../file/database.ts'
import { heldPage, outcomeOf, remember } from '../jobs/transfers.ts'
import type { OpenQueue } from '../ordered/open-queue.ts'
import { OrderedTables } from '../ordered/tables.ts'
import { sql } from '../sql.generated.ts'
import { SqliteTaskTransferStore } from '../tasks/task-transfers.ts'

export class SqliteOrderedTransferStore extends SqliteTaskTransferStore implements TransferStore {
  readonly holdIds: TransferStore['holdIds'] = (transfer, target, { queue, ids, dead }) =>
    this.file.write((db) => {
      const held = heldPage(db)
      if (held) return held
      const tables = db.get(OrderedTables)
      const hold = dead ? holdDead : holdWaiting
      const taken = tables.change(queue, [] as MovedId[], (open) => (open.queue.paused ? hold(tables, open, ids) : []))
      if (taken.length === 0) return null
      const ordered = { queue, ids: taken }
      const row = db.first<PageName>(sql.transfer.hold, transfer, target, JSON.stringify(ordered))
      return { transfer, target, jobs: [], ordered, number: (row as PageName).number }
    })

  readonly putIds: TransferStore['putIds'] = (page, queue, shards, ids) =>
    this.file.write((db) => {
      const known = outcomeOf(db, page)
      if (known) return known
      merge(db, queue, shards, ids)
      db.checkRoom()
      return remember(db, page, 'stored')
    })

  readonly returnIds: TransferStore['returnIds'] = ({ transfer, number, ordered }: TransferPage) =>
    this.file.write((db) => {
      if (!ordered || db.run(sql.transfer.endPage, transfer, number) === 0) return false
      merge(db, ordered.queue, 1, ordered.ids)
      return true
    })
}

function holdWaiting({ waiting, flights }: OrderedTables, open: OpenQueue, ids: readonly string[]): MovedId[] {
  const inFlight = flights.among(open.id, ids)
  const taken: MovedId[] = []
  let room = ORDERED_STEP
  for (const row of waiting.find(open.id, ids).values()) {
    if (inFlight.has(row.id) || row.inFlight || room <= 0) continue
    const payloads = waiting.lowest(open.id, row, room)
    room -= payloads.length
    const { id, performIn, retryCount, error, crashes, suspect } = row
    taken.push({ id, payloads, dead: null, waiting: { performIn, retryCount, error, crashes, suspect: suspect === 1 } })
    if (payloads.length === row.size) {
      open.removeWaiting(row)
      waiting.remove(open.id, [row])
    } else {
      waiting.dropTo(open.id, row, payloads.length, payloads.at(-1) as [string, number])
      waiting.change(open.id, row)
    }
  }
  return taken
}

function holdDead({ waiting, morgue }: OrderedTables, open: OpenQueue, ids: readonly string[]): MovedId[] {
  const taken: MovedId[] = []
  let room = ORDERED_STEP
  for (const id of new Set(ids)) {
    const size = waiting.deadSize(open.id, id)
    const entry = room > 0 && (size <= room || room === ORDERED_STEP) ? morgue.head(open.id, id) : null
    if (!entry) continue
    const payloads = waiting.lowestPayloads(open.id, id, ORDERED_STEP, 1)
    room -= payloads.length
    taken.push({ id, payloads, waiting: null, dead: entry })
    if (size > ORDERED_STEP) waiting.dropDead(open.id, id)
    else morgue.delete(open, [id])
  }
  return taken
}

function merge(db: Database, queue: string, shards: number, ids: readonly MovedId[]): void {
  const tables = db.get(OrderedTables)
  const open = tables.define(queue, shards)
  for (const one of ids) {
    if (one.dead) tables.morgue.restore(open, one)
    else mergeWaiting(tables, open, one)
  }
  open.close()
}

function mergeWaiting(
  { waiting, flights }: OrderedTables,
  open: OpenQueue,
  { id, payloads, waiting: state }: MovedId,
): void {
  if (!state) return
  const there = waiting.find(open.id, [id]).get(id)
  if (there) open.removeWaiting(there)
  const { suspect, ...rest } = state
  const inFlight = flights.among(open.id, [id]).has(id) ? 1 : 0
  const position = { shard: shardOf(id, open.queue.shards), inFlight, performIn: 0, retryCount: -1 }
  const row = there ?? Object.assign(newRow(id, position), rest, { suspect: Number(suspect) })
  if (there) row.performIn = Math.min(there.performIn, state.performIn)
  waiting.add(open.id, [[row, payloads]])
  if (there) waiting.change(open.id, row)
  else waiting.enter(open.id, [row])
  if (row.inFlight) flights.noteWaiting(open.id, [row])
  open.addWaiting(row)
}
