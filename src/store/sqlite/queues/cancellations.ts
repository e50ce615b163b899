/**
 * Requests to cancel jobs. A cancellation has a version; that of a dropped job is negative, the time of the drop: an even number,
 * or an odd one when the job was running.
 */

import {
  CANCELLATION_LIFE_MS,
  CANCELLATIONS_PAGE,
  type CancellationEffect,
  type CancellationStore,
  DROPPED_LIFE_MS,
  type EventEffect,
  MAX_CANCELLATIONS,
} from '../../contract.ts'
import type { Database } from '../file/database.ts'
import { ANSWER_SECONDS, SqliteArea } from '../file/store-file.ts'
import { sql } from '../sql.generated.ts'

/** Pruning takes time, so it is done only for each hundredth cancellation. */
const PRUNE_EVERY = 100

export class SqliteCancellationStore extends SqliteArea implements CancellationStore {
  readonly request: CancellationStore['request'] = (jids, now) =>
    this.file.write((db) => {
      db.run(sql.cancellation.deleteOld, now - CANCELLATION_LIFE_MS, now - DROPPED_LIFE_MS)
      for (const jid of [jids].flat()) cancel(db, jid, now)
    }, ANSWER_SECONDS)

  readonly withdraw: CancellationStore['withdraw'] = (jid) =>
    this.file.write((db) => {
      const version = versionOf(db, jid)
      if (version > 0) db.run(sql.cancellation.unset, jid)
      if (version === 0) return 'none'
      if (version > 0) return 'requested'
      return version % 2 === 0 ? 'dropped' : 'aborted'
    }, ANSWER_SECONDS)

  readonly among: CancellationStore['among'] = (jids) =>
    this.file.read((db) => {
      const rows = db.all<{ jid: string }>(sql.cancellation.among, JSON.stringify(jids))
      return rows.map(({ jid }) => jid)
    })

  readonly since: CancellationStore['since'] = (since) =>
    this.file.read((db) => {
      const rows = db.all<{ jid: string; version: number }>(sql.cancellation.since, since, CANCELLATIONS_PAGE)
      const last = rows.length === CANCELLATIONS_PAGE ? rows.at(-1) : undefined
      const newest = last ?? db.first<{ version: number }>(sql.cancellation.newest)
      return { version: newest?.version ?? 0, jids: rows.map(({ jid }) => jid) }
    })
}

/** Cancels a job, unless it is cancelled. */
export function cancel(db: Database, jid: string, now: number): void {
  if (versionOf(db, jid) > 0) return
  const { version } = db.first<{ version: number }>(sql.cancellation.next, now) as { version: number }
  db.run(sql.cancellation.set, jid, version)
  if (version % PRUNE_EVERY === 0) db.run(sql.cancellation.prune, MAX_CANCELLATIONS)
}

/** Removes the cancellation of a job that has ended, in the step that settles the job. */
export function clearCancellation(db: Database, { jid, at, dropped, begun = false }: CancellationEffect): void {
  if (versionOf(db, jid) <= 0) return
  if (dropped) drop(db, jid, at, begun)
  else db.run(sql.cancellation.unset, jid)
}

/** Drops a row that is cancelled, and would wait for its end from outside. Returns false if it is not cancelled. */
export function dropCancelled(db: Database, { jid, at }: EventEffect): boolean {
  if (versionOf(db, jid) <= 0) return false
  drop(db, jid, at, true)
  return true
}

function drop(db: Database, jid: string, at: number, wasRunning: boolean): void {
  db.run(sql.cancellation.set, jid, -(Math.floor(at / 2) * 2 + (wasRunning ? 1 : 0)))
}

/** Returns 0 if the job has no cancellation, and a negative number if the job was found and dropped. */
function versionOf(db: Database, jid: string): number {
  return db.first<{ version: number }>(sql.cancellation.version, jid)?.version ?? 0
}
