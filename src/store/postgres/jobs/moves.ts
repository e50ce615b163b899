/** Moving jobs inside a write transaction, with all changes that come with them. */

import { HighkiqError } from '../../../job/errors.ts'
import type { Destination, Effect, Move, SwapAnswer } from '../../contract.ts'
import { type Ledgers, withLedgers } from '../ledgers/ledgers.ts'
import { Arrivals } from '../queues/arrivals.ts'
import type { Database } from '../server/database.ts'
import type { StoreServer } from '../server/store-server.ts'

/** The most items that one transaction pushes, moves or prunes. */
export const CHUNK = 1000

/** Applies all items in one transaction. If one can't be applied, each gets its own, so that only that one fails. */
export async function applyAll<Item>(
  server: StoreServer,
  items: readonly Item[],
  now: number,
  apply: (db: Database, ledgers: Ledgers, items: readonly Item[]) => Promise<SwapAnswer[]>,
): Promise<SwapAnswer[]> {
  const together = (some: readonly Item[]) =>
    server.write((db) => withLedgers(db, now, (ledgers) => apply(db, ledgers, some)))
  try {
    return await together(items)
  } catch (thrown) {
    if (thrown instanceof HighkiqError) throw thrown
    const answers: SwapAnswer[] = []
    for (const item of items) answers.push(...(await together([item]).catch((): SwapAnswer[] => ['error'])))
    return answers
  }
}

/** Does the same with items that are applied one by one. */
export function applyEach<Item>(
  server: StoreServer,
  items: readonly Item[],
  now: number,
  apply: (db: Database, ledgers: Ledgers, item: Item) => Promise<SwapAnswer>,
): Promise<SwapAnswer[]> {
  return applyAll(server, items, now, async (db, ledgers, some) => {
    const answers: SwapAnswer[] = []
    for (const item of some) answers.push(await apply(db, ledgers, item))
    return answers
  })
}

/** Moves the jobs that were removed from their queue or set. Answers `gone` for the others. */
export async function moveAll(
  db: Database,
  ledgers: Ledgers,
  moves: readonly Move[],
  isRemoved: readonly boolean[],
): Promise<SwapAnswer[]> {
  await ledgers.prepare(moves.flatMap(({ effects }, i) => (isRemoved[i] ? (effects ?? []) : [])))
  for (const [i, { to, effects }] of moves.entries()) if (isRemoved[i]) await move(db, ledgers, to, effects)
  return isRemoved.map((removed) => (removed ? 'ok' : 'gone'))
}

/** Moves a job to its destination (null: it is done), and applies its effects, except those `applied` before. */
export async function move(
  db: Database,
  ledgers: Ledgers,
  to: Destination | null,
  effects?: readonly Effect[],
  applied?: ReadonlySet<Effect>,
): Promise<void> {
  if (to?.to !== 'queue') {
    await ledgers.apply(effects, applied)
    if (to) db.get(Arrivals).add(to)
  } else if (await ledgers.admit(to.text, effects, applied)) {
    db.get(Arrivals).add(to)
  }
}
