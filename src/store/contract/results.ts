export interface ResultStore {
  /**
   * Stores a value under a key for `seconds` (0: removes it) and returns null, if the key has no value or has the value
   * `instead`. Otherwise it changes nothing and returns the stored value. Atomic.
   */
  remember(key: string, value: string, seconds: number, instead?: string): Promise<string | null>
  /**
   * Stores a job's result for `seconds`, in place of an earlier one, and wakes those who wait for it. The HTTP server stores
   * ended logins in the same way, under names that are no jid.
   */
  keep(jid: string, text: string, seconds: number): Promise<void>
  /** Returns a job's result. Waits for it at most `ms`, or until `signal` aborts. null: there is none. */
  find(jid: string, ms?: number, signal?: AbortSignal): Promise<string | null>
  /** Returns the secret with this name. If there is none, stores `proposed`. Concurrent callers get the same secret. */
  secret(name: string, proposed: string): Promise<string>
  /** Returns the version of the links to the lists of tasks with this name: 0 until it is raised. */
  linkVersion(list: string): Promise<number>
  /** Raises that version by one; with `atLeast` to that number, unless it is higher already. It is kept for ever. */
  raiseLinkVersion(list: string, atLeast?: number): Promise<void>
  /** Returns the versions that were raised, by name. */
  linkVersions(): Promise<Record<string, number>>
}
