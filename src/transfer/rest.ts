/** Counts what a pass of a move leaves in the source. */

import { pages } from '../inspect/walk.ts'
import { endedOf, type Store } from '../store/contract.ts'
import { taskIds } from './walk.ts'

const READ = 1000

/** Jobs and tasks that are still in the source, by reason. */
export interface RestCounts {
  /** Jobs that are with a worker. */
  running: number
  /** Rows of tasks that have not ended. */
  rows: number
  /** Tasks without such rows, and tasks that are between the stores. */
  tasks: number
  /** Jobs of batches, and of cron entries that do not overlap. */
  batches: number
  crons: number
  /** Ids of ordered queues that wait or run. */
  ordered: number
  /** Other jobs that could not be held: they moved meanwhile, or their text is not valid UTF-8. */
  others: number
  /** Dead jobs of batches, which stay, and ids in the morgues of ordered queues that are not paused. */
  ended: number
}

export const NOTHING_LEFT: RestCounts = {
  running: 0,
  rows: 0,
  tasks: 0,
  batches: 0,
  crons: 0,
  ordered: 0,
  others: 0,
  ended: 0,
}

/** Counts what no pass moves, or has not moved yet. */
export async function countRest(source: Store, left: RestCounts): Promise<void> {
  const { workers, tasks, transfers } = source
  for await (const { items } of pages((after) => workers.fetched({ after, limit: READ }))) left.running += items.length
  for await (const id of taskIds(source)) {
    const task = await tasks.find(id)
    const open = task ? task.total - endedOf(task.counts) : 0
    left.rows += open
    if (task && open === 0) left.tasks++
  }
  // A sealed task is not found.
  left.tasks += (await transfers.movingTasks()).filter(({ sealed }) => sealed).length
  const { ordered, ended } = await countOrdered(source)
  left.ordered += ordered
  left.ended += ended
}

/** Counts the ids of ordered queues that wait or run (`ordered`), and those in the morgues (`ended`). */
export async function countOrdered({ ordered }: Store): Promise<Pick<RestCounts, 'ordered' | 'ended'>> {
  const left = { ordered: 0, ended: 0 }
  for (const queue of await ordered.queues()) {
    const counts = await ordered.counts(queue, Date.now())
    for (const { length, busy } of counts?.shards ?? []) left.ordered += length + busy
    left.ended += counts?.morgueLength ?? 0
  }
  return left
}
