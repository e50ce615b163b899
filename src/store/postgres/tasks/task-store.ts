import { memberText } from '../../../job/json.ts'
import { splitTaskJid } from '../../../job/payload.ts'
import {
  dueOf,
  isInAttempt,
  NOTHING_REFUSED,
  type PushItem,
  type TaskSpec,
  type TaskStore,
  type TrackedPush,
} from '../../contract.ts'
import { type Producer, producerOf, UNKNOWN_TASK } from '../../sql/producer.ts'
import { ELSEWHERE, type EventState, OPEN, STATUS_NAME, WINDOW, written } from '../../sql/task-row.ts'
import { pushAll, pushInChunks } from '../jobs/push.ts'
import { type Ledgers, withLedgers } from '../ledgers/ledgers.ts'
import type { TaskLedger } from '../ledgers/task-ledger.ts'
import { recordOf, type TaskRow } from '../ledgers/task-row.ts'
import { clockAhead } from '../queues/clock.ts'
import type { Database } from '../server/database.ts'
import { ANSWER_SECONDS, PostgresArea } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'
import { Adding } from './adding.ts'
import { DeferredRows, UNKNOWN_ROW } from './deferred-rows.ts'
import { Events } from './events.ts'
import { Runs } from './runs.ts'

const KEEP_MS = 30 * 86_400_000
const LOST_AFTER_MS = 3_600_000
/** The most parts that one step deletes, because parts are large. */
const PARTS = 20

export class PostgresTaskStore extends PostgresArea implements TaskStore {
  readonly create: TaskStore['create'] = (task) =>
    this.server.write(async (db) => {
      const key = (await insertTasks(db, [{ task, producers: 1 }])).get(task.id)
      if (key !== undefined) await db.run(sql.producer.add, key, task.producer, 0, OPEN, 0)
      return key !== undefined
    })

