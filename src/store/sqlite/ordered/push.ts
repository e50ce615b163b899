import { type OrderedPush, type ScoredPayload, shardOf } from '../../contract.ts'
import { type Bundle, bundle } from '../../sql/ordered-pushes.ts'
import { type Change, newRow, type WaitingRow, withPayload } from '../../sql/ordered-rows.ts'
import type { InFlightTable } from './in-flight.ts'
import type { OpenQueue } from './open-queue.ts'
import type { WaitingTable } from './waiting.ts'

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
