/** The shards of a store, and which of them a key belongs to. */

import { crc32 } from 'node:zlib'
import { isUnreachable } from '../../job/errors.ts'
import { RenewedMap } from '../../job/renewed-map.ts'
import type { Effect, PushItem, Store } from '../contract.ts'

/** One of the stores that together are the sharded store. */
export interface Shard {
  /** Its index in the list of shards. */
  readonly index: number
  readonly store: Store
}

/** Each key belongs to one of so many slots, and each slot to one shard. */
export const SLOTS = 4096

const ID = /^[0-9a-f]{16}(?:[0-9a-f]{8})?$/

/** Returns the slot of a key. That of a jid, a task or a batch is its first three hex digits, so a task and its rows have the same slot. */
export function slotOf(key: string): number {
  return ID.test(key) ? Number.parseInt(key.slice(0, 3), 16) : crc32(key) % SLOTS
}

/** Returns the jid in a job's text; the whole text if it has none. */
export function jidIn(text: string): string {
  const from = text.lastIndexOf('"jid":"')
  return from === -1 ? text : text.slice(from + 7, text.indexOf('"', from + 7))
}

/**
 * Returns the key of the shard on which a job is stored: that of its batch, its task, its lock or its limit, so that the store changes
 * both in one step; the jid of any other job.
 */
function keyOf(item: PushItem): string {
  for (const effect of item.effects ?? []) {
    if (effect.kind === 'batch') return effect.bid
    if (effect.kind === 'event') return effect.jid
  }
  const { unique } = item
  // A job may have a lock of its jid besides.
  if (unique) return unique.claims.find(({ key }) => !key.endsWith(unique.jid))?.key ?? unique.jid
  return item.limit ?? item.once ?? jidIn(item.text)
}

export class Shards {
  readonly all: readonly Shard[]
  /** The shards of the jobs that workers of this process run, by jid. */
  readonly running = new RenewedMap<string, Shard>()

  constructor(stores: readonly Store[]) {
    this.all = stores.map((store, index) => ({ index, store }))
  }

  get first(): Shard {
    return this.all[0] as Shard
  }

  /**
   * Returns the shard with this index. For any other number it returns the first one, which does not know the ticket or
   * cursor with that number.
   */
  at(index: number): Shard {
    return this.all[index] ?? this.first
  }

  /** Returns the shard of a key. */
  of(key: string): Shard {
    return this.at(Math.floor((slotOf(key) * this.all.length) / SLOTS))
  }

  /** Returns the shard on which a job is stored. */
  ofItem(item: PushItem): Shard {
    return this.of(keyOf(item))
  }

  /** Returns the shard from which a worker of this process fetched the job, else the shard of its jid. */
  ofJob(jid: string): Shard {
    return this.running.get(jid) ?? this.of(jid)
  }

  /** Calls all shards, and resolves with their answers in order. Rejects if one does, after all have answered. */
  async each<T>(call: (store: Store, shard: Shard) => Promise<T>): Promise<T[]> {
    const answers = await Promise.allSettled(this.all.map((shard) => call(shard.store, shard)))
    return answers.map((answer) => {
      if (answer.status === 'rejected') throw answer.reason
      return answer.value
    })
  }

  /**
   * Calls all shards, and resolves with the answers of those that can be reached. Rejects if none can, or if one throws
   * any other error.
   */
  async reachable<T>(call: (store: Store, shard: Shard) => Promise<T>): Promise<{ shard: Shard; answer: T }[]> {
    const answers = await Promise.allSettled(this.all.map((shard) => call(shard.store, shard)))
    const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
    const other = failures.find((thrown) => !isUnreachable(thrown))
    if (other !== undefined) throw other
    if (failures.length === this.all.length) throw failures[0]
    return answers.flatMap((answer, i) =>
      answer.status === 'fulfilled' ? [{ shard: this.at(i), answer: answer.value }] : [],
    )
  }

  /** Calls the first shard, or the next one if that can't be reached. */
  async firstReachable<T>(call: (store: Store, shard: Shard) => Promise<T>): Promise<T> {
    let failure: unknown
    for (const shard of this.all) {
      try {
        return await call(shard.store, shard)
      } catch (thrown) {
        if (!isUnreachable(thrown)) throw thrown
        failure ??= thrown
      }
    }
    throw failure
  }

