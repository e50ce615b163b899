/** Finds the tasks whose rows a search by `meta` is about. */

import type { AppPort } from '../app/port.ts'
import { invalidOption } from '../job/errors.ts'
import { listTasks, type TaskPage } from './list.ts'

const PAGE = 500
const MOST_TASKS = 10_000

/** Returns the ids of the tasks whose `meta` has these values. @throws INVALID_OPTION for more than 10,000 tasks */
export async function tasksWith(app: AppPort, meta: Readonly<Record<string, string | number>>): Promise<Set<string>> {
  const ids = new Set<string>()
  let page: TaskPage = { items: [], next: null }
  do {
    page = await listTasks(app, { meta, limit: PAGE, ...(page.next === null ? {} : { cursor: page.next }) })
    for (const { id } of page.items) ids.add(id)
    if (ids.size > MOST_TASKS) {
      throw invalidOption(
        `meta: more than ${MOST_TASKS} tasks have these values: name another value of their meta, too`,
      )
    }
  } while (page.next !== null)
  return ids
}
