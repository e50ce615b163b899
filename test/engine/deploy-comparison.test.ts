import { expect, test } from 'vitest'
import { type Bench, bench } from './bench.ts'

const NOON = Date.UTC(2026, 4, 17, 12)
const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Puts runs there as a worker would have told them: so many that took less than 20 ms, or 65 to 100 ms, or failed. */
async function tell(t: Bench, at: number, name: string, { quick = 0, slow = 0, failed = 0 }) {
  const histogram = Array.from({ length: 26 }, (_, bucket) => (bucket === 0 ? quick : bucket === 4 ? slow : 0))
  const jobs = [{ name, processed: quick + slow + failed, failed, ms: quick * 10 + slow * 80, histogram }]
  await t.hq.store.metrics.record({ source: `${name} ${at}`, number: 1, at, jobs })
}

const atNoon = (minutes = 0) => bench({ clock: { now: () => NOON + minutes * MINUTE + 30_000 } })

test('classes that fail more or run longer since the newest deploy come first', async () => {
  const t = atNoon(30)
  await t.hq.deploy('v1', new Date(NOON - 20 * MINUTE))
  await t.hq.deploy('v2', new Date(NOON))
  await tell(t, NOON - 21 * MINUTE, 'Same', { quick: 1000 })
  await tell(t, NOON - MINUTE, 'Same', { quick: 40, failed: 2 })
  await tell(t, NOON, 'Same', { quick: 400, failed: 20 })
  await tell(t, NOON - MINUTE, 'Fails', { quick: 99, failed: 1 })
  await tell(t, NOON + 20 * MINUTE, 'Fails', { quick: 50, failed: 10 })
  await tell(t, NOON - MINUTE, 'Slower', { quick: 100 })
  await tell(t, NOON + 30 * MINUTE, 'Slower', { quick: 10, slow: 90 })
  await tell(t, NOON - MINUTE, 'Both', { quick: 100 })
  await tell(t, NOON, 'Both', { slow: 50, failed: 50 })
  await tell(t, NOON - MINUTE, 'Rare', { quick: 5 })
  await tell(t, NOON, 'Rare', { slow: 5, failed: 1 })
  await tell(t, NOON, 'New', { slow: 5, failed: 5 })

  const found = await t.hq.metrics.compareDeploy()
  expect(found).toMatchObject({
    deploy: { at: new Date(NOON), label: 'v2' },
    before: { from: new Date(NOON - 20 * MINUTE), to: new Date(NOON) },
    after: { from: new Date(NOON), to: new Date(NOON + 31 * MINUTE) },
  })
  expect(found?.jobs.map(({ name, worse }) => [name, worse])).toEqual([
    ['Both', ['fails', 'slower']],
    ['Slower', ['slower']],
    ['Fails', ['fails']],
    ['Same', []],
    ['New', []],
    ['Rare', []],
  ])
  const slower = found?.jobs.find(({ name }) => name === 'Slower')
  expect(slower?.before).toMatchObject({
    processed: 100,
    failed: 0,
    success: 100,
    seconds: 1,
    p50: expect.closeTo(0.01),
  })
  expect(slower?.after.p50).toBeCloseTo(0.065 + 0.035 * (40 / 90))
  expect(found?.jobs.find(({ name }) => name === 'Same')?.before.processed).toBe(42)
})

test('an earlier deploy is compared up to the next one, in steps of ten minutes when it was long ago', async () => {
  const t = atNoon()
  const at = NOON - 26 * HOUR + 4 * MINUTE
  await t.hq.deploy('v1', new Date(at))
  await t.hq.deploy('v2', new Date(at + 40 * MINUTE))
  await tell(t, at - 10 * MINUTE, 'A', { quick: 30 })
  // The deploy was within these ten minutes, so they belong to neither side.
  await tell(t, at, 'A', { quick: 500 })
  await tell(t, at + 10 * MINUTE, 'A', { slow: 30 })
  await tell(t, at + 36 * MINUTE, 'A', { quick: 500 })
  const found = await t.hq.metrics.compareDeploy({ at: new Date(at + 5000) })
  expect(found).toMatchObject({
    deploy: { label: 'v1' },
    before: { to: new Date(at - 4 * MINUTE) },
    after: { from: new Date(at + 6 * MINUTE), to: new Date(at + 36 * MINUTE) },
    jobs: [{ name: 'A', before: { success: 30 }, after: { success: 30 }, worse: ['slower'] }],
  })
})

test('without a deploy there is nothing to compare, and right after one there are no runs yet', async () => {
  const t = atNoon()
  expect(await t.hq.metrics.compareDeploy()).toBeNull()
  await t.hq.deploy('v1')
  await tell(t, NOON - MINUTE, 'A', { quick: 30 })
  expect(await t.hq.metrics.compareDeploy({ minutes: 5 })).toMatchObject({
    after: { from: new Date(NOON), to: new Date(NOON + MINUTE) },
    jobs: [{ name: 'A', before: { success: 30 }, after: { processed: 0, p50: null }, worse: [] }],
  })
  expect(await t.hq.metrics.compareDeploy({ at: new Date(NOON - MINUTE) })).toBeNull()
})
