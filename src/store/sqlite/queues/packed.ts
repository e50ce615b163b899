/** Passes many texts to one statement: the bytes of all, and where each is. This costs less than JSON, or row by row. */

/** The most bytes of texts in one statement, except for a job that is larger by itself. */
export const MOST_BYTES = 8_000_000

/** Splits items into slices for one statement each. */
export function* slicesOf<Item>(items: readonly Item[], lengthOf: (item: Item) => number): Generator<Item[]> {
  let slice: Item[] = []
  let sum = 0
  for (const item of items) {
    const length = lengthOf(item)
    sum += length
    if (slice.length > 0 && sum > MOST_BYTES) {
      yield slice
      slice = []
      sum = length
    }
    slice.push(item)
  }
  if (slice.length > 0) yield slice
}

/** Texts of one slice have fewer bytes than this, because MOST_BYTES counts characters of at most 3 bytes. */
const SPAN = 2 ** 25

/** Returns where each text is, as start * SPAN + length, and the bytes of all. Half a surrogate pair becomes U+FFFD. */
export function packed(texts: readonly string[]): [spans: string, bytes: Buffer] {
  const text = texts.join('')
  let bytes = Buffer.from(text)
  const isAscii = bytes.length === text.length
  if (!isAscii) bytes = Buffer.from(texts.map((one) => one.toWellFormed()).join(''))
  let start = 0
  const spans = texts.map((one) => {
    const length = isAscii ? one.length : Buffer.byteLength(one)
    start += length
    return (start - length) * SPAN + length
  })
  return [JSON.stringify(spans), bytes]
}
