/** Tasks that go to another store, or come from one. Each method is one transaction. */

import { taskExists } from '../../../job/task-exists.ts'
import {
  EVENT_STATUSES,
  type MovedRow,
  movingSets,
  type TaskPart,
  type TaskProgress,
  type TaskTransferStore,
} from '../../contract.ts'
import { DEFERRALS, EMPTY_PART, headOf, LOCATION, type Moving, PRODUCER_STATE, pageOf } from '../../sql/moved-task.ts'
import { BEHIND } from '../../sql/next-jobs.ts'
import { rowName } from '../../sql/producer.ts'
import { REJECTED, STATUS_CODE, written } from '../../sql/task-row.ts'
import { heldPage, outcomeOf, PostgresTransferStore, remember } from '../jobs/transfers.ts'
import { withLedgers } from '../ledgers/ledgers.ts'
import { saveTasks } from '../ledgers/save.ts'
import { openLedger } from '../ledgers/task-ledger.ts'
import type { TaskRow } from '../ledgers/task-row.ts'
import type { Database } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import { readTaskPart } from './task-parts.ts'
import { deleteSome, insertTasks } from './task-store.ts'

/** The most rows that a step deletes of parts that are void. */
const MANY = 10_000
/** About this many rows of a dropped task are deleted in one transaction, for which other writers wait. */
const DELETED_AT_ONCE = 1000

export abstract class PostgresTaskTransferStore extends PostgresTransferStore implements TaskTransferStore {
  readonly taskIds: TaskTransferStore['taskIds'] = ({ after = '', limit }) =>
    this.server.read(async (db) => {
      const ids = (await db.all<{ id: string }>(sql.moving.ids, after, limit)).map(({ id }) => id)
      return { ids, next: ids.length === limit ? (ids.at(-1) ?? null) : null }
    })

  readonly freeze: TaskTransferStore['freeze'] = (id) =>
    this.server.write(async (db) => {
      const task = await db.first<TaskRow>(sql.task.load, id)
      if (!task) return 'gone'
      if (task.state === 'cancelling') return 'cancelling'
      if (task.producers > 0) return 'adding'
      await db.run(sql.moving.mark, id, 1)
      await db.run(sql.moving.freeze, id)
      return 'ok'
    })

  readonly unfreeze: TaskTransferStore['unfreeze'] = (id, now) =>
    this.server.write(async (db) => {
      if ((await db.first(sql.moving.hasJobs, movingSets(id))) || (await db.run(sql.moving.unfreeze, id)) === 0)
        return false
      await db.run(sql.moving.mark, id, 0)
      await refill(db, id, now)
      await dropSets(db, id)
      return true
    })

  readonly movingTasks: TaskTransferStore['movingTasks'] = () =>
    this.server.read(async (db) =>
      (await db.all<{ id: string; transfer: string | null; target: string }>(sql.moving.list)).map(
        ({ id, transfer, target }) => ({ id, sealed: transfer === null ? null : { transfer, target } }),
      ),
    )

  readonly seal: TaskTransferStore['seal'] = (id, transfer, target, counts) =>
    this.server.write(async (db) => {
      const task = await db.first<TaskRow>(sql.task.load, id)
      if (task?.moving !== 1 || task.state === 'cancelling' || task.producers > 0 || task.in_window > 0) return false
      if (await heldPage(db)) return false
      if (EVENT_STATUSES.some((status) => task[status] !== counts[status])) return false
      await db.run(sql.moving.seal, id, transfer, target)
      await db.run(sql.moving.hide, id)
      return true
    })

  readonly unseal: TaskTransferStore['unseal'] = (id, transfer) =>
    this.server.write(async (db) => {
      if ((await db.run(sql.moving.unseal, id, transfer)) === 0) return false
      await db.run(sql.moving.show, id, 1)
      return true
    })

  readonly readTask: TaskTransferStore['readTask'] = (id, transfer, cursor) =>
    this.server.read(async (db) => {
      const moving = await db.first<Moving>(sql.moving.find, id)
      const task = await db.first<TaskRow & { due_at: number | null }>(sql.moving.task, id)
      if (!task || moving?.transfer !== transfer || moving.cursor !== null) return null
      return cursor === ''
        ? { ...EMPTY_PART, task: await readHead(db, task), next: 'r-1' }
        : await readTaskPart(db, task.key, cursor)
    })

