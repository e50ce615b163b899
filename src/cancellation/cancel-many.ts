/** Cancels some jobs, wherever they are. */

import type { AppPort } from '../app/port.ts'
import { runningAmong } from '../inspect/running.ts'
import { jidsOf } from '../job/rows.ts'
import { type CancelAnswer, cancelWithin, isRow, limitsOf } from './cancel.ts'

/**
 * Cancels some jobs, of a running job with several rows all rows. It requests all cancellations in one step, and searches only
 * for jobs that neither run nor wait inside their tasks, for 10 seconds in all. Returns an answer for each of the jids.
 * @throws INVALID_OPTION
 */
export async function cancelJobs(app: AppPort, jids: readonly string[]): Promise<Map<string, CancelAnswer>> {
  const limits = limitsOf(jids)
  const answers = new Map<string, CancelAnswer>()
  if (jids.length === 0) return answers
  const { cancellations, tasks } = app.store
  await cancellations.request(jids, app.now())
  const running = await runningAmong(app.store, new Set(jids))
  const rows = [...running.values()].flatMap((payload) => (payload.hk_rows ? jidsOf(payload) : []))
  if (rows.length > 0) await cancellations.request(rows, app.now())
  const inBacklog = new Set<string>()
  const ask = async (jid: string) => {
    if ((await tasks.event(jid))?.location === 'backlog') inBacklog.add(jid)
  }
  await Promise.all(jids.filter((jid) => isRow(jid) && !running.has(jid)).map(ask))
  for (const jid of new Set(jids)) {
    const known = running.has(jid) ? 'signalled' : inBacklog.has(jid) ? 'requested' : undefined
    answers.set(jid, known ?? (await cancelWithin(app, jid, limits)))
  }
  return answers
}
