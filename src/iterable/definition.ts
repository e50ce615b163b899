/** Defines iterable jobs. An iterable job processes many items and can be stopped between any two of them. */

import type { JobContext } from '../job/context.ts'
import type { JobOptions } from '../job/definition.ts'
import { HighkiqError, invalidOption } from '../job/errors.ts'
import { isIterable } from '../job/json.ts'
import { checkOptions, type OptionKind, shown } from '../job/options.ts'

/** The state of the iteration. */
export interface IterationView {
  /** Number of this attempt, including those stopped between items. */
  readonly executions: number
  /** Run time of all attempts together, in seconds. */
  readonly runtime: number
  /** The number of items that this attempt has finished. */
  readonly done: number
  readonly cancelled: boolean
}

export type IterableContext = JobContext & { readonly iteration: IterationView }

/** An item and its cursor. Enumerating from this cursor returns this item first. The cursor is JSON, and not null. */
export type Pair<Item, Cursor> = readonly [item: Item, cursor: Cursor]

export type Pairs<Item, Cursor> = AsyncIterable<Pair<Item, Cursor>> | Iterable<Pair<Item, Cursor>>

/**
 * An iterable job. TypeScript infers the types of the cursor and of the arguments from `enumerate` alone; that is why
 * the other functions write `[...Args]` for `Args`.
 */
export interface IterableJob<Args extends unknown[], Item, Cursor> {
  /**
   * Returns the items in their order, starting with the item of the cursor; null starts with the first item. Every
   * attempt calls it again, so the same arguments and cursor must return the same items. Usually it is an async
   * generator.
   */
  enumerate(
    ctx: IterableContext,
    cursor: Cursor | null,
    ...args: Args
  ): Pairs<Item, Cursor> | Promise<Pairs<Item, Cursor>>
  /** Processes one item, at least once: again if the process dies before the next save, or if it throws. */
  each(ctx: IterableContext, item: Item, ...args: [...Args]): unknown
  /** Called before the first item of the first attempt. */
  onStart?(ctx: IterableContext, ...args: [...Args]): unknown
  /** Called before the first item of a later attempt. */
  onResume?(ctx: IterableContext, ...args: [...Args]): unknown
  /** Called when an attempt ends: done, stopped or failed. */
  onStop?(ctx: IterableContext, ...args: [...Args]): unknown
  /** Called when the job was cancelled; no item follows. */
  onCancel?(ctx: IterableContext, ...args: [...Args]): unknown
  /** Called when no item follows: all are done, or the job was cancelled (`ctx.iteration.cancelled`). */
  onComplete?(ctx: IterableContext, ...args: [...Args]): unknown
  /** Called around the work on each item; `next` runs `each`. */
  around?(ctx: IterableContext, next: () => Promise<void>, ...args: [...Args]): unknown
  /**
   * Seconds after which an attempt stops between two items and the job goes to the back of its queue. Default: the
   * option of the app, otherwise that of the configuration file, otherwise unlimited.
   */
  maxIterationRuntime?: number
  /** Seconds between saves of the cursor; default 5. */
  saveEvery?: number
}

const MEMBERS: Record<keyof IterableJob<never, never, never>, OptionKind> = {
  enumerate: 'function',
  each: 'function',
  onStart: 'function',
  onResume: 'function',
  onStop: 'function',
  onCancel: 'function',
  onComplete: 'function',
  around: 'function',
  maxIterationRuntime: 'seconds',
  saveEvery: 'seconds',
}

/** Checks the definition of an iterable job. @throws INVALID_OPTION */
export function checkIterable<Args extends unknown[], Item, Cursor>(
  name: string,
  job: IterableJob<Args, Item, Cursor>,
  { thread }: JobOptions,
): void {
  const wrong = (what: string) => invalidOption(`${name}: ${what}`)
  checkOptions(name, job, MEMBERS)
  if (thread) throw wrong('an iterable job does not run in a thread: each may hand work to a job that does')
  if (!job.enumerate) throw wrong('enumerate is missing: a function that returns [item, cursor] pairs')
  if (!job.each) throw wrong('each is missing: a function that processes one item')
}

/** Checks what `enumerate` returned. @throws INVALID_ARGS when it is not iterable */
export function checkPairs(name: string, pairs: unknown): void {
  const wrong = (what: string) => new HighkiqError('INVALID_ARGS', `${name}: enumerate ${what}`)
  if (pairs === undefined || pairs === null) {
    throw wrong(`returned ${pairs}: return the pairs, or make it a generator (async *enumerate)`)
  }
  if (!isIterable(pairs)) throw wrong(`returned ${shown(pairs)}: it must return an iterable of [item, cursor] pairs`)
}
