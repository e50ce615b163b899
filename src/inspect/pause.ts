/** Pauses and resumes queues in all processes. */

import { checkKnownQueueName } from '../job/definition.ts'
import type { Store } from '../store/contract.ts'
import { processesOf, serves } from './process.ts'

/**
 * Pauses a queue.
 * @returns `ignoredBy`: the identities of live Sidekiq processes that serve the queue
 * @throws INVALID_OPTION
 */
export async function pauseQueue(store: Store, queue: string): Promise<{ ignoredBy: string[] }> {
  checkKnownQueueName(queue)
  await store.jobs.pauseQueue(queue, true)
  const processes = await processesOf(store)
  const others = processes.filter((process) => !process.ours && serves(process, queue))
  return { ignoredBy: others.map(({ identity }) => identity) }
}

/** Resumes a queue. @throws INVALID_OPTION */
export async function resumeQueue(store: Store, queue: string): Promise<void> {
  checkKnownQueueName(queue)
  await store.jobs.pauseQueue(queue, false)
}
