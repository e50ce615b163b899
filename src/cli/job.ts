/** Everything that the store knows about one job, for `highkiq job`. */

import type { Batch, Highkiq, JobRecord, JobState, LimitInfo, TaskEvent } from '../index.ts'
import { SetEntry } from '../inspect/entry.ts'
import { awaitedLimit, locksOf } from '../inspect/job-facts.ts'
import { liveOwners } from '../inspect/orphans.ts'
import { identityOf } from '../inspect/process-leases.ts'
import { hasCode, messageOf } from '../job/errors.ts'
import { splitTaskJid } from '../job/payload.ts'

/** A limit for which the job waits; `used` and so on are missing when it has vanished meanwhile. */
export type LimitView = Pick<LimitInfo, 'id' | 'kind' | 'name' | 'position' | 'key'> & Partial<LimitInfo>

export interface JobView {
  jid: string
  state: JobState
  /** The job as lists show it, without secret arguments; null when the store no longer has its payload. */
  job: JobRecord | null
  /** When it is due, died or finished. */
  at: Date | null
  /**
   * The worker that runs it. `startedAt` is null until the worker's next heartbeat. `dead`: its lease has ended, and another
   * worker will rescue the job.
   */
  worker: { identity: string; startedAt: Date | null; dead: boolean } | null
  progress: { done: number; total?: number; note?: string } | null
  /** The times that are known of it, oldest first. */
  timeline: { at: Date; what: string }[]
  task: { id: string; name: string; state: string; row: number } | null
  event: TaskEvent | null
  batch: Pick<Batch, 'bid' | 'state' | 'pending' | 'total'> | null
  /** The keys of the locks that it has. */
  locks: string[]
  limit: LimitView | null
  result?: unknown
  /** Why it failed for good, if that is kept. */
  failure: string | null
}

export async function viewOf(hq: Highkiq, jid: string): Promise<JobView> {
  const found = await hq.find(jid)
  const { state, job, event, progress } = found
  const [worker, task, batch, locks, limit, end] = await Promise.all([
    state === 'running' ? workerOf(hq, jid, found.owner) : null,
    event ? taskOf(hq, jid) : null,
    job?.bid ? hq.batches.get(job.bid) : null,
    job ? locksOf(hq.store, hq.now(), job) : [],
    job ? limitOf(hq, job) : null,
    endOf(hq, jid, found),
  ])
  const view = {
    ...{ jid, state, job, event, task, locks, limit, ...end },
    at: job instanceof SetEntry ? job.at : null,
    worker,
    progress: progress ?? null,
    batch: batch ? { bid: batch.bid, state: batch.state, pending: batch.pending, total: batch.total } : null,
  }
  return { ...view, timeline: timelineOf(view, found.startedAt) }
}

/** `owner` is the owner of the job's lease; undefined for a job of another program. */
async function workerOf(hq: Highkiq, jid: string, owner: string | undefined): Promise<JobView['worker']> {
  const [running, owners] = await Promise.all([hq.running().find(jid), liveOwners(hq.store)])
  if (owner === undefined) return running && { identity: running.process, startedAt: running.startedAt, dead: false }
  const identity = identityOf(owner)
  const startedAt = running?.process === identity ? running.startedAt : null
  return { identity, startedAt, dead: !owners.has(owner) }
}

async function taskOf(hq: Highkiq, jid: string): Promise<JobView['task']> {
  const { id, index } = splitTaskJid(jid)
  const status = await hq.tasks.get(id).status()
  return status && { id, name: status.name, state: status.state, row: index + 1 }
}

async function limitOf(hq: Highkiq, job: JobRecord): Promise<LimitView | null> {
  const limit = awaitedLimit(job)
  return limit && ((await hq.limits.list()).find(({ id, key }) => id === limit.id && key === limit.key) ?? limit)
}

/** Reads the result that is kept of a job that has ended (`keepResult`, `keepFinished`, the row of a task). */
async function endOf(
  hq: Highkiq,
  jid: string,
  { state, result }: Resolved<Highkiq['find']>,
): Promise<Pick<JobView, 'result' | 'failure'>> {
  if (state === 'succeeded') return result === undefined ? { failure: null } : { result, failure: null }
  if (state !== 'ended' && state !== 'unknown' && state !== 'dead') return { failure: null }
  try {
    return { result: await hq.result(jid, { timeout: 0 }), failure: null }
  } catch (thrown) {
    if (hasCode(thrown, 'NO_RESULT')) return { failure: null }
    if (hasCode(thrown, 'JOB_FAILED')) return { failure: messageOf(thrown) }
    throw thrown
  }
}

/** The value that a method resolves with. */
type Resolved<Method extends (...args: never[]) => Promise<unknown>> =
  ReturnType<Method> extends Promise<infer Value> ? Value : never

/** The meaning of an entry's time, by set. */
const TIMES: Partial<Record<JobState, string>> = {
  scheduled: 'is due',
  retry: 'is due again',
  limited: 'was due',
  dead: 'died',
  succeeded: 'succeeded',
}

function timelineOf(
  { state, job, at, worker, event }: Omit<JobView, 'timeline'>,
  startedAt: Date | null | undefined,
): JobView['timeline'] {
  // The order in which they happen, for times in the same millisecond.
  const times: [Date | null | undefined, string][] = [
    [job?.createdAt, 'was created'],
    [job?.enqueuedAt, 'entered its queue'],
    [worker?.startedAt ?? startedAt ?? event?.startedAt, 'started'],
    ...[...(job?.messages ?? []), ...(event?.messages ?? [])].map(({ at, text }): [Date, string] => [at, text]),
    [job?.failedAt, 'failed'],
    [job?.retriedAt, 'failed again'],
    [event?.finishedAt, `ended: ${event?.status}`],
    [at, TIMES[state] ?? ''],
  ]
  return times
    .flatMap(([at, what]) => (at && what !== '' ? [{ at, what }] : []))
    .sort((a, b) => a.at.getTime() - b.at.getTime())
}
