/** Whether the store can be read and written, and how long it takes to answer. */

import { randomUUID } from 'node:crypto'
import type { Highkiq } from '../index.ts'
import { finding } from '../store/contract/finding-texts.ts'
import type { CheckResult } from '../store/contract.ts'

const ROUNDS = 5
const SLOW_MS = 100
const LOCK = 'doctor'
const LOCK_SECONDS = 10

/** Opens the store, and writes and removes a lock of its own unless `readOnly`. @throws what the store throws */
export async function storeResult({ store }: Highkiq, readOnly = false): Promise<CheckResult> {
  await store.open()
  const holder = randomUUID()
  const times: number[] = []
  let isWritten = false
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const began = performance.now()
      if (readOnly) await store.workers.leases()
      // Another doctor may hold the lock: nothing is written then.
      else isWritten = await store.workers.acquireLock(LOCK, holder, LOCK_SECONDS)
      times.push(performance.now() - began)
    }
  } finally {
    if (!readOnly) await store.workers.releaseLock(LOCK, holder)
  }
  const median = times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] as number
  const answered = { url: store.url, ms: Number(median.toPrecision(2)) }
  const severity = median < SLOW_MS ? 'ok' : 'warning'
  if (readOnly) return finding(severity, 'store-read-only', answered)
  return isWritten ? finding(severity, 'store-writable', answered) : finding(severity, 'store-answers', answered)
}
