/** Rows that wait inside their tasks, by the queue that they are for. */

import type { Highkiq } from '../../app.ts'

const PAGE = 200
/** Tasks that are looked at, newest first: those that hold rows back are among them, or very old. */
const MOST_TASKS = 5000

export async function backlogByQueue(hq: Highkiq): Promise<Map<string, number>> {
  const backlogs = new Map<string, number>()
  let { backlog: left } = await hq.store.metrics.totals()
  let before: { createdAt: number; id: string } | undefined
  for (let looked = 0; left > 0 && looked < MOST_TASKS; looked += PAGE) {
    const tasks = await hq.store.tasks.page({ ...(before ? { before } : {}), limit: PAGE })
    for (const task of tasks) {
      if (task.backlog <= 0) continue
      backlogs.set(task.queue, (backlogs.get(task.queue) ?? 0) + task.backlog)
      left -= task.backlog
    }
    before = tasks.at(-1)
    if (tasks.length < PAGE) break
  }
  return backlogs
}
