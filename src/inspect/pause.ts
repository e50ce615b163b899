/** Queues that nobody takes from. */

import { checkKnownQueueName } from '../job/definition.ts'
import type { Store } from '../store/contract.ts'
import { processesOf, serves } from './process.ts'

/** @returns `ignoredBy`: identities of Sidekiq's processes that serve the queue. @throws INVALID_OPTION */
export async function pauseQueue(store: Store, queue: string): Promise<{ ignoredBy: string[] }> {
  checkKnownQueueName(queue)
  await store.jobs.pauseQueue(queue, true)
  const processes = await processesOf(store)
  const others = processes.filter((process) => !process.ours && serves(process, queue))
  return { ignoredBy: others.map(({ identity }) => identity) }
}

/** @throws INVALID_OPTION */
export async function resumeQueue(store: Store, queue: string): Promise<void> {
  checkKnownQueueName(queue)
  await store.jobs.pauseQueue(queue, false)
}
