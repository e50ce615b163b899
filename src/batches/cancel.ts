/** Cancels batches: their waiting jobs are removed, and those that run are told. */

import type { AppPort } from '../app/port.ts'
import { jobsInOrder, pages } from '../inspect/walk.ts'
import { readPayload } from '../job/payload.ts'
import type { Swap, SwapAnswer } from '../store/contract.ts'
import { unknownBatch } from './create.ts'
import { innerBatch } from './jids.ts'

/** What cancelling uses of an app or of a worker. */
export type Canceller = Pick<AppPort, 'store' | 'now' | 'effects' | 'keepEnd'>

/** A call removes waiting jobs for so long; a worker removes the others. */
const REMOVING_MS = 2000
const PAGE = 500
const CANCELLED = { kind: 'cancelled', begun: false } as const

/** Cancels a batch and those in it. @returns how many jobs were pending; @throws UNKNOWN_BATCH */
export async function cancelBatch(app: Canceller, bid: string): Promise<number> {
  if (!(await app.store.batches.find(bid))) throw unknownBatch(bid)
  const { bids, jobs } = await requestAll(app, [bid])
  const end = performance.now() + REMOVING_MS
  await removeWaiting(app, bids, async () => performance.now() < end)
  return jobs
}

/** Goes on with batches that are being cancelled, while `isMeant` says so. */
export async function continueCancelling(
  app: Canceller,
  cancelled: readonly string[],
  isMeant: () => Promise<boolean>,
): Promise<void> {
  const { bids } = await requestAll(app, cancelled)
  await removeWaiting(app, bids, isMeant)
}

/**
 * Marks batches, and those in them, as being cancelled, and requests the cancellation of their jobs: no worker starts one from
 * then on, wherever it moves.
 */
async function requestAll({ store, now }: Canceller, first: readonly string[]) {
  const bids = new Set<string>()
  const open = [...first]
  let jobs = 0
  for (let bid = open.pop(); bid !== undefined; bid = open.pop()) {
    const record = bids.has(bid) ? null : await store.batches.find(bid)
    if (!record) continue
    bids.add(bid)
    if (record.job) jobs++
    await store.batches.cancel(bid, now())
    for await (const { items } of pages((after) => store.batches.members(record.bid, { after, limit: PAGE }))) {
      const requests = items.map(async ({ id, state }) => {
        if (state === 'dead') return
        const inner = await innerBatch(store.batches, id)
        if (inner !== undefined) return void open.push(inner)
        jobs++
        await store.cancellations.request(id, now())
      })
      await Promise.all(requests)
    }
  }
  return { bids, jobs }
}

/** Removes the waiting jobs of batches, page by page. */
async function removeWaiting(
  app: Canceller,
  bids: ReadonlySet<string>,
  isMeant: () => Promise<boolean>,
): Promise<void> {
  const { store, now } = app
  const [only] = bids
  const swapsOf = <Item extends { text: string }>(items: readonly Item[]) =>
    items.flatMap((item) => {
      const payload = readPayload(item.text)
      if (!payload || !bids.has(payload.bid as string)) return []
      return { ...item, to: null, payload, effects: app.effects(payload, CANCELLED) }
    })
  const keepEnds = async (swaps: ReturnType<typeof swapsOf>, answers: readonly SwapAnswer[]) => {
    for (const [i, { payload }] of swaps.entries()) if (answers[i] === 'ok') await app.keepEnd(payload, CANCELLED)
  }
  for await (const page of jobsInOrder(store, bids.size === 1 ? `"${only}"` : '"bid"')) {
    if ('set' in page) {
      const swaps = swapsOf(page.items)
      await keepEnds(swaps, await store.jobSets.swap(page.set, swaps satisfies Swap[], now()))
    } else if ('queue' in page) {
      const pulls = swapsOf(page.items)
      await keepEnds(pulls, await store.search.pull(page.queue, pulls, now()))
    }
    if (!(await isMeant())) return
  }
}
