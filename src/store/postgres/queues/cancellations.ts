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
import type { Database } from '../server/database.ts'
import { ANSWER_SECONDS, PostgresArea } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'

/** Pruning takes time, so it is done only for each hundredth cancellation. */
const PRUNE_EVERY = 100

export class PostgresCancellationStore extends PostgresArea implements CancellationStore {
  readonly request: CancellationStore['request'] = (jids, time) =>
    this.server.write(async (db) => {
      const lives = [CANCELLATION_LIFE_MS, DROPPED_LIFE_MS] as const
      const { now } = (await db.first<{ now: number }>(sql.cancellation.deleteOld, time, Date.now(), ...lives)) as {
        now: number
      }
      const versions = await cancel(db, jids, now)
      return [jids].flat().map((jid) => versions.get(jid) as number)
    }, ANSWER_SECONDS)

  readonly withdraw: CancellationStore['withdraw'] = (jid, _now, version) =>
    this.server.write(async (db) => {
      type Row = { score: number }
      const score = (await db.first<Row>(sql.cancellation.withdraw, jid, version ?? null, MOST_CANCELLERS))?.score
      if (score === undefined) return 'none'
      if (score > 0) return 'requested'
      return score % 2 === 0 ? 'dropped' : 'aborted'
    }, ANSWER_SECONDS)

  readonly among: CancellationStore['among'] = (jids) =>
    this.server.runOne(async (db) =>
      (await db.all<{ jid: string }>(sql.cancellation.among, jids)).map(({ jid }) => jid),
    )

  readonly since: CancellationStore['since'] = (since) =>
    this.server.runOne(async (db) => {
      type Row = { jid: string | null; version: number; newest: number }
      const rows = await db.all<Row>(sql.cancellation.since, since, CANCELLATIONS_PAGE)
      const found = rows.map(({ jid, version: score }) => ({ jid, version: score - (score % MOST_CANCELLERS) }))
      const version = rows.length === CANCELLATIONS_PAGE ? found.at(-1)?.version : rows[0]?.newest
      // A repeated request has raised the score of the last one.
      const jids = found.flatMap((one) => (one.version === since ? [] : (one.jid ?? [])))
      return { version: version ?? 0, jids }
    })
}

/** Cancels jobs, and returns the versions by their jids. */
export async function cancel(
  db: Database,
  jids: string | readonly string[],
  now: number,
): Promise<ReadonlyMap<string, number>> {
  type Row = { jid: string; version: number }
  const rows = await db.all<Row>(sql.cancellation.cancel, [...new Set([jids].flat())], now, MOST_CANCELLERS)
  if (rows.some(({ version }) => version % (PRUNE_EVERY * MOST_CANCELLERS) === 0))
    await db.run(sql.cancellation.prune, MAX_CANCELLATIONS)
  return new Map(rows.map(({ jid, version }) => [jid, version]))
}

/** Removes the cancellations of jobs that have ended, in the step that settles them. */
export async function clearCancellations(db: Database, effects: readonly CancellationEffect[]): Promise<void> {
  // The first effect of a job removes its cancellation.
  const versions = new Map<string, number | null>()
  for (const { jid, at, dropped, begun = false } of effects) {
    if (!versions.has(jid)) versions.set(jid, dropped ? droppedVersion(at, begun) : null)
  }
  await db.run(sql.cancellation.clear, [...versions.keys()], [...versions.values()])
}

/** Drops a row that is cancelled, and would wait for its end from outside. Returns false if it is not cancelled. */
export async function dropCancelled(db: Database, { jid, at }: EventEffect): Promise<boolean> {
  return (await db.all(sql.cancellation.clear, [jid], [droppedVersion(at, true)])).length > 0
}

function droppedVersion(at: number, wasRunning: boolean): number {
  return -(Math.floor(at / 2) * 2 + (wasRunning ? 1 : 0))
}
