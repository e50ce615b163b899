/** Transfers of ordered queues. Each method is one write transaction. */

import {
  type MovedId,
  ORDERED_STEP,
  type PageName,
  type ScoredPayload,
  shardOf,
  type TransferPage,
  type TransferStore,
} from '../../contract.ts'
import { type Change, newRow, type WaitingRow } from '../../sql/ordered-rows.ts'
import { heldPage, remember } from '../jobs/transfers.ts'
import type { DeadRow } from '../ordered/morgue.ts'
import type { OpenQueue } from '../ordered/open-queue.ts'
import { OrderedTables } from '../ordered/tables.ts'
import type { Database } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import { PostgresTaskTransferStore } from '../tasks/task-transfers.ts'

export class PostgresOrderedTransferStore extends PostgresTaskTransferStore implements TransferStore {
  readonly holdIds: TransferStore['holdIds'] = (transfer, target, { queue, ids, dead }) =>
    this.server.write(async (db) => {
      const held = await heldPage(db)
      if (held) return held
      const tables = db.get(OrderedTables)
      const hold = dead ? holdDead : holdWaiting
      const taken = await tables.change(queue, [] as MovedId[], async (open) =>
        open.queue.paused ? await hold(tables, open, ids) : [],
      )
      if (taken.length === 0) return null
      const ordered = { queue, ids: taken }
      const row = await db.first<PageName>(sql.transfer.hold, transfer, target, JSON.stringify(ordered))
      return { transfer, target, jobs: [], ordered, number: (row as PageName).number }
    })

  readonly putIds: TransferStore['putIds'] = (page, queue, shards, ids) =>
    this.server.write(async (db) => {
      const known = await remember(db, page, 'stored')
      if (!known) await merge(db, queue, shards, ids)
      return known ?? 'stored'
    })

  readonly returnIds: TransferStore['returnIds'] = ({ transfer, number, ordered }: TransferPage) =>
    this.server.write(async (db) => {
      if (!ordered || (await db.run(sql.transfer.endPage, transfer, number)) === 0) return false
      await merge(db, ordered.queue, 1, ordered.ids)
      return true
    })
}

async function holdWaiting(
  { waiting, payloads, flights }: OrderedTables,
  open: OpenQueue,
  ids: readonly string[],
): Promise<MovedId[]> {
  const inFlight = await flights.among(open.id, ids)
  const asked: { row: WaitingRow; n: number }[] = []
  let room = ORDERED_STEP
  for (const row of (await waiting.find(open.id, ids)).values()) {
    if (inFlight.has(row.id) || row.inFlight || room <= 0) continue
    const n = Math.min(row.size, room)
    room -= n
    asked.push({ row, n })
  }
  const several = asked.filter(({ row }) => row.text === null)
  const taken = await payloads.drain(
    open.id,
    several.map(({ row, n }) => [row.id, n] as const),
  )
  const moved = asked.map(({ row }) => movedOf(row, taken.get(row.id)))
  const whole = asked.filter(({ row, n }) => n === row.size).map(({ row }) => row)
  const parts = asked.filter(({ row, n }) => n < row.size).map(({ row, n }) => ({ ...row, size: row.size - n }))
  await open.removeWaiting(whole)
  await waiting.removeRows(open.id, whole)
  await waiting.change(open.id, parts)
  return moved
}

/** Returns an id with its state and the payload of its row, or with these payloads. */
function movedOf(row: WaitingRow, payloads: ScoredPayload[] = [[row.text as string, row.score as number]]): MovedId {
  const { id, performIn, retryCount, error, crashes, suspect } = row
  return { id, payloads, dead: null, waiting: { performIn, retryCount, error, crashes, suspect: suspect === 1 } }
}

async function holdDead(
  { payloads, morgue }: OrderedTables,
  open: OpenQueue,
  ids: readonly string[],
): Promise<MovedId[]> {
  const sizes = await payloads.deadSizes(open.id, ids)
  const heads = await morgue.heads(open.id, ids)
  const asked: DeadRow[] = []
  let room = ORDERED_STEP
  for (const id of new Set(ids)) {
    const [size, head] = [sizes.get(id) ?? 0, heads.get(id)]
    if (!head || room <= 0 || (size > room && room < ORDERED_STEP)) continue
    room -= Math.min(size, ORDERED_STEP)
    asked.push(head)
  }
  const lowest = await payloads.lowest(
    open.id,
    asked.map(({ id }) => [id, ORDERED_STEP] as const),
    1,
  )
  // If the first one alone is too large, only a part of it is deleted.
  await morgue.delete(
    open,
    asked.map(({ id }) => id),
  )
  return asked.map(({ id, ...dead }) => ({ id, payloads: lowest.get(id) ?? [], waiting: null, dead }))
}

async function merge(db: Database, queue: string, shards: number, ids: readonly MovedId[]): Promise<void> {
  const tables = db.get(OrderedTables)
  const open = await tables.define(queue, shards)
  await tables.morgue.restore(open, ids)
  await mergeWaiting(tables, open, ids)
  await open.close()
}

async function mergeWaiting(
  { waiting, flights }: OrderedTables,
  open: OpenQueue,
  ids: readonly MovedId[],
): Promise<void> {
  const names = ids.filter((one) => one.waiting).map(({ id }) => id)
  const there = await waiting.find(open.id, names)
  const inFlight = await flights.among(open.id, names)
  await open.removeWaiting([...there.values()])
  const fresh: WaitingRow[] = []
  const changes: Change[] = []
  for (const { id, payloads, waiting: state } of ids) {
    if (!state) continue
    const known = there.get(id)
    const { suspect, ...rest } = state
    const position = {
      shard: shardOf(id, open.queue.shards),
      inFlight: inFlight.has(id) ? 1 : 0,
      performIn: 0,
      retryCount: -1,
    }
    const row = known ?? Object.assign(newRow(id, position), rest, { suspect: Number(suspect) })
    if (known) known.performIn = Math.min(known.performIn, state.performIn)
    else fresh.push(row)
    changes.push([row, payloads])
  }
  await waiting.add(open.id, changes)
  await waiting.change(open.id, [...there.values()])
  await waiting.enter(open.id, fresh)
  const rows = [...there.values(), ...fresh]
  await flights.noteWaiting(
    open.id,
    rows.filter((row) => row.inFlight),
  )
  await open.addWaiting(rows)
}
