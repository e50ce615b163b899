/** Storing and moving jobs inside a write transaction, with all changes that come with them. */

import { HighkiqError } from '../../../job/errors.ts'
import { inSteps, type PushStep } from '../../../job/push-steps.ts'
import { type Destination, type Effect, ONCE_SECONDS, type PushItem, type SwapAnswer } from '../../contract.ts'
import type { Database } from '../file/database.ts'
import { ANSWER_SECONDS, type StoreFile } from '../file/store-file.ts'
import { type Ledgers, withLedgers } from '../ledgers/ledgers.ts'
import { JobSets } from '../queues/job-sets.ts'
import { Queues } from '../queues/queues.ts'
import { sql } from '../sql.generated.ts'

/** The most items that one transaction pushes, moves or prunes. */
export const CHUNK = 1000

/**
 * Pushes items in chunks. Each chunk is one write, and so in one transaction. `push` stores one chunk; `itemOf` returns what a
 * PushError names.
 */
export async function pushInChunks<Item>(
  file: StoreFile,
  items: readonly Item[],
  push: (db: Database, chunk: Item[]) => void,
  itemOf: (item: Item) => unknown = (item) => item,
): Promise<void> {
  const steps: PushStep[] = []
  for (let from = 0; from < items.length; from += CHUNK) {
    const chunk = items.slice(from, from + CHUNK)
    steps.push({ items: chunk.map(itemOf), put: () => file.write((db) => push(db, chunk), ANSWER_SECONDS) })
  }
  await inSteps(steps)
}

/** Applies all items in one transaction. If one can't be applied, each gets its own, so that only that one fails. */
export async function applyEach<Item>(
  file: StoreFile,
  items: readonly Item[],
  now: number,
  apply: (db: Database, ledgers: Ledgers, item: Item) => SwapAnswer,
): Promise<SwapAnswer[]> {
  const together = (some: readonly Item[]) =>
    file.write((db) => withLedgers(db, now, (ledgers) => some.map((item) => apply(db, ledgers, item))))
  try {
    return await together(items)
  } catch (thrown) {
    if (thrown instanceof HighkiqError) throw thrown
    const answers: SwapAnswer[] = []
    for (const item of items) answers.push(...(await together([item]).catch((): SwapAnswer[] => ['error'])))
    return answers
  }
}

/** Stores jobs in the order given; those for the back of a queue are stored together. @throws STORE_FULL */
export function pushAll(db: Database, items: readonly PushItem[], now: number): void {
  withLedgers(db, now, (ledgers) => {
    const queues = db.get(Queues)
    let back = new Map<string, string[]>()
    const pushBack = () => {
      for (const [queue, texts] of back) queues.pushBack(queue, texts)
      back = new Map()
    }
    for (const item of notYetPushed(db, items, now)) {
      if (item.to === 'queue' && item.end === 'back' && !item.effects?.length) {
        const texts = back.get(item.queue)
        if (texts) texts.push(item.text)
        else back.set(item.queue, [item.text])
      } else {
        if (item.to === 'queue') pushBack()
        move(db, ledgers, item, item.effects)
      }
    }
    pushBack()
  })
  db.checkRoom()
}

/** Moves a job to its destination (null: it is done), and applies its effects, except those `applied` before. */
export function move(
  db: Database,
  ledgers: Ledgers,
  to: Destination | null,
  effects?: readonly Effect[],
  applied?: ReadonlySet<Effect>,
): void {
  if (to?.to !== 'queue') {
    ledgers.apply(effects, applied)
    if (to) db.get(JobSets).add(to.to, to)
  } else if (ledgers.admit(to.text, effects, applied)) {
    if (to.end === 'front') db.get(Queues).pushFront(to.queue, to.text)
    else db.get(Queues).pushBack(to.queue, [to.text])
  }
}

/** Returns the items to store: all but those with an id in `once` that were pushed before. Remembers the ids. */
function notYetPushed(db: Database, items: readonly PushItem[], now: number): readonly PushItem[] {
  if (!items.some(({ once }) => once !== undefined)) return items
  db.run(sql.queue.deleteOldPushes, now - ONCE_SECONDS * 1000)
  return items.filter(({ once }) => once === undefined || db.first(sql.queue.rememberPush, once, now))
}
