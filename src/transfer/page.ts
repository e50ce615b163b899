/**
 * Moves one page of jobs from a store to another, each job once. The steps, each atomic in its store:
 *
 * 1. `hold` (source): the jobs leave their queue or set and become a page with a name. A page never changes.
 * 2. `put` (target): the jobs of the page are stored together with its name. A page with this name is not stored again.
 * 3. `endPage` (source): the page is dropped, and with it the locks and the cancellations of its jobs.
 *
 * A crash, or a lost answer, after step 1 or step 2 leaves the page in the source. The next caller of `hold` gets this page
 * instead of new jobs, and continues with step 2, whose answer says whether the target has it. Several callers may do this
 * at the same time, and one that was frozen may continue later: a repeated step changes nothing.
 *
 * To undo a page is to put it without jobs. If the target has stored it before, steps 2 and 3 are repeated. If not, the
 * target never stores it, and step 3 moves its jobs back to where they were.
 *
 * A page whose target is its own source has jobs of tasks: step 3 moves them to the sets of their tasks, or back
 * (moving-jobs.ts).
 */

import { type Payload, readPayload } from '../job/payload.ts'
import { clearCancellations, jidsOf } from '../job/rows.ts'
import { type JobLock, readUnique } from '../job/unique.ts'
import type {
  Destination,
  Effect,
  EventEffect,
  IterationRecord,
  Move,
  SetName,
  Store,
  TransferItem,
  TransferPage,
} from '../store/contract.ts'

/** A job of a page with its locks, its iteration and its cancellation. */
interface JobState {
  to: Destination
  jid: string
  locks: JobLock[]
  iteration: IterationRecord | null
  isCancelled: boolean
}

/** Returns how many jobs moved; 0: the page was undone, or another caller has moved it. */
export async function movePage(source: Store, target: Store, page: TransferPage, now: number): Promise<number> {
  if (page.ordered) return moveIds(source, target, page, page.ordered, now)
  const jobs = await statesOf(source, page)
  const outcome = await target.transfers.put(page, await itemsOf(source, jobs, now), now)
  if (outcome === 'void') {
    await source.transfers.endPage(page, backFrom(page), now)
    return 0
  }
  return (await endPage(source, page, jobs, now)) ? jobs.length : 0
}

/**
 * Moves the jobs of a page back, unless the target has them. Without a target it does not ask: if the target has the jobs,
 * they are in both stores. Returns how many jobs are back.
 */
export async function undoPage(source: Store, target: Store | null, page: TransferPage, now: number): Promise<number> {
  if (target && (await target.transfers.put(page, [], now)) === 'stored') {
    // If the target has several shards, some may not have their jobs yet.
    await movePage(source, target, page, now)
    return 0
  }
  if (page.ordered) return (await source.transfers.returnIds(page)) ? page.ordered.ids.length : 0
  return (await source.transfers.endPage(page, backFrom(page), now)) ? page.jobs.length : 0
}

async function moveIds(
  source: Store,
  target: Store,
  page: TransferPage,
  { queue, ids }: NonNullable<TransferPage['ordered']>,
  now: number,
): Promise<number> {
  const { shards = 1 } = (await source.ordered.assignments(queue)) ?? {}
  if ((await target.transfers.putIds(page, queue, shards, ids)) === 'void') {
    await source.transfers.returnIds(page)
    return 0
  }
  return (await source.transfers.endPage(page, [], now)) ? ids.length : 0
}

/** Drops a page that the target has. Returns false if another caller was faster. */
function endPage(source: Store, page: TransferPage, jobs: readonly JobState[], now: number): Promise<boolean> {
  const effects = jobs.flatMap((job) => departureOf(job, now))
  return source.transfers.endPage(page, effects.length > 0 ? [{ to: null, effects }] : [], now)
}

async function statesOf(source: Store, { jobs }: TransferPage): Promise<JobState[]> {
  const payloads = jobs.map(({ text }) => readPayload(text))
  const jids = payloads.map((payload) => (typeof payload?.jid === 'string' ? payload.jid : ''))
  const known = jids.filter((jid) => jid !== '')
  const iterations = known.length > 0 ? await source.jobs.iterations(known) : []
  const iterationOf = new Map(known.map((jid, i) => [jid, iterations[i] ?? null]))
  const cancelled = new Set(known.length > 0 ? await source.cancellations.among(known) : [])
  return jobs.map((to, i) => {
    const jid = jids[i] as string
    const payload = payloads[i]
    const locks = payload && jid !== '' ? readUnique(payload) : []
    return { to, jid, locks, iteration: iterationOf.get(jid) ?? null, isCancelled: cancelled.has(jid) }
  })
}

