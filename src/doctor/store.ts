/** Whether the store can be read and written, and how long it takes to answer. */

import { randomUUID } from 'node:crypto'
import type { Highkiq } from '../index.ts'
import type { CheckResult } from '../store/contract.ts'

const ROUNDS = 5
const SLOW_MS = 100
const LOCK = 'doctor'
const LOCK_SECONDS = 10

/** Opens the store, and writes and removes a lock of its own. @throws what the store throws */
export async function storeResult({ store }: Highkiq): Promise<CheckResult> {
  await store.open()
  const holder = randomUUID()
  const times: number[] = []
  let isWritten = true
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const began = performance.now()
      // Another doctor may hold the lock: nothing is written then.
      isWritten = await store.workers.acquireLock(LOCK, holder, LOCK_SECONDS)
      times.push(performance.now() - began)
    }
  } finally {
    await store.workers.releaseLock(LOCK, holder)
  }
  const ms = times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] as number
  const text = `${store.url} ${isWritten ? 'takes writes' : 'answers'}, in ${Number(ms.toPrecision(2))} ms`
  if (ms < SLOW_MS) return { severity: 'ok', text }
  const advice = 'Move the workers closer to the store, or find what keeps it busy: each step of a worker waits for it'
  return { severity: 'warning', text, advice }
}
