/** Requests to cancel the jobs of a page in one step. */

import type { AppPort } from '../app/port.ts'
import { HighkiqError } from '../job/errors.ts'
import { readPayload } from '../job/payload.ts'
import { jidsOf } from '../job/rows.ts'
import { nameOf } from './actions.ts'
import type { BulkResult } from './bulk.ts'
import type { JobRecord } from './record.ts'

/**
 * Requests to cancel these jobs, and then withdraws its requests for those that `openOf` does not return: they have ended or
 * moved. These count as refused. The requests of other callers stay.
 *
 * @param openOf returns those of the jobs that are still where they were found, by their jids
 */
export async function requestCancellations(
  { store: { cancellations }, now }: Pick<AppPort, 'store' | 'now'>,
  jobs: readonly JobRecord[],
  openOf: (jids: ReadonlySet<string>) => Promise<{ has(jid: string): boolean }>,
): Promise<BulkResult> {
  const rows = jobs.map(({ text }) => {
    const payload = readPayload(text)
    return payload ? jidsOf(payload) : []
  })
  const jids = [...new Set(rows.flat())]
  const made = await cancellations.request(jids, now())
  const versions = new Map(jids.map((jid, i) => [jid, made[i]]))
  const open = await openOf(new Set(jobs.map(({ jid }) => jid)))
  const closed = [...new Set(rows.flatMap((own, i) => (open.has((jobs[i] as JobRecord).jid) ? [] : own)))]
  const states = await Promise.all(closed.map((jid) => cancellations.withdraw(jid, now(), versions.get(jid))))
  const stopped = new Set(closed.filter((_, i) => states[i] === 'dropped' || states[i] === 'aborted'))
  const answers = jobs.map(({ jid }, i) => open.has(jid) || rows[i]?.some((own) => stopped.has(own)) === true)
  const ended = jobs.find((_, i) => !answers[i])
  const done = answers.filter(Boolean).length
  const message = ended && `${nameOf(ended.text)} does not run or wait there any more`
  const error = message && new HighkiqError('UNKNOWN_JID', message)
  return { done, refused: jobs.length - done, ...(error ? { error } : {}) }
}
