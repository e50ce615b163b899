/** Pushes through a connection of the app, in the transaction that is open there. */

import { HighkiqError, messageOf } from '../../job/errors.ts'
import { baseQueue } from '../../job/priority.ts'
import {
  type JobStore,
  NOTHING_REFUSED,
  type PushItem,
  type SqlQuery,
  type ThroughItem,
  type TrackedPush,
} from '../contract.ts'
import { storeBatches } from './jobs/batches.ts'
import { isPlain } from './jobs/plain-push.ts'
import { pushAllOrNone } from './jobs/push.ts'
import { OrderedTables } from './ordered/tables.ts'
import { priorityOffset } from './queues/queues.ts'
import { slicesOf } from './queues/slices.ts'
import { AppConnection } from './server/app-connection.ts'
import { Database } from './server/database.ts'
import { isSchemaMissing } from './server/errors.ts'
import { channelOf, payloadOf } from './server/notifier.ts'
import type { StoreServer } from './server/store-server.ts'
import { storedText } from './server/texts.ts'
import { sql } from './sql.generated.ts'
import { pushAllTracked } from './tasks/task-store.ts'

/** See hk.app_transaction. */
interface AppTransaction {
  number: string
  level: string
  queues: Record<string, number>
}

type PlainItem = PushItem & { to: 'queue' }
type Options = Parameters<NonNullable<JobStore['pushThrough']>>[3]

/** No process has this id, so that all are notified. */
const EVERYBODY = ''
/** As for other writers: the others go on when the process is frozen. */
const IDLE = '3s'
/** At other levels a statement does not see what was committed before the lock was taken. */
const LEVELS = ['read committed', 'read uncommitted']

/** See JobStore.pushThrough. */
export async function pushThrough(
  server: StoreServer,
  query: SqlQuery,
  items: readonly ThroughItem[],
  now: number,
  { refused, commitsNext = false }: Options = {},
): Promise<() => Promise<void>> {
  if (items.length === 0) return async () => {}
  await server.open()
  const app = new AppConnection(query, server.options.schema)
  const names = [...new Set(items.flatMap(queueOf))]
  const described = await app.answer(sql.app.describe, JSON.stringify(names)).catch((thrown) => {
    throw isSchemaMissing(thrown) ? otherDatabase(server.options, thrown) : thrown
  })
  const about = JSON.parse(described) as AppTransaction
  const queues = new Map(Object.entries(about.queues))
  await showQueues(server, names, queues)
  let notified: ReadonlySet<string> = new Set(names)
  if (items.every(isPlainItem)) await pushPlain(server, app, about.number, queues, items, !commitsNext)
  else {
    if (!LEVELS.includes(about.level)) throw wrongLevel(about.level)
    await undoable(app, async () => {
      notified = await pushAlone(server, app, items, now, { refused, commitsNext })
    })
  }
  // Workers that are not woken look for jobs themselves a moment later.
  return commitsNext ? () => server.notify([...notified]).catch(() => {}) : async () => {}
}

function otherDatabase({ schema, url }: StoreServer['options'], cause: unknown): HighkiqError {
  const message = `hq.transaction: the database of this connection has no schema ${schema} of Highkiq: give a client or a pool of the database of ${url}`
  return new HighkiqError('NO_TRANSACTION', message, undefined, { cause })
}

/** Stores the jobs of queues, beside the writers. */
async function pushPlain(
  { options: { schema } }: StoreServer,
  app: AppConnection,
  transaction: string,
  queues: ReadonlyMap<string, number>,
  items: readonly PlainItem[],
  wakes: boolean,
): Promise<void> {
  for (const slice of slicesOf(items, ({ text }) => text.length)) {
    const names = slice.map(({ queue }) => baseQueue(queue).toWellFormed())
    const ids = names.map((name) => queues.get(name))
    const offsets = slice.map(({ queue }) => priorityOffset(queue))
    const texts = slice.map(({ text }) => storedText(text.toWellFormed()))
    const lists = [ids, offsets, texts].map((list) => JSON.stringify(list))
    const message = [channelOf(schema), wakes ? payloadOf(EVERYBODY, new Set(names)) : '']
    if ((await app.answer(sql.app.push, transaction, ...lists, ...message)) !== 'yes') throw notOpen()
  }
}

