/** Gives a waiting job that has a lock the arguments of a push that was refused, by compare-and-swap. */

import type { AppPort } from '../app/port.ts'
import type { Conflict } from '../client/refused-push.ts'
import { findByJid, inQueues, limitedSets, needleOf } from '../inspect/walk.ts'
import { storeRefused } from '../job/errors.ts'
import { editPayload, type Payload, readPayload } from '../job/payload.ts'
import { type JobLock, jidLock, readUnique, type UniqueUntil } from '../job/unique.ts'
import type { Entry, SetName, Store, SwapAnswer } from '../store/contract.ts'

const PAGE = 100
/** The locks that a running job keeps. */
const KEPT: ReadonlySet<UniqueUntil> = new Set(['success', 'time'])

/** A job, and where it waits. */
type Waiting = { text: string; jid: string } & ({ set: SetName; score: number } | { queue: string; at: string })

/**
 * `refused` is the refused push, its arguments in plain text. True: the job has the new arguments, or it runs or has ended, and
 * keeps its own together with its lock. False: it changed, moved or started meanwhile, or it is nowhere.
 */
export async function replaceHolder(
  app: Pick<AppPort, 'client' | 'effects' | 'now'>,
  store: Store,
  refused: Payload,
  conflict: Conflict,
): Promise<boolean> {
  const job = await findWaiting(store, conflict)
  if (!job) return keepsLock(store, refused, conflict)
  const { args } = refused
  const payload = readPayload(job.text) as Payload
  const text = editPayload(job.text, { args: app.client.writer.sealed({ ...payload, args }).args }, app.client.wire)
  app.client.writer.checkEditedSize(payload.class, text)
  const [answer] = await swap(app, store, job, text, conflict)
  if (answer === 'error') throw storeRefused(`change job ${job.jid}`)
  return answer === 'ok'
}

function swap(
  app: Pick<AppPort, 'effects' | 'now'>,
  store: Store,
  job: Waiting,
  text: string,
  { how, at }: Conflict,
): Promise<SwapAnswer[]> {
  const payload = readPayload(text) as Payload
  if ('queue' in job) {
    const effects = app.effects(payload, { kind: 'changed' })
    const to = { to: 'same', text } as const
    return store.search.pull(job.queue, [{ text: job.text, at: job.at, to, effects }], app.now())
  }
  const { set } = job
  const isMoved = how === 'debounce' && set === 'schedule'
  const score = isMoved ? (at ?? app.now() / 1000) : job.score
  const effects = app.effects(payload, set === 'schedule' ? { kind: 'changed', due: score } : { kind: 'changed' })
  return store.jobSets.swap(
    set,
    [{ text: job.text, score: job.score, to: { to: set, text, score }, effects }],
    app.now(),
  )
}

/** Finds a job first at the time for which it was scheduled, then wherever a job may wait. */
async function findWaiting(store: Store, { holder, due }: Conflict): Promise<Waiting | null> {
  const inSet = (set: SetName) => (entry: Entry) => ({ ...entry, set, jid: jidOf(entry.text) })
  if (due !== null) {
    const entries = await store.jobSets.page('schedule', { after: { score: due, text: '' }, limit: PAGE })
    const found = entries.map(inSet('schedule')).find(({ jid }) => jid === holder)
    if (found) return found
  }
  for (const set of ['schedule', 'retry', ...(await limitedSets(store))] as const) {
    const scan = (needle: string, after?: string) => store.search.scanSet(set, needle, { after, limit: PAGE })
    const found = await findByJid(holder, scan, inSet(set))
    if (found) return found
  }
  const queues = (await store.jobs.queues()).filter(({ size }) => size > 0).map(({ name }) => name)
  for await (const { queue, items } of inQueues(store, needleOf(holder), queues)) {
    const found = items.find(({ text }) => jidOf(text) === holder)
    if (found) return { ...found, queue, jid: holder }
  }
  return null
}

/** Returns whether a job that waits nowhere has the lock for some time to come. */
async function keepsLock(store: Store, refused: Payload, { holder, isRepeated }: Conflict): Promise<boolean> {
  // Another job can't have the lock of this jid.
  const locks = readUnique(refused).filter(({ key }) => key !== jidLock(refused.jid))
  const areAll = (holds: (lock: JobLock) => boolean) => locks.every(holds)
  // The lock of a job that starts is free in a moment, unless the job keeps it until its end.
  if (areAll(({ until }) => KEPT.has(until)) && (await isRunning(store, holder))) return true
  // The job has ended, unless the first search has missed it because it moved.
  return isRepeated && areAll(({ until }) => until === 'time')
}

async function isRunning(store: Store, holder: string): Promise<boolean> {
  const running = await findByJid(
    holder,
    (_needle, after) => store.workers.fetched({ after, limit: PAGE }),
    ({ text }) => ({ jid: jidOf(text) }),
  )
  return running !== null
}

function jidOf(text: string): string {
  return readPayload(text)?.jid ?? ''
}
