/**
 * Moves the jobs of a queue to another queue of the same store, while workers run. Each job moves in one step, with its
 * priority, its order, and its time in a job set. Rows of tasks and jobs of batches stay, dead ones
 * too, and jobs of cron entries unless they are dead: records in the store name their queue. Finished jobs stay. Not counted, because
 * they come to the old queue later: backlogs, callbacks of tasks and batches, parent jobs that wait for their children, and jobs
 * that wait in other queues with the old one as `retry_queue`.
 */

import type { AppPort } from '../app/port.ts'
import { given } from '../job/options.ts'
import { editPayload, type Payload, readPayload } from '../job/payload.ts'
import { baseQueue, priorityName, priorityOf } from '../job/priority.ts'
import type { Entry, Pull, SetName, Swap } from '../store/contract.ts'
import { changed, effectsOf } from './actions.ts'
import { type BulkResult, forAll } from './bulk.ts'
import { runningInOthers } from './process.ts'
import { reasonOf } from './tied-jobs.ts'
import { limitedSets, pages } from './walk.ts'

/** The number of jobs that one call of the store moves. */
const PAGE = 100

export interface RenamePass {
  moved: number
  left: RenameLeft
}

/** Jobs that stay, by reason. */
export interface RenameLeft {
  /** Jobs with a worker, which may come back. */
  running: number
  rows: number
  batches: number
  crons: number
  /** Jobs that the store did not move, for example because their text is not valid UTF-8. */
  others: number
  /** Dead rows, and dead jobs of batches. */
  ended: number
}

export const NOTHING_LEFT: RenameLeft = { running: 0, rows: 0, batches: 0, crons: 0, others: 0, ended: 0 }

/** Pauses the new queue if the old one is paused. Returns whether it was not paused before. */
export async function pauseLike({ store }: AppPort, from: string, to: string): Promise<boolean> {
  const paused = await store.jobs.pausedQueues()
  if (!paused.includes(from) || paused.includes(to)) return false
  await store.jobs.pauseQueue(to, true)
  return true
}

/** Copies the numbers that were set for the limit of the old queue, unless the new one has its own. Returns whether it did. */
export async function limitLike({ store }: AppPort, from: string, to: string): Promise<boolean> {
  const set = (await store.limits.allSet()).find(({ name }) => name === `queue:${from}`)
  return set !== undefined && store.limits.add({ name: `queue:${to}`, numbers: set.numbers })
}

/**
 * Moves the jobs that may move now, in one pass, until `signal` ends it after a page. The caller repeats passes until two in a
 * row moved nothing and left no job running: a job may be on its way between two places while one pass reads them. Other programs
 * show a running job only at their next heartbeat.
 */
export async function renamePass(app: AppPort, from: string, to: string, signal?: AbortSignal): Promise<RenamePass> {
  const { store, now } = app
  const left = { ...NOTHING_LEFT }
  let moved = 0
  /** Counts a job that stays. */
  const mayMove = (text: string, set?: SetName) => {
    const reason = reasonToStay(text, set)
    if (reason) left[reason]++
    return !reason
  }
  for (const set of ['schedule', 'retry', 'dead', ...(await limitedSets(store))] as const) {
    const where = ({ text }: { text: string }) => renamed(text, from, to) !== text && mayMove(text, set)
    const swapOf = ({ text, score }: Entry): Swap => {
      const after = renamed(text, from, to)
      return { text, score, to: { to: set, text: after, score }, ...changed(app, set, after, score) }
    }
    if (signal?.aborted) break
    let { done, refused } = { done: 0, refused: 0 }
    const onProgress = (sofar: BulkResult) => ({ done, refused } = sofar)
    await forAll(app, set, { where, onProgress, ...(signal ? { signal } : {}) }, swapOf).catch((thrown) => {
      if (!signal?.aborted) throw thrown
    })
    moved += done
    left.others += refused
  }
  for (let offset = 0; !signal?.aborted; ) {
    const texts = await store.jobs.peek(from, offset, PAGE)
    if (texts.length === 0) break
    const pulls = texts
      .filter((text) => mayMove(text))
      .map((text): Pull => {
        const queue = priorityName(to, priorityOf(readPayload(text)?.queue ?? ''))
        const after = { to: 'queue', queue, text: renamed(text, from, to), end: 'back' } as const
        return { text, to: after, ...effectsOf(app, text, { kind: 'changed' }) }
      })
    const answers = pulls.length === 0 ? [] : await store.search.pull(from, pulls, now())
    const pulled = answers.filter((answer) => answer === 'ok').length
    // Texts that can't be taken must not stop the pass.
    const stuck = pulled === 0 ? pulls.length : 0
    moved += pulled
    left.others += stuck
    // Moved jobs have left the queue, so the next page begins after those that stay. If nothing moved, it begins after this page.
    offset += texts.length - pulls.length + stuck
  }
  const countRunning = (jobs: readonly { queue: string; text: string }[]) => {
    const comesBack = jobs.filter(({ queue, text }) => baseQueue(queue) === from || renamed(text, from, to) !== text)
    left.running += comesBack.filter(({ text }) => !reasonToStay(text)).length
  }
  for await (const { items } of pages((after) => store.workers.fetched({ after, limit: PAGE }))) countRunning(items)
  countRunning((await runningInOthers(store)) ?? [])
  return { moved, left }
}

/** Returns why a job stays in the old queue, or undefined. */
function reasonToStay(text: string, set?: SetName): 'rows' | 'batches' | 'crons' | 'ended' | undefined {
  const payload = readPayload(text)
  if (payload?.hk_task !== undefined) return set === 'dead' ? 'ended' : 'rows'
  return reasonOf(payload, set)
}

/** Returns the text of a job with the new name where `queue` and `retry_queue` name the old queue. */
function renamed(text: string, from: string, to: string): string {
  const { queue, retry_queue } = (readPayload(text) ?? {}) as Partial<Payload>
  const nameOf = (name: string | undefined) =>
    typeof name === 'string' && baseQueue(name) === from ? priorityName(to, priorityOf(name)) : undefined
  const changes = given({ queue: nameOf(queue), retry_queue: nameOf(retry_queue) }) as Partial<Payload>
  return Object.keys(changes).length > 0 ? editPayload(text, changes) : text
}
