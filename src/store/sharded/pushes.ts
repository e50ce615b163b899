/** Pushes to several shards: each item to its own, all at the same time. */

import { HighkiqError, messageOf, PushError } from '../../job/errors.ts'
import type { RefusedPush, Store } from '../contract.ts'
import type { Shard, Shards } from './shards.ts'

type Outcome<Item> = { items: Item[]; refused: readonly RefusedPush[] } | { items: Item[]; thrown: unknown }

/**
 * Pushes each item to its shard. Resolves with the items that were refused.
 * @throws PushError with its `parts`, which name the items of all shards
 */
export async function pushToEach<Item>(
  shards: Shards,
  items: readonly Item[],
  shardOf: (item: Item) => Shard,
  push: (store: Store, items: Item[], shard: Shard) => Promise<readonly RefusedPush[]>,
  itemOf: (item: Item) => unknown = (item) => item,
): Promise<readonly RefusedPush[]> {
  const groups = [...shards.group(items, shardOf)]
  const [only] = groups
  if (groups.length === 1 && only) return push(only[0].store, only[1], only[0])
  const outcomes = await Promise.all(
    groups.map(
      ([shard, some]): Promise<Outcome<Item>> =>
        push(shard.store, some, shard).then(
          (refused) => ({ items: some, refused }),
          (thrown) => ({ items: some, thrown }),
        ),
    ),
  )
  const failed = outcomes.flatMap((one) => ('thrown' in one ? [one] : []))
  const refused = outcomes.flatMap((one) => ('refused' in one ? one.refused : []))
  if (failed.length === 0) return refused
  throw combined(outcomes, failed, refused, itemOf)
}

function combined<Item>(
  outcomes: readonly Outcome<Item>[],
  failed: readonly (Outcome<Item> & { thrown: unknown })[],
  refused: readonly RefusedPush[],
  itemOf: (item: Item) => unknown,
): unknown {
  const foreign = failed.find(({ thrown }) => !(thrown instanceof HighkiqError))
  const refusals = [...refused]
  const notStored = new Set<unknown>(refused.map(({ item }) => item))
  const stored = new Set<unknown>()
  let isUnsure = foreign !== undefined
  for (const one of outcomes) {
    const all = one.items.map(itemOf)
    if ('refused' in one) {
      for (const item of all) if (!notStored.has(item)) stored.add(item)
      continue
    }
    const own = one.thrown instanceof PushError ? one.thrown : undefined
    refusals.push(...((own?.parts?.refusals ?? []) as RefusedPush[]))
    if (own ? own.maybePushed : !(one.thrown instanceof HighkiqError)) {
      isUnsure = true
      for (const item of own?.parts?.stored ?? []) stored.add(item)
      for (const item of own?.parts?.notStored ?? []) notStored.add(item)
    } else for (const item of all) notStored.add(item)
  }
  const [{ thrown }] = failed as unknown as [{ thrown: unknown }]
  const cause = thrown instanceof PushError ? thrown.cause : thrown
  return new PushError(messageOf(thrown), [], stored.size > 0 || isUnsure, {
    cause,
    parts: { stored, notStored, refusals },
  })
}
