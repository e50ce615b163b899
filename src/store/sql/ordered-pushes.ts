/** Pushes to ordered queues, before SQLite or PostgreSQL stores them. */

import { invalidJob } from '../../job/errors.ts'
import { ORDERED_PAGE, type OrderedPush, type ScoredPayload } from '../contract.ts'

/** All items of one id, in their order. */
export interface Bundle {
  payloads: ScoredPayload[]
  performIn: number
  /** The earliest time that an item asks to wake the id at. */
  wake: number
}

/** @throws INVALID_JOB when an item can't be stored; then nothing is stored */
export function checkItems(items: readonly OrderedPush[]): void {
  if (items.length > ORDERED_PAGE) {
    throw invalidJob(`${items.length} ordered jobs at once: push at most ${ORDERED_PAGE} a call`)
  }
  for (const { id, score, performIn } of items) {
    if (Number.isFinite(score) && Number.isFinite(performIn)) continue
    throw invalidJob(`score and performIn of the ordered job ${id} must be finite numbers`)
  }
}

/** Returns the items of each id together, in the order of the ids. */
export function bundle(items: readonly OrderedPush[]): Map<string, Bundle> {
  const bundles = new Map<string, Bundle>()
  for (const { id: given, payload, score, performIn, wake } of items) {
    const id = given.toWellFormed()
    let one = bundles.get(id)
    if (!one) {
      one = { payloads: [], performIn, wake: Number.POSITIVE_INFINITY }
      bundles.set(id, one)
    }
    one.payloads.push([payload.toWellFormed(), score])
    if (wake) one.wake = Math.min(one.wake, performIn)
  }
  return bundles
}
