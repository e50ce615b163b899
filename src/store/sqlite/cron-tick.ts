/** A tick of a cron entry and its job, in one transaction. */

import type { CronTick, CronTickAnswer } from '../contract.ts'
import { move, type Opened, withLedger } from './moves.ts'
import { sql } from './sql.generated.ts'

/** @throws STORE_FULL */
export function tickCron(s: Opened, name: string, { text, from, to, push }: CronTick, now: number): CronTickAnswer {
  const row = s.crons.find(name)
  if (!row || row.text !== text || row.tick !== from || (row.paused === 1 && to !== from)) return 'gone'
  if (!push) {
    s.db.run(sql.cron.pass, to, name)
    return 'ok'
  }
  const { jid, item, lock } = push
  if (lock !== undefined) {
    const { holder = jid } = s.db.first<{ holder: string }>(sql.lock.holder, lock) ?? {}
    if (holder !== jid) return { holder }
    s.db.run(sql.lock.take, lock, jid)
  }
  s.db.run(sql.cron.push, to, jid, now, name)
  withLedger(s, now, (ledger) => move(s, ledger, item, item.effects))
  s.db.checkRoom()
  return 'ok'
}
