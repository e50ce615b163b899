/** Tasks that go to another store, or come from one. Each method is one transaction. */

import { taskExists } from '../../../job/task-exists.ts'
import { EVENT_STATUSES, type MovedRow, movingSets, type TaskPart, type TaskTransferStore } from '../../contract.ts'
import { DEFERRALS, EMPTY_PART, headOf, LOCATION, type Moving, PRODUCER_STATE, pageOf } from '../../sql/moved-task.ts'
import { BEHIND } from '../../sql/next-jobs.ts'
import { rowName } from '../../sql/producer.ts'
import { STATUS_CODE, written } from '../../sql/task-row.ts'
import type { Database } from '../file/database.ts'
import { heldPage, outcomeOf, remember, SqliteTransferStore } from '../jobs/transfers.ts'
import { withLedgers } from '../ledgers/ledgers.ts'
import type { TaskRow } from '../ledgers/task-row.ts'
import { sql } from '../sql.generated.ts'
import { readTaskPart } from './task-parts.ts'
import { deleteSome, insert } from './task-store.ts'

/** The most rows that a step deletes of parts that are void. */
const MANY = 10_000
/** About this many rows of a dropped task are deleted in one transaction, for which other writers wait. */
const DELETED_AT_ONCE = 1000

export abstract class SqliteTaskTransferStore extends SqliteTransferStore implements TaskTransferStore {
  readonly taskIds: TaskTransferStore['taskIds'] = ({ after = '', limit }) =>
    this.file.read((db) => {
      const ids = db.all<{ id: string }>(sql.moving.ids, after, limit).map(({ id }) => id)
      return { ids, next: ids.length === limit ? (ids.at(-1) ?? null) : null }
    })

  readonly freeze: TaskTransferStore['freeze'] = (id) =>
    this.file.write((db) => {
      const task = db.first<TaskRow>(sql.task.load, id)
      if (!task) return 'gone'
      if (task.state === 'cancelling') return 'cancelling'
      if (task.producers > 0) return 'adding'
      db.run(sql.moving.mark, id, 1)
      db.run(sql.moving.freeze, id)
      return 'ok'
    })

  readonly unfreeze: TaskTransferStore['unfreeze'] = (id, now) =>
    this.file.write((db) => {
      if (db.first(sql.moving.hasJobs, setsOf(id)) || db.run(sql.moving.unfreeze, id) === 0) return false
      db.run(sql.moving.mark, id, 0)
      refill(db, id, now)
      dropSets(db, id)
      return true
    })

  readonly movingTasks: TaskTransferStore['movingTasks'] = () =>
    this.file.read((db) =>
      db
        .all<{ id: string; transfer: string | null; target: string }>(sql.moving.list)
        .map(({ id, transfer, target }) => ({ id, sealed: transfer === null ? null : { transfer, target } })),
    )

  readonly seal: TaskTransferStore['seal'] = (id, transfer, target, counts) =>
    this.file.write((db) => {
      const task = db.first<TaskRow>(sql.task.load, id)
      if (task?.moving !== 1 || task.state === 'cancelling' || task.producers > 0 || task.in_window > 0) return false
      if (heldPage(db)) return false
      if (EVENT_STATUSES.some((status) => task[status] !== counts[status])) return false
      db.run(sql.moving.seal, id, transfer, target)
      db.run(sql.moving.hide, id)
      return true
    })

  readonly unseal: TaskTransferStore['unseal'] = (id, transfer) =>
    this.file.write((db) => {
      if (db.run(sql.moving.unseal, id, transfer) === 0) return false
      db.run(sql.moving.show, id, 1)
      return true
    })

  readonly readTask: TaskTransferStore['readTask'] = (id, transfer, cursor) =>
    this.file.readAtOnce((db) => {
      const moving = db.first<Moving>(sql.moving.find, id)
      const task = db.first<TaskRow & { due_at: number | null }>(sql.moving.task, id)
      if (!task || moving?.transfer !== transfer || moving.cursor !== null) return null
      return cursor === ''
        ? { ...EMPTY_PART, task: readHead(db, task), next: 'r-1' }
        : readTaskPart(db, task.key, cursor)
    })

  readonly dropTask: TaskTransferStore['dropTask'] = async (id, transfer) => {
    const isDropped = await this.file.write((db) => {
      if (heldPage(db) || db.first(sql.moving.hasJobs, setsOf(id))) return false
      if (db.run(sql.moving.drop, id, transfer) === 0) return false
      db.run(sql.moving.expire, id)
      dropSets(db, id)
      return true
    })
    if (isDropped) while (!(await this.file.write((db) => deleteRest(db, id, DELETED_AT_ONCE))));
    return isDropped
  }

  readonly putTask: TaskTransferStore['putTask'] = (id, transfer, cursor, part, now) =>
    this.file.write((db) => {
      const known = outcomeOf(db, pageOf(transfer))
      if (known) return known
      const moving = db.first<Moving>(sql.moving.find, id)
      const isNew = moving?.transfer !== transfer || moving.cursor === null
      const expected = isNew ? '' : (moving.cursor as string)
      if (cursor !== expected) return { cursor: expected }
      if (isNew) begin(db, id, transfer, part, moving)
      else addPart(db, id, part)
      db.checkRoom()
      if (part.next !== null) {
        db.run(sql.moving.advance, id, part.next)
        return { cursor: part.next }
      }
      db.run(sql.moving.forget, id)
      db.run(sql.moving.show, id, 0)
      db.run(sql.moving.touch, id, now)
      refill(db, id, now)
      return remember(db, pageOf(transfer), 'stored')
    })

