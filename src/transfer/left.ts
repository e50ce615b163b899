/** The jobs that a move leaves in the source, by reason. */

import { isBatchJid } from '../batches/jids.ts'
import type { Payload } from '../job/payload.ts'
import { endedOf, type SetName, type Store } from '../store/contract.ts'

const READ = 1000

export interface Left {
  /** Jobs that are with a worker. */
  running: number
  /** Rows of tasks that have not ended; an ended task that is still there counts as one. */
  tasks: number
  /** Jobs of batches, and of cron entries that do not overlap. */
  batches: number
  crons: number
  /** Ids of ordered queues that wait or run. */
  ordered: number
  /** Other jobs that could not be taken: they moved meanwhile, or their text is not valid UTF-8. */
  others: number
  /** Dead jobs of batches, which stay, and ids in the morgues of ordered queues that are not paused. */
  ended: number
}

export const NOTHING_LEFT: Left = { running: 0, tasks: 0, batches: 0, crons: 0, ordered: 0, others: 0, ended: 0 }

/** Returns why a job must stay in the source, or undefined. */
export function reasonOf(payload: Payload | undefined, set?: SetName): 'batches' | 'crons' | 'ended' | undefined {
  if (!payload || set === 'finished') return undefined
  if (payload.bid !== undefined || payload.hk_children !== undefined || isBatchJid(payload.jid)) {
    return set === 'dead' ? 'ended' : 'batches'
  }
  return payload.hk_lock === undefined || set === 'dead' ? undefined : 'crons'
}

const CALLBACK = /^[0-9a-f]{16}f[ef][0-9a-f]{6}$/

/** Returns the task with which a job moves: a row, or a callback. */
export function taskOf(payload: Payload | undefined, set?: SetName): string | undefined {
  if (!payload || set === 'finished') return undefined
  if (payload.hk_task !== undefined) return payload.hk_task
  const { jid, args } = payload
  return typeof jid === 'string' && CALLBACK.test(jid) && args?.[0] === jid.slice(0, 16) ? jid.slice(0, 16) : undefined
}

/** Yields the ids of all tasks. */
export async function* taskIds({ transfers }: Store): AsyncGenerator<string> {
  for (let after: string | null | undefined; after !== null; ) {
    const page = await transfers.taskIds({ after: after ?? undefined, limit: READ })
    yield* page.ids
    after = page.next
  }
}

/** Counts what no pass moves, or has not moved yet. */
export async function countRest(source: Store, left: Left): Promise<void> {
  const { workers, tasks, ordered } = source
  for (let after: string | null | undefined; after !== null; ) {
    const page = await workers.fetched({ after: after ?? undefined, limit: READ })
    left.running += page.items.length
    after = page.next
  }
  for await (const id of taskIds(source)) {
    const task = await tasks.find(id)
    if (task) left.tasks += Math.max(task.total - endedOf(task.counts), 1)
  }
  // A sealed task is not found.
  left.tasks += (await source.transfers.movingTasks()).filter(({ sealed }) => sealed).length
  for (const queue of await ordered.queues()) {
    const counts = await ordered.counts(queue, Date.now())
    for (const { length, busy } of counts?.shards ?? []) left.ordered += length + busy
    left.ended += counts?.morgueLength ?? 0
  }
}
