import { expect, test } from 'vitest'
import { SnapshotRecorder } from '#dist/metrics/snapshots.js'
import { bench } from './bench.ts'

const NOON = Date.UTC(2026, 4, 17, 12)

test('one worker at a time stores the figures of each minute', async () => {
  let time = NOON
  const t = bench({ clock: { now: () => time } })
  const Stock = t.hq.ordered('Stock', { shards: 2 }, async () => {})
  await Stock.performAsync([{ id: 1, performAt: NOON / 1000 - 30 }, { id: 2 }])
  await t.hq.push({ class: 'Waits', args: [] })
  const { store } = t.hq
  const report = (error: unknown) => {
    throw error
  }
  const recorders = [1, 2].map(() => new SnapshotRecorder({ store, now: () => time, report }))
  const round = () => Promise.all(recorders.map((recorder) => recorder.run()))
  await round()
  await t.hq.push({ class: 'Waits', args: [] })
  time += 59_999
  await round()
  time += 1
  await round()
  time += 9 * 60_000
  await round()
  const found = await t.hq.metrics.snapshots()
  expect(found.map(({ at, enqueued }) => [at.getTime() - NOON, enqueued])).toEqual([
    [0, 1],
    [60_000, 2],
    [600_000, 2],
  ])
  expect(found[0]?.ordered).toMatchObject({
    Stock: { length: 2, busy: 0, lag: 30, morgueLength: 0, processed: 0, failed: 0 },
  })
  expect((await t.hq.metrics.snapshots({ hours: 1 })).map(({ enqueued }) => enqueued)).toEqual([1, 2])
  expect((await t.hq.metrics.snapshots({ days: 2 })).map(({ enqueued }) => enqueued)).toEqual([1])
  await expect(t.hq.metrics.snapshots({ days: 91 })).rejects.toThrow('days must be a whole number from 1 to 90')
})
