/** Moving jobs inside a write transaction, with all changes that come with them. */

import { HighkiqError } from '../../../job/errors.ts'
import type { Destination, Effect, SwapAnswer } from '../../contract.ts'
import type { Database } from '../file/database.ts'
import type { StoreFile } from '../file/store-file.ts'
import { type Ledgers, withLedgers } from '../ledgers/ledgers.ts'
import { JobSets } from '../queues/job-sets.ts'
import { Queues } from '../queues/queues.ts'

/** The most items that one transaction pushes, moves or prunes. */
export const CHUNK = 1000

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
