/** Rows that wait inside their tasks, by the queue that they are for. */

import type { Highkiq } from '../../app.ts'

const PAGE = 200
/** Tasks that are looked at, newest first: those that hold rows back are among them, or very old. */
const MOST_TASKS = 5000

export async function heldByQueue(hq: Highkiq): Promise<Map<string, number>> {
  const held = new Map<string, number>()
  let { held: left } = await hq.store.stats()
  let before: { createdAt: number; id: string } | undefined
  for (let looked = 0; left > 0 && looked < MOST_TASKS; looked += PAGE) {
    const tasks = await hq.store.tasks({ ...(before ? { before } : {}), limit: PAGE })
    for (const task of tasks) {
      if (task.held <= 0) continue
      held.set(task.queue, (held.get(task.queue) ?? 0) + task.held)
      left -= task.held
    }
    before = tasks.at(-1)
    if (tasks.length < PAGE) break
  }
  return held
}
