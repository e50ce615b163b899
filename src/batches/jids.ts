/**
 * The jids of jobs that a batch pushes: callbacks, and the parent in a flow. Each is the bid and eight digits that no
 * row of a task and no placeholder of a batch has.
 */

import { isBid } from '../job/payload.ts'
import type { BatchReader } from '../store/contract.ts'

const DIGITS = { onComplete: 'fc000001', onSuccess: 'fc000002', onDeath: 'fc000003', job: 'fc000004' } as const

export function batchJid(bid: string, which: keyof typeof DIGITS): string {
  return bid + DIGITS[which]
}

const ENDS = Object.values(DIGITS)

/** Returns whether a batch pushes this job: a callback, or the parent in a flow. */
export function isBatchJid(jid: unknown): boolean {
  return typeof jid === 'string' && ENDS.some((end) => jid.endsWith(end) && isBid(jid.slice(0, -end.length)))
}

/** Returns the batch in which a job with this jid may wait as the parent in a flow; undefined for any other jid. */
export function flowOf(jid: string): string | undefined {
  const bid = jid.endsWith(DIGITS.job) ? jid.slice(0, -DIGITS.job.length) : undefined
  return isBid(bid) ? bid : undefined
}

/**
 * Returns the batch inside `outer` that its member is, or in which the member waits as the parent in a flow; undefined for any
 * other job, also one with the id of a batch elsewhere as its jid.
 */
export async function innerBatch(
  reader: Pick<BatchReader, 'find'>,
  outer: string,
  member: string,
): Promise<string | undefined> {
  const bid = flowOf(member) ?? member
  const record = isBid(bid) ? await reader.find(bid) : null
  return record?.parent === outer && (bid === member || record.job?.jid === member) ? bid : undefined
}
