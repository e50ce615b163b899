/** What an app knows of being loaded into the thread of a job: it is found there, and starts no worker of its own. */

import type { JobDefinition } from '../../job/definition.ts'

/** What programs that load an app – `highkiq`, the thread of a job – say to it and ask of it; nobody else does. */
export const PROGRAM: unique symbol = Symbol.for('highkiq.program')

/** As much of an app as its thread needs; it may be one of another copy of this package. */
export interface ThreadApp {
  readonly [PROGRAM]: {
    definitionOf(name: string, queue: string): JobDefinition | undefined
    isBusiness(error: unknown): boolean
    useUrl(url: string): void
    refuseStore(why: string): void
  }
  close(): Promise<void>
}

const APPS: unique symbol = Symbol.for('highkiq.thread')

const place = globalThis as { [APPS]?: Set<ThreadApp> }

/** From now on this is the thread of a job: answers the apps that are made in it. */
export function becomeThread(): Set<ThreadApp> {
  place[APPS] = new Set()
  return place[APPS]
}

/** The apps of this thread, if it is one of a job. */
export function threadApps(): Set<ThreadApp> | undefined {
  return place[APPS]
}