  readonly dropTask: TaskTransferStore['dropTask'] = async (id, transfer) => {
    const isDropped = await this.server.write(async (db) => {
      if ((await heldPage(db)) || (await db.first(sql.moving.hasJobs, movingSets(id)))) return false
      if ((await db.run(sql.moving.drop, id, transfer)) === 0) return false
      await db.run(sql.moving.expire, id)
      await dropSets(db, id)
      return true
    })
    if (isDropped) while (!(await this.server.write((db) => deleteRest(db, id, DELETED_AT_ONCE))));
    return isDropped
  }

  readonly putTask: TaskTransferStore['putTask'] = (id, transfer, cursor, part, now) =>
    this.server.write(async (db) => {
      const known = await outcomeOf(db, pageOf(transfer))
      if (known) return known
      const moving = await db.first<Moving>(sql.moving.find, id)
      const isNew = moving?.transfer !== transfer || moving.cursor === null
      const expected = isNew ? '' : (moving.cursor as string)
      if (cursor !== expected) return { cursor: expected }
      if (isNew) await begin(db, id, transfer, part, moving)
      else await addPart(db, id, part)
      if (part.next !== null) {
        await db.run(sql.moving.advance, id, part.next)
        return { cursor: part.next }
      }
      await db.run(sql.moving.forget, id)
      await db.run(sql.moving.show, id, 0)
      await db.run(sql.moving.touch, id, now)
      await refill(db, id, now)
      await remember(db, pageOf(transfer), 'stored')
      return 'stored'
    })

  readonly voidTask: TaskTransferStore['voidTask'] = (id, transfer) =>
    this.server.write(async (db) => {
      const known = await remember(db, pageOf(transfer), 'void')
      if (known) return known
      const moving = await db.first<Moving>(sql.moving.find, id)
      if (moving?.transfer === transfer && moving.cursor !== null) await deleteParts(db, id)
      return 'void'
    })
}

/** Fills the window of a task that may run again, and updates its state. */
async function refill(db: Database, id: string, now: number): Promise<void> {
  await withLedgers(db, now, async (ledgers) => void (await ledgers.of(id)))
}

async function dropSets(db: Database, id: string): Promise<void> {
  await db.run(sql.moving.dropSets, movingSets(id))
}

async function deleteParts(db: Database, id: string): Promise<void> {
  await db.run(sql.moving.forget, id)
  await db.run(sql.moving.expire, id)
  while (!(await deleteSome(db, id, MANY)));
}

/** Deletes about `limit` rows of a task that is being deleted, and none of one that came back. Returns whether all are deleted. */
async function deleteRest(db: Database, id: string, limit: number): Promise<boolean> {
  return (
    (await db.first<{ deleted: boolean }>(sql.moving.isDeleted, id))?.deleted !== true ||
    (await deleteSome(db, id, limit))
  )
}

async function readHead(db: Database, task: TaskRow & { due_at: number | null }): Promise<TaskPart['task']> {
  const labels = await db.all<{ name: string; value: string }>(sql.moving.labels, task.key)
  const producers = await db.all<{ name: string; cursor: number; state: number }>(sql.moving.producers, task.key)
  return headOf(task, task.window_size, Object.fromEntries(labels.map(({ name, value }) => [name, value])), producers)
}

/** @throws STORE_UNUSABLE */
async function begin(
  db: Database,
  id: string,
  transfer: string,
  { task, next }: TaskPart,
  before: Moving | undefined,
): Promise<void> {
  if (!task) throw new Error(`the first part of task ${id} has no head`)
  if (before && before.cursor !== null) await deleteParts(db, id)
  else while (!(await deleteRest(db, id, MANY)));
  const { spec, progress } = task
  const key = (await insertTasks(db, [{ task: spec }])).get(id)
  if (key === undefined) throw taskExists(id)
  const stored = (await db.first<TaskRow>(sql.task.load, id)) as TaskRow
  await saveTasks(db, [{ ...openLedger({ ...stored, ...valuesOf(progress) }), stored }])
  await db.run(sql.moving.progress, key, progress.dueAt, progress.linkVersion)
  const { producers } = progress
  await db.run(
    sql.moving.addProducers,
    key,
    producers.map(({ name }) => name),
    producers.map(({ cursor }) => cursor),
    producers.map(({ state }) => PRODUCER_STATE[state]),
  )
  await db.run(sql.moving.hide, id)
  await db.run(sql.moving.begin, id, transfer, next)
}

