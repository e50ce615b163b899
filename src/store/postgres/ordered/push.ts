/** Pushing payloads for ids that wait, that are in flight, or that are new. */

import { HighkiqError } from '../../../job/errors.ts'
import { ORDERED_PAGE, type OrderedPush, type ScoredPayload, shardOf } from '../../contract.ts'
import type { Database } from '../server/database.ts'
import { InFlightTable } from './in-flight.ts'
import type { OpenQueue, PushedQueue } from './open-queue.ts'
import { type Change, newRow, type WaitingRow, WaitingTable } from './waiting.ts'

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
