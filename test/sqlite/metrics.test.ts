import { expect, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { counts } from '../conformance/metrics/metrics.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOON = Date.UTC(2026, 4, 17, 12)

test('a new record deletes old ones: minutes after 8 hours, ten minutes after 3 days, deploys after 90, iterations after 30', async () => {
  const store = openStore('sqlite::memory:')
  const record = (number: number, at: number) =>
    store.metrics.record({
      ...{ source: 'x', number, at, jobs: [counts('A', 1, 0, 1, { 0: 1 })] },
      waits: [{ queue: 'q', ms: 1, histogram: [1] }],
    })
  const stored = async (at: number) => [
    (await store.metrics.sums(1, [at])).length,
    (await store.metrics.histograms(1, [{ name: 'A', times: [at] }])).length,
    (await store.metrics.sums(10, [at])).length,
    (await store.metrics.histograms(10, [{ name: 'A', times: [at] }])).length,
    (await store.metrics.waits([at])).length,
  ]
  await record(1, NOON)
  await record(2, NOON + 8 * HOUR)
  expect(await stored(NOON)).toEqual([1, 1, 1, 1, 1])
  await record(3, NOON + 8 * HOUR + MINUTE)
  expect(await stored(NOON)).toEqual([0, 0, 1, 1, 0])
  await record(4, NOON + 3 * DAY)
  expect(await stored(NOON)).toEqual([0, 0, 1, 1, 0])
  await record(5, NOON + 3 * DAY + 10 * MINUTE)
  expect(await stored(NOON)).toEqual([0, 0, 0, 0, 0])

  for (const ms of [0, 8 * HOUR, 3 * DAY, 89 * DAY]) await store.metrics.recordSnapshot(NOON + ms, '{}')
  expect(await store.metrics.snapshots(1440, [Date.UTC(2026, 4, 17)])).toHaveLength(1)
  await store.metrics.recordSnapshot(NOON + 91 * DAY, '{}')
  for (const span of [1, 10] as const) expect(await store.metrics.snapshots(span, [NOON])).toEqual([])
  expect(await store.metrics.snapshots(1440, [Date.UTC(2026, 4, 17)])).toEqual([])

  for (const span of [1, 10] as const) {
    const record = (ms: number) => store.metrics.recordQueueSizes(span, NOON + ms, 'all\n')
    const kept = span === 1 ? 8 * HOUR : 3 * DAY
    for (const ms of [0, kept]) expect(await record(ms)).toBe(true)
    expect(await store.metrics.queueSizes(span, [NOON])).toHaveLength(1)
    await record(kept + span * MINUTE)
    expect(await store.metrics.queueSizes(span, [NOON])).toEqual([])
  }

  await store.metrics.recordDeploy({ at: NOON, label: 'old' }, NOON)
  await store.metrics.recordDeploy({ at: NOON + 91 * DAY, label: 'new' }, NOON + 91 * DAY)
  expect(await store.metrics.deploys(['2026-05-17'])).toEqual([])

  const state = { executions: 1, runtime: 1, cursor: '1' }
  await store.jobs.saveIteration('old', state, NOON)
  await store.jobs.saveIteration('old', state, NOON + 29 * DAY)
  await store.jobs.saveIteration('new', state, NOON + 31 * DAY)
  expect(await store.jobs.iterations(['old', 'new'])).toEqual([null, { ...state, cancelled: null }])
  await store.close()
})
