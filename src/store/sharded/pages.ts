/** Lists of several shards: one shard after the other, or merged. */

import type { Store } from '../contract.ts'
import { prefixed, readPrefixed, type Shard, type Shards } from './shards.ts'

/**
 * Reads pages of one shard after the other, until there are `limit` items. `next` is the cursor of the next page; null: all shards
 * are read. `skipsUnreachable`: shards that can't be reached are left out.
 */
export async function pageThrough<Item>(
  shards: Shards,
  cursor: string | null | undefined,
  limit: number,
  read: (
    store: Store,
    page: { after: string | undefined; limit: number },
    shard: Shard,
  ) => Promise<{ items: readonly Item[]; next: string | null }>,
  { skipsUnreachable = false } = {},
): Promise<{ items: Item[]; next: string | null }> {
  const items: Item[] = []
  let { index, text } = cursor ? readPrefixed(cursor) : { index: 0, text: '' }
  for (; index < shards.all.length; index++, text = '') {
    const shard = shards.at(index)
    if (skipsUnreachable && !shard.reachability.isReachable) continue
    const page = await shards.unlessLeftOut(
      shard,
      read(shard.store, { after: text || undefined, limit: limit - items.length }, shard),
    )
    if (!page) continue
    items.push(...page.items)
    if (page.next !== null) return { items, next: prefixed(shard, page.next) }
    if (items.length >= limit && index + 1 < shards.all.length) {
      return { items, next: prefixed(shards.at(index + 1), '') }
    }
  }
  return { items, next: null }
}

/** Merges sorted lists into one of at most `limit` items. */
export function merged<Item>(
  lists: readonly (readonly Item[])[],
  compare: (a: Item, b: Item) => number,
  limit: number,
): Item[] {
  return lists.flat().sort(compare).slice(0, limit)
}

/** Compares texts as the stores sort them: by their bytes. */
export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
