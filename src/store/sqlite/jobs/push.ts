/** Storing pushed jobs: in chunks, each of them in one write transaction. */

import { baseQueue } from '../../../job/priority.ts'
import { inSteps, type PushStep } from '../../../job/push-steps.ts'
import { queueFull } from '../../../job/queue-full.ts'
import { hasOnlyRecords, NOTHING_REFUSED, ONCE_SECONDS, type PushItem, type RefusedPush } from '../../contract.ts'
import type { Database } from '../file/database.ts'
import { explainPush, maybeDone } from '../file/errors.ts'
import { ANSWER_SECONDS, type StoreFile } from '../file/store-file.ts'
import { withLedgers } from '../ledgers/ledgers.ts'
import { Queues } from '../queues/queues.ts'
import { acquireUnique, heldUnique } from '../queues/unique.ts'
import { sql } from '../sql.generated.ts'
import { CHUNK, move } from './moves.ts'

/**
 * Pushes items in chunks. Each chunk is one write, and so in one transaction. `push` stores one chunk; `itemOf` returns what a
 * PushError names.
 */
export async function pushInChunks<Item>(
  file: StoreFile,
  items: readonly Item[],
  push: (db: Database, chunk: Item[]) => readonly RefusedPush[],
  itemOf: (item: Item) => unknown = (item) => item,
): Promise<readonly RefusedPush[]> {
  const steps: PushStep<RefusedPush>[] = []
  for (let from = 0; from < items.length; from += CHUNK) {
    const chunk = items.slice(from, from + CHUNK)
    const put = () => file.write((db) => push(db, chunk), ANSWER_SECONDS)
    steps.push({ items: chunk.map(itemOf), put })
  }
  return inSteps(steps, { maybeDone, explain: (thrown) => explainPush(file.options.path, thrown) })
}

/**
 * Stores jobs in the order given; those for the back of a queue are stored together. Returns the jobs that it refused
 * because of a lock or a full queue.
 * @throws STORE_FULL
 */
export function pushAll(db: Database, items: readonly PushItem[], now: number): readonly RefusedPush[] {
  let refused = NOTHING_REFUSED
  withLedgers(db, now, (ledgers) => {
    const queues = db.get(Queues)
    let back = new Map<string, string[]>()
    const pushBack = () => {
      for (const [queue, texts] of back) queues.pushBack(queue, texts)
      back = new Map()
    }
    const lengths = new Map<string, number>()
    const lengthOf = (queue: string) => {
      const known = lengths.get(queue)
      if (known !== undefined) return known
      // From here on the map counts what this call adds.
      pushBack()
      const length = db.first<{ size: number }>(sql.queue.length, queue)?.size ?? 0
      lengths.set(queue, length)
      return length
    }
    const refuse = (one: RefusedPush) => {
      refused = [...refused, one]
      if (one.item.once !== undefined) db.run(sql.queue.forgetPush, one.item.once)
    }
    for (const item of notYetPushed(db, items, now)) {
      const { maxLength } = item
      const isFull = maxLength !== undefined && item.to === 'queue' && lengthOf(baseQueue(item.queue)) >= maxLength
      const held = item.unique && (isFull ? heldUnique(db, item, now) : acquireUnique(db, item, now))
      if (held || isFull) {
        refuse({ item, holder: held?.holder ?? null, due: held?.due ?? null })
        continue
      }
      if (lengths.size > 0 && item.to === 'queue') {
        const queue = baseQueue(item.queue)
        const length = lengths.get(queue)
        if (length !== undefined) lengths.set(queue, length + 1)
      }
      const { effects } = item
      if (item.to === 'queue' && item.end === 'back' && (!effects || hasOnlyRecords(item))) {
        if (effects) ledgers.apply(effects)
        const texts = back.get(item.queue)
        if (texts) texts.push(item.text)
        else back.set(item.queue, [item.text])
      } else {
        if (item.to === 'queue') pushBack()
        move(db, ledgers, item, effects)
      }
    }
    pushBack()
  })
  db.checkRoom()
  return refused
}

/** Stores all jobs, except those that it refuses because of a lock, which it returns. @throws QUEUE_FULL, STORE_FULL */
export function pushAllOrNone(db: Database, items: readonly PushItem[], now: number): readonly RefusedPush[] {
  const refused = pushAll(db, items, now)
  const full = refused.find(({ holder }) => holder === null)
  if (!full) return refused
  const { queue, maxLength } = full.item as { queue: string; maxLength: number }
  throw queueFull('a job of this transaction', queue, maxLength)
}

/** Returns the items to store: all but those with an id in `once` that were pushed before. Remembers the ids. */
function notYetPushed(db: Database, items: readonly PushItem[], now: number): readonly PushItem[] {
  if (!items.some(({ once }) => once !== undefined)) return items
  db.run(sql.queue.deleteOldPushes, now - ONCE_SECONDS * 1000)
  return items.filter(({ once }) => once === undefined || db.first(sql.queue.rememberPush, once, now))
}
