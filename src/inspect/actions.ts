/** Actions on waiting jobs. Each one moves exactly the text that was read (compare-and-swap). */

import type { AppPort } from '../app/port.ts'
import { invalidJob } from '../job/errors.ts'
import { editPayload, type Payload, readPayload } from '../job/payload.ts'
import { mayKeepResult } from '../job/result.ts'
import { clearCancellations, jidsOf } from '../job/rows.ts'
import { jidLock, readUnique, writeUnique } from '../job/unique.ts'
import type { Effect, Entry, SetName, Swap } from '../store/contract.ts'

/** An action of a person on a waiting job. */
export type Action =
  | { kind: 'deleted' }
  | { kind: 'killed' }
  /** Moved to its queue before it was due. */
  | { kind: 'added-to-queue' }
  /** The job was to go to its queue, but client middleware stopped it. */
  | { kind: 'filtered' }
  /** Changed, and waits on; `due` is its score in the scheduled set. */
  | { kind: 'changed'; due?: number }

/** A text without any of these members has no effects, so the store may clear it without this process reading it. */
export const EFFECT_MEMBERS: readonly string[] = ['"hk_task"', '"hk_cron"', '"hk_lock"', '"hk_unique"', '"bid"']

/** Moves an entry to its queue, through client middleware. With `again` it lowers `retry_count` by one. @throws INVALID_JOB */
export async function addedToQueue(app: AppPort, set: SetName, { text, score }: Entry, again: boolean): Promise<Swap> {
  const job = readPayload(text)
  if (!job) throw invalidJob(`${nameOf(text)} can't run: delete it`, { problem: 'unreadable' })
  const { jid, retry_count: count } = job
  const edits = {
    ...(again && typeof count === 'number' ? { retry_count: count - 1 } : {}),
    // A finished job runs again.
    ...(job.hk_started === undefined ? {} : { hk_started: undefined, hk_result: undefined, hk_progress: undefined }),
  }
  const own = isOver(set) ? await withoutLocksOfLater(app, job, text) : text
  const promoted = await app.client.promote(Object.keys(edits).length > 0 ? editPayload(own, edits) : own)
  if (!promoted) return { text, score, to: null, ...effectsOf(app, own, { kind: 'filtered' }) }
  const to = { to: 'queue', queue: promoted.queue, text: promoted.text, end: 'back' } as const
  const { effects = [] } = effectsOf(app, own, { kind: 'added-to-queue' })
  // A killed worker may have left a cancellation: the next worker would drop the job.
  if (isOver(set)) effects.push(...clearCancellations(jidsOf(job), app.now()))
  // A job that has ended starts over.
  const isKept = typeof jid === 'string' && mayKeepResult(app.registry.get(job.wrapped ?? job.class))
  return { text, score, to, effects: isKept ? [...effects, { kind: 'delete-result', jid }] : effects }
}

/**
 * Returns the text of a dead or finished job without the locks that a newer job with its jid holds. With them, the job that
 * ends first would release the locks of the other.
 */
async function withoutLocksOfLater(app: AppPort, job: Payload, text: string): Promise<string> {
  const locks = readUnique(job)
  if (!locks.some(({ key }) => key === jidLock(job.jid))) return text
  const keys = locks.map(({ key }) => key)
  const held = await app.store.unique.find(keys, app.now())
  // A lock with a duration may be the job's own, and no end releases it.
  const own = locks.filter(({ until }, i) => until === 'time' || held[i]?.holder !== job.jid)
  if (own.length === locks.length) return text
  return editPayload(text, { hk_unique: writeUnique(own, job.jid) || undefined })
}

/** Names an entry in messages. It shows nothing else of the text, which may be confidential. */
export function nameOf(text: string): string {
  const job = readPayload(text)
  return job ? `job ${job.jid.slice(0, 100)}` : `an entry of ${text.length} characters that is not a job`
}

export function killed(app: AppPort, { text, score }: Entry): Swap {
  const to = { to: 'dead', text, score: app.now() / 1000 } as const
  return { text, score, to, ...effectsOf(app, text, { kind: 'killed' }) }
}

/** Whether the jobs of a set have ended. */
export function isOver(set: SetName): boolean {
  return set === 'dead' || set === 'finished'
}

/** Returns the members of which one is in each text whose deletion has effects. */
export function effectMembers(set: SetName): readonly string[] {
  if (set === 'finished') return []
  return set === 'dead' ? ['"bid"'] : EFFECT_MEMBERS
}

/** Deletes an entry. Of a job that has ended the outcome is stored; only a batch still waits for a dead job. */
export function deleted(app: AppPort, set: SetName, { text, score }: Entry): Swap {
  const { effects = [] } = set === 'finished' ? {} : effectsOf(app, text, { kind: 'deleted' })
  return { text, score, to: null, effects: set === 'dead' ? effects.filter(({ kind }) => kind === 'batch') : effects }
}

/** Returns the effects of a change of an entry that stays in its set. A dead job has none. */
export function changed(app: AppPort, set: SetName, text: string, score: number): { effects?: Effect[] } {
  if (isOver(set)) return {}
  return effectsOf(app, text, set === 'schedule' ? { kind: 'changed', due: score } : { kind: 'changed' })
}

export function effectsOf(app: Pick<AppPort, 'effects'>, text: string, action: Action): { effects?: Effect[] } {
  const job = readPayload(text)
  const effects = job && app.effects(job, action)
  return effects ? { effects } : {}
}

/** Rejects the promises that wait for the job's result. */
export async function notifyOver(app: AppPort, text: string, kind: 'deleted' | 'killed'): Promise<void> {
  const job = readPayload(text)
  if (job) await app.keepEnd(job, { kind })
}

/** Calls the death handlers, which are only for jobs. */
export async function notifyDeath(
  app: AppPort,
  text: string,
  error: unknown = new Error('Job killed by API'),
): Promise<void> {
  const job = readPayload(text)
  if (job) await app.hooks.died(job, error)
}
