/** Changes the arguments of a job in a queue or a job set, and pushes a job again as a new one. */

import type { AppPort } from '../app/port.ts'
import { checkArgs, checkReadable } from '../job/args.ts'
import type { Duration } from '../job/duration.ts'
import { HIDDEN } from '../job/encryption.ts'
import { HighkiqError, invalidJob, storeRefused } from '../job/errors.ts'
import { checkOptions, checkText, given, type OptionKind, shown } from '../job/options.ts'
import { editPayload, isSingleTracked, type Payload, readPayload } from '../job/payload.ts'
import { baseQueue, isPriority, priorityOf } from '../job/priority.ts'
import { jidLock, readUnique, writeUnique } from '../job/unique.ts'
import type { SwapAnswer } from '../store/contract.ts'
import { changed, effectsOf, nameOf } from './actions.ts'
import type { SetEntry } from './entry.ts'
import { findJob, type JobState } from './find.ts'
import type { QueuedJob } from './queue.ts'
import { JobRecord } from './record.ts'

/**
 * Members that belong to one job, or to its attempts: a duplicate gets none of them. In `overrated` Sidekiq Enterprise counts
 * how often a rate limiter postponed the job.
 */
const OWN: ReadonlySet<string> = new Set([
  ...['jid', 'created_at', 'enqueued_at', 'at', 'retry_count', 'failed_at', 'retried_at', 'discarded_at'],
  ...['error_message', 'error_class', 'error_backtrace', 'bid', 'overrated', 'traceparent', 'tracestate'],
])

/** A job by its id, or as it was read. */
export type JobRef = string | SetEntry | QueuedJob

/** Gives a job in a queue or a job set other arguments. Resolves with false if it changed or moved since it was read. */
export async function editJob(app: AppPort, ref: JobRef, args: unknown[]): Promise<boolean> {
  const job = await editable(app, ref)
  if ('set' in job && job.set === 'finished') {
    throw invalidJob(`${nameOf(job.text)} has finished: push it again with other arguments`, { problem: 'finished' })
  }
  const text = editedText(app, job.text, args)
  const [answer] = await swap(app, job, text)
  if (answer === 'error') throw storeRefused(`change ${nameOf(job.text)}`)
  return answer === 'ok'
}

function swap(app: AppPort, job: SetEntry | QueuedJob, text: string): Promise<SwapAnswer[]> {
  const { store, now } = app
  if ('set' in job) {
    const { set, score } = job
    const swap = { text: job.text, score, to: { to: set, text, score }, ...changed(app, set, text, score) }
    return store.jobSets.swap(set, [swap], now())
  }
  const { queue, at } = job
  const to = { to: 'same', text } as const
  return store.search.pull(queue, [{ text: job.text, at, to, ...effectsOf(app, text, { kind: 'changed' }) }], now())
}

/** The members of a duplicate that differ from its original. */
export interface DuplicateChanges {
  args?: unknown[]
  queue?: string
  /** 0 to 9. */
  priority?: number
  tags?: string[]
  /** Delay from now: seconds, `'5m'`, `{ minutes: 5 }`; default: the new job is due now. */
  wait?: number | Duration
  /** A Date, or seconds since the epoch. Takes precedence over `wait`. */
  waitUntil?: number | Date
}

const CHANGES: Readonly<Record<keyof DuplicateChanges, OptionKind>> = {
  args: [Array.isArray, 'an array, one element for each argument'],
  queue: 'text',
  priority: [isPriority, 'a whole number from 0 to 9'],
  tags: 'texts',
  wait: null,
  waitUntil: null,
}

/** The id of a duplicate, for a request that may be repeated. */
export interface DuplicateId {
  jid: string
  /**
   * Called right before the job is stored; it throws if another request may have stored it. Undefined if one may have stored
   * it already.
   */
  confirm: ((jid: string) => void) | undefined
}

/**
 * Pushes a new job like this one.
 * @param id default: a new one
 * @returns its id; null when client middleware stopped it
 */
export async function duplicateJob(
  app: AppPort,
  ref: string | JobRecord,
  changes: DuplicateChanges = {},
  id?: DuplicateId,
): Promise<string | null> {
  checkOptions('hq.duplicate', changes, CHANGES)
  const { text, queue } = await original(app, ref)
  const job = readable(text)
  const isTracked = isSingleTracked(job)
  if (job.hk_task !== undefined && !isTracked) {
    throw invalidJob(`${nameOf(text)} is a row of task ${job.hk_task}: retry the row in its task`, { problem: 'row' })
  }
  if (changes.args) refuseActiveJob(text, job)
  const { class: name, args, ...rest } = app.client.writer.opened(job)
  const members = Object.entries(rest).filter(
    ([member]) => !OWN.has(member) && (member === 'hk_context' || !member.startsWith('hk_')),
  )
  const {
    args: others,
    queue: other = baseQueue(job.queue ?? queue),
    priority = priorityOf(job.queue ?? queue),
  } = changes
  const request = {
    ...Object.fromEntries(members),
    class: name,
    args: others && keepsLast(job, others) ? [...others.slice(0, -1), args.at(-1)] : (others ?? args),
    queue: other,
    priority,
    ...given(changes, ['tags', 'wait', 'waitUntil']),
    ...(isTracked ? { track: true } : {}),
    ...uniqueOf(job, others !== undefined),
  }
  const { jid, existing } = await (id?.confirm
    ? app.client.pushed(request, { jid: id.jid, confirm: id.confirm })
    : app.client.pushed({ ...request, ...given({ jid: id?.jid }) }))
  // An earlier request may have pushed the duplicate.
  if (!existing || jid === id?.jid) return jid
  throw new HighkiqError(
    'UNIQUE_CONFLICT',
    `${name}: not pushed, because job ${jid} has the lock of these arguments: wait until it has ended`,
    { jid },
  )
}

