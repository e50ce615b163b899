import { readRuns, withRun } from '../../contract/cron-runs.ts'
import type { CronRecord, CronStore, CronTick, CronTickAnswer } from '../../contract.ts'
import { withLedgers } from '../ledgers/ledgers.ts'
import { clockAhead } from '../queues/clock.ts'
import { acquireUnique } from '../queues/unique.ts'
import type { Database } from '../server/database.ts'
import { pushFailed } from '../server/errors.ts'
import { ANSWER_SECONDS, PostgresArea } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'
import { move } from './moves.ts'

interface CronRow extends Omit<CronRecord, 'paused' | 'runs'> {
  paused: number
  runs: string
}

/** The most seconds for which a process may say that it is alive. */
const MAX_SECONDS = 3600

export class PostgresCronStore extends PostgresArea implements CronStore {
  readonly list: CronStore['list'] = (names) =>
    this.server.runOne(async (db) => {
      const rows = await entries(db, names)
      return rows.map(({ paused, runs, ...row }) => ({ ...row, paused: paused === 1, runs: readRuns(runs) }))
    })

  readonly define: CronStore['define'] = (name, { old, text, tick }, seconds) => {
    // That a process is still alive does not wait for the writers.
    if (old === text)
      return this.server.runOne(async (db) => (await db.run(sql.cron.keepAlive, seconds, name, text)) > 0)
    return this.server.write(async (db) => {
      const from = tick === null ? null : tick - (await clockAhead(db))
      if (old === null) return (await db.run(sql.cron.create, name, text, from, seconds)) > 0
      return (await db.run(sql.cron.change, text, from, seconds, name, old)) > 0
    }, ANSWER_SECONDS)
  }

  readonly tick: CronStore['tick'] = async (name, tick, now) => {
    try {
      return await this.server.write((db) => decideTick(db, name, tick, now), ANSWER_SECONDS)
    } catch (thrown) {
      throw pushFailed(this.server.options.url, thrown, tick.push ? [tick.push.jid] : [])
    }
  }

  readonly pause: CronStore['pause'] = (name, paused, now) =>
    this.server.write(async (db) => {
      if (paused) return (await db.run(sql.cron.pause, name)) > 0
      return (await db.run(sql.cron.resume, now - (await clockAhead(db)), name)) > 0
    }, ANSWER_SECONDS)

  readonly remove: CronStore['remove'] = (name) =>
    this.server.write(async (db) => (await db.run(sql.cron.delete, name)) > 0, ANSWER_SECONDS)

  readonly releaseLock: CronStore['releaseLock'] = (lock, holder) =>
    this.server.write(async (db) => void (await db.run(sql.lock.release, [lock], [holder])), ANSWER_SECONDS)
}

async function entries(db: Database, names: readonly string[] | undefined): Promise<CronRow[]> {
  return await db.all<CronRow>(sql.cron.list, names ?? null, MAX_SECONDS)
}

/** @throws STORE_FULL */
async function decideTick(
  db: Database,
  name: string,
  { text, from, to, push }: CronTick,
  now: number,
): Promise<CronTickAnswer> {
  const [row] = await entries(db, [name])
  if (!row || row.text !== text || row.tick !== from || (row.paused === 1 && push && to !== from)) return 'gone'
  if (!push) {
    await db.run(sql.cron.skip, to, name)
    return 'ok'
  }
  const { jid, item, lock } = push
  if (lock !== undefined) {
    const { holder = jid } = (await db.first<{ holder: string }>(sql.lock.holder, lock)) ?? {}
    if (holder !== jid) return { holder }
  }
  const { holder = jid } = (await acquireUnique(db, item, now)) ?? {}
  if (holder !== jid) return { holder, isUnique: true }
  if (lock !== undefined) await db.run(sql.lock.acquire, lock, jid)
  const run = {
    jid,
    tick: to === from ? null : to,
    pushedAt: now,
    state: 'waiting',
    startedAt: null,
    endedAt: null,
  } as const
  await db.run(sql.cron.push, to, jid, now, withRun(row.runs, run), name)
  await withLedgers(db, now, (ledgers) => move(db, ledgers, item, item.effects))
  return 'ok'
}
