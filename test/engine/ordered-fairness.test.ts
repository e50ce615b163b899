import { setTimeout as sleep } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { bench, until } from './bench.ts'

const SHARDS = 5

/** An id of shard 0, if `isFirst`, or of another shard. */
function idOf(n: number, isFirst: boolean): string {
  for (let i = 0; ; i++) {
    const id = `${isFirst ? 'quiet' : 'busy'}-${n}-${i}`
    if ((crc32(id) % SHARDS === 0) === isFirst) return id
  }
}

test('an id of a quiet shard does not wait for the backlog of busy shards', async () => {
  const here = bench()
  const { ordered } = here.hq.store
  // Calls overlap and take as long as over a network, so that one is always under way.
  Object.defineProperty(here.hq.store, 'maxConcurrentCalls', { value: 2 })
  const settleAndFetch = ordered.settleAndFetch.bind(ordered)
  ordered.settleAndFetch = async (...step) => {
    const answer = await settleAndFetch(...step)
    await sleep(2)
    return answer
  }
  const BUSY = 20_000
  let busy = 0
  let ranBefore: number | undefined
  const job = here.hq.ordered('Sync', { shards: SHARDS }, async (_ctx, batch) => {
    for (const id of batch.keys()) {
      if (String(id).startsWith('quiet')) ranBefore = busy
      else busy++
    }
  })
  const items = Array.from({ length: BUSY }, (_, n) => ({ id: idOf(n, false) }))
  for (let from = 0; from < BUSY; from += 10_000) await job.performAsync(items.slice(from, from + 10_000))
  await here.work({ orderedConcurrency: SHARDS, pollInterval: 0.2 })
  await until(() => busy > 500)
  await job.performAsync({ id: idOf(0, true) })
  await until(() => ranBefore !== undefined)
  expect(ranBefore).toBeLessThan(BUSY)
})

test('batches without I/O leave the event loop its turns', async () => {
  const here = bench()
  const BATCHES = 90
  let ran = 0
  let ranBeforeTimer: number | undefined
  const job = here.hq.ordered('Sync', { shards: 1 }, () => {
    if (ran++ === 0) setTimeout(() => (ranBeforeTimer = ran), 0)
    const end = performance.now() + 5
    while (performance.now() < end);
  })
  await job.performAsync(Array.from({ length: BATCHES }, (_, id) => ({ id })))
  await here.work({ orderedConcurrency: 1 })
  await until(() => ran === BATCHES)
  expect(ranBeforeTimer).toBeLessThan(BATCHES / 2)
})