/**
 * Returns the members of the request that decide the lock of a duplicate. It is the lock of the original, which refuses the
 * duplicate while the original holds it; with other arguments, that which the class gives them. `unique: false` if the original
 * has no lock, or only one for a duration.
 */
function uniqueOf(job: Payload, hasOtherArgs: boolean): { hk_unique?: string; unique?: false } {
  // A lock with a duration belongs to the push that took it.
  const locks = readUnique(job).filter(({ key, until }) => key !== jidLock(job.jid) && until !== 'time')
  if (locks.length === 0) return { unique: false }
  return hasOtherArgs ? {} : { hk_unique: writeUnique(locks, job.jid) }
}

const IN_QUEUE_OR_SET: readonly JobState[] = ['queued', 'limited', 'scheduled', 'retry', 'dead', 'succeeded']

/** @throws UNKNOWN_JID when it is not in a queue or a job set */
async function editable(app: AppPort, ref: JobRef): Promise<SetEntry | QueuedJob> {
  if (typeof ref === 'object' && ref !== null && ('set' in ref || 'at' in ref)) return ref
  return (await named(app, ref, IN_QUEUE_OR_SET, 'edited')) as SetEntry | QueuedJob
}

/** Returns the job to duplicate, which may also run. @throws UNKNOWN_JID */
async function original(app: AppPort, ref: string | JobRecord): Promise<JobRecord> {
  return ref instanceof JobRecord ? ref : named(app, ref, [...IN_QUEUE_OR_SET, 'running'], 'duplicated')
}

/** @throws UNKNOWN_JID when the job is in none of these states */
async function named(app: AppPort, jid: string, states: readonly JobState[], done: string): Promise<JobRecord> {
  checkText('hq.edit and hq.duplicate: the job, if it was not read from a queue or a job set,', jid)
  const { state, job } = await findJob(app, jid)
  if (job && states.includes(state)) return job
  const places = states === IN_QUEUE_OR_SET ? 'in a queue or a job set' : 'in a queue, in a job set or running'
  throw new HighkiqError('UNKNOWN_JID', `job ${jid.slice(0, 100)} can't be ${done} (${state}): only jobs ${places} can`)
}

/** @throws INVALID_JOB, INVALID_ARGS, ARGS_TOO_LARGE, INVALID_OPTION */
function editedText({ client }: AppPort, text: string, args: unknown[]): string {
  const job = readable(text)
  if (!Array.isArray(args)) {
    const message = `${job.class}: args must be an array, one element for each argument (got ${shown(args)})`
    throw new HighkiqError('INVALID_ARGS', message, { path: 'args', job: job.class })
  }
  if (job.hk_task !== undefined) {
    throw invalidJob(
      `${nameOf(text)} has a record in task ${job.hk_task}: cancel it, and push it with other arguments`,
      {
        problem: 'tracked',
      },
    )
  }
  refuseActiveJob(text, job)
  checkArgs(args, job.class)
  const stored = keepsLast(job, args)
    ? [...args.slice(0, -1), job.args.at(-1)]
    : client.writer.sealed({ ...job, args }).args
  const edited = editPayload(text, { args: stored }, client.wire)
  checkReadable(edited, job.class)
  client.writer.checkEditedSize(job.class, edited)
  return edited
}

/** Whether these arguments of a job with `encrypt` keep its last one. */
function keepsLast({ encrypt }: Payload, args: readonly unknown[]): boolean {
  return encrypt === true && args.length >= 2 && args.at(-1) === HIDDEN
}

/** @throws INVALID_JOB */
function refuseActiveJob(text: string, { wrapped }: Payload): void {
  if (wrapped !== undefined)
    throw invalidJob(`${nameOf(text)} belongs to Active Job: change it in Rails`, { problem: 'active-job' })
}

/** @throws INVALID_JOB */
function readable(text: string): Payload {
  const job = readPayload(text)
  if (job) return job
  throw invalidJob(`${nameOf(text)}: delete it`, { problem: 'unreadable' })
}
