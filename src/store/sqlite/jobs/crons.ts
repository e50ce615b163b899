import { HighkiqError, PushError } from '../../../job/errors.ts'
import { readRuns, withRun } from '../../contract/cron-runs.ts'
import type { CronRecord, CronStore, CronTick, CronTickAnswer } from '../../contract.ts'
import { bootId, endIn, isPast } from '../file/clock.ts'
import type { Database } from '../file/database.ts'
import { maybeDone } from '../file/errors.ts'
import { ANSWER_SECONDS, SqliteArea } from '../file/store-file.ts'
import { withLedgers } from '../ledgers/ledgers.ts'
import { acquireUnique } from '../queues/unique.ts'
import { sql } from '../sql.generated.ts'
import { move } from './moves.ts'

interface CronRow extends Omit<CronRecord, 'paused' | 'alive' | 'runs'> {
  paused: number
  runs: string
  boot: string
  ends: number
}

/** The most seconds for which a process may say that it is alive. */
const MAX_SECONDS = 3600

export class SqliteCronStore extends SqliteArea implements CronStore {
  readonly list: CronStore['list'] = (names) =>
    this.file.read((db) => {
      const rows = db.all<CronRow>(sql.cron.list, names ? JSON.stringify(names) : null)
      return rows.map(({ paused, boot, ends, runs, ...row }) => ({
        ...row,
        paused: paused === 1,
        alive: !isPast(ends, boot, MAX_SECONDS),
        runs: readRuns(runs),
      }))
    })

  readonly define: CronStore['define'] = (name, { old, text, tick }, seconds) =>
    this.file.write((db) => {
      const ends = endIn(seconds)
      if (old === null) return db.first(sql.cron.create, name, text, tick, bootId, ends) !== undefined
      return db.first(sql.cron.change, text, old === text ? null : tick, bootId, ends, name, old) !== undefined
    }, ANSWER_SECONDS)

  readonly tick: CronStore['tick'] = async (name, tick, now) => {
    try {
      return await this.file.write((db) => decideTick(db, name, tick, now), ANSWER_SECONDS)
    } catch (thrown) {
      if (!(thrown instanceof HighkiqError)) throw thrown
      throw new PushError(thrown.message, tick.push ? [tick.push.jid] : [], maybeDone(thrown), { cause: thrown })
    }
  }

  readonly pause: CronStore['pause'] = (name, paused, now) =>
    this.file.write((db) => {
      const row = paused ? db.first(sql.cron.pause, name) : db.first(sql.cron.resume, now, name)
      return row !== undefined
    }, ANSWER_SECONDS)

  readonly remove: CronStore['remove'] = (name) =>
    this.file.write((db) => db.first(sql.cron.delete, name) !== undefined, ANSWER_SECONDS)

  readonly releaseLock: CronStore['releaseLock'] = (lock, holder) =>
    this.file.write((db) => {
      db.run(sql.lock.release, lock, holder)
    }, ANSWER_SECONDS)
}

/** @throws STORE_FULL */
function decideTick(db: Database, name: string, { text, from, to, push }: CronTick, now: number): CronTickAnswer {
  const row = db.first<CronRow>(sql.cron.list, JSON.stringify([name]))
  if (!row || row.text !== text || row.tick !== from || (row.paused === 1 && push && to !== from)) return 'gone'
  if (!push) {
    db.run(sql.cron.skip, to, name)
    return 'ok'
  }
  const { jid, item, lock } = push
  if (lock !== undefined) {
    const { holder = jid } = db.first<{ holder: string }>(sql.lock.holder, lock) ?? {}
    if (holder !== jid) return { holder }
  }
  const { holder = jid } = acquireUnique(db, item, now) ?? {}
  if (holder !== jid) return { holder, isUnique: true }
  if (lock !== undefined) db.run(sql.lock.acquire, lock, jid)
  const run = {
    jid,
    tick: to === from ? null : to,
    pushedAt: now,
    state: 'waiting',
    startedAt: null,
    endedAt: null,
  } as const
  db.run(sql.cron.push, to, jid, now, withRun(row.runs, run), name)
  withLedgers(db, now, (ledgers) => move(db, ledgers, item, item.effects))
  db.checkRoom()
  return 'ok'
}
