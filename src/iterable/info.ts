/** Looking at iterable jobs from outside. */

import { parseJson } from '../job/json.ts'
import type { Store } from '../store/contract.ts'

export interface IterationInfo {
  /** Attempts so far; 0: it was cancelled before the first. */
  executions: number
  /** Seconds, of all attempts together. */
  runtime: number
  /** Where it goes on; null: from the first item. */
  cursor: unknown
  /** When it was cancelled; null: it was not. */
  cancelled: Date | null
}

export async function iterationOf(store: Store, jid: string): Promise<IterationInfo | null> {
  const [record] = await store.jobs.iterations([jid])
  if (!record) return null
  const { executions, runtime, cursor, cancelled } = record
  return {
    executions,
    runtime,
    cursor: cursor === null ? null : readable(cursor),
    cancelled: cancelled === null ? null : new Date(cancelled),
  }
}

/** Another program may have written anything. */
function readable(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return text
  }
}
