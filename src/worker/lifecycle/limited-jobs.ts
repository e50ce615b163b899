/** Moves jobs that wait for room in a limit to the front of their queues, as many as have room. */

import { readPayload } from '../../job/payload.ts'
import { baseQueue } from '../../job/priority.ts'
import { type Entry, LIMIT_BATCH, type LimitedSet, type Swap } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'

/** The most limits that one call returns. */
const LIMITS_AT_ONCE = 100
/** Of a limit whose first jobs wait for paused queues, at most this many pages are read. */
const MOST_PAGES = 10
/** When all jobs of a limit wait for paused queues, it is not looked at before this time. */
const PAUSED_MS = 2000

type Mover = Pick<Engine, 'store' | 'now'>

/**
 * A job that was moved asks for room when a worker starts it; when another job was faster, it waits again. The caller holds a
 * leader lock. Resolves with the time in milliseconds until the next job has room; null when no job waits.
 */
export async function moveLimitedJobs(engine: Mover): Promise<number | null> {
  const { store } = engine
  const { limits, nextMs } = await store.limits.due(LIMITS_AT_ONCE)
  if (limits.length === 0) return nextMs
  const paused = new Set(await store.jobs.pausedQueues())
  const blocked: string[] = []
  await Promise.all(
    limits.map(async ({ name, room }) => {
      if (!(await moveJobs(engine, `limited:${name}`, room, paused))) blocked.push(name)
    }),
  )
  if (blocked.length > 0) await store.limits.postpone(blocked, PAUSED_MS)
  return nextMs
}

/** Moves at most `room` jobs of queues that are not paused. Resolves with false when there was none. */
async function moveJobs({ store, now }: Mover, set: LimitedSet, room: number, paused: ReadonlySet<string>) {
  const swaps: Swap[] = []
  let after: Entry | undefined
  for (let page = 0; page < MOST_PAGES && swaps.length < room; page++) {
    // It reads further entries only when jobs of paused queues come first.
    const limit = page === 0 ? room : LIMIT_BATCH
    const entries = await store.jobSets.page(set, { ...(after ? { after } : {}), limit })
    for (const entry of entries) if (swaps.length < room) swaps.push(...moved(entry, now(), paused))
    after = entries.at(-1)
    if (entries.length < limit) break
  }
  // The job that goes to the front last comes first.
  if (swaps.length > 0) await store.jobSets.swap(set, swaps.toReversed(), now())
  return swaps.length > 0
}

function moved(entry: Entry, now: number, paused: ReadonlySet<string>): Swap[] {
  const { text } = entry
  const payload = readPayload(text)
  if (!payload) return [{ ...entry, to: { to: 'dead', text, score: now / 1000 } }]
  if (paused.has(baseQueue(payload.queue))) return []
  return [{ ...entry, to: { to: 'queue', queue: payload.queue, text, end: 'front' } }]
}
