import { RESCUE_CHARACTERS, RESCUE_JOBS } from '../../contract.ts'

/** The most items and characters that one command carries. */
const MAX_ITEMS = 1000
const MAX_LENGTH = 1_000_000

/**
 * The bounds of one command whose jobs go to the front of their queues, the newest first: between two such commands a
 * worker could fetch the newest job. The server needs some milliseconds for 1,000 of them, or for 10 MB.
 */
export const IN_ORDER = { count: RESCUE_JOBS, length: 2 * RESCUE_CHARACTERS }

/** Splits items into chunks of bounded count and length. An item that is longer than the bound is a chunk of its own. */
export function* chunksOf<T>(
  items: readonly T[],
  lengthOf: (item: T) => number,
  max = MAX_ITEMS,
  maxLength = MAX_LENGTH,
): Generator<T[]> {
  let chunk: T[] = []
  let sum = 0
  for (const item of items) {
    const length = lengthOf(item)
    if (chunk.length > 0 && (chunk.length >= max || sum + length > maxLength)) {
      yield chunk
      chunk = []
      sum = 0
    }
    chunk.push(item)
    sum += length
  }
  if (chunk.length > 0) yield chunk
}

/** Joins groups of items into such chunks. A group that is larger than the bounds is a chunk of its own. */
export function* chunksOfGroups<T>(groups: readonly T[][], lengthOf: (item: T) => number, max: number): Generator<T[]> {
  let chunk: T[] = []
  let sum = 0
  for (const group of groups) {
    const length = group.reduce((all, item) => all + lengthOf(item), 0)
    if (chunk.length > 0 && (chunk.length + group.length > max || sum + length > MAX_LENGTH)) {
      yield chunk
      chunk = []
      sum = 0
    }
    chunk = chunk.concat(group)
    sum += length
  }
  if (chunk.length > 0) yield chunk
}

/** Divides a flat answer, such as names and values by turns, into pairs. */
export function pairs<First = string, Second = string>(flat: readonly unknown[]): [First, Second][] {
  const found: [First, Second][] = []
  for (let i = 0; i + 1 < flat.length; i += 2) found.push([flat[i] as First, flat[i + 1] as Second])
  return found
}
