/** Pauses, and jobs that must not run any more. */

/** No more marks are kept: the newest. */
export const MAX_CANCELLATIONS = 100_000
/** One that is older goes when the next is set. */
export const CANCELLATION_LIFE_MS = 30 * 86_400_000
/** How long it is known of a job that it was found and dropped. */
export const DROPPED_LIFE_MS = 60_000
/** Marks that are told at a time. */
export const CANCELLATIONS_PAGE = 10_000

/** `dropped` – its job was found within MARK_DROPPED_MS, and will not run because of it. */
export type CancellationState = 'marked' | 'dropped' | 'none'

export interface CancellationStore {
  /**
   * Marks a job, wherever it is and whether it is at all, as one that must not run (any more). Marking it again changes
   * nothing. At most MOST_MARKS are kept, the newest, and one that is older than MARK_LIFE_MS goes when the next is set. A
   * store with a clock that all its callers share goes by that, any other by `now`.
   */
  request(jid: string, now: number): Promise<void>
  /** Takes a mark back; answers what it was. */
  withdraw(jid: string, now: number): Promise<CancellationState>
  /** Those of the jobs that are marked, or that another program has cancelled. */
  among(jids: readonly string[]): Promise<string[]>
  /**
   * Jobs marked since a version (0: all), at most MARKS_PAGE, and the version to ask from next. One of them may lose its
   * mark at any time: `cancelledAmong` knows.
   */
  since(since: number): Promise<{ version: number; jids: string[] }>
}