/** Returns what the target stores: at the back of queues, because the jobs come in the order in which they are fetched. */
async function itemsOf(source: Store, jobs: readonly JobState[], now: number): Promise<TransferItem[]> {
  const keys = jobs.flatMap(({ locks }) => locks.map(({ key }) => key))
  const found = keys.length > 0 ? await source.unique.find(keys, now) : []
  const held = new Map(found.flatMap((lock) => (lock ? [[lock.key, lock] as const] : [])))
  return jobs.map(({ to, jid, locks, iteration, isCancelled }) => {
    const own = locks.flatMap(({ key }) => {
      const lock = held.get(key)
      if (lock?.holder !== jid) return []
      return [{ key, ...(lock.ends === null ? {} : { ends: lock.ends }), ...(lock.outlives ? { outlives: true } : {}) }]
    })
    const destination = destinationOf(to, 'back')
    return {
      ...destination,
      ...(own.length > 0 ? { unique: { jid, claims: own } } : {}),
      ...(isCancelled ? { cancelled: jid } : {}),
      effects: [
        ...enteringOf(to, destination, now),
        ...(iteration?.cursor == null
          ? []
          : [{ kind: 'iteration', jid, state: { ...iteration, cursor: iteration.cursor } } as const]),
      ],
    }
  })
}

/**
 * Returns where a job goes from a page. A job that waited for room in a limit goes to its queue and asks again, because
 * the slots that are used differ in the other store, and may have changed in this one.
 */
export function destinationOf(to: Destination, end: 'front' | 'back'): Destination {
  if (to.to === 'queue') return { ...to, end }
  const { text, score } = to
  const [kind, place] = to.to.split(':')
  if (kind === 'moving' && place !== 'queue') return { to: place as SetName, score, text }
  const queue = kind === 'moving' || kind === 'limited' ? readPayload(text)?.queue : undefined
  return typeof queue === 'string' ? { to: 'queue', queue, text, end } : to
}

/** Returns the effects of a job that goes from the set of its task to a queue: its row enters the window of the task. */
export function enteringOf(from: Destination, { to }: Destination, at: number): EventEffect[] {
  const payload = to === 'queue' && from.to.startsWith('moving:') ? readPayload(from.text) : undefined
  if (payload?.hk_task === undefined) return []
  const { hk_run: run = 1, hk_attempt: attempt = 0 } = payload
  return jidsOf(payload as Payload).map((jid, row) => {
    const window = row > 0 ? 'keep' : 'enter'
    return { kind: 'event', jid, run, attempt, at, status: 'enqueued', window }
  })
}

/** Returns what changes in the source when a job has left it. */
function departureOf({ jid, locks, iteration, isCancelled }: JobState, at: number): Effect[] {
  return [
    ...locks.map(({ key }) => ({ kind: 'release-unique', key, holder: jid }) as const),
    ...(iteration ? [{ kind: 'iteration', jid, state: null } as const] : []),
    ...(isCancelled ? clearCancellations([jid], at) : []),
  ]
}

/**
 * The last job comes first, because each goes to the front of its queue. It moves against the order of a walk, so its locks
 * are not suspected any more.
 */
function backFrom({ jobs }: TransferPage): Move[] {
  return jobs.toReversed().map((from) => {
    // The jobs of a task wait in its set until the task is undone, too.
    const to = from.to.startsWith('moving:') ? from : destinationOf(from, 'front')
    return { to, effects: keptLocksOf(from) }
  })
}

/** Returns the effects that keep the locks of a job that moves against the order of a walk. */
export function keptLocksOf(from: Destination): Effect[] {
  const payload = readPayload(from.text)
  const due = from.to === 'schedule' ? { due: from.score } : {}
  return (payload?.jid ? readUnique(payload) : []).map(
    ({ key }) => ({ kind: 'keep-unique', key, holder: payload?.jid as string, acquire: false, ...due }) as const,
  )
}
