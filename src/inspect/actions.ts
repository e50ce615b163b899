/** Actions on waiting jobs. Each one moves exactly the text that was read (compare-and-swap). */

import { HighkiqError } from '../job/errors.ts'
import { editPayload } from '../job/payload.ts'
import type { Effect, Entry, SetName, Swap } from '../store/contract.ts'
import type { Action, InspectHost } from './host.ts'
import { jobOf } from './record.ts'

export const KILLED = 'Job killed by API'

/** Requeues an entry through the client middleware. `again` takes one off its count of retries. @throws INVALID_JOB */
export async function requeued(host: InspectHost, { text, score }: Entry, again: boolean): Promise<Swap> {
  const job = jobOf({ text })
  const count = job?.retry_count
  const edited = again && typeof count === 'number' ? editPayload(text, { retry_count: count - 1 }) : text
  const promoted = await host.promote(edited)
  if (!job || promoted === undefined) {
    throw new HighkiqError('INVALID_JOB', `${nameOf(text)} can't run: delete it`)
  }
  if (!promoted) return { text, score, to: null, ...effectsOf(host, text, { kind: 'filtered' }) }
  const to = { to: 'queue', queue: promoted.queue, text: promoted.text, end: 'back' } as const
  return { text, score, to, ...effectsOf(host, text, { kind: 'requeued' }) }
}

/** Names an entry in messages. It shows nothing else of the text, which may be confidential. */
export function nameOf(text: string): string {
  const job = jobOf({ text })
  return job ? `job ${job.jid.slice(0, 100)}` : `an entry of ${text.length} characters that is no job`
}

export function killed(host: InspectHost, { text, score }: Entry): Swap {
  const to = { to: 'dead', text, score: host.now() / 1000 } as const
  return { text, score, to, ...effectsOf(host, text, { kind: 'killed' }) }
}

/** Deletes an entry. A dead job has no effects, since its outcome is already stored. */
export function deleted(host: InspectHost, set: SetName, { text, score }: Entry): Swap {
  return { text, score, to: null, ...(set === 'dead' ? {} : effectsOf(host, text, { kind: 'deleted' })) }
}

export function effectsOf(host: InspectHost, text: string, action: Action): { effects?: Effect[] } {
  const job = jobOf({ text })
  const effects = job && host.effects(job, action)
  return effects ? { effects } : {}
}

/** Rejects the promises that wait for the job's result. */
export async function notifyOver(host: InspectHost, text: string, kind: 'deleted' | 'killed'): Promise<void> {
  const job = jobOf({ text })
  if (job) await host.over(job, { kind })
}

/** Calls the death handlers, which are only for jobs. */
export async function notifyDeath(host: InspectHost, text: string, error: unknown = new Error(KILLED)): Promise<void> {
  const job = jobOf({ text })
  if (job) await host.died(job, error)
}

/** Prunes the dead set after a job was killed. */
export async function trimDead(host: InspectHost): Promise<void> {
  const { dead, deadSeconds } = host.limits()
  await host.store().jobSets.prune('dead', dead, host.now() / 1000 - deadSeconds)
}
