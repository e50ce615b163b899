import type { HighkiqOptions } from 'highkiq'
import { expect, test } from 'vitest'
import { bench, Collector, gate, until } from './bench.ts'

const INFO = {
  position: 1,
  key: null,
  nextStart: null,
  concurrency: null,
  rate: null,
  per: null,
  burst: null,
  window: null,
  used: 0,
  waiting: 0,
  set: null,
  code: null,
}

test('jobs share a named limit, and a job needs room in all of its limits', async () => {
  const t = bench()
  const api = t.hq.limit('api', { concurrency: 2 })
  const [began, ended] = [new Collector<string>(), new Collector<string>()]
  const { opened, open } = gate()
  const handler = async ({ payload }: { payload: { class: string } }) => {
    began.add(payload.class)
    await opened
    ended.add(payload.class)
  }
  t.hq.job('Wide', { limit: api }, handler)
  t.hq.job('Narrow', { limit: [{ concurrency: 1 }, api, { rate: 1000, per: 1 }] }, handler)
  for (const name of ['Narrow', 'Narrow', 'Wide', 'Wide']) await t.hq.push({ class: name, args: [] })
  await t.work({ concurrency: 4 })
  await began.atLeast(2)
  await until(async () => (await t.hq.limits.list()).reduce((sum, { waiting }) => sum + waiting, 0) === 2)
  expect(began.all).toEqual(['Narrow', 'Wide'])
  expect(await t.hq.limits.list()).toEqual([
    { ...INFO, id: 'job:Narrow', kind: 'job', name: 'Narrow', concurrency: 1, used: 1, waiting: 1 },
    { ...INFO, id: 'shared:api', kind: 'shared', name: 'api', concurrency: 2, used: 2, waiting: 1 },
  ])
  open()
  expect([...(await ended.atLeast(4))].sort()).toEqual(['Narrow', 'Narrow', 'Wide', 'Wide'])
})

test('a queue and all workers together have limits, also for classes that this app does not define', async () => {
  const t = bench({ limit: { concurrency: 3 }, queues: { mail: { limit: { concurrency: 1 } } } })
  const began = new Collector<string>()
  const { opened, open } = gate()
  const handler = async ({ queue }: { queue: string }) => {
    began.add(queue)
    await opened
  }
  for (const queue of ['mail', 'default']) t.hq.process(queue, handler)
  for (const queue of ['mail', 'mail', 'default', 'default', 'default'])
    await t.hq.push({ class: 'X', args: [], queue })
  await t.work({ concurrency: 5 })
  await until(async () => (await t.hq.limits.list()).reduce((sum, { waiting }) => sum + waiting, 0) === 2)
  expect(began.all).toHaveLength(3)
  expect(began.all.filter((queue) => queue === 'mail').length).toBeLessThan(2)
  expect((await t.hq.limits.list())[0]).toMatchObject({ kind: 'app', name: 'all jobs', used: 3 })
  open()
  await began.atLeast(5)
})

test('two queues have one limit together, whether the code or a person sets its numbers', async () => {
  for (const byHand of [false, true]) {
    const limit = byHand ? {} : { limit: { concurrency: 1 } }
    const t = bench({ queues: { letters: limit, mail: { limitOf: 'letters' } } })
    if (byHand) await t.hq.limits.set('queue:letters', { concurrency: 1 })
    // The numbers that are set for the old name have no effect any more.
    await t.hq.limits.set('queue:mail', { concurrency: 5 })
    const began = new Collector<string>()
    const { opened, open } = gate()
    const handler = async ({ queue }: { queue: string }) => {
      began.add(queue)
      await opened
    }
    for (const queue of ['mail', 'letters']) {
      t.hq.process(queue, handler)
      for (let n = 0; n < 2; n++) await t.hq.push({ class: 'X', args: [], queue })
    }
    await t.work({ queues: ['letters', 'mail'], concurrency: 4 })
    const used = async () => (await t.hq.limits.list()).map(({ id, used, waiting }) => [id, used, waiting])
    await until(async () => (await used()).some(([, , waiting]) => waiting === 3))
    expect(await used()).toEqual([
      ['queue:letters', 1, 3],
      ['queue:mail', 0, 0],
    ])
    expect(began.all).toHaveLength(1)
    open()
    expect((await began.atLeast(4)).toSorted()).toEqual(['letters', 'letters', 'mail', 'mail'])
  }
})

