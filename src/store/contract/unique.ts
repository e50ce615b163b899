/** The locks of unique jobs. A push takes them (UniqueClaim), and the effects of their jobs release them. */

export interface UniqueLock {
  key: string
  /** The jid of the job that has it. */
  holder: string
  /** The lock is free from this time on, in milliseconds of the callers' clocks; null: when its job has ended. */
  ends: number | null
  /** The lock is held until `ends`, also when its job has ended before. */
  outlives: boolean
  /** The walk that did not find the job; null: none, or the job has moved since. */
  suspicion: string | null
}

export type HeldLock = Pick<UniqueLock, 'key' | 'holder'>

export interface UniqueStore {
  /**
   * Returns a page of the locks that are held at `now`, in any order; the number of locks is about `limit`. A lock that is
   * held during the whole listing comes at least once. Locks whose time is over are deleted, on a server by its clock when the
   * caller's is ahead.
   */
  list(
    page: { after?: string | undefined; limit: number },
    now: number,
  ): Promise<{ locks: UniqueLock[]; next: string | null }>
  /** Returns the locks of these keys, in their order; null for one that is free. */
  find(keys: readonly string[], now: number): Promise<(UniqueLock | null)[]>
  /**
   * Stores that a walk through all jobs did not find the jobs of these locks: in each lock that `holder` has and that must not
   * outlive its job. The effect `keep-unique` removes the suspicion, so a suspected job has not moved since.
   */
  suspect(locks: readonly HeldLock[], suspicion: string): Promise<void>
  /** Releases locks, each only if `holder` has it and, where `suspicion` is given, it has this suspicion. Returns whether it did. */
  release(locks: readonly (HeldLock & { suspicion?: string })[]): Promise<boolean[]>
}
