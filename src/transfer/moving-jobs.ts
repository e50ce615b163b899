/** Pages of jobs that stay in the source: from a queue or a set to the sets of their tasks, or from there back (tasks.ts). */

import { taskOf } from '../inspect/tied-jobs.ts'
import { readPayload } from '../job/payload.ts'
import { type Destination, type Move, type Store, TRANSFER_PAGE, type TransferPage } from '../store/contract.ts'
import { destinationOf, enteringOf, keptLocksOf } from './page.ts'

/** Returns the tasks to whose sets the jobs of a page go. */
export function tasksOf({ jobs }: TransferPage): Set<string> {
  return new Set(jobs.flatMap(({ to, text }) => (to.startsWith('moving:') ? [] : (taskOf(readPayload(text)) ?? []))))
}

/**
 * Ends a page of jobs of tasks. A job from a queue or a job set goes to the set of its task if that task is in `moving`;
 * otherwise it goes back. A job from the set of its task goes back to where it was before that; if another mover has sealed
 * the task, it stays in the set. If a task was released meanwhile and its set gets a job, the page stays held.
 */
export async function rearrangePage(
  source: Store,
  page: TransferPage,
  moving: ReadonlySet<string>,
  now: number,
): Promise<void> {
  // A page has jobs of one set.
  const [kind, , task = ''] = page.jobs[0]?.to.split(':') ?? []
  const isTaskSealed = kind === 'moving' && (await isSealed(source, task))
  const destinationFor = (from: Destination, i: number): Destination => {
    if (isTaskSealed) return from
    const isCollected = !from.to.startsWith('moving:') && moving.has(taskOf(readPayload(from.text)) ?? '')
    return isCollected ? movingOf(from, page.number * TRANSFER_PAGE + i) : destinationOf(from, 'front')
  }
  const moves = page.jobs.map((from, i): Move => {
    const to = destinationFor(from, i)
    return { to, effects: [...enteringOf(from, to, now), ...keptLocksOf(from)] }
  })
  // Each goes to the front of its queue.
  await source.transfers.endPage(page, moves.toReversed(), now)
}

/** Returns whether a task is sealed. `tasks.find` does not find sealed tasks. No task becomes sealed while a page is held. */
async function isSealed({ tasks, transfers }: Store, id: string): Promise<boolean> {
  if ((await tasks.find(id)) !== null) return false
  return (await transfers.movingTasks()).some((task) => task.id === id && task.sealed !== null)
}

function movingOf(from: Destination, order: number): Destination {
  const { text } = from
  const task = taskOf(readPayload(text))
  if (from.to === 'retry' || from.to === 'schedule' || from.to === 'dead') {
    return { to: `moving:${from.to}:${task}`, score: from.score, text }
  }
  return { to: `moving:queue:${task}`, score: order, text }
}
