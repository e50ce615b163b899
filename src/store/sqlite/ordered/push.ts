/** Payloads come in: for ids that wait, that are in flight, or that nobody knew. */

import { HighkiqError } from '../../../job/errors.ts'
import { ORDERED_PAGE, type OrderedPush, type ScoredPayload, shardOf } from '../../contract.ts'
import type { OrderedBook } from './book.ts'
import type { OrderedFlights } from './flight.ts'
import { type Change, newRow, type OrderedWaiting, type WaitingRow } from './waiting.ts'

/** All items of one id, in the order in which they came. */
interface Bundle {
  payloads: ScoredPayload[]
  performIn: number
  /** The earliest time that an item asks to wake the id at. */
  wake: number
}

/** @throws INVALID_JOB when an item can't be stored: nothing is */
export function checkItems(items: readonly OrderedPush[]): void {
  if (items.length > ORDERED_PAGE) {
    throw new HighkiqError('INVALID_JOB', `${items.length} ordered jobs at once: push at most ${ORDERED_PAGE} a call`)
  }
  for (const { id, score, performIn } of items) {
    if (Number.isFinite(score) && Number.isFinite(performIn)) continue
    throw new HighkiqError('INVALID_JOB', `score and performIn of the ordered job ${id} must be finite numbers`)
  }
}

export function pushItems(
  book: OrderedBook,
  waiting: OrderedWaiting,
  flights: OrderedFlights,
  items: readonly OrderedPush[],
): void {
  const bundles = bundle(items)
  const ids = [...bundles.keys()]
  const there = waiting.find(book.id, ids)
  const inFlight = flights.among(book.id, ids)
  const fresh: WaitingRow[] = []
  const grown: [row: WaitingRow, before: number][] = []
  const woken: WaitingRow[] = []
  const changes: Change[] = []
  for (const [id, { payloads, performIn, wake }] of bundles) {
    const known = there.get(id)
    if (known) {
      changes.push([known, payloads])
      if (wake < known.performIn) {
        known.performIn = wake
        if (!known.held) book.soon(book.shard(known.shard), wake)
        woken.push(known)
      } else grown.push([known, known.size])
    } else {
      const place = { shard: shardOf(id, book.queue.shards), held: inFlight.has(id) ? 1 : 0, retryCount: -1 }
      const row = newRow(id, { ...place, performIn: Math.min(performIn, wake) })
      changes.push([row, payloads])
      fresh.push(row)
    }
  }
  waiting.add(book.id, changes)
  waiting.grow(book.id, grown)
  for (const row of woken) waiting.change(book.id, row)
  const held = fresh.filter((row) => row.held)
  flights.more(book.id, held)
  book.waitFresh(held.length > 0 ? fresh.filter((row) => !row.held) : fresh)
  waiting.enter(book.id, fresh)
}

function bundle(items: readonly OrderedPush[]): Map<string, Bundle> {
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
