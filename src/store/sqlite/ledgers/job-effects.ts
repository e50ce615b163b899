/** Applies effects on a job itself: everything but the events of rows, and the records of job events. */

import { BatchLedger, type Effect } from '../../contract.ts'
import type { Database } from '../file/database.ts'
import { Batches } from '../queues/batches.ts'
import { clearCancellation } from '../queues/cancellations.ts'
import { changeRun } from '../queues/cron-runs.ts'
import { changeIteration } from '../queues/iterations.ts'
import { awaitLimit, releaseSlot } from '../queues/limits.ts'
import { changeUnique } from '../queues/unique.ts'
import { sql } from '../sql.generated.ts'

export function applyJobEffect(db: Database, effect: Exclude<Effect, { kind: 'event' | 'record' }>, now: number): void {
  switch (effect.kind) {
    case 'clear-cancellation':
      clearCancellation(db, effect)
      break
    case 'iteration':
      changeIteration(db, effect, now)
      break
    case 'release-unique':
    case 'keep-unique':
      changeUnique(db, effect, now)
      break
    case 'release-slot':
      releaseSlot(db, effect)
      break
    case 'await-limit':
      awaitLimit(db, effect)
      break
    case 'batch':
      new BatchLedger(db.get(Batches), now).change(effect)
      break
    case 'cron-run':
      changeRun(db, effect)
      break
    case 'release-lock':
      db.run(sql.lock.release, effect.lock, effect.holder)
      break
    case 'delete-result':
      db.run(sql.result.delete, effect.jid)
  }
}
