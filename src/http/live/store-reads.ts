/** Shares what is read from the store among figures. */

import type { Highkiq } from '../../app.ts'
import type { Process } from '../../index.ts'
import { type QueueSummary, summariesOf } from '../../inspect/queue.ts'
import { all } from '../../job/json.ts'
import { cached } from './cached.ts'

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
export function storeReads(hq: Highkiq, ms = 0): StoreReads {
  const queues = cached(ms, async () => {
    const now = hq.now()
    return { queues: await summariesOf(hq.store, now), now }
  })
  const processes = cached(ms, () => all(hq.processes()))
  return {
    queues,
    processes,
    forget() {
      queues.forget()
      processes.forget()
    },
  }
}
