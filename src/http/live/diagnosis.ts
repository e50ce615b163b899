/** What the doctor finds: examined when a client asks, once for all clients. */

import type { Highkiq } from '../../app.ts'
import { cached } from '../../job/cached.ts'
import { isDigest } from '../../job/unique.ts'
import { HIDDEN, type Redaction } from '../access/redact.ts'
import type { Made } from '../schemas.ts'

/** How long a diagnosis is reused: it searches for jobs, and watches growing queues for a second. */
const REUSED_MS = 5000

export function diagnoses(hq: Highkiq, redaction: Redaction) {
  // A key is a digest of arguments, by which a guess could be checked.
  const lockKey = (key: string) => (redaction.isOn && isDigest(key) ? HIDDEN : key)
  return cached(REUSED_MS, async (): Promise<Made<'Diagnosis'>> => {
    // It is loaded when it is needed, because few processes need it.
    const { examine } = await import('../../doctor/examine.ts')
    return { at: new Date(hq.now()), ...(await examine(hq, { app: '', lockKey })) }
  })
}