/** Returns the columns of a task that its progress decides. */
function valuesOf(progress: TaskProgress): Partial<TaskRow> {
  return {
    ...progress.counts,
    state: progress.state === 'open' ? 'running' : progress.state,
    paused: Number(progress.paused),
    reason: written(progress.reason),
    broken: progress.producers.filter(({ state }) => state === 'broken').length,
    run: progress.run,
    run_at: progress.runAt,
    ended_before: progress.endedBefore,
    done_run: progress.doneRun,
    failed_run: progress.failedRun,
    mixed: Number(progress.mixed),
    total: progress.total,
    next: progress.next,
    backlog: progress.backlog,
    deferred: progress.deferred,
    last_row: progress.lastRow,
    progress_at: progress.progressAt,
    finished_at: progress.finishedAt,
  }
}

async function addPart(db: Database, id: string, { rows, backlog, files }: TaskPart): Promise<void> {
  const { key, total } = (await db.first<TaskRow>(sql.moving.task, id)) as TaskRow
  if (rows.length > 0) await addRows(db, key, rows)
  const returned = backlog.filter(({ text }) => text !== null)
  if (returned.length > 0) {
    const indexes = returned.map(({ index }) => index)
    await db.run(
      sql.moving.addReturned,
      key,
      indexes,
      returned.map(({ text }) => text),
    )
  }
  const retried = backlog.filter(({ text }) => text === null).map(({ index }) => index)
  if (retried.length > 0) {
    const least = total * BEHIND
    await db.run(
      sql.backlog.back,
      retried.map(() => key),
      retried,
      retried.map(() => least),
    )
  }
  for (const { index, bytes } of files) {
    await db.run(sql.task.putPart, key, index, bytes)
    await db.run(sql.task.resize, bytes.length, key)
  }
}

async function addRows(db: Database, key: number, rows: readonly MovedRow[]): Promise<void> {
  await db.run(
    sql.moving.addRows,
    key,
    rows.map(({ index }) => index),
    rows.map(({ status }) => STATUS_CODE[status]),
    rows.map(({ location }) => LOCATION[location]),
    rows.map(({ run }) => run),
    rows.map(({ step }) => step),
    rows.map(({ number }) => number),
    rows.map(({ job }) => job),
    rows.map(({ code }) => code),
    rows.map(({ startedAt }) => startedAt),
    rows.map(({ finishedAt }) => finishedAt),
    rows.map(({ args }) => args),
    rows.map(({ source }) => source),
    rows.map(({ result }) => result),
  )
  const messages = rows.flatMap(({ index, messages }) => messages.map((one) => ({ index, ...one })))
  if (messages.length > 0) {
    await db.run(
      sql.moving.addMessages,
      key,
      messages.map(({ index }) => index),
      messages.map(({ n }) => n),
      messages.map(({ message }) => message.at),
      messages.map(({ message }) => message.code),
      messages.map(({ message }) => JSON.stringify(message.params)),
    )
  }
  const deferrals = rows.flatMap(({ index, deferral }) => (deferral ? [{ index, ...deferral }] : []))
  if (deferrals.length > 0) {
    await db.run(
      sql.moving.addDeferrals,
      key,
      deferrals.map(({ index }) => index),
      deferrals.map(({ run }) => run),
      deferrals.map(({ attempt }) => attempt),
      deferrals.map(({ state }) => DEFERRALS.indexOf(state)),
      deferrals.map(({ ends }) => ends),
    )
  }
  const producers = rows.filter(({ added }) => added !== null)
  if (producers.length > 0) {
    const names = producers.map(({ index }) => rowName(index))
    await db.run(
      sql.producer.advance,
      key,
      names,
      producers.map(({ added }) => added),
    )
  }
  const rejected = rows.filter(({ status }) => STATUS_CODE[status] >= REJECTED)
  if (rejected.length > 0) {
    await db.run(
      sql.event.countReasons,
      rejected.map(() => key),
      rejected.map(({ status }) => STATUS_CODE[status]),
      rejected.map(({ code }) => code ?? ''),
      rejected.map(() => 1),
    )
  }
}
