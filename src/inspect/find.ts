/** Finds a job wherever it is. */

import type { AppPort } from '../app/port.ts'
import { flowOf } from '../batches/jids.ts'
import type { Progress } from '../job/context.ts'
import { isUnreachable } from '../job/errors.ts'
import { bareTemplate, type Payload, readPayload } from '../job/payload.ts'
import { baseQueue } from '../job/priority.ts'
import type { SetName } from '../store/contract.ts'
import type { SetEntry } from './entry.ts'
import { runningInOthers } from './process.ts'
import { QueuedJob } from './queue.ts'
import { JobRecord } from './record.ts'
import { JobSet } from './set.ts'
import { allMovingSets, findByJid, inQueues, limitedSets, needleOf } from './walk.ts'

/**
 * The state of a job. `limited`: it waits for room in its limit. `waiting-children`: it is the parent in a flow whose children
 * have not ended. `backlog`: the row waits inside its task. `ended`: the row of a task has ended, and only its event is left. `succeeded`: it is among the finished jobs (see `keepFinished`).
 * `unknown`: the store has no such job, because it has ended or never existed. A job that `highkiq move` holds has the state
 * that it had before.
 */
export type JobState =
  | 'queued'
  | 'running'
  | 'scheduled'
  | 'retry'
  | 'limited'
  | 'waiting-children'
  | 'dead'
  | 'succeeded'
  | 'backlog'
  | 'ended'
  | 'unknown'

/** The states of a job that does not run again unless a person retries it. */
export const ENDED_STATES: ReadonlySet<JobState> = new Set(['dead', 'succeeded', 'ended', 'unknown'])

export interface Found {
  state: JobState
  /** null when the job is not in the store. */
  queue: string | null
  payload: Payload | null
  job: JobRecord | null
  /** The owner that holds the job, for a running job of Highkiq. It begins with the identity of its worker. */
  owner?: string
  /** The last progress that the handler reported; of a running job it is about a second old, or of a job that succeeded. */
  progress?: Progress
  /** The start of the last attempt and the end, for a job that succeeded. */
  startedAt?: Date | null
  finishedAt?: Date
  /** Undefined when the handler returned nothing, or more than 16 kB of JSON. */
  result?: unknown
}

const PAGE = 500

/**
 * Searches all places in the order in which a job passes them, so that it finds a job that moves meanwhile. It
 * searches twice, because a job may also move back. The row of a task that has ended is searched for only in the dead set.
 */
async function find(app: AppPort, jid: string, { signal }: { signal?: AbortSignal } = {}): Promise<Found> {
  const store = app.store
  for (let attempt = 1; ; attempt++) {
    const event = await store.tasks.event(jid)
    const isOver = event !== null && event.status !== 'enqueued' && event.status !== 'working'
    const found = await search(app, jid, isOver, signal)
    if (found) return found
    if (isOver) return nothing('ended')
    if (attempt === 2) return nothing(event === null ? 'unknown' : event.status === 'working' ? 'running' : 'backlog')
  }
}

/**
 * Finds a job, also while another shard can't be reached.
 * @throws STORE_UNREACHABLE when the job may be on a shard that can't be reached
 */
export async function findJob(app: AppPort, jid: string, options: { signal?: AbortSignal } = {}): Promise<Found> {
  try {
    return await find(app, jid, options)
  } catch (thrown) {
    const { store } = app
    if (!isUnreachable(thrown) || !store.withoutUnreachable) throw thrown
    const found = await store.withoutUnreachable(() => find(app, jid, options))
    if (found.state === 'unknown') throw thrown
    return found
  }
}

