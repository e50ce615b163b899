/** Keys that identify one entry of a job set or one job of a queue, and cursors of pages. */

import type { JobSet, Queue } from '../../index.ts'
import { SetEntry } from '../../inspect/entry.ts'
import { QueuedJob } from '../../inspect/queue.ts'
import type { JobRecord } from '../../inspect/record.ts'
import { codeOf, HighkiqError, messageOf } from '../../job/errors.ts'
import type { Seal, SealUse } from '../access/seal.ts'
import { errorBody, invalid } from '../server/answer.ts'
import { text } from '../server/parameter.ts'
import type { ServerContext } from '../server/server-context.ts'
import { cut } from './job-summary.ts'

/** The longest search for a job without a key, or for one that has moved far. */
export const SEARCH_MS = 5000
/** The most characters of a payload in a key. */
const LONGEST_BEGIN = 1000

export const cursor = text('the `next` of the previous page', 20_000)
export const key = text(
  'the `key` of an entry; without it the server searches for the job, which can take long',
  20_000,
)

/** @throws INVALID_REQUEST */
export async function positionOf(
  server: ServerContext,
  use: SealUse,
  sealed: string | undefined,
): Promise<string | null> {
  if (sealed === undefined) return null
  const position = (await server.seal()).open(sealed, use)
  if (position !== undefined) return position
  throw wrongCursor()
}

export function wrongCursor(): HighkiqError {
  return invalid('the parameter cursor must be the `next` of the previous page: start again without it', {
    problem: 'cursor',
    parameter: 'cursor',
  })
}

/** @param isAlone true when hardly any other entry has the same score */
export function keyOfEntry(
  seal: Seal,
  { score, text, jid }: Pick<SetEntry, 'score' | 'text' | 'jid'>,
  isAlone: boolean,
): string {
  const key = `${score}~${seal.digest(text)}`
  const at = isAlone || jid === '' ? -1 : text.indexOf(jid)
  return at === -1 || at + jid.length > LONGEST_BEGIN
    ? key
    : `${key}~${seal.close(text.slice(0, at + jid.length), 'entry key')}`
}

export function keyOfQueued(seal: Seal, { at, text }: QueuedJob): string {
  return `${at}~${seal.digest(text)}`
}

/** Whether a key is that of a job as it was just read. */
export function isKeyOf(seal: Seal, job: JobRecord, key: string): boolean {
  if (job instanceof QueuedJob) return key === keyOfQueued(seal, job)
  return job instanceof SetEntry && key.split('~', 2).join('~') === keyOfEntry(seal, job, true)
}

/** A job by its id, and by its key if that is known. */
export interface NamedJob {
  jid: string
  key?: string | undefined
}

/** @throws UNKNOWN_JID, SEARCH_TOO_LONG, INVALID_REQUEST */
export async function entryOf(
  server: ServerContext,
  set: JobSet,
  { jid, key }: NamedJob,
  signal: AbortSignal,
): Promise<SetEntry> {
  const found =
    key === undefined
      ? await inTime(signal, (inTime) => set.find(jid, { signal: inTime }))
      : await entryByKey(await server.seal(), set, { jid, key })
  if (found) return found
  throw gone(jid)
}

/** Returns null when the entry is gone. @throws INVALID_REQUEST */
export async function entryByKey(
  seal: Seal,
  set: JobSet,
  { jid, key }: { jid: string; key: string },
): Promise<SetEntry | null> {
  const [score = '', digest = '', begin] = key.split('~')
  if (score === '' || Number.isNaN(Number(score)) || digest === '') throw wrongKey()
  const near = begin === undefined ? undefined : seal.open(begin, 'entry key')
  const found = await set.entryAt(Number(score), (text) => seal.digest(text) === digest, near)
  return found && itself(found, jid)
}

/** Checks that the key belongs to the job id, which the audit records. Lists cut long ids, and invalid entries have none. */
function itself<Job extends { jid: string }>(found: Job, jid: string): Job {
  if (found.jid === '' || cut(found.jid) === cut(jid)) return found
  throw invalid(`\`key\` must be the key of job ${jid.slice(0, 100)}`, { parameter: 'key' })
}

/** @throws UNKNOWN_JID, SEARCH_TOO_LONG, INVALID_REQUEST */
export async function queuedOf(
  server: ServerContext,
  queue: Queue,
  { jid, key }: NamedJob,
  signal: AbortSignal,
): Promise<QueuedJob> {
  const [at, digest] = key?.split('~') ?? []
  if (key !== undefined && !(at !== undefined && /^-?\d{1,16}$/.test(at) && digest)) throw wrongKey()
  const seal = await server.seal()
  const found = await inTime(signal, (inTime) =>
    at === undefined
      ? queue.find(jid, { signal: inTime })
      : queue.findNear(at, (text) => seal.digest(text) === digest, { signal: inTime }),
  )
  if (found) return itself(found, jid)
  throw gone(jid)
}

/** @throws SEARCH_TOO_LONG */
export async function inTime<T>(signal: AbortSignal, search: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = AbortSignal.timeout(SEARCH_MS)
  try {
    return await search(AbortSignal.any([signal, late]))
  } catch (thrown) {
    if (thrown !== late.reason) throw thrown
    const message = 'the search for this job reached its time limit: send its `key`'
    throw new HighkiqError('SEARCH_TOO_LONG', message)
  }
}

export function gone(jid: string): HighkiqError {
  return new HighkiqError('UNKNOWN_JID', `job ${jid.slice(0, 100)} was not found`)
}

function wrongKey(): HighkiqError {
  return invalid('`key` must be the key of an entry from a list', { parameter: 'key' })
}

/** Why a job was refused. With `code` and `details` a client words it in another language, as it does for an error. */
export interface RefusedJob {
  error: string
  problem?: 'overtaken' | 'gone'
  code?: string
  details?: Record<string, unknown>
}

/** The result of an action on jobs. All but `done` and `refused` is about the first refused job. */
export interface ActionResult extends Partial<RefusedJob> {
  done: number
  refused: number
}

/**
 * Returns why an action on a job failed. An error without a code keeps its message: client middleware may have thrown
 * it.
 */
export function refusedBy(thrown: unknown): RefusedJob {
  if (!codeOf(thrown)) return { error: messageOf(thrown) }
  const { message: error, ...rest } = errorBody(thrown)
  return { error, ...rest }
}

/** Returns the result of an action on one job, which another request may have overtaken. */
export function actedOn(isDone: boolean): ActionResult {
  if (isDone) return { done: 1, refused: 0 }
  return { done: 0, refused: 1, error: 'another request was faster', problem: 'overtaken' }
}
