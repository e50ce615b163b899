/** Splits a worker's step into parts, each of which is one script. */

import { hasOnlyRecords, recordsIn, type SettleAndFetch, type Settlement, type Started } from '../../contract.ts'
import { chunksOf, IN_ORDER } from '../server/chunks.ts'
import { MAX_QUEUES, type Owner } from './owner.ts'
import { MAX_ITEMS, type Part } from './part-content.ts'

/** One script settles or fetches at most this many bytes of jobs, except of those that go to the front of their queues. */
export const MAX_BYTES = 1_000_000
/** The weight of an effect: a settlement of many rows weighs as much as one of many texts. */
const CHARACTERS_OF_AN_EFFECT = MAX_BYTES / MAX_ITEMS

/**
 * Splits a step into parts of bounded work. Each part may settle; the first ones also fetch. So two concurrent steps fetch in
 * the order in which they were sent.
 */
export function* partsOf(owner: Owner, { started, settlements, fetch }: SettleAndFetch, n: number): Generator<Part> {
  const lengthOf = (i: number) => weightOf(settlements[i] as Settlement)
  const bounds = settlements.some(goesToFront) ? IN_ORDER : { count: MAX_ITEMS, length: MAX_BYTES }
  const endings = [...chunksOf([...settlements.keys()], lengthOf, bounds.count, bounds.length)]
  const begun = [...started.keys()].filter((i) => !hasOnlyRecords(started[i] as Started))
  let records = recordsIn(started.filter(hasOnlyRecords))
  const beginnings = [...chunksOf(begun, () => 0, MAX_ITEMS)]
  // A step without settlements and queues still learns whether the owner has its lease.
  let left = Math.max(beginnings.length, endings.length, 1)
  const next = () => {
    const part = { started: beginnings.shift() ?? [], settlements: endings.shift() ?? [], records }
    records = []
    left--
    return part
  }
  if (n > 0) yield* fetchingParts(owner, [...new Set(fetch.queues)], n, next)
  // A script needs a queue to check the lease.
  const [any = ''] = owner.queues
  while (left > 0) yield { queues: [any], ...next(), n: 0, asked: 0 }
}

/** The parts that fetch up to `n` jobs; the caller reduces `n` of a part by the number of jobs that it fetched. */
function* fetchingParts(
  owner: Owner,
  queues: readonly string[],
  n: number,
  next: () => Pick<Part, 'started' | 'settlements' | 'records'>,
): Generator<Part> {
  let left = n
  const number = ++owner.steps
  // While the first queues have enough jobs, a call names no others.
  let size = Math.min(2 * owner.queuesToFill, MAX_QUEUES)
  for (let from = 0; from < queues.length && left > 0; from += size, size = MAX_QUEUES) {
    for (let full = true; full && left > 0; ) {
      const some = queues.slice(from, from + size)
      const part: Part = { queues: some, ...next(), n: Math.min(left, MAX_ITEMS), asked: some.length }
      const wanted = part.n
      yield part
      left -= wanted - part.n
      full = part.n === 0 || part.more === true
      // A later step has fetched, too: jobs that were fetched now would overtake its jobs.
      if (full && owner.steps > number) return
    }
  }
}

function goesToFront({ move, also = [] }: Settlement): boolean {
  return isFront(move) || also.some(({ to }) => isFront(to))
}

function isFront(to: Settlement['move']): boolean {
  return to?.to === 'queue' && to.end === 'front'
}

function weightOf(settlement: Settlement): number {
  const { move, effects = [], also = [] } = settlement
  if (!settlement.effects && !settlement.also) return lengthOf(move)
  if (!move && also.length === 0 && hasOnlyRecords(settlement)) return 0
  const texts = also.reduce((sum, { to }) => sum + to.text.length, lengthOf(move))
  return texts + Math.max(effects.length + also.length - 1, 0) * CHARACTERS_OF_AN_EFFECT
}

function lengthOf(move: Settlement['move']): number {
  return (move?.text.length ?? 0) + (move?.to === 'finished' ? (move.members?.length ?? 0) : 0)
}
