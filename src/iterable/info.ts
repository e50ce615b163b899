/** Reads the saved progress of iterable jobs. */

import { parseJson } from '../job/json.ts'
import type { Store } from '../store/contract.ts'

export interface IterationInfo {
  /** The number of attempts so far; 0 when the job was cancelled before the first. */
  executions: number
  /** Run time of all attempts together, in seconds. */
  runtime: number
  /** The cursor of the item where the job continues; null means the first item. */
  cursor: unknown
  /** When the job was cancelled; null when it was not. */
  cancelled: Date | null
}

export async function iterationOf(store: Store, jid: string): Promise<IterationInfo | null> {
  const [record] = await store.jobs.iterations([jid])
  if (!record) return null
  const { executions, runtime } = record
  const cursor = record.cursor === null ? null : readable(record.cursor)
  return { executions, runtime, cursor, cancelled: record.cancelled === null ? null : new Date(record.cancelled) }
}

/** Returns the cursor, or its text when that is not valid JSON: another program may have written it. */
function readable(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return text
  }
}
