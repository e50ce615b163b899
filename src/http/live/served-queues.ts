/** Queues with the processes that serve them, and the backlogs of tasks for them. */

import type { Process } from '../../index.ts'
import { maxLengthsOf, servedBy, slotsFor } from '../../inspect/process.ts'
import type { QueueSummary } from '../../inspect/queue.ts'
import type { StoreReads } from '../../inspect/store-reads.ts'
import { baseQueue } from '../../job/priority.ts'

export interface ServedQueue extends QueueSummary {
  /** The number of rows in the backlogs of tasks for it. */
  backlog: number
  /** The number of its jobs that its processes run at the same time. */
  slots: number
  /** The most jobs that wait in it; null when no running worker knows such a limit. */
  maxLength: number | null
  serving: Process[]
}

/** Returns these queues with the processes that serve them. The cost grows with the number of queues that each process names. */
export async function servedQueues(reads: StoreReads, queues: readonly QueueSummary[]): Promise<ServedQueue[]> {
  const [processes, backlogs] = await Promise.all([reads.processes(), backlogByQueue(reads)])
  const maxLengths = maxLengthsOf(processes)
  const byQueue = new Map(queues.map(({ name }) => [name, [] as Process[]]))
  for (const process of processes) {
    for (const name of servedBy(process)) byQueue.get(name)?.push(process)
  }
  return queues.map((queue) => {
    const serving = byQueue.get(queue.name) ?? []
    const slots = serving.reduce((sum, process) => sum + slotsFor(process, queue.name), 0)
    const [backlog, maxLength] = [backlogs.get(queue.name) ?? 0, maxLengths.get(queue.name) ?? null]
    return { ...queue, backlog, slots, maxLength, serving }
  })
}

/** Returns the number of rows that wait inside tasks, by the queue that they are for. */
async function backlogByQueue(reads: StoreReads): Promise<Map<string, number>> {
  const backlogs = new Map<string, number>()
  for (const task of await reads.backlogs()) {
    const queue = baseQueue(task.queue)
    backlogs.set(queue, (backlogs.get(queue) ?? 0) + task.backlog)
  }
  return backlogs
}
