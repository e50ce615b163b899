import type { Store, TaskRecord } from '../store/contract.ts'

const TASK_PAGE = 200
/** The most tasks that are read, newest first: tasks with a backlog are rarely older than these. */
const MOST_TASKS = 5000

/** Returns the tasks that have a backlog, newest first. */
export async function tasksWithBacklog(store: Store): Promise<TaskRecord[]> {
  const found: TaskRecord[] = []
  let { backlog: left } = await store.metrics.totals()
  let before: { createdAt: number; id: string } | undefined
  for (let read = 0; left > 0 && read < MOST_TASKS; read += TASK_PAGE) {
    const tasks = await store.tasks.page({ ...(before ? { before } : {}), limit: TASK_PAGE })
    for (const task of tasks) {
      if (task.backlog <= 0) continue
      found.push(task)
      left -= task.backlog
    }
    before = tasks.at(-1)
    if (tasks.length < TASK_PAGE) break
  }
  return found
}
