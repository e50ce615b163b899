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
 * Ends a page of jobs of tasks: each goes to the set of its task, if that is in `moving`, or back to where it was. If such a task
 * was released meanwhile, the page stays, and the next caller of `hold` gets it.
 */
export async function rearrangePage(
  source: Store,
  page: TransferPage,
  moving: ReadonlySet<string>,
  now: number,
): Promise<void> {
  const moves = page.jobs.map((from, i): Move => {
    const isBack = from.to.startsWith('moving:') || !moving.has(taskOf(readPayload(from.text)) ?? '')
    const to = isBack ? destinationOf(from, 'front') : movingOf(from, page.number * TRANSFER_PAGE + i)
    return { to, effects: [...(isBack ? enteringOf(from, to, now) : []), ...keptLocksOf(from)] }
  })
  // Each goes to the front of its queue.
  await source.transfers.endPage(page, moves.toReversed(), now)
}

function movingOf(from: Destination, order: number): Destination {
  const { text } = from
  const task = taskOf(readPayload(text))
  if (from.to === 'retry' || from.to === 'schedule' || from.to === 'dead') {
    return { to: `moving:${from.to}:${task}`, score: from.score, text }
  }
  return { to: `moving:queue:${task}`, score: order, text }
}