  readonly addRows: TaskStore['addRows'] = (task, producer, from, rows, now, last) =>
    this.#change(task, now, UNKNOWN_TASK, (db, ledgers, ledger) =>
      db.get(Adding).add(ledgers, ledger, { producer, from, rows, now, last }),
    )
  readonly openAdding: TaskStore['openAdding'] = (task, producer, now, instead) =>
    this.#change(task, now, UNKNOWN_TASK, (db, _, ledger) => db.get(Adding).open(ledger, producer, instead))
  readonly endAdding: TaskStore['endAdding'] = (task, producer, now, interrupted = false) =>
    this.#change(task, now, UNKNOWN_TASK, (db, _, ledger) => db.get(Adding).end(ledger, producer, interrupted))
  readonly producers: TaskStore['producers'] = (id) =>
    this.server.runOne(async (db) =>
      (await db.all<Pick<Producer, 'name' | 'state'>>(sql.producer.unended, id)).map(producerOf),
    )
  readonly change: TaskStore['change'] = (id, change, now) =>
    this.#change(id, now, null, (db, _, { task }) => db.get(Runs).change(task, change))
  readonly revokeLinks: TaskStore['revokeLinks'] = (id) =>
    this.server.write(async (db) => (await db.run(sql.task.revokeLinks, id)) > 0, ANSWER_SECONDS)
  readonly cancel: TaskStore['cancel'] = (id, reason, now) =>
    this.#change(id, now, null, (db, ledgers, ledger) => db.get(Runs).cancel(ledgers, ledger, reason))
  readonly cancelRows: TaskStore['cancelRows'] = (id, limit, now) =>
    this.#change(id, now, { cancelled: 0, maybeRunning: [], done: true }, (db, ledgers, ledger) =>
      db.get(Runs).cancelRows(ledgers, ledger, limit),
    )
  readonly startRun: TaskStore['startRun'] = (id, run, producer, now, rows = []) =>
    this.#change(id, now, null, (db, ledgers, ledger) =>
      db.get(Runs).start(ledgers, ledger, { run, producer, now, rows }),
    )
  readonly retryRows: TaskStore['retryRows'] = (id, run, rows, now) =>
    this.#change(
      id,
      now,
      rows.map(() => 'gone'),
      (db, ledgers, ledger) => db.get(Runs).retry(ledgers, ledger, run, rows),
    )
  readonly leaveWindow: TaskStore['leaveWindow'] = (id, indexes, now) =>
    this.#change(id, now, undefined, (db, ledgers, ledger) => db.get(Runs).leaveWindow(ledgers, ledger, indexes))

  readonly defer: TaskStore['defer'] = (row, now) =>
    this.#change(splitTaskJid(row.jid).id, now, 'unknown', (db, ledgers, ledger) =>
      db.get(DeferredRows).defer(ledgers, ledger, row),
    )
  readonly endDeferred: TaskStore['endDeferred'] = (end, now) =>
    this.#change(splitTaskJid(end.jid).id, now, UNKNOWN_ROW, (db, ledgers, ledger) =>
      db.get(DeferredRows).end(ledgers, ledger, end, now),
    )
  readonly overdue: TaskStore['overdue'] = (now, limit) =>
    this.server.read(async (db) => db.get(DeferredRows).overdue(now - (await clockAhead(db)), limit))

  readonly changeEvents: TaskStore['changeEvents'] = (effects, now) =>
    this.server.write((db) =>
      withLedgers(db, now, async (ledgers) => {
        await ledgers.prepare(effects)
        await ledgers.apply(effects)
      }),
    )

  readonly delete: TaskStore['delete'] = (id, limit) => this.server.write((db) => deleteSome(db, id, limit))

  readonly expired: TaskStore['expired'] = (now, limit) =>
    this.server.read(async (db) => {
      const rows = await db.all<{ id: string }>(sql.task.expired, now - (await clockAhead(db)), limit)
      return rows.map(({ id }) => id)
    })
  readonly cancelling: TaskStore['cancelling'] = ({ after = '0', limit }) =>
    this.server.runOne(async (db) => {
      const rows = await db.all<{ id: string; key: number }>(sql.task.cancelling, Number(after), limit)
      const last = rows.length === limit ? rows.at(-1) : undefined
      return { items: rows.map(({ id }) => id), next: last ? String(last.key) : null }
    })

  readonly idle: TaskStore['idle'] = (before, page) => this.#open(sql.task.idle, before, page)
  readonly ahead: TaskStore['ahead'] = (time, page) => this.#open(sql.task.ahead, time, page)

  readonly reasons: TaskStore['reasons'] = (id) => this.server.runOne((db) => db.get(Events).reasons(id))

  readonly pushTracked: TaskStore['pushTracked'] = async (items, now) => {
    const push = async (db: Database, chunk: TrackedPush[]) => {
      await pushAllTracked(db, chunk, now)
      return NOTHING_REFUSED
    }
    await pushInChunks(this.server, items, push, ({ item }) => item)
  }

  readonly putPart: TaskStore['putPart'] = (id, index, bytes, maxBytes, by) =>
    this.server.write(async (db) => {
      const task = await db.first<{ key: number; bytes: number }>(sql.task.size, id)
      if (!task) return 'unknown'
      if (by) {
        const event = await db.first<EventState>(sql.event.one, task.key, index)
        const status = event && STATUS_NAME[event.status]
        if (!status || !isInAttempt({ ...event, status, attempts: event.step >> 1 }, by)) return 'stale'
      }
      const before = (await db.first<{ bytes: number }>(sql.task.partSize, task.key, index))?.bytes ?? 0
      const grown = bytes.length - before
      if (task.bytes + grown > maxBytes) return 'full'
      await db.run(sql.task.putPart, task.key, index, bytes)
      await db.run(sql.task.resize, grown, task.key)
      return 'ok'
    })

  readonly part: TaskStore['part'] = (id, index) =>
    this.server.runOne(async (db) => {
      const row = await db.first<{ bytes: Uint8Array }>(sql.task.part, id, index)
      return row ? new Uint8Array(row.bytes) : null
    })

  readonly find: TaskStore['find'] = (id) =>
    this.server.runOne(async (db) => {
      const row = await db.first<TaskRow>(sql.task.load, id)
      return row ? recordOf(row) : null
    })

  readonly page: TaskStore['page'] = ({ before, limit, label }) =>
    this.server.runOne(async (db) => {
      const by = label && ([label.name, label.value] as const)
      const rows = by
        ? before
          ? await db.all<TaskRow>(sql.task.olderOf, ...by, before.createdAt, before.id, limit)
          : await db.all<TaskRow>(sql.task.newestOf, ...by, limit)
        : before
          ? await db.all<TaskRow>(sql.task.older, before.createdAt, before.id, limit)
          : await db.all<TaskRow>(sql.task.newest, limit)
      return rows.map(recordOf)
    })

  readonly events: TaskStore['events'] = (task, query) => this.server.runOne((db) => db.get(Events).page(task, query))
  readonly event: TaskStore['event'] = (jid) => this.server.runOne((db) => db.get(Events).find(jid))
  readonly addMessage: TaskStore['addMessage'] = (jid, message) =>
    this.server.write((db) =>
      withLedgers(db, message.at, (ledgers) => db.get(Events).addMessage(ledgers, jid, message)),
    )

  /** Returns the tasks that a statement lists among a page of those with open rows. */
  #open(statement: string, time: number, { after = '0', limit }: { after?: string | undefined; limit: number }) {
    return this.server.read(async (db) => {
      const from = Number(after)
      const { n, last } = (await db.first(sql.task.openFrom, from, limit)) as { n: number; last: number | null }
      if (last === null) return { items: [], next: null }
      const items = (await db.all<TaskRow>(statement, from, last, time)).map(recordOf)
      return { items, next: n === limit ? String(last) : null }
    })
  }

  /** Changes a task; resolves with `none` if there is no such task. */
  #change<T>(
    id: string,
    now: number,
    none: T,
    work: (db: Database, ledgers: Ledgers, ledger: TaskLedger) => T | Promise<T>,
  ): Promise<T> {
    return this.server.write((db) =>
      withLedgers(db, now, async (ledgers) => {
        const ledger = await ledgers.of(id)
        return ledger ? await work(db, ledgers, ledger) : none
      }),
    )
  }
}

