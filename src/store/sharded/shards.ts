/** The shards of a store, and which of them a key belongs to. */

import { setTimeout as sleep } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { isUnreachable } from '../../job/errors.ts'
import { Override } from '../../job/override.ts'
import { RenewedMap } from '../../job/renewed-map.ts'
import type { Effect, Store } from '../contract.ts'
import { LATE_MS, outcomesInTime, outcomesUntil } from './in-time.ts'
import { observed } from './observed-store.ts'
import { answeredWithin, Reachability } from './reachability.ts'
import { isShardFailure, WrongShardError } from './shard-failure.ts'

/** One of the stores that together are the sharded store. */
export interface Shard {
  /** Its index in the list of shards. */
  readonly index: number
  /** Its store; calls fail at once while it can't be reached. */
  readonly store: Store
  readonly reachability: Reachability
}

/** The name under which each shard stores its number. */
const NUMBER = 'shard'

/** Each key belongs to one of so many slots, and each slot to one shard. */
export const SLOTS = 4096

/** A wait on a shard that can't be reached is repeated after this time. */
const ASK_AGAIN_MS = 1000

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

/** The answer of a shard. */
export interface Answered<T> {
  shard: Shard
  answer: T
}

export class Shards {
  readonly all: readonly Shard[]
  /** The shards of the jobs that workers of this process run, by jid. */
  readonly running = new RenewedMap<string, Shard>()
  readonly #onReached = new Set<(shard: Shard) => void>()
  /** Whether reads leave out the shards that can't be reached. */
  readonly #isPartial = new Override<true>()

