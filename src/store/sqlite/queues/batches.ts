/** The tables of batches; see batch-ledger.ts for what follows from a change. */

import { type BatchRow, rowOf, stateOf } from '../../contract/batch-rows.ts'
import { type BatchNote, type BatchState, type BatchTables, MEMBER_STATES, type MemberState } from '../../contract.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import { appendEvents } from './job-events.ts'
import { JobSets } from './job-sets.ts'
import { KeptResults } from './kept-results.ts'
import { Queues } from './queues.ts'
import { lockHolder } from './unique.ts'

export class Batches extends Tables implements BatchTables {
  load(bid: string): BatchState | undefined {
    const row = this.db.first<BatchRow>(sql.batch.load, bid)
    return row && stateOf(row)
  }

  save(batch: BatchState): void {
    const row = rowOf(batch)
    this.db.run(
      sql.batch.save,
      ...[row.on_complete, row.on_success, row.on_death, row.job],
      ...[row.total, row.pending, row.retrying, row.dead, row.failed, row.succeeded],
      ...[row.progress_at, row.completed_at, row.succeeded_at, row.died_at, row.expires_at, row.cancelling, row.bid],
    )
  }

  create(batch: BatchState): void {
    const row = rowOf(batch)
    const jobs = [row.on_complete, row.on_success, row.on_death, row.job]
    this.db.run(
      sql.batch.create,
      ...[row.bid, row.parent, row.depth, row.meta, ...jobs, row.keep, row.created_at, row.progress_at],
    )
  }

  addMembers(bid: string, ids: readonly string[]): number {
    return this.db.run(sql.batch.addMembers, bid, JSON.stringify(ids))
  }

  member(bid: string, id: string): MemberState | undefined {
    const row = this.db.first<{ state: number }>(sql.batch.member, bid, id)
    return row && MEMBER_STATES[row.state]
  }

  setMember(bid: string, id: string, state: MemberState | null): void {
    if (state === null) this.db.run(sql.batch.dropMember, bid, id)
    else this.db.run(sql.batch.setMember, MEMBER_STATES.indexOf(state), bid, id)
  }

  note(bid: string, { key, text }: BatchNote): void {
    this.db.run(sql.batch.note, bid, key, text.toWellFormed())
  }

  push(queue: string, text: string): void {
    this.db.get(Queues).pushBack(queue, [text])
  }

  addToDead(text: string, now: number): void {
    this.db.get(JobSets).add('dead', { text, score: now / 1000 })
  }

  keepResult(jid: string, text: string, seconds: number): void {
    this.db.get(KeptResults).keep(jid, text, seconds)
  }

  record(jid: string, about: string, now: number): void {
    appendEvents(this.db, [{ kind: 'record', jid, about }], now)
  }

  holder(key: string, now: number): ReturnType<BatchTables['holder']> {
    return lockHolder(this.db, key, now)
  }
}
