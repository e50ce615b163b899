/** Which jobs do not move by themselves: records of the store, such as a batch or a task, must change with them. */

import { isBatchJid } from '../batches/jids.ts'
import { type Payload, taskOfCallback } from '../job/payload.ts'
import type { SetName } from '../store/contract.ts'

/** Returns why a job must stay where it is, or undefined. */
export function reasonOf(payload: Payload | undefined, set?: SetName): 'batches' | 'crons' | 'ended' | undefined {
  if (!payload || set === 'finished') return undefined
  if (payload.bid !== undefined || payload.hk_children !== undefined || isBatchJid(payload.jid)) {
    return set === 'dead' ? 'ended' : 'batches'
  }
  // Only a job that a cron entry pushed has this lock.
  return payload.hk_lock === undefined || set === 'dead' ? undefined : 'crons'
}

/** Returns the task with which a job moves: a row, or a callback. */
export function taskOf(payload: Payload | undefined, set?: SetName): string | undefined {
  if (!payload || set === 'finished') return undefined
  return payload.hk_task ?? taskOfCallback(payload)
}
