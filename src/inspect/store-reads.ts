/** Shares what is read from the store among figures. */

import type { AppPort } from '../app/port.ts'
import { cached } from '../job/cached.ts'
import { remembered } from '../job/remembered.ts'
import type { Lease, StoreStats, TaskRecord } from '../store/contract.ts'
import { tasksWithBacklog } from './backlog.ts'
import { infoOf, type Process, processesOf } from './process.ts'
import { type QueueSummary, summariesOf } from './queue.ts'
import { waitingSince } from './record.ts'

export interface StoreReads {
  /** Reads all queues, at the time `now`. */
  queues(): Promise<{ queues: QueueSummary[]; now: number }>
  processes(): Promise<Process[]>
  totals(): Promise<StoreStats>
  /** Reads the leases; null when they can't be read, so that other figures are shown all the same. */
  leases(): Promise<Lease[] | null>
  /** Reads the tasks that have a backlog, newest first. */
  backlogs(): Promise<TaskRecord[]>
  /** Forgets what was read, because this server has changed something. */
  forget(): void
}

/** How long lists are reused: less than the time between two requests of one page. */
export const REUSED_MS = 900

/** @param ms how long an answer is reused; 0: every call reads */
export function storeReads(app: Pick<AppPort, 'store' | 'now'>, ms = 0): StoreReads {
  // The next job of most queues, and what most processes say of themselves, is the same at the next read.
  const sinceOf = remembered(waitingSince)
  const readInfo = remembered(infoOf)
  const queues = cached(ms, async () => {
    const now = app.now()
    sinceOf.forgetUnused()
    return { queues: await summariesOf(app.store, now, undefined, sinceOf), now }
  })
  const processes = cached(ms, () => {
    readInfo.forgetUnused()
    return processesOf(app.store, readInfo)
  })
  const totals = cached(ms, () => app.store.metrics.totals())
  const leases = cached(ms, () => app.store.workers.leases().catch(() => null))
  const backlogs = cached(ms, async () => tasksWithBacklog(app.store, await totals()))
  const every = { queues, processes, totals, leases, backlogs }
  return {
    ...every,
    forget() {
      for (const read of Object.values(every)) read.forget()
    },
  }
}
