/** A job whose definition says `track`: it gets a record of its own, as a task of one row that lists do not show. */

import { newTaskId, type Payload, taskJid } from '../job/payload.ts'
import type { TaskSpec } from '../store/contract.ts'

/** Its one row never waits for a place. */
const WINDOW = 1_000_000

export function tracked(): Pick<Payload, 'jid' | 'hk_task'> {
  const id = newTaskId()
  return { jid: taskJid(id, 0), hk_task: id }
}

/** Returns the record of the job's own task; undefined for a job that is not tracked by itself. */
export function trackOf({ jid, hk_task, hk_run, class: name, queue }: Payload, now: number): TaskSpec | undefined {
  if (hk_task === undefined || hk_run !== undefined || jid !== taskJid(hk_task, 0)) return undefined
  return {
    id: hk_task,
    name,
    job: name,
    queue,
    template: '{}',
    window: WINDOW,
    keepArgs: 'all',
    meta: '{}',
    createdAt: now,
    producer: '',
    single: true,
  }
}
