/** The running jobs, as a worker shows them: in its log, at SIGTTIN, and in the store. */

import { plural } from '../../job/plural.ts'
import { within } from '../../job/wait.ts'
import type { RunningJob } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import type { Executor, Running } from '../executor.ts'

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
export function summaryOf(jobs: readonly ShownJob[]): string {
  const named = [...jobs].sort((a, b) => b.seconds - a.seconds).slice(0, MAX_NAMED)
  const words = named.map(({ jid, class: name, seconds }) => `${name} ${jid} (${Math.round(seconds)} s)`)
  const others = jobs.length - named.length
  return `${words.join(', ')}${others > 0 ? ` and ${others} more` : ''}`
}

/** Lists the running jobs for the store. */
export function runningJobs(running: readonly Running[]): RunningJob[] {
  return running.map((one) => ({
    slot: slotName(one),
    queue: one.fetched.queue,
    text: one.fetched.text,
    startedAt: one.startedAt,
    ...(one.ctx.progressed ? { progress: one.ctx.progressed } : {}),
  }))
}

/** Returns the name of a job's slot in the store. */
export function slotName({ slot }: Running): string {
  return slot.toString(36)
}

/** Resolves with whether all jobs ended within `ms`. Meanwhile it logs the running jobs, less and less often. */
export async function idleWithin(
  ms: number,
  executors: readonly Executor[],
  { log, now }: Pick<Engine, 'log' | 'now'>,
): Promise<boolean> {
  const idle = Promise.all(executors.map((executor) => executor.idle()))
  const began = performance.now()
  const end = began + ms
  for (let seconds = nextLogAt(0); ; seconds = nextLogAt(seconds)) {
    const until = Math.min(end, began + seconds * 1000)
    if (await within(Math.max(until - performance.now(), 0), idle)) return true
    const busy = executors.reduce((sum, one) => sum + one.busy, 0)
    if (performance.now() >= end) return busy === 0
    if (busy === 0) log.info({ busy }, 'waiting for the store')
    else {
      const running = executors.flatMap(({ attempts }) => attempts)
      const jobs = shownJobs(running, now())
      log.info({ busy, jobs }, `waiting for ${plural(busy, 'job')} to end: ${summaryOf(jobs)}`)
    }
  }
}
