import { type OrderedPush, shardOf } from '../../contract.ts'
import { type Bundle, bundle } from '../../sql/ordered-pushes.ts'
import { type Change, newRow, type WaitingRow } from '../../sql/ordered-rows.ts'
import type { Database } from '../server/database.ts'
import { InFlightTable } from './in-flight.ts'
import type { OpenQueue, PushedQueue } from './open-queue.ts'
import { WaitingTable } from './waiting.ts'

/** Returns the ids of items, each once. */
export function idsOf(items: readonly OrderedPush[]): string[] {
  return [...new Set(items.map(({ id }) => id.toWellFormed()))]
}

/** Stores items. New ids cost one statement, however many they are. */
export async function pushItems(
  db: Database,
  { open, ...there }: PushedQueue,
  items: readonly OrderedPush[],
): Promise<void> {
  const [waiting, flights] = [db.get(WaitingTable), db.get(InFlightTable)]
  const bundles = bundle(items)
  const known = await waiting.find(open.id, [...there.waiting])
  const before = new Map([...known.values()].map((row) => [row, { ...row }]))
  const fresh: WaitingRow[] = []
  const changes: Change[] = []
  for (const [id, { payloads, performIn, wake }] of bundles) {
    const row = known.get(id) ?? newRow(id, positionOf(open, id, there.inFlight.has(id), Math.min(performIn, wake)))
    changes.push([row, payloads])
    if (!known.has(id)) fresh.push(row)
  }
  await waiting.add(open.id, changes)
  await wakeUp(open, bundles, known)
  await waiting.change(
    open.id,
    [...before].filter(([row, old]) => isChanged(row, old)).map(([row]) => row),
  )
  await flights.noteWaiting(
    open.id,
    fresh.filter((row) => row.inFlight),
  )
  if (await waiting.enterFresh(open.id, fresh, await open.addFresh(fresh))) open.notify()
}

function positionOf(open: OpenQueue, id: string, isInFlight: boolean, performIn: number) {
  return { shard: shardOf(id, open.queue.shards), inFlight: Number(isInFlight), performIn, retryCount: -1 }
}

/** Sets the earlier times of ids that wait already, where an item asks for that. */
async function wakeUp(
  open: OpenQueue,
  bundles: ReadonlyMap<string, Bundle>,
  known: ReadonlyMap<string, WaitingRow>,
): Promise<void> {
  const woken: WaitingRow[] = []
  for (const row of known.values()) {
    const { wake } = bundles.get(row.id) as Bundle
    if (wake >= row.performIn) continue
    row.performIn = wake
    if (!row.inFlight) woken.push(row)
  }
  await open.readShards(woken.map(({ shard }) => shard))
  for (const { shard, performIn } of woken) open.dueAt(await open.changeShard(shard), performIn)
}

function isChanged(row: WaitingRow, before: WaitingRow): boolean {
  return row.size !== before.size || row.score !== before.score || row.performIn !== before.performIn
}
