/**
 * Limits: how many attempts may run at a time, and how many may start within a time. A job over a limit waits for room in
 * the job set `limited:NAME`.
 */

/** A limit of a job: of slots, of a rate, or of both. */
export interface Limit {
  /**
   * `KIND:NAME`, or `KIND:NAME:KEY` if the limit has keys. The kind is of the letters a to z, the name has no colon; the key is
   * any text. Whoever reads a name relies on this alone: `withoutKey`, `rates.lua`, `checkAllNow` in limit.sql, and
   * `parseStoredName`, which alone knows the kinds.
   */
  name: string
  /** The number of slots, that is of attempts that run at the same time; 0: any number. */
  max: number
  /** The number of starts in `per` milliseconds; 0: any number. */
  count: number
  per: number
  /** How many may start at once after a pause. It means nothing with a window. */
  burst: number
  /**
   * `smooth`: the starts are evenly spaced. `fixed`: at most `count` in a window, which begins with its first start.
   * `sliding`: at most `count` in any `per`.
   */
  window: 'smooth' | 'fixed' | 'sliding'
}

/** Numbers of a limit that were set from outside. An absent one is that of the code. */
export type LimitNumbers = Partial<Pick<Limit, 'max' | 'count' | 'per' | 'burst'>>

/** Changes of the numbers that were set. A number that is absent stays; null deletes it: that of the code holds again. */
export type LimitChange = { [Name in keyof LimitNumbers]: LimitNumbers[Name] | null }

/** A limit whose numbers were set. The name has no key: the numbers hold for each key. */
export interface SetLimit {
  name: string
  numbers: LimitNumbers
}

/** A limit that has used slots or waiting jobs, or whose numbers were set, with its effective numbers. */
export interface LimitState extends Limit {
  /** The numbers that were set; absent without any. */
  set?: LimitNumbers
  /** The limit as the code defines it; absent unless numbers were set, and while the limit is not in use. */
  code?: Limit
  used: number
  waiting: number
  /** The time until the rate has room; null without a rate. */
  roomMs: number | null
}

export interface LimitRequest {
  ticket: string
  /** Each has another name. */
  limits: readonly Limit[]
}

/**
 * `over: null` – the attempt may start in `ms` milliseconds, at most START_AHEAD_MS, and has a slot of each limit that has
 * slots. Otherwise nothing was acquired; `over` is the index of the limit that has no room. For a rate `ms` is the time until it
 * has.
 */
export interface LimitAnswer {
  over: number | null
  ms: number
  /** The slots of each limit of the attempt (0: any number); absent when they are those of the request. */
  slots?: readonly number[]
}

/** Limits whose waiting jobs have room. */
export interface DueLimits {
  /** `room` is the number of waiting jobs that may start now. */
  limits: { name: string; room: number }[]
  /** The time until another check is worth it; null when no job waits. */
  nextMs: number | null
}

/** A rate gives out starts this long before their time, so that jobs are ready when it comes. */
export const START_AHEAD_MS = 20
/** After this time a limit whose jobs wait for room is checked again, also when no slot was released. */
export const SLOT_CHECK_MS = 5000
/** No limit is checked later than after this time. */
export const LONGEST_CHECK_MS = 60_000
/** A limit is not checked again before this time. */
export const SHORTEST_CHECK_MS = 10

/** Returns the number of buckets of a sliding window, and so how exact it is: at most `count` in `per`, and in 1/100 more. */
export const SLIDING_BUCKETS = 100

/** Returns a limit with its effective numbers: those that were set, and else its own. */
export function withNumbers(limit: Limit, numbers: LimitNumbers | undefined): Limit {
  return { ...limit, ...numbers }
}

/** Adds to the limits in use those whose numbers were set and that are not, and sorts all by name. */
export function withUnused(inUse: readonly LimitState[], allSet: readonly SetLimit[]): LimitState[] {
  const names = new Set(inUse.map(({ name }) => withoutKey(name)))
  const unused = allSet.flatMap(({ name, numbers }): LimitState[] => {
    if (names.has(name)) return []
    const limit = withNumbers({ name, max: 0, count: 0, per: 0, burst: 1, window: 'smooth' }, numbers)
    return [{ ...limit, set: numbers, used: 0, waiting: 0, roomMs: limit.count > 0 ? 0 : null }]
  })
  return [...inUse, ...unused].sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Returns the name of a limit without its key; see `Limit.name`. */
export function withoutKey(name: string): string {
  return /^[a-z]+:[^:]*/.exec(name)?.[0] ?? name
}

export interface LimitStore {
  /**
   * Changes numbers of a limit in one atomic step: of two changes at the same time none is lost. False: a burst without a rate
   * would be set, and nothing changed. `acquire`, `due` and `list` use the numbers at once. The version of the cancellations
   * changes, so that workers learn of it before they start jobs that they fetch from then on: a limit may hold that the code
   * does not have. Jobs that wait for room are checked at once, or, if the store fails after the change, within
   * LONGEST_CHECK_MS.
   * @param name without a key
   */
  change(name: string, change: LimitChange): Promise<boolean>
  /** Deletes all numbers that were set, as `change` does. False: there were none, also because another call deleted them. */
  reset(name: string): Promise<boolean>
  /** Sets the numbers of a limit that has none set, as `change` does. False: it has some, and nothing changed. */
  add(limit: SetLimit): Promise<boolean>
  /** Returns the limits whose numbers were set, by name. */
  allSet(): Promise<SetLimit[]>
  /**
   * Takes for each attempt of an owner a slot and a start of all its limits, or nothing. An attempt that has a slot since an
   * earlier call keeps it. The effect `release-slot` releases it. Without a lease the owner gets nothing. A call that fails
   * leaves no slot behind, even when the store carries it out late. The store judges a rate by one clock of its own: when
   * that clock is set back, no limit is exceeded, and none waits for longer than its period.
   */
  acquire(owner: string, requests: readonly LimitRequest[]): Promise<LimitAnswer[]>
  /** Releases a slot before its attempt is settled. */
  release(slot: { limit: string; owner: string; ticket: string }): Promise<void>
  /**
   * Returns at most `n` limits whose waiting jobs have room. It expects that the caller moves these jobs to their queues: a
   * limit is not returned again before they had time to start. For SLOT_CHECK_MS no other job gets the room that a
   * rate has for them, unless one of them ends without a start. It deletes rates that are not in use.
   */
  due(n: number): Promise<DueLimits>
  /** Does not return these limits from `due` for the next `ms`, unless a slot is released. */
  postpone(names: readonly string[], ms: number): Promise<void>
  /** Releases the slots of owners without a lease. */
  releaseOrphanedSlots(): Promise<void>
  /**
   * Returns the limits with used slots or waiting jobs, and those whose numbers were set, by name; with `names`, those of
   * them with used slots or waiting jobs. Slots of owners without a lease do not count.
   */
  list(names?: readonly string[]): Promise<LimitState[]>
}
