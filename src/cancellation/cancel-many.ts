/** Cancels some jobs, wherever they are. */

import type { AppPort } from '../app/port.ts'
import { runningAmong } from '../inspect/running.ts'
import { jidsOf } from '../job/rows.ts'
import { type CancelAnswer, cancelRequested, isRow, limitsOf } from './cancel.ts'

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
  const unique = [...new Set(jids)]
  const versions = await cancellations.request(unique, app.now())
  const running = await runningAmong(app.store, new Set(unique))
  const rows = [...running.values()].flatMap((payload) => (payload.hk_rows ? jidsOf(payload) : []))
  if (rows.length > 0) await cancellations.request(rows, app.now())
  const inBacklog = new Set<string>()
  const ask = async (jid: string) => {
    if ((await tasks.event(jid))?.location === 'backlog') inBacklog.add(jid)
  }
  await Promise.all(unique.filter((jid) => isRow(jid) && !running.has(jid)).map(ask))
  for (const [i, jid] of unique.entries()) {
    const known = running.has(jid) ? 'signalled' : inBacklog.has(jid) ? 'requested' : undefined
    answers.set(jid, known ?? (await cancelRequested(app, jid, limits, versions[i] as number)))
  }
  return answers
}