  /** Calls one shard after another, until the answer of one is not null. */
  async find<T>(call: (store: Store, shard: Shard) => Promise<T | null>): Promise<T | null> {
    for (const shard of this.all) {
      const answer = await call(shard.store, shard)
      if (answer !== null) return answer
    }
    return null
  }

  /** Waits on all shards until the answer of one is wanted; the others are then aborted. Resolves with all answers. */
  async race<T>(
    signal: AbortSignal,
    isWanted: (answer: T) => boolean,
    wait: (store: Store, signal: AbortSignal, shard: Shard) => Promise<T>,
  ): Promise<T[]> {
    const ended = new AbortController()
    const any = AbortSignal.any([signal, ended.signal])
    const found = await this.reachable(async (store, shard) => {
      const answer = await wait(store, any, shard)
      if (isWanted(answer)) ended.abort()
      return answer
    })
    return found.map(({ answer }) => answer)
  }

  /**
   * Withdraws on the other shards the cancellations that a step of one shard has cleared. If that fails, they stay until they are
   * too old.
   */
  async withdrawElsewhere(
    clearedOn: Shard,
    items: readonly { effects?: readonly Effect[] | undefined }[],
    now: number,
  ): Promise<void> {
    const jids = items.flatMap(({ effects = [] }) =>
      effects.flatMap((effect) => (effect.kind === 'clear-cancellation' ? effect.jid : [])),
    )
    if (jids.length === 0) return
    const others = this.all.filter((shard) => shard !== clearedOn)
    await Promise.allSettled(others.flatMap(({ store }) => jids.map((jid) => store.cancellations.withdraw(jid, now))))
  }

  /** Groups items by shard, in order. */
  group<Item>(items: readonly Item[], shardOf: (item: Item) => Shard): Map<Shard, Item[]> {
    const groups = new Map<Shard, Item[]>()
    for (const item of items) {
      const shard = shardOf(item)
      const group = groups.get(shard)
      if (group) group.push(item)
      else groups.set(shard, [item])
    }
    return groups
  }

  /**
   * Calls the shard of each item with all of its items. With `isMissing` it then calls the other shards, one after the other, for
   * the items that are not there. Resolves with the answers in the order of the items.
   */
  async spread<Item, Answer>(
    items: readonly Item[],
    shardOf: (item: Item) => Shard,
    call: (store: Store, items: Item[], shard: Shard) => Promise<readonly Answer[]>,
    isMissing: (answer: Answer) => boolean = () => false,
  ): Promise<Answer[]> {
    const answers: Answer[] = []
    /** The indexes of the items that have no answer yet. */
    let left = items.map((_, index) => index)
    for (let n = 0; left.length > 0 && n < this.all.length; n++) {
      const groups = [
        ...this.group(left, (index) => this.at((shardOf(items[index] as Item).index + n) % this.all.length)),
      ]
      await Promise.all(
        groups.map(async ([shard, indexes]) => {
          const some = indexes.map((index) => items[index] as Item)
          const given = await call(shard.store, some, shard)
          for (const [i, index] of indexes.entries()) answers[index] = given[i] as Answer
        }),
      )
      left = left.filter((index) => isMissing(answers[index] as Answer))
    }
    return answers
  }
}

/** Puts the index of a shard in front of a text that only this shard understands, such as a ticket or a cursor. */
export function prefixed(shard: Shard, text: string): string {
  return `${shard.index}|${text}`
}

/** Reads what `prefixed` wrote. The index of a text without one is not a number. */
export function readPrefixed(text: string): { index: number; text: string } {
  const end = text.indexOf('|')
  return { index: end === -1 ? Number.NaN : Number(text.slice(0, end)), text: text.slice(end + 1) }
}

/**
 * Reads pages of one shard after the other, until there are `limit` items. `next` is the cursor of the next page; null: all shards
 * are read.
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
): Promise<{ items: Item[]; next: string | null }> {
  const items: Item[] = []
  let { index, text } = cursor ? readPrefixed(cursor) : { index: 0, text: '' }
  for (; index < shards.all.length; index++, text = '') {
    const shard = shards.at(index)
    const page = await read(shard.store, { after: text || undefined, limit: limit - items.length }, shard)
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