test('limitOf must name another queue without limitOf, and excludes limit', () => {
  const refused = (queues: NonNullable<HighkiqOptions['queues']>, message: RegExp) =>
    expect(() => bench({ queues })).toThrow(message)
  const another = /queues: a: limitOf must name another queue, which has no limitOf itself/
  refused({ a: { limitOf: 'a' } }, another)
  refused({ a: { limitOf: 'b' }, b: { limitOf: 'c' } }, another)
  refused({ a: { limitOf: 'b', limit: { concurrency: 1 } } }, /queues: a: limit and limitOf exclude each other/)
})

test('a handler runs a part of its work within a limit; without room its job waits in the store and starts again', async () => {
  const t = bench()
  const stripe = t.hq.limit('stripe', { concurrency: 1, by: (account: string) => account })
  const steps = new Collector<string>()
  const { opened, open } = gate()
  t.hq.job('Charge', async (ctx, account: string, n: number) => {
    steps.add(`${n} begins`)
    const sum = await stripe.within(ctx, async () => {
      steps.add(`${n} charges`)
      if (n === 1) await opened
      return n * 2
    })
    steps.add(`${n} got ${sum} at attempt ${ctx.attempt}`)
    if (account === 'b') await stripe.within(ctx, { key: 'c' }, () => steps.add('other key'))
  })
  await t.work({ concurrency: 3 })
  await t.hq.push({ class: 'Charge', args: ['a', 1] })
  await steps.atLeast(2)
  const jid = (await t.hq.push({ class: 'Charge', args: ['a', 2] })) as string
  await until(async () => (await t.hq.find(jid)).state === 'limited')
  await t.hq.push({ class: 'Charge', args: ['b', 3] })
  await steps.atLeast(7)
  expect(steps.all.slice(2)).toEqual(['2 begins', '3 begins', '3 charges', '3 got 6 at attempt 1', 'other key'])
  open()
  await until(() => steps.all.includes('2 got 4 at attempt 1'))
  await until(async () => (await t.hq.store.metrics.totals()).processed === 3)
  expect(await t.hq.store.metrics.totals()).toMatchObject({ failed: 0, retries: 0, dead: 0 })
  expect(await t.hq.limits.list()).toEqual([])
})

test('a handler waits for room as long as it says, and several parts at once each need a slot', async () => {
  const t = bench()
  const pair = t.hq.limit('pair', { concurrency: 2 })
  const ran = new Collector<number>()
  let [running, most] = [0, 0]
  t.hq.job('Parts', async (ctx) => {
    const part = async (n: number) => {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setTimeout(resolve, 5))
      running--
      ran.add(n)
    }
    await Promise.all([1, 2, 3, 4].map((n) => pair.within(ctx, { wait: 20 }, () => part(n))))
  })
  await t.hq.push({ class: 'Parts', args: [] })
  await t.work()
  await ran.atLeast(4)
  expect(most).toBe(2)
  await until(async () => (await t.hq.limits.list()).length === 0)
})

test('a handler may define a limit: the same definition again is the same limit', async () => {
  const t = bench()
  const ran = new Collector<number>()
  const J = t.hq.job('J', async (ctx, n: number) => {
    const tenant = t.hq.limit('tenant', { rate: 100, per: n === 1 ? '1s' : 1, by: (id: number) => id })
    await tenant.within(ctx, { wait: 20 }, () => ran.add(n))
  })
  const worker = await t.work()
  await J.performAsync(1)
  await ran.atLeast(1)
  await J.performAsync(2)
  await ran.atLeast(2)
  await t.settled()
  await worker.stop()
  expect([ran.all, t.errors]).toEqual([[1, 2], []])
})

