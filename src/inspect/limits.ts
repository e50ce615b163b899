/** The limits that are in use, for display. */

import { type LimitKind, parseStoredName } from '../job/limit.ts'
import type { Store } from '../store/contract.ts'

export interface LimitInfo {
  /** `job`: the limit of one job. `shared`: one of `hq.limit`. `queue`: that of a queue. `app`: that of all jobs. */
  kind: LimitKind
  /** The name of the job, of the limit or of the queue. */
  name: string
  /** The position of a limit among those of its job; 1 for the other kinds. */
  position: number
  /** Null when the limit has no keys. */
  key: string | null
  /** The jobs that run at the same time at most; null without such a limit. */
  concurrency: number | null
  /** The jobs that start within `per` seconds at most; null without such a limit. */
  rate: number | null
  /** Seconds; null without a rate. */
  per: number | null
  burst: number | null
  window: 'fixed' | 'sliding' | null
  /** The jobs that have a slot. */
  used: number
  /** The jobs that wait for room. */
  waiting: number
  /** Seconds until a rate lets one more job start; null without a rate. */
  nextStart: number | null
}

export async function limitInfos(store: Store): Promise<LimitInfo[]> {
  const states = await store.limits.list()
  return states.map(({ name, max, count, per, burst, window, used, waiting, roomMs }) => ({
    ...parseStoredName(name),
    concurrency: max || null,
    rate: count || null,
    per: count ? per / 1000 : null,
    burst: count && window === 'smooth' ? burst : null,
    window: count && window !== 'smooth' ? window : null,
    used,
    waiting,
    nextStart: roomMs === null ? null : roomMs / 1000,
  }))
}
