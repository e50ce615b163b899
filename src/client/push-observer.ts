/** Code that runs around each push, such as tracing. */

/** A push that an observer sees. */
export interface ObservedPush {
  class: string
  /** Whether it is a push of many jobs, or of items to an ordered queue. */
  isBulk: boolean
  /** The ordered queue of the items. */
  queue?: string | undefined
}

/** Runs around each push: `work` makes it. It must call `work` at once. */
export type PushObserver = <T>(push: ObservedPush, work: () => Promise<T>) => Promise<T>