test('wrong names and options of named limits are refused with what is right', async () => {
  const t = bench()
  const api = t.hq.limit('api', { concurrency: 1 })
  expect(() => t.hq.limit('api', { concurrency: 7, by: (id: number) => id })).toThrow(
    /^hq\.limit: a limit named api is already defined as \{ concurrency: 1 \}, and can't also be \{ concurrency: 7, by: .*\}: give/,
  )
  expect(() => t.hq.limit('', { concurrency: 1 })).toThrow(
    'the name of a limit must be a string of 1 to 200 characters',
  )
  expect(() => t.hq.limit('x', {})).toThrow('hq.limit x: limit needs concurrency')
  expect(() => t.hq.job('J', { limit: [] }, async () => {})).toThrow('J: limit must not be an empty list')
  expect(() => t.hq.job('J', { limit: [api, api] }, async () => {})).toThrow('J: limit names api twice')
  const ctx = {} as never
  await expect(api.within(ctx, {}, 5 as never)).rejects.toThrow('limit api: within needs a function')
  await expect(api.within(ctx, { wait: -1 }, () => 1)).rejects.toThrow('within: wait must be a number of seconds')
  await expect(api.within(ctx, { key: 'a' }, () => 1)).rejects.toThrow('within: key needs a limit with keys')
  await expect(api.within(ctx, () => 1)).rejects.toThrow('within needs the ctx of a job that runs in a worker')
  expect(() => bench({ limit: { rate: 1 } })).toThrow('new Highkiq: limit needs rate and per together')
  expect(() => bench({ queues: { q: { limit: {} } } })).toThrow('new Highkiq: queues: q: limit needs concurrency')
})

test('limits of a job, of hq.limit and of a queue with the same name do not know of each other', async () => {
  const t = bench({ queues: { Same: { limit: { concurrency: 3 } } } })
  const { opened, open } = gate()
  const began = new Collector<string>()
  const named = t.hq.limit('Same', { concurrency: 2, by: (key: string) => key })
  t.hq.job('Same', { limit: [{ concurrency: 1 }, { concurrency: 4 }, named], queue: 'Same' }, async ({ jid }) => {
    began.add(jid)
    await opened
  })
  t.hq.job('Same 2', { limit: { concurrency: 5 }, queue: 'Same' }, async ({ jid }) => {
    began.add(jid)
    await opened
  })
  await t.hq.push({ class: 'Same', args: ['a:b'] })
  await t.hq.push({ class: 'Same 2', args: [] })
  await t.work({ queues: ['Same'] })
  await began.atLeast(2)
  expect(
    (await t.hq.limits.list()).map((one) => [one.kind, one.name, one.position, one.key, one.used, one.concurrency]),
  ).toEqual([
    ['job', 'Same', 1, null, 1, 1],
    ['job', 'Same', 2, null, 1, 4],
    ['job', 'Same 2', 1, null, 1, 5],
    ['queue', 'Same', 1, null, 2, 3],
    ['shared', 'Same', 1, 'a:b', 1, 2],
  ])
  open()
})

test('a job that uses a limit which it has already fails with what to do, and does not start again for ever', async () => {
  const t = bench()
  const deaths = new Collector<string>()
  t.hq.onDeath((_, error) => deaths.add((error as Error).message))
  const [own, one] = [t.hq.limit('own', { rate: 1, per: 1 }), t.hq.limit('one', { concurrency: 1 })]
  t.hq.job('Own', { limit: own, retry: 0 }, async (ctx) => {
    await own.within(ctx, () => {})
  })
  t.hq.job('Nested', { retry: 0 }, async (ctx) => {
    await one.within(ctx, () => one.within(ctx, () => {}))
  })
  await t.hq.push({ class: 'Own', args: [] })
  await t.work()
  expect((await deaths.atLeast(1))[0]).toMatch('limit own: the job Own has this limit already, by its option limit')
  await t.hq.push({ class: 'Nested', args: [] })
  expect((await deaths.atLeast(2))[1]).toMatch('limit one: this job has all of its slots (1) already')
  await until(async () => (await t.hq.limits.list()).length === 0)
})
