/** Actions on waiting jobs. Each one moves exactly the text that was read (compare-and-swap). */

import type { AppPort } from '../app/port.ts'
import { HighkiqError } from '../job/errors.ts'
import { editPayload, readPayload } from '../job/payload.ts'
import type { Effect, Entry, SetName, Swap } from '../store/contract.ts'

/** An action of a person on a waiting job. */
export type Action =
  | { kind: 'deleted' }
  | { kind: 'killed' }
  /** Moved to its queue before it was due. */
  | { kind: 'added-to-queue' }
  /** The same, but client middleware stopped it. */
  | { kind: 'filtered' }

/** A text without any of these members has no effects, so the store may clear it without this process reading it. */
export const EFFECT_MEMBERS: readonly string[] = ['"hk_task"', '"hk_lock"']

/** Moves an entry to its queue, through client middleware. With `again` it lowers `retry_count` by one. @throws INVALID_JOB */
export async function addedToQueue(app: AppPort, { text, score }: Entry, again: boolean): Promise<Swap> {
  const job = readPayload(text)
  const count = job?.retry_count
  const edited = again && typeof count === 'number' ? editPayload(text, { retry_count: count - 1 }) : text
  const promoted = await app.client.promote(edited)
  if (!job || promoted === undefined) {
    throw new HighkiqError('INVALID_JOB', `${nameOf(text)} can't run: delete it`)
  }
  if (!promoted) return { text, score, to: null, ...effectsOf(app, text, { kind: 'filtered' }) }
  const to = { to: 'queue', queue: promoted.queue, text: promoted.text, end: 'back' } as const
  return { text, score, to, ...effectsOf(app, text, { kind: 'added-to-queue' }) }
}

/** Names an entry in messages. It shows nothing else of the text, which may be confidential. */
export function nameOf(text: string): string {
  const job = readPayload(text)
  return job ? `job ${job.jid.slice(0, 100)}` : `an entry of ${text.length} characters that is no job`
}

export function killed(app: AppPort, { text, score }: Entry): Swap {
  const to = { to: 'dead', text, score: app.now() / 1000 } as const
  return { text, score, to, ...effectsOf(app, text, { kind: 'killed' }) }
}

/** Deletes an entry. A dead job has no effects, since its outcome is already stored. */
export function deleted(app: AppPort, set: SetName, { text, score }: Entry): Swap {
  return { text, score, to: null, ...(set === 'dead' ? {} : effectsOf(app, text, { kind: 'deleted' })) }
}

export function effectsOf(app: AppPort, text: string, action: Action): { effects?: Effect[] } {
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

/** Prunes the dead set after a job was killed. */
export async function trimDead(app: AppPort): Promise<void> {
  const { dead, deadSeconds } = app.settings.limits
  await app.store.jobSets.prune('dead', dead, app.now() / 1000 - deadSeconds)
}
