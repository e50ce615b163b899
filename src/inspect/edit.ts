/** Changes the arguments of a waiting job, and pushes a job again as a new one. */

import type { AppPort } from '../app/port.ts'
import { checkArgs, checkReadable } from '../job/args.ts'
import { HIDDEN } from '../job/encryption.ts'
import { HighkiqError } from '../job/errors.ts'
import { checkText, shown } from '../job/options.ts'
import { editPayload, isSingleTracked, type Payload, readPayload } from '../job/payload.ts'
import { priorityName } from '../job/priority.ts'
import { jidLock, readUnique } from '../job/unique.ts'
import type { SwapAnswer } from '../store/contract.ts'
import { changed, effectsOf, nameOf } from './actions.ts'
import type { SetEntry } from './entry.ts'
import { findJob, type JobState } from './find.ts'
import type { QueuedJob } from './queue.ts'

/** Members that belong to one job, or to its attempts: a duplicate gets none of them. */
const OWN: ReadonlySet<string> = new Set([
  ...['jid', 'created_at', 'enqueued_at', 'at', 'retry_count', 'failed_at', 'retried_at', 'discarded_at'],
  ...['error_message', 'error_class', 'error_backtrace', 'bid', 'overrated', 'traceparent', 'tracestate'],
])

/** A job by its id, or as it was read. */
export type WaitingRef = string | SetEntry | QueuedJob

/** Gives a waiting job other arguments. Resolves with false if it changed or moved since it was read. */
export async function editJob(app: AppPort, ref: WaitingRef, args: unknown[]): Promise<boolean> {
  const job = await waiting(app, ref)
  if ('set' in job && job.set === 'finished') {
    throw invalid(`${nameOf(job.text)} has finished: push it again with other arguments`)
  }
  const text = editedText(app, job.text, args)
  const [answer] = await swap(app, job, text)
  if (answer === 'error') {
    throw new HighkiqError(
      'STORE_UNUSABLE',
      `the store can't change ${nameOf(job.text)}: does a key hold something else?`,
    )
  }
  return answer === 'ok'
}

function swap(app: AppPort, job: SetEntry | QueuedJob, text: string): Promise<SwapAnswer[]> {
  const { store, now } = app
  if ('set' in job) {
    const { set, score } = job
    const swap = { text: job.text, score, to: { to: set, text, score }, ...changed(app, set, text, score) }
    return store.jobSets.swap(set, [swap], now())
  }
  const { queue, priority, at } = job
  const to = { to: 'queue', queue: priorityName(queue, priority), text, end: 'back' } as const
  return store.search.pull(queue, [{ text: job.text, at, to, ...effectsOf(app, text, { kind: 'changed' }) }], now())
}

/** Pushes a new job like this one. @returns its id; null when client middleware stopped it */
export async function duplicateJob(app: AppPort, ref: WaitingRef): Promise<string | null> {
  const { text, queue } = await waiting(app, ref)
  const job = readable(text)
  const isTracked = isSingleTracked(job)
  if (job.hk_task !== undefined && !isTracked) {
    throw invalid(`${nameOf(text)} is a row of task ${job.hk_task}: retry the row in its task`)
  }
  const { class: name, args, ...rest } = app.client.writer.opened(job)
  const members = Object.entries(rest).filter(
    ([member]) => !OWN.has(member) && (member === 'hk_context' || !member.startsWith('hk_')),
  )
  const track = isTracked ? { track: true } : {}
  // The duplicate needs the lock of this job. A lock with a duration belongs to the push that took it.
  const locks = readUnique(job).filter(({ key, until }) => key !== jidLock(job.jid) && until !== 'time')
  const unique =
    locks.length > 0 ? { hk_unique: locks.map(({ until, key }) => `${until}:${key}`).join() } : { unique: false }
  return app.client.push({ queue, ...Object.fromEntries(members), class: name, args, ...track, ...unique })
}

/** @throws UNKNOWN_JID when it is not in a queue or a job set */
async function waiting(app: AppPort, ref: WaitingRef): Promise<SetEntry | QueuedJob> {
  if (typeof ref === 'object' && ref !== null && ('set' in ref || 'at' in ref)) return ref
  checkText('hq.edit and hq.duplicate: the job, if it was not read from a queue or a job set,', ref)
  const { state, job } = await findJob(app, ref)
  if (job && WAITING.has(state)) return job as SetEntry | QueuedJob
  const message = `job ${ref.slice(0, 100)} is not waiting (${state}): only jobs in a queue or a job set can be changed`
  throw new HighkiqError('UNKNOWN_JID', message)
}

const WAITING: ReadonlySet<JobState> = new Set<JobState>([
  'queued',
  'limited',
  'scheduled',
  'retry',
  'dead',
  'succeeded',
])

/** @throws INVALID_JOB, INVALID_ARGS, ARGS_TOO_LARGE, INVALID_OPTION */
function editedText({ client }: AppPort, text: string, args: unknown[]): string {
  const job = readable(text)
  if (!Array.isArray(args)) {
    const message = `${job.class}: args must be an array, one element for each argument (got ${shown(args)})`
    throw new HighkiqError('INVALID_ARGS', message, { path: 'args', job: job.class })
  }
  if (job.hk_task !== undefined) {
    throw invalid(`${nameOf(text)} has a record in task ${job.hk_task}: cancel it, and push it with other arguments`)
  }
  if (job.wrapped !== undefined) throw invalid(`${nameOf(text)} belongs to Active Job: change it in Rails`)
  checkArgs(args, job.class)
  const isKept = job.encrypt === true && args.length >= 2 && args.at(-1) === HIDDEN
  const stored = isKept ? [...args.slice(0, -1), job.args.at(-1)] : client.writer.sealed({ ...job, args }).args
  const edited = editPayload(text, { args: stored }, client.wire)
  checkReadable(edited, job.class)
  client.writer.weigh(job.class, edited)
  return edited
}

/** @throws INVALID_JOB */
function readable(text: string): Payload {
  const job = readPayload(text)
  if (job) return job
  throw invalid(`${nameOf(text)}: delete it`)
}

function invalid(message: string): HighkiqError {
  return new HighkiqError('INVALID_JOB', message)
}