  readonly voidTask: TaskTransferStore['voidTask'] = (id, transfer) =>
    this.file.write((db) => {
      const known = outcomeOf(db, pageOf(transfer))
      if (known) return known
      const moving = db.first<Moving>(sql.moving.find, id)
      if (moving?.transfer === transfer && moving.cursor !== null) deleteParts(db, id)
      return remember(db, pageOf(transfer), 'void')
    })
}

/** Fills the window of a task that may run again, and updates its state. */
function refill(db: Database, id: string, now: number): void {
  withLedgers(db, now, (ledgers) => ledgers.of(id))
}

function dropSets(db: Database, id: string): void {
  db.run(sql.moving.dropSets, setsOf(id))
}

/** Returns the names of the sets of a task as a JSON array. */
function setsOf(id: string): string {
  return JSON.stringify(movingSets(id))
}

function deleteParts(db: Database, id: string): void {
  db.run(sql.moving.forget, id)
  db.run(sql.moving.expire, id)
  while (!deleteSome(db, id, MANY));
}

/** Deletes about `limit` rows of a task that is being deleted, and none of one that came back. Returns whether all are deleted. */
function deleteRest(db: Database, id: string, limit: number): boolean {
  return db.first<{ deleted: number }>(sql.moving.isDeleted, id)?.deleted !== 1 || deleteSome(db, id, limit)
}

function readHead(db: Database, task: TaskRow & { due_at: number | null }): TaskPart['task'] {
  const { labels } = db.first<{ labels: string }>(sql.moving.labels, task.key) as { labels: string }
  const producers = db.all<{ name: string; cursor: number; state: number }>(sql.moving.producers, task.key)
  return headOf(task, task.window, JSON.parse(labels) as Record<string, string>, producers)
}

/** @throws STORE_UNUSABLE */
function begin(db: Database, id: string, transfer: string, { task, next }: TaskPart, before: Moving | undefined): void {
  if (!task) throw new Error(`the first part of task ${id} has no head`)
  if (before && before.cursor !== null) deleteParts(db, id)
  else while (!deleteRest(db, id, MANY));
  const { spec, progress } = task
  const key = insert(db, spec, 'running')
  if (key === undefined) throw taskExists(id)
  const { paused, mixed, reason, state, producers } = progress
  const broken = producers.filter((one) => one.state === 'broken').length
  const values = {
    ...progress,
    state: state === 'open' ? 'running' : state,
    paused: Number(paused),
    mixed: Number(mixed),
    reason: written(reason),
    broken,
  }
  db.run(sql.moving.progress, key, JSON.stringify(values))
  const added = producers.map(({ name, cursor, state }) => [name, cursor, PRODUCER_STATE[state]])
  db.run(sql.moving.addProducers, key, JSON.stringify(added))
  db.run(sql.moving.hide, id)
  db.run(sql.moving.begin, id, transfer, next)
}

function addPart(db: Database, id: string, { rows, backlog, files }: TaskPart): void {
  const { key, total } = db.first<TaskRow>(sql.moving.task, id) as TaskRow
  if (rows.length > 0) addRows(db, key, rows)
  for (const { index, text } of backlog) {
    if (text === null) db.run(sql.moving.addRetried, key, index, total * BEHIND)
    else db.run(sql.moving.addReturned, key, index, text)
  }
  for (const { index, bytes } of files) {
    db.run(sql.task.putPart, key, index, bytes)
    db.run(sql.task.resize, bytes.length, key)
  }
}

function addRows(db: Database, key: number, rows: readonly MovedRow[]): void {
  const events = rows.map((row) => [
    row.index,
    STATUS_CODE[row.status],
    LOCATION[row.location],
    row.run,
    row.step,
    row.number,
    row.job,
    row.code,
    row.startedAt,
    row.finishedAt,
    row.args,
    row.source,
    row.result,
  ])
  db.run(sql.moving.addRows, key, JSON.stringify(events))
  const messages = rows.flatMap(({ index, messages }) =>
    messages.map(({ n, message: { at, code, params } }) => [index, n, at, code, JSON.stringify(params)]),
  )
  db.run(sql.moving.addMessages, key, JSON.stringify(messages))
  const deferrals = rows.flatMap(({ index, deferral }) =>
    deferral ? [[index, deferral.run, deferral.attempt, DEFERRALS.indexOf(deferral.state), deferral.ends]] : [],
  )
  db.run(sql.moving.addDeferrals, key, JSON.stringify(deferrals))
  const adders = rows.flatMap(({ index, added }) => (added === null ? [] : ([[rowName(index), added]] as const)))
  for (const [name, cursor] of adders) db.run(sql.producer.advance, key, name, cursor)
  const rejected = rows
    .filter(({ status }) => STATUS_CODE[status] >= STATUS_CODE.failed)
    .map(({ status, code }) => [STATUS_CODE[status], code ?? ''])
  db.run(sql.moving.countReasons, key, JSON.stringify(rejected))
}