  constructor(stores: readonly Store[]) {
    this.all = stores.map((store, index) => {
      const number = `${index + 1} of ${stores.length}`
      const reachability = new Reachability({
        name: `shard ${number}`,
        url: store.url,
        check: () => checkShard(store, number),
        onReached: () => {
          for (const listener of this.#onReached) listener(this.at(index))
        },
      })
      return { index, store: observed(store, reachability), reachability }
    })
  }

  /** Calls `listener` with each shard that can be reached again. */
  onReached(listener: (shard: Shard) => void): void {
    this.#onReached.add(listener)
  }

  get reachableNow(): readonly Shard[] {
    return this.all.filter(({ reachability }) => reachability.isReachable)
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

  /** Returns the shard from which a worker of this process fetched the job, else the shard of its jid. */
  ofJob(jid: string): Shard {
    return this.running.get(jid) ?? this.of(jid)
  }

  /** Runs a read without the shards that can't be reached, and without those that don't answer it or a check. */
  withoutUnreachable<T>(read: () => T): T {
    return this.#isPartial.within(true, read)
  }

  get isPartial(): boolean {
    return this.#isPartial.current === true
  }

  /**
   * Calls all shards, and resolves with their answers in order. Rejects if one does, after all have answered. Within
   * `withoutUnreachable` it resolves with the answers of those that can be reached.
   */
  async each<T>(call: (store: Store, shard: Shard) => Promise<T>): Promise<T[]> {
    if (this.isPartial) {
      const answered = await this.reachable(
        (store, shard) => this.untilUnreachable(shard, call(store, shard)),
        isUnreachable,
      )
      return answered.map(({ answer }) => answer)
    }
    const answers = await Promise.allSettled(this.all.map((shard) => call(shard.store, shard)))
    return answers.map((answer) => {
      if (answer.status === 'rejected') throw answer.reason
      return answer.value
    })
  }

  /**
   * Calls all shards, and resolves with the answers of those that do not fail. Rejects if all fail, or if an error is not
   * one of `isLeftOut`.
   */
  async reachable<T>(
    call: (store: Store, shard: Shard) => Promise<T>,
    isLeftOut: (thrown: unknown) => boolean = isShardFailure,
  ): Promise<Answered<T>[]> {
    return this.#answered(await Promise.allSettled(this.all.map((shard) => call(shard.store, shard))), isLeftOut)
  }

  /** Like `reachable`, but goes on without a shard that answers later than the others. */
  async inTime<T>(call: (store: Store, shard: Shard) => Promise<T>): Promise<Answered<T>[]> {
    return this.#answered(await outcomesInTime(this.all.map((shard) => call(shard.store, shard))))
  }

  #answered<T>(
    outcomes: readonly (PromiseSettledResult<T> | undefined)[],
    isLeftOut: (thrown: unknown) => boolean = isShardFailure,
  ): Answered<T>[] {
    const failures = outcomes.flatMap((outcome) => (outcome?.status === 'rejected' ? [outcome.reason] : []))
    const other = failures.find((thrown) => !isLeftOut(thrown))
    if (other !== undefined) throw other
    if (failures.length === this.all.length) throw failures[0]
    return outcomes.flatMap((outcome, i) => {
      const shard = this.at(i)
      if (outcome === undefined) shard.reachability.checkLate()
      return outcome?.status === 'fulfilled' ? [{ shard, answer: outcome.value }] : []
    })
  }

  /** Resolves with the answer of a call. Rejects when the shard does not answer, and is found to be unreachable. */
  async untilUnreachable<T>({ reachability }: Shard, call: Promise<T>): Promise<T> {
    const answer = Promise.allSettled([call])
    while (!(await answeredWithin(LATE_MS, answer))) {
      if (reachability.failure) throw reachability.failure
      reachability.checkLate()
    }
    return call
  }

  /** Resolves with the answer of a call. Checks the shard when it does not answer soon. */
  async checkingLate<T>({ reachability }: Shard, call: Promise<T>): Promise<T> {
    if (!(await answeredWithin(LATE_MS, Promise.allSettled([call])))) reachability.checkLate()
    return call
  }

  /** Calls the first shard, or the next one if that fails. */
  async firstReachable<T>(call: (store: Store, shard: Shard) => Promise<T>): Promise<T> {
    let failure: unknown
    for (const shard of this.all) {
      try {
        return await call(shard.store, shard)
      } catch (thrown) {
        if (!isShardFailure(thrown)) throw thrown
        failure ??= thrown
      }
    }
    throw failure
  }

  /** Calls one shard after another, until the answer of one is not null. */
  async find<T>(call: (store: Store, shard: Shard) => Promise<T | null>): Promise<T | null> {
    for (const shard of this.all) {
      const answer = await this.unlessLeftOut(shard, call(shard.store, shard))
      if (answer !== null && answer !== undefined) return answer
    }
    return null
  }

  /** Resolves with the answer of a read. Within `withoutUnreachable` it is undefined if the shard can't be reached. */
  async unlessLeftOut<T>(shard: Shard, read: Promise<T>): Promise<T | undefined> {
    if (!this.isPartial) return read
    try {
      return await this.untilUnreachable(shard, read)
    } catch (thrown) {
      if (!isUnreachable(thrown)) throw thrown
      return undefined
    }
  }

  /**
   * Waits on all shards until the answer of one is wanted, at most `ms`; the other waits are then aborted. Resolves
   * with the answers that are there by then. While a shard can't be reached, its wait is repeated. Rejects if none
   * can be reached.
   */
  async race<T>(
    signal: AbortSignal,
    ms: number,
    isWanted: (answer: T) => boolean,
    wait: (store: Store, wait: { signal: AbortSignal; ms: number }, shard: Shard) => Promise<T>,
  ): Promise<T[]> {
    const ended = new AbortController()
    const any = AbortSignal.any([signal, ended.signal])
    const over = new Promise<void>((resolve) => {
      any.addEventListener('abort', () => resolve(), { once: true })
      if (any.aborted) resolve()
    })
    const timer = setTimeout(() => ended.abort('over'), ms)
    const deadline = performance.now() + ms
    const calls = this.all.map(async (shard) => {
      const left = () => Math.max(deadline - performance.now(), 0)
      for (;;) {
        try {
          const answer = await wait(shard.store, { signal: any, ms: left() }, shard)
          if (isWanted(answer)) ended.abort('found')
          return answer
        } catch (thrown) {
          if (!isUnreachable(thrown) || any.aborted || this.reachableNow.length === 0) throw thrown
          if (left() === 0) throw thrown
          // Repeat the wait even if the shard is not back: if meanwhile no shard can be reached, it throws.
          await shard.reachability.reachedWithin(Math.min(left(), ASK_AGAIN_MS), any)
        }
        await sleep(Math.min(LATE_MS, left()), undefined, { signal: any }).catch(() => {})
      }
    })
    try {
      return this.#answered(await outcomesUntil(calls, over)).map(({ answer }) => answer)
    } finally {
      clearTimeout(timer)
      ended.abort('over')
    }
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
    const withdrawals = others.flatMap(({ store }) => jids.map((jid) => store.cancellations.withdraw(jid, now)))
    await answeredWithin(LATE_MS, Promise.allSettled(withdrawals))
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
   * the items that are not there, or whose shard can't be reached. Resolves with the answers in the order of the items.
   */
  async spread<Item, Answer>(
    items: readonly Item[],
    shardOf: (item: Item) => Shard,
    call: (store: Store, items: Item[], shard: Shard) => Promise<readonly Answer[]>,
    isMissing?: (answer: Answer) => boolean,
  ): Promise<Answer[]> {
    const answers: Answer[] = []
    let failure: unknown
    /** The indexes of the items that have no answer yet. */
    let left = items.map((_, index) => index)
    for (let n = 0; left.length > 0 && n < this.all.length; n++) {
      const groups = [
        ...this.group(left, (index) => this.at((shardOf(items[index] as Item).index + n) % this.all.length)),
      ]
      await Promise.all(
        groups.map(async ([shard, indexes]) => {
          const some = indexes.map((index) => items[index] as Item)
          try {
            const given = await call(shard.store, some, shard)
            for (const [i, index] of indexes.entries()) answers[index] = given[i] as Answer
          } catch (thrown) {
            if (!isMissing || !isUnreachable(thrown)) throw thrown
            failure = thrown
          }
        }),
      )
      left = isMissing ? left.filter((index) => !(index in answers) || isMissing(answers[index] as Answer)) : []
    }
    // They may be on the shard that can't be reached.
    if (failure !== undefined && left.length > 0) throw failure
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

/** Opens a store, and checks that it is the shard with this number. @throws STORE_UNUSABLE when it is another one */
async function checkShard(store: Store, number: string): Promise<void> {
  await store.open()
  const stored = await store.results.secret(NUMBER, number)
  if (stored === number) return
  throw new WrongShardError(
    `${store.url} is shard ${stored}, not ${number}: name the shards always in the same order; their number can't change`,
  )
}
