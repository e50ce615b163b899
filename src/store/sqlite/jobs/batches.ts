/** Batches: their records, creating them with their jobs, and deleting them. */

import { HighkiqError, PushError } from '../../../job/errors.ts'
import { type BatchRow, recordOf } from '../../contract/batch-rows.ts'
import { BatchLedger, type BatchPush, type BatchStore, MEMBER_STATES, type MemberState } from '../../contract.ts'
import type { Database } from '../file/database.ts'
import { maybeDone } from '../file/errors.ts'
import { ANSWER_SECONDS, SqliteArea } from '../file/store-file.ts'
import { Batches } from '../queues/batches.ts'
import { sql } from '../sql.generated.ts'
import { pushAll } from './push.ts'

export class SqliteBatchStore extends SqliteArea implements BatchStore {
  readonly push: BatchStore['push'] = async (push, now) => {
    try {
      return await this.file.write((db) => store(db, push, now), ANSWER_SECONDS)
    } catch (thrown) {
      if (!(thrown instanceof HighkiqError)) throw thrown
      throw new PushError(thrown.message, [], maybeDone(thrown), { cause: thrown })
    }
  }

  readonly find: BatchStore['find'] = (bid) =>
    this.file.read((db) => {
      const row = db.first<BatchRow>(sql.batch.load, bid)
      return row ? recordOf(row) : null
    })

  readonly page: BatchStore['page'] = ({ before, limit }) =>
    this.file.read((db) => {
      const rows = before
        ? db.all<BatchRow>(sql.batch.older, before.createdAt, before.bid, limit)
        : db.all<BatchRow>(sql.batch.newest, limit)
      const items = rows.map(recordOf)
      return { items, next: items.length === limit ? (items.at(-1) ?? null) : null }
    })

  readonly members: BatchStore['members'] = (bid, { after = '', limit }) =>
    this.file.read((db) => {
      const rows = db.list<[id: string, state: number]>(sql.batch.members, bid, after, limit)
      const items = rows.map(([id, state]) => ({ id, state: MEMBER_STATES[state] as MemberState }))
      return { items, next: items.length === limit ? (items.at(-1)?.id ?? null) : null }
    })

  readonly notes: BatchStore['notes'] = (bid) =>
    this.file.read((db) => {
      const rows = db.all<{ key: string; text: string }>(sql.batch.notes, bid)
      return Object.fromEntries(rows.map(({ key, text }) => [key, text]))
    })

  readonly apply: BatchStore['apply'] = (effects, now) =>
    this.file.write((db) => {
      const tables = db.get(Batches)
      const ledger = new BatchLedger(tables, now)
      return effects.map((effect) => {
        const wasOpen = tables.member(effect.bid, effect.member) !== undefined
        ledger.change(effect)
        return wasOpen
      })
    }, ANSWER_SECONDS)

  readonly cancel: BatchStore['cancel'] = (bid, now) =>
    this.file.write((db) => new BatchLedger(db.get(Batches), now).cancel(bid), ANSWER_SECONDS)

  readonly cancelling: BatchStore['cancelling'] = ({ after = '', limit }) =>
    this.file.read((db) => {
      const items = db.all<{ bid: string }>(sql.batch.cancelling, after, limit).map(({ bid }) => bid)
      return { items, next: items.length === limit ? (items.at(-1) ?? null) : null }
    })

  readonly idle: BatchStore['idle'] = (before, { after, limit }) =>
    this.file.read((db) => {
      const from = after ? [after.progressAt, after.bid] : [Number.MIN_SAFE_INTEGER, '']
      const items = db.all<BatchRow>(sql.batch.idle, before, ...from, limit).map(recordOf)
      return { items, next: items.length === limit ? (items.at(-1) ?? null) : null }
    })

  readonly prune: BatchStore['prune'] = async (now, limit) => {
    // Without an old batch nothing is written.
    if (!(await this.file.read((db) => db.first(sql.batch.someExpired, now)))) return 0
    return this.file.write((db) => {
      const bids = db.all<{ bid: string }>(sql.batch.prune, now, limit).map(({ bid }) => bid)
      db.run(sql.batch.dropNotes, JSON.stringify(bids))
      return bids.length
    }, ANSWER_SECONDS)
  }
}

/** @throws STORE_FULL */
function store(db: Database, push: BatchPush, now: number): Awaited<ReturnType<BatchStore['push']>> {
  const tables = db.get(Batches)
  const [first] = push.batches
  if (first && tables.load(first.bid)) return 'exists'
  const answer = new BatchLedger(tables, now).push(push)
  if ('reason' in answer) return answer
  pushAll(db, answer.items, now)
  return answer.refused
}
