/** What can be done with a job that waits: each is one move of exactly the text that was read. */

import { HighkiqError } from '../job/errors.ts'
import { editPayload } from '../job/payload.ts'
import type { Effect, Entry, SetName, Swap } from '../store/contract.ts'
import type { Action, InspectHost } from './host.ts'
import { jobOf } from './record.ts'

export const KILLED = 'Job killed by API'

/** To its queue, through the client middleware. `again`: as a retry, which is taken off the count of retries. @throws INVALID_JOB */
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

/** For people. Nothing else of it is told: its text may hold what is not to be shown. */
export function nameOf(text: string): string {
  const job = jobOf({ text })
  return job ? `job ${job.jid.slice(0, 100)}` : `an entry of ${text.length} characters that is no job`
}

export function killed(host: InspectHost, { text, score }: Entry): Swap {
  const to = { to: 'dead', text, score: host.now() / 1000 } as const
  return { text, score, to, ...effectsOf(host, text, { kind: 'killed' }) }
}

/** Of what is dead the outcome is known, and stays. */
export function deleted(host: InspectHost, set: SetName, { text, score }: Entry): Swap {
  return { text, score, to: null, ...(set === 'dead' ? {} : effectsOf(host, text, { kind: 'deleted' })) }
}

export function effectsOf(host: InspectHost, text: string, deed: Action): { effects?: Effect[] } {
  const job = jobOf({ text })
  const effects = job && host.effects(job, deed)
  return effects ? { effects } : {}
}

/** Tells whoever waits for the job's result. */
export async function notifyOver(host: InspectHost, text: string, kind: 'deleted' | 'killed'): Promise<void> {
  const job = jobOf({ text })
  if (job) await host.over(job, { kind })
}

/** Tells the death handlers, who are for jobs alone. */
export async function notifyDeath(host: InspectHost, text: string, error: unknown = new Error(KILLED)): Promise<void> {
  const job = jobOf({ text })
  if (job) await host.died(job, error)
}

/** What a killed job came on top of. */
export async function trimDead(host: InspectHost): Promise<void> {
  const { dead, deadSeconds } = host.limits()
  await host.store().jobSets.prune('dead', dead, host.now() / 1000 - deadSeconds)
}
