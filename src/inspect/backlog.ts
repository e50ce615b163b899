/** The rows that wait inside their tasks. They become jobs when they enter the queue. */

import { hideSealed } from '../job/encryption.ts'
import { isObject, parseJson, stringifyJson } from '../job/json.ts'
import type { EventRecord, Store, TaskRecord } from '../store/contract.ts'

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

/** Returns a row as the text of a job, to be shown and searched. An encrypted argument is hidden. */
export function textOfRow(task: TaskRecord, { jid, job, args: text }: EventRecord): string {
  const value = parseJson(text ?? '[]')
  // A row may be a whole payload.
  const { args, ...rest } = isObject(value) ? value : { args: value }
  const shown = Array.isArray(args) ? hideSealed(args) : []
  const own = { class: job ?? task.job, queue: task.queue, created_at: task.createdAt }
  return stringifyJson({ ...own, ...rest, args: shown, jid, hk_task: task.id })
}
