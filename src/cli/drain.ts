/** `highkiq work --drain`: empties one store while new jobs go to another. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Highkiq, QueueOption, QueueSummary, Worker, WorkerOptions } from '../index.ts'
import { pages } from '../inspect/walk.ts'
import { type Store, sizeOfPage } from '../store/contract.ts'
import { countOrdered } from '../transfer/rest.ts'
import type { Settings } from './config/settings.ts'
import { setExitCode } from './io.ts'
import { checkStoreExists } from './open-app.ts'

/** Milliseconds between two counts of the jobs that a drained store still holds. */
const DRAIN_MS = 1000
/** A line of progress is logged after this many counts. */
const LOG_EVERY = 10
/** The number of open tasks that are read at once. */
const TASK_PAGE = 1000
const STUCK =
  'not drained: jobs are left in queues that are paused or that this worker does not serve; resume them and start it again'
const STILL_DRAINING =
  'draining: these jobs are left; scheduled jobs, deferred rows, rows of paused tasks and undefined job classes take longest; moving jobs and tasks wait for highkiq move'

/** Returns all queues of the store, because a worker that drains it serves them all. */
export async function everyQueue(hq: Highkiq, { queues }: Settings): Promise<Pick<WorkerOptions, 'queues'>> {
  checkStoreExists(hq, { url: hq.store.url })
  if (queues) return {}
  await hq.store.open()
  const names = (await hq.queueSummaries()).map(({ name }): QueueOption => [name, 1])
  return { queues: [['*', 1], ...names] }
}

/**
 * Counts the jobs once a second. The worker is stopped when two counts in a row find none, or only jobs in queues that it
 * does not serve; those make the exit code 1. Abort the controller to stop counting.
 */
export function stopWhenEmpty(hq: Highkiq, worker: Worker): AbortController {
  const watching = new AbortController()
  const { signal } = watching
  const watch = async () => {
    let stuck: QueueSummary[] = []
    for (let ended = 0, counted = 1; ended < 2; counted++) {
      await sleep(DRAIN_MS, undefined, { signal })
      const { transfers } = hq.store
      const [stats, summaries, { ordered }, page, tasks] = await Promise.all([
        hq.stats(),
        hq.queueSummaries(),
        countOrdered(hq.store),
        transfers.held(),
        transfers.movingTasks(),
      ])
      const { enqueued, backlog, limited, scheduled, retries, busy } = stats
      const left = {
        enqueued,
        backlog,
        limited,
        scheduled,
        retries,
        busy,
        ordered,
        moving: sizeOfPage(page) + tasks.length,
      }
      stuck = summaries.filter(({ name, size, paused }) => size > 0 && (paused || !worker.queues.includes(name)))
      const stuckJobs = stuck.reduce((sum, { size }) => sum + size, 0)
      const isOnlyStuck = Object.values(left).reduce((sum, n) => sum + n, 0) === stuckJobs
      // Tasks are read only when nothing else is left, because this takes longer.
      const deferred = isOnlyStuck ? await countDeferred(hq.store) : 0
      ended = isOnlyStuck && deferred === 0 ? ended + 1 : 0
      if (counted % LOG_EVERY === 0) hq.log.info(deferred > 0 ? { ...left, deferred } : left, STILL_DRAINING)
    }
    if (stuck.length === 0) hq.log.info({ store: hq.store.url }, 'drained: the store is empty')
    else {
      hq.log.error({ queues: stuck.map(({ name }) => name) }, STUCK)
      setExitCode(1)
    }
    await worker.stop()
  }
  const watchOn = (): void => {
    watch().catch((thrown) => {
      if (signal.aborted) return
      hq.log.warn({ err: thrown }, 'could not count the remaining jobs; retrying')
      watchOn()
    })
  }
  watchOn()
  return watching
}

/** Counts the rows that another system ends. They have no jobs, so only their tasks show them. */
async function countDeferred({ tasks }: Store): Promise<number> {
  let count = 0
  const open = pages(async (after) => {
    const { items, next } = await tasks.idle(Number.MAX_SAFE_INTEGER, { after, limit: TASK_PAGE })
    return { items, next }
  })
  for await (const { items } of open) for (const { deferred } of items) count += deferred
  return count
}
