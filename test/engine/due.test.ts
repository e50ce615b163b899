import { expect, test } from 'vitest'
import { bench, Heard, until } from './bench.ts'

test('a scheduled job runs when it is due: pushes of this process wake the one that moves them', async () => {
  const { hq, work } = bench()
  const late = new Heard<number>()
  const J = hq.job('J', async (_ctx, due: number) => late.say(Date.now() - due))
  await work({ pollInterval: 1 })
  // The nearer one comes later: whoever sleeps until the first one would miss it.
  const now = Date.now()
  await J.performAt(new Date(now + 700), now + 700)
  await J.performAt(new Date(now + 200), now + 200)
  await late.atLeast(2)
  for (const ms of late.all) {
    expect(ms).toBeGreaterThanOrEqual(0)
    expect(ms).toBeLessThan(500)
  }
})

test('what another process schedules runs in time too', async () => {
  const a = bench()
  const b = a.another()
  const late = new Heard<number>()
  const J = a.hq.job('J', async (_ctx, due: number) => late.say(Date.now() - due))
  b.hq.job('J', async (_ctx, due: number) => late.say(Date.now() - due))
  await b.work({ pollInterval: 1 })
  const due = Date.now() + 300
  await J.performAt(new Date(due), due)
  const [ms] = await late.atLeast(1)
  expect(ms).toBeGreaterThanOrEqual(0)
  expect(ms).toBeLessThan(1200)
})

test('due jobs come in the order of their times, more than a batch of them, each once', async () => {
  const { hq, work, settled, clock } = bench()
  const ran: number[] = []
  const J = hq.job('J', async (_ctx, n: number) => void ran.push(n))
  const now = Date.now()
  for (let n = 0; n < 250; n++) void J.performAt(now / 1000 + 100 + n / 1000, n)
  await until(async () => (await hq.store.size('schedule')) === 250)
  clock.ahead = 101
  await work({ concurrency: 1 })
  await until(async () => (await hq.store.size('schedule')) === 0)
  await settled()
  expect(ran).toEqual(Array.from({ length: 250 }, (_, n) => n))
})

test('of several workers one alone moves due jobs', async () => {
  const apps = [bench()]
  for (let n = 0; n < 2; n++) apps.push((apps[0] as (typeof apps)[0]).another())
  const moved = new Heard<number>()
  const ran = new Heard<unknown>()
  for (const [n, { hq, work }] of apps.entries()) {
    hq.job('J', async (ctx) => ran.say(ctx.jid))
    hq.client.use((_payload, next) => {
      moved.say(n)
      return next()
    })
    await work()
  }
  const pusher = (apps[0] as (typeof apps)[0]).another()
  const J = pusher.hq.job('J', async () => {})
  const at = Date.now() / 1000 + 100
  for (let n = 0; n < 40; n++) await J.performAt(at + n)
  for (let n = 0; n < 40; n++) {
    for (const { clock } of apps) clock.ahead = 101 + n
    await ran.atLeast(n + 1)
  }
  await ran.atLeast(40)
  expect(moved.all).toHaveLength(40)
  expect(new Set(moved.all).size).toBe(1)
  expect(new Set(ran.all).size).toBe(40)
})

test('when the one that moves due jobs becomes quiet, another one goes on at once', async () => {
  const a = bench()
  const b = a.another()
  const ran = new Heard<string>()
  const J = a.hq.job('J', async () => ran.say('a'))
  b.hq.job('J', async () => ran.say('b'))
  const first = await a.work()
  await J.performIn(0.01)
  await ran.atLeast(1)
  await b.work()
  await first.quiet()
  const due = Date.now() + 10
  await J.performAt(new Date(due))
  await ran.atLeast(2)
  expect(ran.all[1]).toBe('b')
  expect(Date.now() - due).toBeLessThan(1000)
})
