import { expect, test } from 'vitest'
import { bench, Collector, until } from './bench.ts'

test('the option priority of a job and of a push is stored in the name of the queue', async () => {
  const t = bench()
  const J = t.hq.job('J', { queue: 'mail', priority: 2 }, async (_ctx, _n: number) => {})
  await J.performAsync(0)
  await J.set({ priority: 9 }).performAsync(1)
  await J.set({ priority: 0 }).performBulk([[2]])
  await J.set({ queue: 'p5:mail' }).performAsync(3)
  const jobs: unknown[] = []
  for await (const { args, priority, queue } of t.hq.queue('mail')) jobs.push([args[0], priority, queue])
  expect(jobs).toEqual([
    [2, 0, 'mail'],
    [0, 2, 'mail'],
    [3, 5, 'mail'],
    [1, 9, 'mail'],
  ])
  for (const priority of [10, -1, 1.5, 'high', null]) {
    const message = expect.stringContaining('J: priority must be a whole number from 0 to 9 (got ')
    await expect(J.set({ priority } as never).performAsync(4)).rejects.toMatchObject({ code: 'INVALID_JOB', message })
    expect(() => t.hq.job('K', { priority } as never, async () => {})).toThrow('priority must be a whole number')
  }
})

test('jobs run by priority, then by age, and their handlers see the queue', async () => {
  const t = bench()
  const ran = new Collector<[number, string]>()
  const J = t.hq.job('J', async (ctx, n: number) => ran.add([n, ctx.queue]))
  for (const [n, queue] of ['default', 'p1:default', 'p9:default', 'default', 'p9:default'].entries()) {
    await J.set({ queue }).performAsync(n)
  }
  expect(await t.hq.queue('default').size()).toBe(5)
  await expect(t.work({ queues: ['p1:default'] })).rejects.toThrow('name default, which serves all its priorities')
  for await (const job of t.hq.queue('default')) expect(job.queue).toBe('default')
  await t.work({ concurrency: 1, queues: ['default'] })
  await ran.atLeast(5)
  expect(ran.all).toEqual([2, 4, 1, 0, 3].map((n) => [n, 'default']))
})

test('a cron entry and the rows of a task have a priority, and their queue is shown without it', async () => {
  const t = bench()
  const ran = new Collector<string>()
  t.hq.job('Low', { queue: 'mail' }, async () => ran.add('low'))
  const High = t.hq.job('High', { queue: 'mail', priority: 3 }, async (_ctx, n: number) => ran.add(`row ${n}`))
  t.hq.cron('nightly', '0 3 * * *', 'Low', { priority: 9 })
  expect(() => t.hq.cron('wrong', '0 3 * * *', 'Low', { priority: 12 })).toThrow(
    'cron wrong: priority must be a whole number from 0 to 9 (got 12)',
  )
  await t.hq.push({ class: 'Low', args: [] })
  const task = await t.hq.tasks.create(High, [[1], [2]])
  expect((await task.status())?.queue).toBe('mail')
  await t.hq.cron('nightly').runNow()
  expect(await t.hq.queueSummaries()).toEqual([
    { name: 'mail', size: 4, limited: 0, latency: expect.any(Number), paused: false },
  ])
  await t.work({ concurrency: 1, queues: ['mail'] })
  await ran.atLeast(4)
  expect(ran.all).toEqual(['low', 'row 1', 'row 2', 'low'])
})

test('the latency of a queue is that of the job that waited longest, of any priority', async () => {
  const t = bench()
  const J = t.hq.job('J', async () => {})
  await J.performAsync()
  t.clock.ahead = 100
  await J.set({ priority: 5 }).performAsync()
  const [summary] = await t.hq.queueSummaries()
  expect(summary?.latency).toBeGreaterThanOrEqual(100)
  expect(await t.hq.queue('default').latency()).toBeGreaterThanOrEqual(100)
  expect((await t.hq.stats()).defaultLatency).toBeGreaterThanOrEqual(100)
})

test('a retry queue and an edit keep the priority', async () => {
  const t = bench()
  const J = t.hq.job('J', { priority: 4, retryQueue: 'slow' }, async (_ctx, n: number) => {
    if (n === 1) throw new Error('no')
  })
  const jid = (await J.performAsync(0)) as string
  expect(await t.hq.edit(jid, [1])).toBe(true)
  expect((await t.hq.queue('default').find(jid))?.priority).toBe(4)
  await t.work()
  await until(async () => (await t.set('retry')).length === 1)
  const [entry] = (await t.hq.retries.page()).items
  expect([entry?.queue, entry?.priority, entry?.payload.queue]).toEqual(['slow', 4, 'p4:slow'])
  await entry?.retry()
  // On Redis a process reads the names of priorities once a second.
  await until(async () => (await t.hq.queue('slow').find(jid))?.priority === 4)
  expect(await t.hq.queue('slow').size()).toBe(1)
})

test('a queue is named without a priority', () => {
  expect(() => bench().hq.queue('p3:mail')).toThrow(
    "hq.queue: p3:mail is a priority of queue mail: use hq.queue('mail'), which has the jobs of all priorities",
  )
})
