import type { Store, StoreStats, TaskRecord } from '../store/contract.ts'

const FIRST_PAGE = 20
const TASK_PAGE = 200
/** The most tasks that are read, newest first: tasks with a backlog are rarely older than these. */
const MOST_TASKS = 5000

/** Returns the tasks that have a backlog, newest first. `totals` are those of a moment ago. */
export async function tasksWithBacklog(store: Store, { backlog }: Pick<StoreStats, 'backlog'>): Promise<TaskRecord[]> {
  const found: TaskRecord[] = []
  let left = backlog
  let before: { createdAt: number; id: string } | undefined
  for (let read = 0; left > 0 && read < MOST_TASKS; ) {
    const limit = read === 0 ? FIRST_PAGE : TASK_PAGE
    const tasks = await store.tasks.page({ ...(before ? { before } : {}), limit })
    found.push(...tasks.filter(({ backlog }) => backlog > 0))
    read += tasks.length
    before = tasks.at(-1)
    if (tasks.length < limit || backlogOf(found) >= backlog) break
    // While a task runs its backlog shrinks, so the total of before would leave a rest that no task has.
    left = await unreadOf(store, found)
  }
  return found
}

/** Returns the rows in the backlogs of tasks that are not among these, or less. */
async function unreadOf(store: Store, tasks: readonly TaskRecord[]): Promise<number> {
  const { backlog } = await store.metrics.totals()
  return backlog - backlogOf(tasks)
}

function backlogOf(tasks: readonly TaskRecord[]): number {
  return tasks.reduce((sum, task) => sum + task.backlog, 0)
}
