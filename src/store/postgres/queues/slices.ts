/** Splits the texts of many jobs for one statement each. */

/** The most characters, or bytes, of texts in one statement, except for a job that is larger by itself. */
export const MOST_CHARACTERS = 8_000_000

export function* slicesOf<Item>(items: readonly Item[], lengthOf: (item: Item) => number): Generator<Item[]> {
  let slice: Item[] = []
  let sum = 0
  for (const item of items) {
    const length = lengthOf(item)
    sum += length
    if (slice.length > 0 && sum > MOST_CHARACTERS) {
      yield slice
      slice = []
      sum = length
    }
    slice.push(item)
  }
  if (slice.length > 0) yield slice
}
