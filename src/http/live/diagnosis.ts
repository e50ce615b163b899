/** Runs the checks of `highkiq doctor` when a client asks. All clients share the result. */

import type { Highkiq } from '../../app.ts'
import { cached } from '../../job/cached.ts'
import { isDigest } from '../../job/unique.ts'
import { HIDDEN, type Redaction } from '../access/redact.ts'
import type { Made } from '../schemas.ts'

/** How long a diagnosis is reused after its end. It is slow: it searches for jobs, and watches growing queues for a second. */
const REUSED_MS = 5000

/** Returns a function that runs one examination at a time. Other callers wait for that one. */
export function diagnoses(hq: Highkiq, redaction: Redaction, readOnly: boolean): () => Promise<Made<'Diagnosis'>> {
  // Such a key is a digest of arguments: a viewer could test guesses of the arguments with it.
  const lockKey = (key: string) => (redaction.isOn && isDigest(key) ? HIDDEN : key)
  const diagnose = cached(Number.POSITIVE_INFINITY, async (): Promise<Made<'Diagnosis'>> => {
    // The checks are loaded on demand, because few processes need them.
    const { examine } = await import('../../doctor/examine.ts')
    const diagnosis = { at: new Date(hq.now()), ...(await examine(hq, { app: '', readOnly, lockKey })) }
    setTimeout(diagnose.forget, REUSED_MS).unref()
    return diagnosis
  })
  return diagnose
}
