/** Pushing payloads for ids that wait, that are in flight, or that are new. */

import { HighkiqError } from '../../../job/errors.ts'
import { ORDERED_PAGE, type OrderedPush, type ScoredPayload, shardOf } from '../../contract.ts'
import type { InFlightTable } from './in-flight.ts'
import type { OpenQueue } from './open-queue.ts'
import { type Change, newRow, type WaitingRow, type WaitingTable, withPayload } from './waiting.ts'

/** All items of one id, in their order. */
interface Bundle {
  payloads: ScoredPayload[]
  performIn: number
  /** The earliest time that an item asks to wake the id at. */
  wake: number
}

/** @throws INVALID_JOB when an item can't be stored; then nothing is stored */
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
  open: OpenQueue,
  waiting: WaitingTable,
  flights: InFlightTable,
  items: readonly OrderedPush[],
): void {
  const bundles = bundle(items)
  const ids = [...bundles.keys()]
  const inFlight = flights.among(open.id, ids)
  const rowOf = (id: string, { performIn, wake }: Bundle) => {
    const position = { shard: shardOf(id, open.queue.shards), inFlight: inFlight.has(id) ? 1 : 0, retryCount: -1 }
    return newRow(id, { ...position, performIn: Math.min(performIn, wake) })
  }
  if (inFlight.size === 0 && bundles.size === items.length) {
    const rows = Array.from(bundles, ([id, one]) => withPayload(rowOf(id, one), one.payloads[0] as ScoredPayload))
    if (waiting.enterNew(open.id, rows)) {
      open.addFresh(rows)
      return
    }
  }
  const there = waiting.find(open.id, ids)
  const fresh: WaitingRow[] = []
  const grown: [row: WaitingRow, before: number][] = []
  const woken: WaitingRow[] = []
  const changes: Change[] = []
  for (const [id, one] of bundles) {
    const { payloads, wake } = one
    const known = there.get(id)
    if (known) {
      changes.push([known, payloads])
      if (wake < known.performIn) {
        known.performIn = wake
        if (!known.inFlight) open.dueAt(open.changeShard(known.shard), wake)
        woken.push(known)
      } else grown.push([known, known.size])
    } else {
      const row = rowOf(id, one)
      changes.push([row, payloads])
      fresh.push(row)
    }
  }
  waiting.add(open.id, changes)
  waiting.grow(open.id, grown)
  for (const row of woken) waiting.change(open.id, row)
  const alsoInFlight = fresh.filter((row) => row.inFlight)
  flights.noteWaiting(open.id, alsoInFlight)
  open.addFresh(alsoInFlight.length > 0 ? fresh.filter((row) => !row.inFlight) : fresh)
  waiting.enter(open.id, fresh)
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
