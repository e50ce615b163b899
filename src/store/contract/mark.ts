/** Pauses, and jobs that must not run any more. */

/** No more marks are kept: the newest. */
export const MOST_MARKS = 100_000
/** One that is older goes when the next is set. */
export const MARK_LIFE_MS = 30 * 86_400_000
/** How long it is known of a job that it was found and dropped. */
export const MARK_DROPPED_MS = 60_000
/** Marks that are told at a time. */
export const MARKS_PAGE = 10_000

/** `dropped` – its job was found within MARK_DROPPED_MS, and will not run because of it. */
export type MarkState = 'marked' | 'dropped' | 'none'

export interface MarkVerbs {
  /**
   * Jobs of a paused queue are not taken: neither `turn` nor `wait` hands out one that it took after this resolved. What
   * runs goes on. `on` false: they are again, at once.
   */
  pause(queue: string, on: boolean): Promise<void>
  /** Names of the paused queues, in order. */
  paused(): Promise<string[]>
  /**
   * Marks a job, wherever it is and whether it is at all, as one that must not run (any more). Marking it again changes
   * nothing. At most MOST_MARKS are kept, the newest, and one that is older than MARK_LIFE_MS goes when the next is set. A
   * store with a clock that all its callers share goes by that, any other by `now`.
   */
  markCancelled(jid: string, now: number): Promise<void>
  /** Takes a mark back; answers what it was. */
  unmark(jid: string, now: number): Promise<MarkState>
  /** Those of the jobs that are marked, or that another program has cancelled. */
  cancelledAmong(jids: readonly string[]): Promise<string[]>
  /**
   * Jobs marked since a version (0: all), at most MARKS_PAGE, and the version to ask from next. One of them may lose its
   * mark at any time: `cancelledAmong` knows.
   */
  marks(since: number): Promise<{ version: number; jids: string[] }>
}