/** Stores the items with the lock of the writers, which the transaction keeps until it ends. Returns the channels to notify. */
async function pushAlone(
  { lock, options: { schema, url } }: StoreServer,
  app: AppConnection,
  items: readonly ThroughItem[],
  now: number,
  { refused, commitsNext }: NonNullable<Options>,
): Promise<ReadonlySet<string>> {
  // In a transaction of Highkiq nothing but the commit follows.
  if ((await app.answer(sql.app.lock, String(lock), commitsNext ? IDLE : '')) !== 'yes') {
    const message = `${url}: another transaction keeps Highkiq's lock for more than 5 seconds: see pg_stat_activity, and push at the end of a transaction`
    throw new HighkiqError('STORE_TIMEOUT', message)
  }
  const db = new Database(app, app.statements)
  const jobs: PushItem[] = []
  const tracked: TrackedPush[] = []
  for (const item of items) {
    if ('task' in item) tracked.push(item)
    else if (item.to === 'ordered') await db.get(OrderedTables).push(item.queue, item.shards, item.items)
    else if (item.to === 'batch') {
      const answer = await storeBatches(db, item.push, now)
      item.answered(answer === 'exists' ? NOTHING_REFUSED : answer)
    } else jobs.push(item)
  }
  const some = await pushAllOrNone(db, jobs, now)
  if (some.length > 0) refused?.(some)
  await pushAllTracked(db, tracked, now)
  if (!commitsNext) await app.answer(sql.app.notify, channelOf(schema), payloadOf(EVERYBODY, db.notifications))
  return db.notifications
}

/** Runs `work`. When it throws, nothing of it stays, and the app can go on with its transaction. @throws NO_TRANSACTION */
async function undoable(app: AppConnection, work: () => Promise<void>): Promise<void> {
  await app.answer(sql.app.savepoint).catch((thrown) => {
    throw notOpen(thrown)
  })
  try {
    await work()
    await app.answer(sql.app.release)
  } catch (thrown) {
    // When the connection is lost, so is the transaction.
    await app.answer(sql.app.undo).catch(() => undefined)
    throw thrown
  }
}

/**
 * Adds the queues that are missing. They are created outside of the transaction of the app, so that no other push has to wait for
 * its commit.
 */
async function showQueues(server: StoreServer, names: readonly string[], queues: Map<string, number>): Promise<void> {
  for (;;) {
    // In one order, so that two transactions do not wait for each other.
    const missing = names.filter((name) => !queues.has(name)).toSorted()
    if (missing.length === 0) return
    const shown = await server.runOne((db) => db.all<{ name: string; id: number }>(sql.app.show, missing))
    for (const { name, id } of shown) queues.set(name, id)
  }
}

function queueOf(item: ThroughItem): string[] {
  const { to, queue } = ('task' in item ? item.item : item) as { to: string; queue: string }
  if ('push' in item) return item.push.members.flatMap((member) => (member.item ? queueOf(member.item) : []))
  return to === 'queue' ? [baseQueue(queue).toWellFormed()] : []
}

function isPlainItem(item: ThroughItem): item is PlainItem {
  return !('task' in item) && item.to !== 'ordered' && item.to !== 'batch' && isPlain(item)
}

function notOpen(cause?: unknown): HighkiqError {
  const why = cause === undefined ? '' : `: ${messageOf(cause)}`
  const message = `hq.transaction: no transaction is open on this connection, so nothing was pushed${why}. Send BEGIN first, or give a pool`
  return new HighkiqError('NO_TRANSACTION', message, undefined, { cause })
}

function wrongLevel(level: string): HighkiqError {
  const message = `hq.transaction: a transaction at the isolation level ${level} can only push jobs that are due now and have no lock, record or limit: use READ COMMITTED, or push the others after the commit`
  return new HighkiqError('NO_TRANSACTION', message)
}
