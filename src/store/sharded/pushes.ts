/** Pushes to several shards: each item to its own, all at the same time. */

import { HighkiqError, messageOf, PushError } from '../../job/errors.ts'
import type { RefusedPush, Store } from '../contract.ts'
import { isShardFailure } from './shard-failure.ts'
import type { Shard, Shards } from './shards.ts'

type Outcome<Item> = { shard: Shard; items: Item[] } & ({ refused: readonly RefusedPush[] } | { thrown: unknown })
type Failure<Item> = Outcome<Item> & { thrown: unknown }

/** The shards that have certainly not stored an item, each with its error. */
export type ShardRefusals = ReadonlyMap<Shard, unknown>

const NO_REFUSALS: ShardRefusals = new Map()

interface PushOptions<Item> {
  /** Returns the item that a PushError lists. */
  itemOf?: (item: Item) => unknown
  /** Returns the shard to which an item is pushed next; undefined if the item has a key, or no shard is left. */
  after?: (refusals: ShardRefusals, item: Item) => Shard | undefined
  /** Called with the items that a shard has stored, and the refusals of other shards that concern one of them. */
  stored?: (items: readonly Item[], shard: Shard, refusals: ShardRefusals) => void
}

/**
 * Pushes each item to its shard. Resolves with the items that were refused.
 * @throws PushError with its `parts`, which name the items of all shards
 */
export async function pushToEach<Item>(
  shards: Shards,
  items: readonly Item[],
  shardOf: (item: Item) => Shard,
  push: (store: Store, items: Item[], shard: Shard) => Promise<readonly RefusedPush[]>,
  { itemOf = (item) => item, after, stored }: PushOptions<Item> = {},
): Promise<readonly RefusedPush[]> {
  const run = (groups: Iterable<[Shard, Item[]]>) =>
    Promise.all(
      [...groups].map(
        ([shard, some]): Promise<Outcome<Item>> =>
          push(shard.store, some, shard).then(
            (refused) => ({ shard, items: some, refused }),
            (thrown) => ({ shard, items: some, thrown }),
          ),
      ),
    )
  let outcomes = await run(shards.group(items, shardOf))
  const refusals = new Map<Item, Map<Shard, unknown>>()
  for (;;) {
    const moved = after ? regroup(outcomes, itemOf, refusals, after) : new Map<Shard, Item[]>()
    if (moved.size === 0) break
    const left = outcomes.filter(({ items }) => items.length > 0).map((one) => answeredIfKnown(one, itemOf))
    outcomes = [...left, ...(await run(moved))]
  }
  if (stored) noteStored(outcomes, itemOf, refusals, stored)
  const [only] = outcomes
  if (outcomes.length === 1 && only) {
    if ('refused' in only) return only.refused
    throw only.thrown
  }
  const failed = outcomes.flatMap((one) => ('thrown' in one ? [one] : []))
  const refused = outcomes.flatMap((one) => ('refused' in one ? one.refused : []))
  if (failed.length === 0) return refused
  throw combined(outcomes, failed, refused, itemOf)
}

/** Removes from the outcomes the items that go to other shards, because theirs has certainly not stored them. Returns them by those shards. */
function regroup<Item>(
  outcomes: readonly Outcome<Item>[],
  itemOf: (item: Item) => unknown,
  refusals: Map<Item, Map<Shard, unknown>>,
  after: (refusals: ShardRefusals, item: Item) => Shard | undefined,
): Map<Shard, Item[]> {
  const moved = new Map<Shard, Item[]>()
  for (const one of outcomes) {
    if (!('thrown' in one)) continue
    const isNotStored = notStoredBy(one)
    one.items = one.items.filter((item) => {
      if (!isNotStored(itemOf(item))) return true
      const before = refusals.get(item) ?? new Map<Shard, unknown>()
      refusals.set(item, before.set(one.shard, one.thrown))
      const next = after(before, item)
      if (!next) return true
      const group = moved.get(next)
      if (group) group.push(item)
      else moved.set(next, [item])
      return false
    })
  }
  return moved
}

/** Turns a failure into an answer when each item that is left is known to be stored or refused. */
function answeredIfKnown<Item>(one: Outcome<Item>, itemOf: (item: Item) => unknown): Outcome<Item> {
  const parts = 'thrown' in one && one.thrown instanceof PushError ? one.thrown.parts : undefined
  const refused = (parts?.refusals ?? []) as readonly RefusedPush[]
  const known = new Set([...(parts?.stored ?? []), ...refused.map(({ item }) => item)])
  if (!parts || !one.items.every((item) => known.has(itemOf(item)))) return one
  return { shard: one.shard, items: one.items, refused }
}

/** Returns whether a shard has certainly not stored an item because it can't be reached, or refuses to store jobs. */
function notStoredBy<Item>({ thrown }: Failure<Item>): (item: unknown) => boolean {
  if (!(thrown instanceof PushError) || !isShardFailure(thrown.cause)) return () => false
  const answered = new Set(thrown.parts?.refusals?.map(({ item }) => item))
  if (!thrown.maybePushed) return (item) => !answered.has(item)
  return (item) => !answered.has(item) && thrown.parts?.notStored.has(item) === true
}

function noteStored<Item>(
  outcomes: readonly Outcome<Item>[],
  itemOf: (item: Item) => unknown,
  refusals: ReadonlyMap<Item, ShardRefusals>,
  stored: (items: readonly Item[], shard: Shard, refusals: ShardRefusals) => void,
): void {
  for (const one of outcomes) {
    if ('thrown' in one) continue
    // Nearly all pushes are stored at once.
    if (one.refused.length === 0 && refusals.size === 0) {
      stored(one.items, one.shard, NO_REFUSALS)
      continue
    }
    const refused = new Set<unknown>(one.refused.map(({ item }) => item))
    const items = one.items.filter((item) => !refused.has(itemOf(item)))
    if (items.length > 0) stored(items, one.shard, new Map(items.flatMap((item) => [...(refusals.get(item) ?? [])])))
  }
}

function combined<Item>(
  outcomes: readonly Outcome<Item>[],
  failed: readonly Failure<Item>[],
  refused: readonly RefusedPush[],
  itemOf: (item: Item) => unknown,
): unknown {
  const foreign = failed.find(({ thrown }) => !(thrown instanceof HighkiqError))
  const refusals = [...refused]
  const notStored = new Set<unknown>(refused.map(({ item }) => item))
  const stored = new Set<unknown>()
  let isUnsure = foreign !== undefined
  for (const one of outcomes) {
    const all = new Set(one.items.map(itemOf))
    if ('refused' in one) {
      for (const item of all) if (!notStored.has(item)) stored.add(item)
      continue
    }
    const own = one.thrown instanceof PushError ? one.thrown : undefined
    refusals.push(...((own?.parts?.refusals ?? []) as RefusedPush[]))
    if (own ? own.maybePushed : !(one.thrown instanceof HighkiqError)) {
      isUnsure = true
      // Its other items were pushed to another shard.
      for (const item of own?.parts?.stored ?? []) if (all.has(item)) stored.add(item)
      for (const item of own?.parts?.notStored ?? []) if (all.has(item)) notStored.add(item)
    } else for (const item of all) notStored.add(item)
  }
  const [{ thrown }] = failed as [Failure<Item>]
  const cause = thrown instanceof PushError ? thrown.cause : thrown
  return new PushError(messageOf(thrown), [], stored.size > 0 || isUnsure, {
    cause,
    parts: { stored, notStored, refusals },
  })
}