/** Pushes jobs, each with a task of its own, except those whose task exists already. */
export async function pushAllTracked(db: Database, items: readonly TrackedPush[], now: number): Promise<void> {
  const keys = await insertTasks(db, items)
  // An id that is there twice is created once.
  const created = items.flatMap(({ task, item }) => {
    const key = keys.get(task.id)
    keys.delete(task.id)
    return key === undefined ? [] : [{ key, item }]
  })
  if (created.length === 0) return
  await db.run(
    sql.event.addSingle,
    created.map(({ key }) => key),
    created.map(({ item }) => (item.to === 'queue' ? WINDOW : ELSEWHERE)),
    created.map(({ item: { text } }) => memberText(text, 'args') ?? text),
  )
  const jobs = created.map(({ item }) => item)
  await pushAll(db, jobs, now)
}

/** Deletes about `limit` rows of a task. Returns whether everything is deleted. */
export async function deleteSome(db: Database, id: string, limit: number): Promise<boolean> {
  const key = (await db.first<{ key: number }>(sql.task.startDeleting, id))?.key
  if (key === undefined) return true
  const { dropRows, dropMessages, dropBacklog, dropDeferrals, dropProducers, dropReasons, dropParts } = sql.task
  let left = limit
  for (const drop of [dropMessages, dropBacklog, dropDeferrals, dropProducers, dropReasons, dropParts, dropRows]) {
    const some = drop === dropParts ? Math.min(left, PARTS) : left
    const gone = await db.run(drop, key, some)
    left -= gone
    if (gone === some) return false
  }
  await db.run(sql.task.dropLabels, key)
  await db.run(sql.task.drop, key)
  return true
}

/** A task to create: without rows, or with the row of a tracked push. */
interface NewTask {
  task: TaskSpec
  /** The number of producers that add rows. */
  producers?: number
  item?: PushItem
}

/** Creates those tasks whose ids are not in use, and returns their keys by id. The caller adds the rows of tracked pushes. */
export async function insertTasks(db: Database, tasks: readonly NewTask[]): Promise<Map<string, number>> {
  const specs = tasks.map(({ task }) => task)
  const inserted = await db.all<{ key: number; id: string }>(
    sql.task.create,
    specs.map(({ id }) => id),
    specs.map(({ name }) => name),
    specs.map(({ job }) => job),
    specs.map(({ queue }) => queue),
    specs.map(({ template }) => template),
    specs.map(({ window }) => window),
    specs.map(({ keepArgs }) => keepArgs),
    specs.map(({ meta }) => meta),
    specs.map(({ createdAt }) => createdAt),
    specs.map(({ maxFailures }) => written(maxFailures)),
    specs.map(({ onMaxFailures = 'pause' }) => onMaxFailures),
    specs.map(({ onDone }) => written(onDone)),
    specs.map(({ onFailure }) => written(onFailure)),
    specs.map(({ keep = KEEP_MS }) => keep),
    specs.map(({ lostAfter = LOST_AFTER_MS }) => lostAfter),
    specs.map(({ single }) => (single ? 1 : 0)),
    tasks.map(({ producers = 0 }) => producers),
    specs.map(({ producer }) => producer),
    specs.map(({ rowsPerJob = null }) => rowsPerJob),
    tasks.map(({ item }) => (item ? 1 : 0)),
    tasks.map(({ item }) => (item?.to === 'queue' ? 1 : 0)),
    tasks.map(({ producers = 0 }) => (producers > 0 ? 'adding' : 'running')),
    tasks.map(({ task, item }) => (item ? dueOf(task, item) : null)),
  )
  const keys = new Map(inserted.map(({ key, id }) => [id, key]))
  const labels = specs.flatMap(({ id, labels = {} }) =>
    keys.has(id) ? Object.entries(labels).map(([name, value]) => ({ id, name, value })) : [],
  )
  if (labels.length > 0) {
    await db.run(
      sql.task.addLabels,
      labels.map(({ id }) => id),
      labels.map(({ name }) => name),
      labels.map(({ value }) => value),
    )
  }
  return keys
}
