/** Refuses filters by members of a task's `meta` that redact hides. */

import type { Redaction } from '../access/redact.ts'
import { invalid } from '../server/answer.ts'

/** A filter by a hidden value would tell whether a guess is right. @throws INVALID_REQUEST */
export function refuseHidden(redaction: Redaction, meta: Readonly<Record<string, unknown>> = {}): void {
  const shown = redaction.value(meta)
  const hidden = Object.keys(meta).find((name) => shown[name] !== meta[name])
  if (hidden !== undefined) {
    throw invalid(`meta.${hidden} is hidden by redact: find the tasks by another member of meta`)
  }
}
