/** Warns, when a worker starts, of its queues that processes of Sidekiq serve, too. */

import { processesOf, serves } from '../inspect/process.ts'
import type { BackgroundService } from '../worker/background-service.ts'
import type { Engine } from '../worker/engine.ts'
import type { Worker } from '../worker/lifecycle/worker.ts'

/** A process fails the jobs of classes that it does not define, so each class needs a queue that only its language serves. */
export function sharedCheck(
  { store, log, report }: Pick<Engine, 'store' | 'log' | 'report'>,
  worker: () => Worker,
): BackgroundService {
  const check = async () => {
    const ruby = (await processesOf(store)).filter(({ ours, isQuiet }) => !ours && !isQuiet)
    const queues = worker().queues.filter((queue) => ruby.some((process) => serves(process, queue)))
    if (queues.length === 0) return
    const named = queues.length === 1 ? `the queue ${queues[0]}` : `the queues ${queues.join(', ')}`
    const processes = ruby.filter((process) => queues.some((queue) => serves(process, queue)))
    log.warn(
      { queues, processes: processes.map(({ identity }) => identity) },
      `Sidekiq serves ${named}, too. Each process fails the jobs of classes that it does not define, and drops those without retry: put the classes of Node on queues that only Node serves`,
    )
  }
  // The worker starts without the advice, too.
  return {
    start: () => check().catch((thrown) => report(thrown, { during: 'looking for queues that Sidekiq serves, too' })),
  }
}
