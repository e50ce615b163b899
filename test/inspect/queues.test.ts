import type { QueuedJob } from 'highkiq'
import { expect, test } from 'vitest'
import { bench } from '../engine/bench.ts'

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

test('a queue returns its size, its latency, and its jobs, newest first', async () => {
  const t = bench()
  const Job = t.hq.job('Job', async (_ctx, _n: number) => {})
  await Job.performBulk(Array.from({ length: 230 }, (_, n) => [n] as [number]))
  await Job.set({ queue: 'low' }).performAsync(1)
  t.clock.ahead = 30
  const queue = t.hq.queue('default')
  expect(await queue.size()).toBe(230)
  expect(await queue.latency()).toBeGreaterThanOrEqual(30)
  expect(await queue.latency()).toBeLessThan(60)
  expect((await all(queue)).map(({ args }) => args[0])).toEqual(Array.from({ length: 230 }, (_, n) => 229 - n))
  const page = await queue.page({ limit: 3 })
  expect(page.items.map(({ args }) => args)).toEqual([[229], [228], [227]])
  expect((await queue.page({ after: page.next, limit: 2 })).items.map(({ args }) => args)).toEqual([[226], [225]])
  expect((await all(t.hq.queues())).map(({ name }) => name)).toEqual(['default', 'low'])
  expect(await t.hq.queueSummaries()).toMatchObject([
    { name: 'default', size: 230 },
    { name: 'low', size: 1 },
  ])
  const none = t.hq.queue('none')
  expect([await none.size(), await none.latency(), await all(none), await none.clear()]).toEqual([0, 0, [], 0])
})

test('a job in a queue is found by its jid or a pattern, and deleted alone', async () => {
  const t = bench()
  const Job = t.hq.job('Job', async (_ctx, _n: number) => {})
  const jids = await Job.performBulk(Array.from({ length: 50 }, (_, n) => [n] as [number]))
  const queue = t.hq.queue('default')
  const job = (await queue.find(jids[20] as string)) as QueuedJob
  expect(job.args).toEqual([20])
  expect(await queue.find('none')).toBe(null)
  expect(await job.delete()).toBe(true)
  expect(await job.delete()).toBe(false)
  expect(await queue.size()).toBe(49)
  expect((await queue.scan('"args":[4')).items).toHaveLength(11)
  expect((await queue.scan('*"args":\\[4?\\]*')).items).toHaveLength(10)
  await t.work()
  await t.settled()
  expect(await t.hq.stats()).toMatchObject({ processed: 49 })
})

test('the jobs of a queue can be deleted during an iteration', async () => {
  const t = bench()
  const Job = t.hq.job('Job', async (_ctx, _n: number) => {})
  await Job.performBulk(Array.from({ length: 350 }, (_, n) => [n] as [number]))
  const met: unknown[] = []
  for await (const job of t.hq.queue('default')) {
    met.push(job.args[0])
    if ((job.args[0] as number) % 3) expect(await job.delete()).toBe(true)
  }
  expect(met).toEqual(Array.from({ length: 350 }, (_, n) => 349 - n))
  expect(await t.hq.queue('default').size()).toBe(117)
})

test('clear deletes waiting jobs, and not running ones', async () => {
  const t = bench()
  const Job = t.hq.job('Job', async (_ctx, _n: number) => {})
  await Job.performBulk(Array.from({ length: 2345 }, (_, n) => [n] as [number]))
  expect(await t.hq.queue('default').clear()).toBe(2345)
  expect(await all(t.hq.queues())).toEqual([])
  await Job.performAsync(7)
  expect(await t.hq.queue('default').size()).toBe(1)
})

test('a cron entry whose job was cleared out of a queue or a set can run again at once', async () => {
  const t = bench()
  const Job = t.hq.job('Job', async (_ctx, _n?: number) => {})
  t.hq.cron('c', '0 3 1 1 *', Job, { overlap: 'skip' })
  await Job.performAsync(1)
  await t.hq.cron('c').runNow()
  await Job.performAsync(2)
  await expect(t.hq.cron('c').runNow()).rejects.toMatchObject({ code: 'CRON_BUSY' })
  expect(await t.hq.queue('default').clear()).toBe(3)
  await t.hq.cron('c').runNow()
  const [text = ''] = await t.hq.store.jobs.peek('default', 0, 1)
  await t.hq.store.search.pull('default', [{ text, to: { to: 'retry', text, score: 2e9 } }], Date.now())
  await expect(t.hq.cron('c').runNow()).rejects.toMatchObject({ code: 'CRON_BUSY' })
  expect(await t.hq.retries.clear()).toBe(1)
  await t.hq.cron('c').runNow()
  expect(await t.queue()).toHaveLength(1)
})

test('invalid entries of a queue are shown unchanged and can be deleted', async () => {
  const t = bench()
  const garbage = ['not json', '{"class":"A","args":null,"jid":5}', '[]', '{"args":[1],"enqueued_at":"soon"}']
  for (const one of garbage) await t.raw(one)
  const queue = t.hq.queue('default')
  expect(await queue.latency()).toBe(0)
  const jobs = await all(queue)
  expect(jobs.map(({ text }) => text)).toEqual([...garbage].reverse())
  expect(jobs.map(({ queue }) => queue)).toEqual(['default', 'default', 'default', 'default'])
  expect((await queue.find('5'))?.class).toBe('A')
  for (const job of jobs) expect(await job.delete()).toBe(true)
  expect(await queue.size()).toBe(0)
})

test('all jobs of a class are deleted from a queue, and no job that only mentions it', async () => {
  const t = bench()
  await t.hq.pushBulk({ class: 'Old', args: Array.from({ length: 150 }, (_, n) => [n]) })
  for (let n = 0; n < 3; n++) await t.hq.push({ class: 'New', args: ['Old'] })
  await t.hq.pushBulk({ class: 'Old', args: Array.from({ length: 150 }, (_, n) => [n]) })
  await t.hq.push({ class: 'Sidekiq::ActiveJob::Wrapper', wrapped: 'Old', args: [{ arguments: [1] }] })
  const queue = t.hq.queue('default')
  expect(await queue.deleteByClass('Old')).toBe(301)
  expect((await all(queue)).map((job) => job.class)).toEqual(['New', 'New', 'New'])
  expect(await queue.deleteByClass('Old')).toBe(0)
})
