/** Lets the thread of a job find the apps that its files create. */

import type { BatchAccess } from '../../job/context.ts'
import type { JobDefinition } from '../../job/definition.ts'
import type { Payload } from '../../job/payload.ts'

/** The member of an app with what `highkiq` and the threads of jobs need from it. */
export const PROGRAM: unique symbol = Symbol.for('highkiq.program')

/** The part of an app that a thread needs. The app may come from another copy of this package. */
export interface ThreadApp {
  readonly [PROGRAM]: {
    definitionOf(name: string, queue: string): JobDefinition | undefined
    isBusiness(error: unknown): boolean
    /** Runs `work` with the values that came with a payload. Absent in older copies of this package. */
    within?(payload: Payload, work: () => unknown): unknown
    /** What the context of a job in a batch uses. Absent in older copies of this package. */
    batches?: BatchAccess
    useUrl(url: string): void
    refuseStore(why: string): void
  }
  close(): Promise<void>
}

const APPS: unique symbol = Symbol.for('highkiq.thread')

const global = globalThis as { [APPS]?: Set<ThreadApp> }

/** Marks this thread as that of a job. Returns the set of apps that are created in it from now on. */
export function becomeThread(): Set<ThreadApp> {
  global[APPS] = new Set()
  return global[APPS]
}

/** Returns the apps of this thread; undefined outside the thread of a job. */
export function threadApps(): Set<ThreadApp> | undefined {
  return global[APPS]
}
