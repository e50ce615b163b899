/** Handles `Idempotency-Key`: a repeated request gets the task of the first one. */

import { createHash } from 'node:crypto'
import type { Highkiq } from '../../app.ts'
import { HighkiqError, hasCode } from '../../job/errors.ts'
import { newTaskId } from '../../job/payload.ts'
import { isProducerAlive } from '../../tasks/producer.ts'
import { invalid } from './answer.ts'
import { type Fingerprint, formatFingerprint, parseFingerprint } from './fingerprint.ts'

type TaskRecord = NonNullable<Awaited<ReturnType<Highkiq['store']['tasks']['find']>>>

/** The header for the document. */
export const KEY = {
  'idempotency-key': 'for 24 hours the same key with the same body gives the same answer, and nothing is created twice',
}

export const DAY = 86_400
const POLL_MS = 500

/** The prefix of a request's digest until its task is created. */
const BEFORE = '?'
/** The prefix of the digest after the request failed without a task. The same request gets the id again, any other a new one. */
const FAILED = '!'

/** The task that a key stands for. */
export interface KeyClaim {
  /** The id of the task, chosen before the task exists. */
  id: string
  task: TaskRecord | null
  /**
   * `make`: create the task. `continue`: resume the interrupted task with the same rows. `wait`: another request is
   * adding its rows. `whole`: all rows are stored.
   */
  to: 'make' | 'continue' | 'wait' | 'whole'
  /** The fingerprint of the file that the task was made from. */
  fingerprint: Fingerprint | undefined
  /** Records that the task exists, so that a deleted task is not created again, and the fingerprint of its file. */
  made(fingerprint?: Fingerprint): Promise<void>
  /**
   * Releases the key if no task was created, so that the client can send a corrected request with it. A repetition of the same
   * request gets the same id, because an earlier repetition may still create the task.
   */
  failed(): Promise<void>
}

/**
 * Claims a key for this request, or returns the task that an earlier request created with it.
 * @param kind of the request; a client may use the same key once for each kind
 * @param about the parameters of the request, which a repeated request must have, too
 * @throws INVALID_REQUEST for a malformed key; IDEMPOTENCY_KEY_REUSED when it was used for another request; UNKNOWN_TASK
 *   when its task was deleted
 */
export async function claimKey(hq: Highkiq, kind: 'import' | 'task', text: string, about: string): Promise<KeyClaim> {
  const { store } = hq
  const key = keyOf(kind, text)
  const fresh = newTaskId()
  const own = digest(about)
  const claim = `${fresh} ${BEFORE}${own}`
  let there = (await store.results.remember(key, claim, DAY)) ?? claim
  while (there.includes(FAILED)) {
    const next = there.endsWith(FAILED + own) ? there.replace(FAILED, BEFORE) : claim
    there = (await store.results.remember(key, next, DAY, there)) ?? next
  }
  const [id = '', meantFor = '', known] = there.split(' ')
  const isMade = !meantFor.startsWith(BEFORE)
  const released = `${id} ${FAILED}${own}`
  let fingerprint = parseFingerprint(known)
  let making = Promise.resolve()
  const make = async (now: Fingerprint | undefined) => {
    // The fingerprint of the whole file is never replaced by a shorter one.
    if (isMade && !now) return
    if (fingerprint?.whole) return
    const value = [id, own, ...(now ? [formatFingerprint(now)] : [])].join(' ')
    for (const before of [there, released]) {
      if ((await store.results.remember(key, value, DAY, before)) !== null) continue
      there = value
      fingerprint = now
      return
    }
  }
  const made = (now?: Fingerprint) => {
    making = making.catch(() => {}).then(() => make(now))
    return making
  }
  const failed = async () => {
    if (!isMade && (await store.tasks.find(id)) === null) await store.results.remember(key, released, DAY, there)
  }
  if (id === fresh) return { id, task: null, to: 'make', fingerprint, made, failed }
  if (meantFor.replace(BEFORE, '') !== own) throw reused('for another request, or with other parameters', id)
  const task = await store.tasks.find(id)
  if (!task && isMade) {
    throw new HighkiqError('UNKNOWN_TASK', `task ${id}, which this Idempotency-Key created, was deleted: use a new key`)
  }
  return { id, task, to: task ? await stateOf(hq, task) : 'make', fingerprint, made, failed }
}

/** @throws INVALID_REQUEST */
export function keyOf(kind: string, text: string): string {
  if (/^[\x21-\x7e]{1,200}$/.test(text)) return `${kind} ${digest(text)}`
  throw invalid('Idempotency-Key must have 1 to 200 ASCII characters without blanks, for example a UUID')
}

export function reused(how: string, task?: string): HighkiqError {
  const about = task === undefined ? undefined : { task }
  return new HighkiqError('IDEMPOTENCY_KEY_REUSED', `this Idempotency-Key was used ${how}: use a new key`, about)
}

async function stateOf(hq: Highkiq, task: TaskRecord): Promise<KeyClaim['to']> {
  if (task.state === 'cancelling' || task.state === 'cancelled') return 'whole'
  // Rows that are added later are not part of the request.
  const own = (await hq.store.tasks.producers(task.id)).find(({ name }) => name === task.producer)
  if (!own) return 'whole'
  if (own.broken) return 'continue'
  return (await isProducerAlive(hq.store, task)) ? 'wait' : 'continue'
}

/** How a task is created when all its rows are known. */
interface Creation {
  create(id: string): Promise<void>
  /** Adds the rows that are not stored yet. */
  goOn(id: string): Promise<void>
  signal: AbortSignal
}

/** @throws what claimKey throws, and what creating the task throws */
export async function createOnce(
  hq: Highkiq,
  key: string,
  body: string,
  { create, goOn, signal }: Creation,
): Promise<{ id: string; isNew: boolean }> {
  const { id, to, made, failed } = await claimKey(hq, 'task', key, body)
  if (to === 'whole') return { id, isNew: false }
  if (to !== 'wait') {
    try {
      await (to === 'continue' ? goOn(id) : create(id))
      await made()
      return { id, isNew: to === 'make' }
    } catch (thrown) {
      // A request with the same key was faster.
      if (!hasCode(thrown, 'TASK_TAKEN_OVER')) {
        await failed()
        throw thrown
      }
    }
  }
  await untilComplete(hq, id, signal)
  return { id, isNew: false }
}

/** Waits until another request has sent all rows. @throws BODY_BROKEN_OFF when that one fails, or the reason of `signal` */
export async function untilComplete(hq: Highkiq, id: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    const task = await hq.store.tasks.find(id)
    const to = task ? await stateOf(hq, task) : 'whole'
    if (to === 'whole') return
    if (to === 'continue') {
      const message = 'the request before this one was interrupted: send the file again'
      throw new HighkiqError('BODY_BROKEN_OFF', message, { task: id })
    }
    await new Promise((resume) => setTimeout(resume, POLL_MS))
  }
}

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
