/** Requests to cancel the jobs of a page in one step. */

import type { AppPort } from '../app/port.ts'
import { readPayload } from '../job/payload.ts'
import { jidsOf } from '../job/rows.ts'
import { nameOf } from './actions.ts'
import type { BulkResult } from './bulk.ts'
import type { JobRecord } from './record.ts'

/**
 * Requests to cancel these jobs, and then withdraws the requests for those that `openOf` does not return: they have ended or
 * moved. These count as refused.
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
  const jids = rows.flat()
  const earlier = new Set(await cancellations.among(jids))
  await cancellations.request(jids, now())
  const open = await openOf(new Set(jobs.map(({ jid }) => jid)))
  const isCancelled = async ({ jid }: JobRecord, i: number) => {
    if (open.has(jid)) return true
    // A request that was made before this action stays.
    const own = rows[i]?.filter((one) => !earlier.has(one)) ?? []
    const states = await Promise.all(own.map((one) => cancellations.withdraw(one, now())))
    return states.some((state) => state === 'dropped' || state === 'aborted')
  }
  const answers = await Promise.all(jobs.map(isCancelled))
  const ended = jobs.find((_, i) => !answers[i])
  const done = answers.filter(Boolean).length
  const error = ended && new Error(`${nameOf(ended.text)} does not run or wait there any more`)
  return { done, refused: jobs.length - done, ...(error ? { error } : {}) }
}
