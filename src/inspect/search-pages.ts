/** Searches a list, newest first. A search reads a bounded number of records; its answer says where to go on. */

/** The most records that one search reads, and those that it reads at once. */
const MOST_SEARCHED = 2000
const SEARCHED_AT_ONCE = 500

interface PagesOptions<Item, Position> {
  /** The most items of the answer. */
  limit: number
  before: Position | undefined
  /** Undefined when all are wanted. */
  isWanted: ((item: Item) => boolean) | undefined
  /** Reads a page of the store. `next` is the `before` of the next page; null: it was the last one. */
  read(page: { before: Position | undefined; limit: number }): Promise<{ items: Item[]; next: Position | null }>
}

/**
 * Resolves with the first wanted items, and the `before` of the next call; null: there are no more. With `isWanted` it reads
 * at most 2,000 records, so there may be fewer items than `limit`, or none, although `next` is set.
 */
export async function searchPages<Item extends Position, Position>({
  limit,
  before: start,
  isWanted,
  read,
}: PagesOptions<Item, Position>): Promise<{ items: Item[]; next: Position | null }> {
  // One more record, so that the last page is never empty.
  const atOnce = Math.max(limit + 1, isWanted ? SEARCHED_AT_ONCE : 0)
  const found: Item[] = []
  let before = start
  for (let count = 0; count < MOST_SEARCHED; count += atOnce) {
    const { items, next } = await read({ before, limit: atOnce })
    for (const item of items) {
      if (!isWanted || isWanted(item)) {
        if (found.length === limit) return { items: found, next: before ?? null }
        found.push(item)
      }
      before = item
    }
    if (next === null) return { items: found, next: null }
    before = next
  }
  return { items: found, next: before ?? null }
}

/** Returns whether a text contains another one, ignoring case. */
export function containsText(text: string, wanted: string): boolean {
  return text.toLowerCase().includes(wanted.toLowerCase())
}
