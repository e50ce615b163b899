/** Storing pushed jobs in chunks: plain ones with one statement for each queue, others in a write transaction. */

import { baseQueue } from '../../../job/priority.ts'
import { inSteps, type PushStep } from '../../../job/push-steps.ts'
import { queueFull } from '../../../job/queue-full.ts'
import { NOTHING_REFUSED, ONCE_SECONDS, type PushItem, type RefusedPush } from '../../contract.ts'
import { withLedgers } from '../ledgers/ledgers.ts'
import { Arrivals } from '../queues/arrivals.ts'
import { slicesOf } from '../queues/slices.ts'
import { UniqueLocks } from '../queues/unique.ts'
import type { Database } from '../server/database.ts'
import { ANSWER_SECONDS, type StoreServer } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'
import { CHUNK, move } from './moves.ts'
import { isPlain, pushPlain } from './plain-push.ts'

/** Stores jobs in the order given. Those that have no effects do not wait for the writers. */
export async function pushItems(
  server: StoreServer,
  items: readonly PushItem[],
  now: number,
): Promise<readonly RefusedPush[]> {
  if (!items.every(isPlain)) return pushInChunks(server, items, (db, chunk) => pushAll(db, chunk, now))
  const steps: PushStep<RefusedPush>[] = []
  for (const [queue, some] of byQueue(items)) {
    for (let from = 0; from < some.length; from += CHUNK) {
      for (const chunk of slicesOf(some.slice(from, from + CHUNK), ({ text }) => text.length))
        steps.push({ items: chunk, put: () => pushPlain(server, queue, chunk) })
    }
  }
  return inSteps(steps, server.stepsOptions)
}

function byQueue<Item extends { queue: string }>(items: readonly Item[]): Map<string, Item[]> {
  const queues = new Map<string, Item[]>()
  for (const item of items) {
    const some = queues.get(item.queue)
    if (some) some.push(item)
    else queues.set(item.queue, [item])
  }
  return queues
}

/**
 * Pushes items in chunks. Each chunk is one write, and so in one transaction. `push` stores one chunk; `itemOf` returns what a
 * PushError names.
 */
export async function pushInChunks<Item>(
  server: StoreServer,
  items: readonly Item[],
  push: (db: Database, chunk: Item[]) => Promise<readonly RefusedPush[]>,
  itemOf: (item: Item) => unknown = (item) => item,
): Promise<readonly RefusedPush[]> {
  const steps: PushStep<RefusedPush>[] = []
  for (let from = 0; from < items.length; from += CHUNK) {
    const chunk = items.slice(from, from + CHUNK)
    const put = () => server.write((db) => push(db, chunk), ANSWER_SECONDS)
    steps.push({ items: chunk.map(itemOf), put })
  }
  return await inSteps(steps, server.stepsOptions)
}

/** Stores jobs in the order given. Returns the jobs that it refused because of a lock or a full queue. */
export async function pushAll(db: Database, items: readonly PushItem[], now: number): Promise<readonly RefusedPush[]> {
  let refused = NOTHING_REFUSED
  await withLedgers(db, now, async (ledgers) => {
    const arrivals = db.get(Arrivals)
    const lengths = new Map<string, number>()
    const lengthOf = async (queue: string) => {
      const known = lengths.get(queue)
      if (known !== undefined) return known
      // From here on the map counts what this call adds.
      await arrivals.store()
      const length = (await db.first<{ size: number }>(sql.queue.length, queue))?.size ?? 0
      lengths.set(queue, length)
      return length
    }
    const wanted = await notYetPushed(db, items)
    const locks = await UniqueLocks.open(db, wanted, now)
    for (const item of wanted) {
      const { maxLength } = item
      const isFull =
        maxLength !== undefined && item.to === 'queue' && (await lengthOf(baseQueue(item.queue))) >= maxLength
      const held = isFull ? locks.held(item) : locks.acquire(item)
      if (held || isFull) {
        refused = [...refused, { item, holder: held?.holder ?? null, due: held?.due ?? null }]
        if (item.once !== undefined) await db.run(sql.queue.forgetPush, item.once)
        continue
      }
      if (lengths.size > 0 && item.to === 'queue') {
        const queue = baseQueue(item.queue)
        const length = lengths.get(queue)
        if (length !== undefined) lengths.set(queue, length + 1)
      }
      await move(db, ledgers, item, item.effects)
    }
    await locks.save()
  })
  return refused
}

/** Stores all jobs, except those that it refuses because of a lock, which it returns. @throws QUEUE_FULL */
export async function pushAllOrNone(
  db: Database,
  items: readonly PushItem[],
  now: number,
): Promise<readonly RefusedPush[]> {
  const refused = await pushAll(db, items, now)
  const full = refused.find(({ holder }) => holder === null)
  if (!full) return refused
  const { queue, maxLength } = full.item as { queue: string; maxLength: number }
  throw queueFull('a job of this transaction', queue, maxLength)
}

/**
 * Returns the items to store: all but those with an id in `once` that were pushed before. Remembers the ids, by the server's
 * clock: a process whose own clock is ahead must not forget the ids of others.
 */
async function notYetPushed(db: Database, items: readonly PushItem[]): Promise<readonly PushItem[]> {
  const ids = items.flatMap(({ once }) => once ?? [])
  if (ids.length === 0) return items
  const ms = ONCE_SECONDS * 1000
  await db.run(sql.queue.deleteOldPushes, ms)
  const stored = await db.all<{ jid: string }>(sql.queue.rememberPushes, ids, ms)
  const isNew = new Set(stored.map(({ jid }) => jid))
  // The store keeps one of several items with the same id.
  return items.filter(({ once }) => once === undefined || isNew.delete(once))
}
