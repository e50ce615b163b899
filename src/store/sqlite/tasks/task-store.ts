import { memberText } from '../../../job/json.ts'
import { splitTaskJid } from '../../../job/payload.ts'
import {
  dueOf,
  EVENT_STATUSES,
  isInAttempt,
  NOTHING_REFUSED,
  type PushItem,
  type TaskSpec,
  type TaskStore,
  type TrackedPush,
} from '../../contract.ts'
import { type Producer, producerOf, UNKNOWN_TASK } from '../../sql/producer.ts'
import { ELSEWHERE, OPEN, STATUS_CODE, WINDOW, written } from '../../sql/task-row.ts'
import type { Database } from '../file/database.ts'
import { ANSWER_SECONDS, SqliteArea } from '../file/store-file.ts'
import { pushAll, pushInChunks } from '../jobs/push.ts'
import { type Ledgers, withLedgers } from '../ledgers/ledgers.ts'
import type { TaskLedger } from '../ledgers/task-ledger.ts'
import { eventsOf, recordOf, type TaskRow } from '../ledgers/task-row.ts'
import { sql } from '../sql.generated.ts'
import { Adding } from './adding.ts'
import { DeferredRows, UNKNOWN_ROW } from './deferred-rows.ts'
import { Events } from './events.ts'
import { Runs } from './runs.ts'

const KEEP_MS = 30 * 86_400_000
const LOST_AFTER_MS = 3_600_000
/** The most parts that one step deletes, because parts are large. */
const PARTS = 20

export class SqliteTaskStore extends SqliteArea implements TaskStore {
  readonly create: TaskStore['create'] = (task) =>
    this.file.write((db) => {
      const key = insert(db, task, 'adding')
      if (key !== undefined) db.run(sql.producer.add, key, task.producer, 0, OPEN, 0)
      return key !== undefined
    })

  readonly addRows: TaskStore['addRows'] = (task, producer, from, rows, now, last) =>
    this.file.write((db) => {
      const answer = change(db, task, now, UNKNOWN_TASK, (ledgers, ledger) =>
        db.get(Adding).add(ledgers, ledger, { producer, from, rows, now, last }),
      )
      db.checkRoom()
      return answer
    })

  readonly openAdding: TaskStore['openAdding'] = (task, producer, now, instead) =>
    this.#change(task, now, UNKNOWN_TASK, (db, _, ledger) => db.get(Adding).open(ledger, producer, instead))
  readonly endAdding: TaskStore['endAdding'] = (task, producer, now, interrupted = false) =>
    this.#change(task, now, UNKNOWN_TASK, (db, _, ledger) => db.get(Adding).end(ledger, producer, interrupted))
  readonly producers: TaskStore['producers'] = (id) =>
    this.file.read((db) => db.all<Pick<Producer, 'name' | 'state'>>(sql.producer.unended, id).map(producerOf))
  readonly change: TaskStore['change'] = (id, change, now) =>
    this.#change(id, now, null, (db, _, { task }) => db.get(Runs).change(task, change))
  readonly revokeLinks: TaskStore['revokeLinks'] = (id) =>
    this.file.write((db) => db.run(sql.task.revokeLinks, id) > 0, ANSWER_SECONDS)
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
    this.file.read((db) => db.get(DeferredRows).overdue(now, limit))

  readonly changeEvents: TaskStore['changeEvents'] = (effects, now) =>
    this.file.write((db) =>
      withLedgers(db, now, (ledgers) => {
        ledgers.prepare(effects)
        ledgers.apply(effects)
      }),
    )

  readonly delete: TaskStore['delete'] = (id, limit) => this.file.write((db) => deleteSome(db, id, limit))

  readonly expired: TaskStore['expired'] = (now, limit) =>
    this.file.read((db) => db.all<{ id: string }>(sql.task.expired, now, limit).map(({ id }) => id))
  readonly cancelling: TaskStore['cancelling'] = ({ after = '0', limit }) =>
    this.file.read((db) => {
      const rows = db.all<{ id: string; key: number }>(sql.task.cancelling, Number(after), limit)
      const last = rows.length === limit ? rows.at(-1) : undefined
      return { items: rows.map(({ id }) => id), next: last ? String(last.key) : null }
    })

  readonly idle: TaskStore['idle'] = (before, page) => this.#open(sql.task.idle, before, page)
  readonly ahead: TaskStore['ahead'] = (time, page) => this.#open(sql.task.ahead, time, page)

  readonly reasons: TaskStore['reasons'] = (id) => this.file.readAtOnce((db) => db.get(Events).reasons(id))

  readonly pushTracked: TaskStore['pushTracked'] = async (items, now) => {
    const push = (db: Database, chunk: TrackedPush[]) => {
      pushAllTracked(db, chunk, now)
      return NOTHING_REFUSED
    }
    await pushInChunks(this.file, items, push, ({ item }) => item)
  }

  readonly putPart: TaskStore['putPart'] = (id, index, bytes, maxBytes, by) =>
    this.file.write((db) => {
      const task = db.first<{ key: number; bytes: number }>(sql.task.size, id)
      if (!task) return 'unknown'
      if (by) {
        const event = eventsOf(db, task.key, [index])[0]
        const status = event && EVENT_STATUSES[event.status]
        if (!status || !isInAttempt({ ...event, status, attempts: event.step >> 1 }, by)) return 'stale'
      }
      const before = db.first<{ bytes: number }>(sql.task.partSize, task.key, index)?.bytes ?? 0
      const grown = bytes.length - before
      if (task.bytes + grown > maxBytes) return 'full'
      db.run(sql.task.putPart, task.key, index, bytes)
      db.run(sql.task.resize, grown, task.key)
      db.checkRoom()
      return 'ok'
    })

