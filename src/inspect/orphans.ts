/** Finds the jobs of workers that died, and the owners that hold a lease. */

import { readPayload } from '../job/payload.ts'
import type { Store } from '../store/contract.ts'
import { pages } from './walk.ts'

const PAGE = 500
/** At most this many pages of the fetched jobs are read. */
const PAGES = 40

export interface Orphans {
  jobs: number
  /** The number of workers that had them. */
  workers: number
  queues: string[]
}

/** Returns the owners that hold a lease. */
export async function liveOwners(store: Store): Promise<Set<string>> {
  const leases = await store.workers.leases()
  return new Set(leases.flatMap(({ owner, ended, claimed }) => (ended || claimed ? [] : [owner])))
}

/** Counts the fetched jobs whose owner is not among those that live. */
export async function orphansOf(store: Store, live: ReadonlySet<string>): Promise<Orphans> {
  const dead = new Set<string>()
  const queues = new Set<string>()
  let [jobs, read] = [0, 0]
  for await (const { items } of pages((after) => store.workers.fetched({ after, limit: PAGE }))) {
    for (const { owner, queue } of items) {
      if (live.has(owner)) continue
      jobs++
      dead.add(owner)
      queues.add(queue)
    }
    if (++read === PAGES) break
  }
  return { jobs, workers: dead.size, queues: [...queues] }
}

/** Returns whether the lease of the worker that has fetched this job has ended; false when no worker has fetched it. */
export async function isOrphaned(store: Store, jid: string): Promise<boolean> {
  for await (const { items } of pages((after) => store.workers.fetched({ after, limit: PAGE }))) {
    const found = items.find(({ text }) => text.includes(jid) && readPayload(text)?.jid === jid)
    if (found) return !(await liveOwners(store)).has(found.owner)
  }
  return false
}
