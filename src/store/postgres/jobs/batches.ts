/** Batches: their records, creating them with their jobs, and deleting them. */

import { type BatchRow, recordOf } from '../../contract/batch-rows.ts'
import { BatchLedger, type BatchPush, type BatchStore, MEMBER_STATES, type MemberState } from '../../contract.ts'
import { Arrivals } from '../queues/arrivals.ts'
import { changeBatches, LoadedBatches } from '../queues/batches.ts'
import { clockAhead } from '../queues/clock.ts'
import { UniqueLocks } from '../queues/unique.ts'
import type { Database } from '../server/database.ts'
import { pushFailed } from '../server/errors.ts'
import { ANSWER_SECONDS, PostgresArea } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'
import { pushAll } from './push.ts'

export class PostgresBatchStore extends PostgresArea implements BatchStore {
  readonly push: BatchStore['push'] = async (push, now) => {
    try {
      return await this.server.write((db) => storeBatches(db, push, now), ANSWER_SECONDS)
    } catch (thrown) {
      throw pushFailed(this.server.options.url, thrown)
    }
  }

  readonly find: BatchStore['find'] = (bid) =>
    this.server.runOne(async (db) => {
      const row = await db.first<BatchRow>(sql.batch.find, bid)
      return row ? recordOf(row) : null
    })

  readonly page: BatchStore['page'] = ({ before, limit }) =>
    this.server.runOne(async (db) => {
      const rows = before
        ? await db.all<BatchRow>(sql.batch.older, before.createdAt, before.bid, limit)
        : await db.all<BatchRow>(sql.batch.newest, limit)
      const items = rows.map(recordOf)
      return { items, next: items.length === limit ? (items.at(-1) ?? null) : null }
    })

  readonly members: BatchStore['members'] = (bid, { after = '', limit }) =>
    this.server.runOne(async (db) => {
      const rows = await db.all<{ id: string; state: number }>(sql.batch.members, bid, after, limit)
      const items = rows.map(({ id, state }) => ({ id, state: MEMBER_STATES[state] as MemberState }))
      return { items, next: items.length === limit ? (items.at(-1)?.id ?? null) : null }
    })

  readonly notes: BatchStore['notes'] = (bid) =>
    this.server.runOne(async (db) => {
      const rows = await db.all<{ key: string; text: string }>(sql.batch.notes, bid)
      return Object.fromEntries(rows.map(({ key, text }) => [key, text]))
    })

  readonly apply: BatchStore['apply'] = (effects, now) =>
    this.server.write(async (db) => {
      const wereOpen = await changeBatches(db, effects, now)
      await db.get(Arrivals).store()
      return wereOpen
    }, ANSWER_SECONDS)

  readonly cancel: BatchStore['cancel'] = (bid, now) =>
    this.server.write(async (db) => {
      const batches = await LoadedBatches.load(db, { bids: [bid], members: [] })
      const cancelled = new BatchLedger(batches, now).cancel(bid)
      await batches.write()
      await db.get(Arrivals).store()
      return cancelled
    }, ANSWER_SECONDS)

  readonly cancelling: BatchStore['cancelling'] = ({ after = '', limit }) =>
    this.server.runOne(async (db) => {
      const items = (await db.all<{ bid: string }>(sql.batch.cancelling, after, limit)).map(({ bid }) => bid)
      return { items, next: items.length === limit ? (items.at(-1) ?? null) : null }
    })

  readonly idle: BatchStore['idle'] = (before, { after, limit }) =>
    this.server.runOne(async (db) => {
      const from = after ? [after.progressAt, after.bid] : [Number.MIN_SAFE_INTEGER, '']
      const items = (await db.all<BatchRow>(sql.batch.idle, before, ...from, limit)).map(recordOf)
      return { items, next: items.length === limit ? (items.at(-1) ?? null) : null }
    })

  readonly prune: BatchStore['prune'] = async (now, limit) => {
    // Without an old batch nothing is written.
    if (!(await this.server.runOne((db) => db.first(sql.batch.someExpired, now)))) return 0
    return this.server.write(async (db) => db.run(sql.batch.prune, now - (await clockAhead(db)), limit), ANSWER_SECONDS)
  }
}

/** @throws STORE_FULL */
export async function storeBatches(
  db: Database,
  push: BatchPush,
  now: number,
): Promise<Awaited<ReturnType<BatchStore['push']>>> {
  const locks = await UniqueLocks.open(
    db,
    Array.from(push.members, ({ item }) => item),
    now,
  )
  const batches = await LoadedBatches.loadForPush(db, push, locks)
  const [first] = push.batches
  if (first && batches.load(first.bid)) return 'exists'
  const answer = new BatchLedger(batches, now).push(push)
  if ('reason' in answer) return answer
  await batches.write()
  await pushAll(db, answer.items, now)
  return answer.refused
}