  readonly part: TaskStore['part'] = (id, index) =>
    this.file.read((db) => {
      // One driver returns an array, the other one a buffer.
      const row = db.first<{ bytes: Uint8Array | ArrayBuffer }>(sql.task.part, id, index)
      return row ? new Uint8Array(row.bytes) : null
    })

  readonly find: TaskStore['find'] = (id) =>
    this.file.read((db) => {
      const row = db.first<TaskRow>(sql.task.load, id)
      return row ? recordOf(row) : null
    })

  readonly page: TaskStore['page'] = ({ before, limit, label }) =>
    this.file.read((db) => {
      const by = label && ([label.name, label.value] as const)
      const rows = by
        ? before
          ? db.all<TaskRow>(sql.task.olderOf, ...by, before.createdAt, before.id, limit)
          : db.all<TaskRow>(sql.task.newestOf, ...by, limit)
        : before
          ? db.all<TaskRow>(sql.task.older, before.createdAt, before.id, limit)
          : db.all<TaskRow>(sql.task.newest, limit)
      return rows.map(recordOf)
    })

  readonly events: TaskStore['events'] = (task, query) => this.file.readAtOnce((db) => db.get(Events).page(task, query))
  readonly event: TaskStore['event'] = (jid) => this.file.readAtOnce((db) => db.get(Events).find(jid))
  readonly addMessage: TaskStore['addMessage'] = (jid, message) =>
    this.file.write((db) => withLedgers(db, message.at, (ledgers) => db.get(Events).addMessage(ledgers, jid, message)))

  /** Returns the tasks that a statement lists among a page of those with open rows. */
  #open(statement: string, time: number, { after = '0', limit }: { after?: string | undefined; limit: number }) {
    return this.file.read((db) => {
      const from = Number(after)
      const { n, last } = db.first(sql.task.openFrom, from, limit) as { n: number; last: number | null }
      if (last === null) return { items: [], next: null }
      const items = db.all<TaskRow>(statement, from, last, time).map(recordOf)
      return { items, next: n === limit ? String(last) : null }
    })
  }

  /** Changes a task; resolves with `none` if there is no such task. */
  #change<T>(
    id: string,
    now: number,
    none: T,
    work: (db: Database, ledgers: Ledgers, ledger: TaskLedger) => T,
  ): Promise<T> {
    return this.file.write((db) => change(db, id, now, none, (ledgers, ledger) => work(db, ledgers, ledger)))
  }
}

function change<T>(
  db: Database,
  id: string,
  now: number,
  none: T,
  work: (ledgers: Ledgers, ledger: TaskLedger) => T,
): T {
  return withLedgers(db, now, (ledgers) => {
    const ledger = ledgers.of(id)
    return ledger ? work(ledgers, ledger) : none
  })
}

/** Pushes jobs, each with a task of its own, except those whose task exists already. */
export function pushAllTracked(db: Database, items: readonly TrackedPush[], now: number): void {
  const created = items.filter(({ task, item }) => createSingle(db, task, item))
  const jobs = created.map(({ item }) => item)
  pushAll(db, jobs, now)
}

/** Deletes about `limit` rows of a task. Returns whether everything is deleted. */
export function deleteSome(db: Database, id: string, limit: number): boolean {
  const key = db.first<{ key: number }>(sql.task.startDeleting, id)?.key
  if (key === undefined) return true
  const { dropEvents, dropMessages, dropBacklog, dropDeferrals, dropProducers, dropReasons, dropParts } = sql.task
  let left = limit
  for (const drop of [dropMessages, dropBacklog, dropDeferrals, dropProducers, dropReasons, dropParts, dropEvents]) {
    const some = drop === dropParts ? Math.min(left, PARTS) : left
    const gone = db.all(drop, key, some).length
    left -= gone
    if (gone === some) return false
  }
  db.run(sql.task.dropLabels, key)
  db.run(sql.task.drop, key)
  return true
}

/** Creates a task of one row, whose job the caller pushes. Returns false if the task exists. */
function createSingle(db: Database, task: TaskSpec, item: PushItem): boolean {
  const { to, text } = item
  const key = insert(db, task, 'running')
  if (key === undefined) return false
  const due = dueOf(task, item)
  if (due !== null) db.run(sql.task.setDue, due, key)
  const args = memberText(text, 'args') ?? text
  const location = to === 'queue' ? WINDOW : ELSEWHERE
  const event = [0, STATUS_CODE.enqueued, location, 1, 1, null, null, null, null, args.toWellFormed(), null]
  db.run(sql.event.add, key, JSON.stringify([event]))
  const inWindow = location === WINDOW ? 1 : 0
  db.run(sql.task.save, 'running', 1, 1, 0, inWindow, 1, 0, 0, 0, 0, 0, null, null, null, key)
  return true
}

/** Returns the key of the new task; undefined: its id is in use. */
export function insert(db: Database, task: TaskSpec, state: 'adding' | 'running'): number | undefined {
  const row = db.first<{ key: number }>(
    sql.task.create,
    task.id,
    task.name,
    task.job,
    task.queue,
    task.template,
    task.window,
    task.keepArgs,
    task.meta,
    state,
    task.createdAt,
    written(task.maxFailures),
    task.onMaxFailures ?? 'pause',
    written(task.onDone),
    written(task.onFailure),
    task.keep ?? KEEP_MS,
    task.lostAfter ?? LOST_AFTER_MS,
    task.single ? 1 : 0,
    state === 'adding' ? 1 : 0,
    task.producer,
    task.rowsPerJob ?? null,
  )
  if (row && task.labels) db.run(sql.task.addLabels, row.key, JSON.stringify(task.labels))
  return row?.key
}
