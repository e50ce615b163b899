/**
 * Requests to cancel jobs. A cancelled job has a score: the version of its cancellation, a multiple of MOST_CANCELLERS, plus the
 * number of callers who requested it besides the first one. That of a dropped job is negative, the time of the drop: an
 * even number, or an odd one when the job was running. The table calls it `version`.
 */

import {
  CANCELLATION_LIFE_MS,
  CANCELLATIONS_PAGE,
  type CancellationEffect,
  type CancellationStore,
  DROPPED_LIFE_MS,
  type EventEffect,
  MAX_CANCELLATIONS,
  MOST_CANCELLERS,
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
      return [jids].flat().map((jid) => cancel(db, jid, now))
    }, ANSWER_SECONDS)

  readonly withdraw: CancellationStore['withdraw'] = (jid, _now, version) =>
    this.file.write((db) => {
      const score = scoreOf(db, jid)
      if (score === 0) return 'none'
      if (score < 0) return score % 2 === 0 ? 'dropped' : 'aborted'
      const others = version === undefined ? 0 : othersIn(score)
      if (version !== undefined && score - others !== version) return 'requested'
      if (others === 0) db.run(sql.cancellation.unset, jid)
      else if (others < MOST_CANCELLERS - 1) db.run(sql.cancellation.set, jid, score - 1)
      return 'requested'
    }, ANSWER_SECONDS)

  readonly among: CancellationStore['among'] = (jids) =>
    this.file.read((db) => db.list<string>(sql.cancellation.among, JSON.stringify(jids)))

  readonly since: CancellationStore['since'] = (since) =>
    this.file.read((db) => {
      const found = db.list<[jid: string, score: number]>(sql.cancellation.since, since, CANCELLATIONS_PAGE)
      const rows = found.map(([jid, score]) => ({ jid, version: score - othersIn(score) }))
      const last = rows.length === CANCELLATIONS_PAGE ? rows.at(-1) : undefined
      const newest = last ?? db.first<{ version: number }>(sql.cancellation.newest)
      // A repeated request has raised the score of the last one.
      const jids = rows.flatMap(({ jid, version }) => (version === since ? [] : jid))
      return { version: newest?.version ?? 0, jids }
    })
}

/** Cancels a job, and returns the version. */
export function cancel(db: Database, jid: string, now: number): number {
  const score = scoreOf(db, jid)
  if (score > 0) {
    if (othersIn(score) < MOST_CANCELLERS - 1) db.run(sql.cancellation.set, jid, score + 1)
    return score - othersIn(score)
  }
  const version = nextVersion(db, now)
  db.run(sql.cancellation.set, jid, version)
  if (version % (PRUNE_EVERY * MOST_CANCELLERS) === 0) db.run(sql.cancellation.prune, MAX_CANCELLATIONS)
  return version
}

/** Makes a version that is newer than all others. */
export function nextVersion(db: Database, now: number): number {
  return (db.first<{ version: number }>(sql.cancellation.next, now, MOST_CANCELLERS) as { version: number }).version
}

/** Returns how many callers requested the cancellation, besides the first one. */
function othersIn(score: number): number {
  return score % MOST_CANCELLERS
}

/** Removes the cancellation of a job that has ended, in the step that settles the job. */
export function clearCancellation(db: Database, { jid, at, dropped, begun = false }: CancellationEffect): void {
  if (scoreOf(db, jid) <= 0) return
  if (dropped) drop(db, jid, at, begun)
  else db.run(sql.cancellation.unset, jid)
}

/** Drops a row that is cancelled, and would wait for its end from outside. Returns false if it is not cancelled. */
export function dropCancelled(db: Database, { jid, at }: EventEffect): boolean {
  if (scoreOf(db, jid) <= 0) return false
  drop(db, jid, at, true)
  return true
}

function drop(db: Database, jid: string, at: number, wasRunning: boolean): void {
  db.run(sql.cancellation.set, jid, -(Math.floor(at / 2) * 2 + (wasRunning ? 1 : 0)))
}

/** Returns 0 if the job has no cancellation, and a negative number if the job was found and dropped. */
function scoreOf(db: Database, jid: string): number {
  return db.first<{ version: number }>(sql.cancellation.version, jid)?.version ?? 0
}
