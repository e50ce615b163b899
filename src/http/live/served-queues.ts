/** Queues with the processes that serve them, and the backlogs of tasks for them. */

import type { Highkiq } from '../../app.ts'
import type { Process } from '../../index.ts'
import { servedBy, slotsFor } from '../../inspect/process.ts'
import type { QueueSummary } from '../../inspect/queue.ts'
import { all } from '../../job/json.ts'
import { baseQueue } from '../../job/priority.ts'

export interface ServedQueue extends QueueSummary {
  /** The number of rows in the backlogs of tasks for it. */
  backlog: number
  /** The number of its jobs that its processes run at the same time. */
  slots: number
  serving: Process[]
}

const TASK_PAGE = 200
/** The most tasks that are read, newest first: tasks with a backlog are rarely older than these. */
const MOST_TASKS = 5000

/** Adds to queues who serves them. The cost grows with the number of queues that each process names. */
export async function servedQueues(hq: Highkiq, queues: Promise<QueueSummary[]>): Promise<ServedQueue[]> {
  const [summaries, processes, backlogs] = await Promise.all([queues, all(hq.processes()), backlogByQueue(hq)])
  const byQueue = new Map<string, Process[]>()
  for (const process of processes) {
    for (const name of servedBy(process)) {
      const serving = byQueue.get(name)
      if (serving) serving.push(process)
      else byQueue.set(name, [process])
    }
  }
  return summaries.map((queue) => {
    const serving = byQueue.get(queue.name) ?? []
    const slots = serving.reduce((sum, process) => sum + slotsFor(process, queue.name), 0)
    return { ...queue, backlog: backlogs.get(queue.name) ?? 0, slots, serving }
  })
}

/** Returns the number of rows that wait inside tasks, by the queue that they are for. */
async function backlogByQueue(hq: Highkiq): Promise<Map<string, number>> {
  const backlogs = new Map<string, number>()
  let { backlog: left } = await hq.store.metrics.totals()
  let before: { createdAt: number; id: string } | undefined
  for (let read = 0; left > 0 && read < MOST_TASKS; read += TASK_PAGE) {
    const tasks = await hq.store.tasks.page({ ...(before ? { before } : {}), limit: TASK_PAGE })
    for (const task of tasks) {
      if (task.backlog <= 0) continue
      const queue = baseQueue(task.queue)
      backlogs.set(queue, (backlogs.get(queue) ?? 0) + task.backlog)
      left -= task.backlog
    }
    before = tasks.at(-1)
    if (tasks.length < TASK_PAGE) break
  }
  return backlogs
}
