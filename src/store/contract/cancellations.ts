/** Requests to cancel jobs. */

/** A store keeps at most this many cancellations, the newest ones. */
export const MAX_CANCELLATIONS = 100_000
/** A store drops a cancellation that is older than this when the next one is requested. */
export const CANCELLATION_LIFE_MS = 30 * 86_400_000
/** A store counts the callers who request the same cancellation up to this number. */
export const MOST_CANCELLERS = 16
/** A brief request ends after this time: two heartbeats of a Sidekiq process, and five seconds. */
export const BRIEF_CANCELLATION_MS = 25_000
/** For this long a store remembers that a cancelled job was found and dropped, and whether it was running. */
export const DROPPED_LIFE_MS = 60_000
/** The most cancellations that one call of `since` returns. */
export const CANCELLATIONS_PAGE = 10_000

/**
 * `requested` – the job must not run (any more). Within DROPPED_LIFE_MS: `dropped` – the job was found, and will not run because
 * of its cancellation; `aborted` – it was running, and has ended because of its cancellation.
 */
export type CancellationState = 'requested' | 'dropped' | 'aborted' | 'none'

export interface CancellationStore {
  /**
   * Requests that a job, or each of some jobs, does not run (any more), wherever it is, and also when there is no such job.
   * Returns the version of each job's cancellation. A repeated request keeps the version, and counts as one more caller; `since`
   * does not return it again. A store whose callers share its clock uses that clock, any other store uses `now`.
   *
   * In a store that other programs use, a `brief` request ends about BRIEF_CANCELLATION_MS later, unless another caller wants
   * the cancellation. It is not counted as a caller.
   */
  request(jids: string | readonly string[], now: number, brief?: boolean): Promise<number[]>
  /**
   * Withdraws a cancellation, and returns its state before. With the `version` that a call of `request` has returned it withdraws
   * only the request of that call: the cancellation stays while other callers want it, and for good after the request of
   * the MOST_CANCELLERS-th one.
   */
  withdraw(jid: string, now: number, version?: number): Promise<CancellationState>
  /** Returns those of the jobs that have a cancellation, also one that another program has requested. */
  among(jids: readonly string[]): Promise<string[]>
  /**
   * Returns jobs whose cancellation was requested after a version (0: all), at most CANCELLATIONS_PAGE, and the version
   * for the next call. A cancellation may be withdrawn at any time; `among` knows the current ones.
   */
  since(since: number): Promise<{ version: number; jids: string[] }>
}
