/** What an iterable job is: a job that goes through many items and can be stopped between any two of them. */

import type { JobContext } from '../job/context.ts'
import type { JobOptions } from '../job/definition.ts'
import { HighkiqError } from '../job/errors.ts'
import { refuseUnknown } from '../job/options.ts'

/** What is known of the iteration, beside the job itself. */
export interface IterationView {
  /** The how-many-th attempt this is, those that were stopped between items included. */
  readonly executions: number
  /** Seconds, of all attempts together. */
  readonly runtime: number
  /** Items of this attempt that are done. */
  readonly done: number
  readonly cancelled: boolean
}

export type IterableContext = JobContext & { readonly iteration: IterationView }

/** An item and where to begin to have it come first. The cursor is JSON, and not null. */
export type Pair<Item, Cursor> = readonly [item: Item, cursor: Cursor]

export type Pairs<Item, Cursor> = AsyncIterable<Pair<Item, Cursor>> | Iterable<Pair<Item, Cursor>>

/**
 * `enumerate` names the types of the cursor and of the arguments; the others know them then (`[...Args]` is Args, written
 * so that they are learned from `enumerate` alone).
 */
export interface IterableJob<Args extends unknown[], Item, Cursor> {
  /**
   * The items in their order, from the one on whose cursor is given; null: from the first. The same arguments and cursor
   * must lead to the same items: it is asked again wherever the job goes on. An async generator, mostly.
   */
  enumerate(
    ctx: IterableContext,
    cursor: Cursor | null,
    ...args: Args
  ): Pairs<Item, Cursor> | Promise<Pairs<Item, Cursor>>
  /** Works on one item. It runs at least once: again when its process dies before the next save, or it throws. */
  each(ctx: IterableContext, item: Item, ...args: [...Args]): unknown
  /** Before the first item of the first attempt. */
  onStart?(ctx: IterableContext, ...args: [...Args]): unknown
  /** Before the first item of a later attempt. */
  onResume?(ctx: IterableContext, ...args: [...Args]): unknown
  /** Whenever an attempt ends: done, stopped, or failed. */
  onStop?(ctx: IterableContext, ...args: [...Args]): unknown
  /** It was cancelled: no item follows. */
  onCancel?(ctx: IterableContext, ...args: [...Args]): unknown
  /** No item follows: all are done, or it was cancelled (`ctx.iteration.cancelled`). */
  onComplete?(ctx: IterableContext, ...args: [...Args]): unknown
  /** Around the work on each item. */
  around?(ctx: IterableContext, next: () => Promise<void>, ...args: [...Args]): unknown
  /** Seconds after which an attempt makes room: the job goes to the back of its queue. Default: what a file says, else none. */
  maxIterationRuntime?: number
  /** Seconds between saves of the cursor; default 5. */
  saveEvery?: number
}

const MEMBERS = [
  'enumerate',
  'each',
  'onStart',
  'onResume',
  'onStop',
  'onCancel',
  'onComplete',
  'around',
  'maxIterationRuntime',
  'saveEvery',
] as const

/** @throws INVALID_OPTION */
export function checkIterable<Args extends unknown[], Item, Cursor>(
  name: string,
  job: IterableJob<Args, Item, Cursor>,
  { thread }: JobOptions,
): void {
  const wrong = (what: string) => new HighkiqError('INVALID_OPTION', `${name}: ${what}`)
  if (typeof job !== 'object' || job === null) throw wrong('an iterable job is { enumerate, each, … }')
  refuseUnknown(name, job, MEMBERS)
  for (const member of MEMBERS) {
    const value = job[member]
    if (member === 'maxIterationRuntime' || member === 'saveEvery') {
      if (value !== undefined && !((value as number) > 0)) throw wrong(`${member} is a number of seconds above 0`)
    } else if (value !== undefined && typeof value !== 'function') {
      throw wrong(`${member} must be a function`)
    }
  }
  if (thread) throw wrong('an iterable job does not run in a thread: each may hand work to a job that does')
  if (!job.enumerate) throw wrong('enumerate is missing: a function that gives [item, cursor] pairs')
  if (!job.each) throw wrong('each is missing: a function that works on one item')
}

/** @throws INVALID_ARGS when what `enumerate` gave can't be gone through */
export function checkPairs(name: string, pairs: unknown): void {
  const wrong = (what: string) => new HighkiqError('INVALID_ARGS', `${name}: enumerate ${what}`)
  if (pairs === undefined || pairs === null) {
    throw wrong(`gave ${pairs}: return the pairs, or make it a generator (async *enumerate)`)
  }
  const isIterable = typeof pairs === 'object' && (Symbol.asyncIterator in pairs || Symbol.iterator in pairs)
  if (!isIterable) throw wrong(`gave a ${typeof pairs}: it gives an iterable of [item, cursor] pairs`)
}
