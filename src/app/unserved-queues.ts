/** Warns at the start of a worker about queues of its app's jobs that no process serves, and names the command to serve them. */

import { processesOf, unservedQueues } from '../inspect/process.ts'
import { quoted } from '../job/shell.ts'
import type { BackgroundService } from '../worker/background-service.ts'
import type { Engine } from '../worker/engine.ts'
import type { Worker } from '../worker/lifecycle/worker.ts'
import type { QueueOption } from '../worker/queue-order.ts'

/**
 * Returns what to do about unserved queues, in the words of the program that loads the app; undefined: no
 * warning. `own` are the queues of the worker.
 */
export type UnservedAdvice = (unserved: readonly string[], own: readonly QueueOption[]) => string | undefined

/** Names the unserved queues. */
export function describeUnserved(queues: readonly string[]): string {
  const named = queues.length === 1 ? `the queue ${queues[0]}` : `the queues ${queues.join(', ')}`
  return `no running process serves ${named}, which jobs of the app use`
}

/** Returns the command that serves these queues. `app` are the words that name the app: ` -r jobs.ts`. */
export function workCommand(queues: readonly string[], app: string): string {
  const named = queues.some((queue) => queue !== 'default') ? queues : []
  return `highkiq work${app}${named.map((queue) => ` -q ${quoted(queue)}`).join('')}`
}

export const adviceInCode: UnservedAdvice = (unserved, own) =>
  `${describeUnserved(unserved)}: start a worker with queues: ${JSON.stringify([...own, ...unserved])}, or with queues: ["*"]`

/** Logs a warning at the start of a worker when neither it nor another process serves a queue of `defined`. */
export function unservedCheck(
  { store, log, report }: Pick<Engine, 'store' | 'log' | 'report'>,
  { worker, defined, advice }: { worker: () => Worker; defined: readonly string[]; advice: () => UnservedAdvice },
): BackgroundService {
  const check = async () => {
    const { queues, options } = worker()
    // The list of processes may not show this worker yet.
    const own = { queues, capsules: {}, isQuiet: false, definedQueues: defined }
    const unserved = unservedQueues([...(await processesOf(store)), own]).filter((queue) => defined.includes(queue))
    const text = unserved.length > 0 ? advice()(unserved, options.queues) : undefined
    if (text !== undefined) log.warn({ queues: unserved }, text)
  }
  // The worker starts without the advice, too.
  return {
    start: () => check().catch((thrown) => report(thrown, { during: 'looking for queues that no process serves' })),
  }
}
