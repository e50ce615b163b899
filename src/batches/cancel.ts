/** Cancels batches: their waiting jobs are removed, and those that run get a signal to stop. */

import type { AppPort } from '../app/port.ts'
import { jobsInOrder, pages } from '../inspect/walk.ts'
import { isPlaceholder, type Swap, type SwapAnswer } from '../store/contract.ts'
import { unknownBatch } from './create.ts'
import { innerBatch } from './jids.ts'
import { jobsOf, needleOf } from './jobs.ts'

/** The part of an app or of a worker that cancelling needs. */
export type Canceller = Pick<AppPort, 'store' | 'now' | 'effects' | 'keepEnd'>

/** A call cancels for at most this many milliseconds; then a worker continues. */
const CANCELLING_MS = 2000
const PAGE = 500
const CANCELLED = { kind: 'cancelled', begun: false } as const

type MayContinue = () => boolean | Promise<boolean>

/** Cancels a batch and those in it. @returns how many jobs were pending; @throws UNKNOWN_BATCH */
export async function cancelBatch(app: Canceller, bid: string): Promise<number> {
  if (!(await app.store.batches.find(bid))) throw unknownBatch(bid)
  const end = performance.now() + CANCELLING_MS
  const mayContinue = () => performance.now() < end
  const { bids, jobs } = await requestAll(app, [bid], mayContinue)
  await removeWaiting(app, bids, mayContinue)
  return jobs
}

/** Cancels a flow, if its parent waits: the parent is dropped, and its children are cancelled. @returns whether it waited */
export async function cancelFlow(app: Canceller, bid: string): Promise<boolean> {
  if (!(await app.store.batches.find(bid))?.job || !(await app.store.batches.cancel(bid, app.now()))) return false
  await cancelBatch(app, bid)
  return true
}

/**
 * Continues to cancel batches while `mayContinue` resolves with true. It requests the cancellation of the jobs of those that
 * are not in `requested`, each by `attempt`, and adds them to it. @returns how many waiting jobs it has removed
 */
export async function continueCancelling(
  app: Canceller,
  cancelling: ReadonlySet<string>,
  requested: Set<string>,
  mayContinue: MayContinue,
  attempt: (bid: string, work: () => Promise<void>) => Promise<void>,
): Promise<number> {
  const all = new Set(cancelling)
  for (const one of cancelling) {
    if (requested.has(one)) continue
    await attempt(one, async () => {
      const { bids, isDone } = await requestAll(app, [one], mayContinue)
      if (!isDone) return
      for (const bid of bids) {
        requested.add(bid)
        all.add(bid)
      }
    })
    if (!(await mayContinue())) return 0
  }
  return removeWaiting(app, all, mayContinue)
}

/**
 * Marks batches, and those in them, as being cancelled, and requests the cancellation of their jobs: no worker starts one from
 * then on, wherever it moves. A nested batch that it has not reached counts as one job.
 */
async function requestAll({ store, now }: Canceller, first: readonly string[], mayContinue: MayContinue) {
  const bids = new Set(first)
  /** The members that waited in a batch when it was found, by its bid. */
  const parents = new Map<string, string>()
  let jobs = 0
  const given = new Set(first)
  // The loop comes to the batches that are added meanwhile, too.
  for (const bid of bids) {
    // Its batch counted it as one job.
    if (!given.has(bid)) jobs--
    // From then on the batch takes no members, so that none is missed.
    const isDropped = await store.batches.cancel(bid, now())
    const record = await store.batches.find(bid)
    const parent = parents.get(bid)
    // If the batch is not being cancelled, it has ended and its parent was pushed. Otherwise another call has dropped
    // the parent.
    const isPushed = parent !== undefined && !isDropped && !record?.cancelling
    if (isPushed) await store.cancellations.request(parent, now())
    if (isDropped || isPushed) jobs++
    if (!record) continue
    jobs += record.pending
    for await (const { items } of pages((after) => store.batches.members(bid, { after, limit: PAGE }))) {
      jobs -= items.filter(({ id }) => isPlaceholder(id)).length
      const pending = items.filter(({ id, state }) => state !== 'dead' && !isPlaceholder(id))
      const inner = await Promise.all(pending.map(({ id }) => innerBatch(store.batches, bid, id)))
      const jids: string[] = []
      for (const [i, { id }] of pending.entries()) {
        const one = inner[i]
        if (one === undefined) jids.push(id)
        else if (!bids.has(one)) {
          bids.add(one)
          if (id !== one) parents.set(one, id)
        }
      }
      if (jids.length > 0) await store.cancellations.request(jids, now())
      if (!(await mayContinue())) return { bids, jobs, isDone: false }
    }
  }
  return { bids, jobs, isDone: true }
}

/** Removes the waiting jobs of batches, page by page. @returns how many */
async function removeWaiting(app: Canceller, bids: ReadonlySet<string>, mayContinue: MayContinue): Promise<number> {
  const { store, now } = app
  let removed = 0
  const swapsOf = <Item extends { text: string }>(items: readonly Item[]) =>
    jobsOf(items, bids).map((job) => ({ ...job, to: null, effects: app.effects(job.payload, CANCELLED) }))
  const keepEnds = async (swaps: ReturnType<typeof swapsOf>, answers: readonly SwapAnswer[]) => {
    for (const [i, { payload }] of swaps.entries()) {
      if (answers[i] !== 'ok') continue
      removed++
      await app.keepEnd(payload, CANCELLED)
    }
  }
  for await (const page of jobsInOrder(store, needleOf(bids))) {
    if ('set' in page) {
      const swaps = swapsOf(page.items)
      if (swaps.length > 0) await keepEnds(swaps, await store.jobSets.swap(page.set, swaps satisfies Swap[], now()))
    } else if ('queue' in page) {
      const pulls = swapsOf(page.items)
      if (pulls.length > 0) await keepEnds(pulls, await store.search.pull(page.queue, pulls, now()))
    }
    if (!(await mayContinue())) break
  }
  return removed
}
