/** Describes a blocked event loop, as text and as the fields of a log line. */

import type { RunningJob } from './event-loop-state.ts'

export interface Block {
  seconds: number
  /** The job whose handler is on the stack. Without it any of `running` may block, or the app's own code. */
  job: RunningJob | undefined
  running: RunningJob[]
  /** The number of running jobs; `running` may not name them all. */
  count: number
}

const MAX_NAMED = 8

/** @example 'blocked 41 s in job 9f0c… of class ImportProduct' */
export function describe(block: Block): string {
  const blocked = `blocked ${Math.round(block.seconds)} s`
  if (block.job) return `${blocked} in job ${nameOf(block.job)}`
  if (block.count === 0) return `${blocked} with no job running`
  // It is unknown which of them was resumed last, and a timer or a request of the app may block as well.
  const who = block.count === 1 ? 'the only running job' : `one of the ${block.count} running jobs`
  const named = block.running.slice(0, MAX_NAMED)
  const others = block.count > named.length ? `, and ${block.count - named.length} others` : ''
  return `${blocked}, most likely in ${who}: ${named.map(nameOf).join(', ')}${others}`
}

/** Returns the fields of a log line: `jid` and `class` when the job is certain, else `running`. */
export function fieldsOf(block: Block): Record<string, unknown> {
  const fields = { blockedSeconds: Math.round(block.seconds * 10) / 10 }
  if (block.job) return { ...fields, jid: block.job.jid, class: block.job.class }
  const running = block.running.slice(0, MAX_NAMED).map(({ jid, class: name }) => ({ jid, class: name }))
  return { ...fields, running, busy: block.count }
}

function nameOf({ jid, class: name }: RunningJob): string {
  return `${jid} of class ${name}`
}