async function search(app: AppPort, jid: string, isOver: boolean, signal?: AbortSignal): Promise<Found | null> {
  const how = signal ? { signal } : {}
  const inSet = async (set: SetName, state: JobState) => {
    const job = await new JobSet(app, set).find(jid, how)
    return job && foundAs(state, job)
  }
  if (isOver) return inSet('dead', 'dead')
  const parent = await waitingParent(app, jid)
  if (parent) return parent
  const later = (await inSet('schedule', 'scheduled')) ?? (await inSet('retry', 'retry'))
  if (later) return later
  for (const set of await limitedSets(app.store)) {
    const job = await inSet(set, 'limited')
    if (job) return job
  }
  const queued = await inSomeQueue(app, jid, signal)
  if (queued) return foundAs('queued', queued)
  const moving = await inPage(app, jid)
  if (moving) return moving
  for (const set of await allMovingSets(app.store)) {
    const job = await inSet(set, stateIn(set))
    if (job) return job
  }
  const running = await heldBy(app, jid, signal)
  if (running) {
    const { job, owner } = running
    return { ...foundAs('running', job), ...(owner === undefined ? {} : { owner }), ...(await progressOf(app, job)) }
  }
  // A finished job is found at once; the search for a dead one may be long.
  const finished = await new JobSet(app, 'finished').find(jid, how)
  if (!finished) return inSet('dead', 'dead')
  const dead = await new JobSet(app, 'dead').findSince(finished.score, jid, how)
  // A job that was pushed later with the same jid may have died since.
  return dead ? foundAs('dead', dead) : foundFinished(finished)
}

async function inSomeQueue(app: AppPort, jid: string, signal?: AbortSignal): Promise<QueuedJob | null> {
  const queues = (await app.store.jobs.queues()).filter(({ size }) => size > 0).map(({ name }) => name)
  for await (const { queue, items } of inQueues(app.store, needleOf(jid), queues)) {
    signal?.throwIfAborted()
    const job = items.map((item) => new QueuedJob(app, queue, item)).find((one) => one.jid === jid)
    if (job) return job
  }
  return null
}

function foundFinished(job: SetEntry): Found {
  const { startedAt, at, result, progress } = job
  return {
    ...foundAs('succeeded', job),
    ...{ startedAt, finishedAt: at },
    ...(result === undefined ? {} : { result }),
    ...(progress === undefined ? {} : { progress }),
  }
}

interface Held {
  jid: string
  job: JobRecord
  /** Undefined for a job of another program. */
  owner: string | undefined
}

const STATE_OF: Record<string, JobState> = {
  queue: 'queued',
  schedule: 'scheduled',
  retry: 'retry',
  dead: 'dead',
  finished: 'succeeded',
}

/** Returns the state of a job with this place, or with this place before a move. */
function stateIn(place: 'queue' | SetName): JobState {
  return STATE_OF[place.split(':', 2)[place.startsWith('moving:') ? 1 : 0] as string] ?? 'limited'
}

/** Finds a parent in a flow while it waits for its children. */
async function waitingParent({ store, now }: AppPort, jid: string): Promise<Found | null> {
  const bid = flowOf(jid)
  const job = bid === undefined ? undefined : (await store.batches.find(bid))?.job
  if (job?.jid !== jid) return null
  return foundAs('waiting-children', new JobRecord(bareTemplate(job.text), { queue: baseQueue(job.queue), now }))
}

/** Finds a job in the page that a move holds. */
async function inPage({ store, now }: AppPort, jid: string): Promise<Found | null> {
  const place = (await store.transfers.held())?.jobs.find(({ text }) => readPayload(text)?.jid === jid)
  if (!place) return null
  return foundAs(
    stateIn(place.to),
    new JobRecord(place.text, { ...(place.to === 'queue' ? { queue: baseQueue(place.queue) } : {}), now }),
  )
}

/** Finds a job among the fetched jobs of Highkiq and among the running jobs of other programs. */
async function heldBy({ store, now }: AppPort, jid: string, signal?: AbortSignal): Promise<Held | null> {
  const heldOf = ({ text, queue, owner }: { text: string; queue: string; owner?: string }): Held => {
    const job = new JobRecord(text, { queue, now })
    return { jid: job.jid, job, owner }
  }
  const ours = await findByJid(jid, (_, after) => store.workers.fetched({ after, limit: PAGE }), heldOf, signal)
  return ours ?? (await runningInOthers(store))?.map((one) => heldOf(one)).find((held) => held.jid === jid) ?? null
}

/** Reads the progress of this attempt: the attempt before, which may still be listed, had another text. */
async function progressOf({ store }: AppPort, job: JobRecord): Promise<Pick<Found, 'progress'>> {
  const shown = await store.workers.running()
  const progress = shown.find(({ text, progress }) => progress && text === job.text)?.progress
  return progress ? { progress } : {}
}

function foundAs(state: JobState, job: JobRecord): Found {
  return { state, queue: job.queue, payload: job.payload as Payload, job }
}

function nothing(state: JobState): Found {
  return { state, queue: null, payload: null, job: null }
}
