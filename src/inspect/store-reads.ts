/** Shares what is read from the store among figures. */

import type { AppPort } from '../app/port.ts'
import { cached } from '../job/cached.ts'
import { all } from '../job/json.ts'
import { type Process, ProcessSet } from './process.ts'
import { type QueueSummary, summariesOf } from './queue.ts'

export interface StoreReads {
  /** Reads all queues, at the time `now`. */
  queues(): Promise<{ queues: QueueSummary[]; now: number }>
  processes(): Promise<Process[]>
  /** Forgets what was read, because this server has changed something. */
  forget(): void
}

/** How long lists are reused: less than the time between two requests of one page. */
export const REUSED_MS = 900

/** @param ms how long an answer is reused; 0: every call reads */
export function storeReads(app: Pick<AppPort, 'store' | 'now'>, ms = 0): StoreReads {
  const queues = cached(ms, async () => {
    const now = app.now()
    return { queues: await summariesOf(app.store, now), now }
  })
  const processes = cached(ms, () => all(new ProcessSet(app)))
  return {
    queues,
    processes,
    forget() {
      queues.forget()
      processes.forget()
    },
  }
}
