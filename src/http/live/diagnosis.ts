/** What the doctor finds: examined when a client asks, once for all clients. */

import type { Highkiq } from '../../app.ts'
import { cached } from '../../job/cached.ts'
import { isDigest } from '../../job/unique.ts'
import { HIDDEN, type Redaction } from '../access/redact.ts'
import type { Made } from '../schemas.ts'

/** How long a diagnosis is reused after its end: it searches for jobs, and watches growing queues for a second. */
const REUSED_MS = 5000

/** Returns a function that examines once at a time; other callers wait for its end. */
export function diagnoses(hq: Highkiq, redaction: Redaction, readOnly: boolean): () => Promise<Made<'Diagnosis'>> {
  // A key is a digest of arguments, by which a guess could be checked.
  const lockKey = (key: string) => (redaction.isOn && isDigest(key) ? HIDDEN : key)
  const diagnose = cached(Number.POSITIVE_INFINITY, async (): Promise<Made<'Diagnosis'>> => {
    // It is loaded when it is needed, because few processes need it.
    const { examine } = await import('../../doctor/examine.ts')
    const diagnosis = { at: new Date(hq.now()), ...(await examine(hq, { app: '', readOnly, lockKey })) }
    setTimeout(diagnose.forget, REUSED_MS).unref()
    return diagnosis
  })
  return diagnose
}
