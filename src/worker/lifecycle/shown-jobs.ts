/** The running jobs, as a worker shows them in its log and at SIGTTIN. */

import type { Running } from '../executor.ts'

export interface ShownJob {
  jid: string
  class: string
  queue: string
  /** Seconds since the job started. */
  seconds: number
  progress?: unknown
}

/** One log line names at most this many jobs. */
const MAX_NAMED = 10

/** Seconds after which a stop logs what it waits for; from then on it logs every ten seconds. */
const FIRST_LOGS = [1, 2, 5, 10, 20]

/** When a stop logs next, in whole seconds since it began to wait. `last`: when it logged last, 0 for never. */
export function nextLogAt(last: number): number {
  return FIRST_LOGS.find((seconds) => seconds > last) ?? last + 10
}

/** Lists the running jobs; `now` is the app's clock in milliseconds. */
export function shownJobs(running: readonly Running[], now: number): ShownJob[] {
  return running.map(({ ctx, payload, fetched, startedAt }) => {
    const seconds = Math.max(now - startedAt, 0) / 1000
    const job = { jid: ctx.jid, class: payload.class, queue: fetched.queue, seconds }
    return ctx.progressed ? { ...job, progress: ctx.progressed } : job
  })
}

/** Formats jobs, longest first, for instance `Import 0123456789ab (12 s), Mail 0123456789ac (3 s)`. */
export function inWords(jobs: readonly ShownJob[]): string {
  const named = [...jobs].sort((a, b) => b.seconds - a.seconds).slice(0, MAX_NAMED)
  const words = named.map(({ jid, class: name, seconds }) => `${name} ${jid} (${Math.round(seconds)} s)`)
  const others = jobs.length - named.length
  return `${words.join(', ')}${others > 0 ? ` and ${others} more` : ''}`
}
