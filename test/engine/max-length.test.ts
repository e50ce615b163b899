import { expect, test } from 'vitest'
import { bench, gate, until } from './bench.ts'

test('a push to a full queue throws QUEUE_FULL, and succeeds once there is room', async () => {
  const t = bench({ queues: { mail: { maxLength: 2 } } })
  const Mail = t.hq.job('Mail', { queue: 'mail' }, async () => {})
  await Mail.performAsync()
  await Mail.set({ priority: 9 }).performAsync()
  const refused = await Mail.performAsync().catch((thrown) => thrown)
  expect(refused).toMatchObject({ code: 'QUEUE_FULL', details: { queue: 'mail', maxLength: 2 } })
  expect(refused.message).toBe(
    'Mail: not pushed, because queue mail has its maxLength of 2 jobs: push again later, or raise it in new Highkiq({ queues: { "mail": { maxLength } } })',
  )
  await expect(Mail.set({ idempotent: true }).performAsync()).rejects.toMatchObject({ code: 'QUEUE_FULL' })
  await t.hq.push({ class: 'Other', args: [] })
  await Mail.performIn(60)
  await t.work({ queues: ['mail'] })
  await until(async () => (await t.hq.queue('mail').size()) === 0)
  expect(await Mail.performAsync()).toMatch(/^[0-9a-f]{24}$/)
})

test('a bulk stores the jobs that fit, and its error names them and the others', async () => {
  const t = bench({ queues: { default: { maxLength: 3 } } })
  const Bulk = t.hq.job('Bulk', async (_, _n: number) => {})
  const refused = await Bulk.performBulk([[1], [2], [3], [4], [5]]).catch((thrown) => thrown)
  expect(refused).toMatchObject({ code: 'QUEUE_FULL', details: { queue: 'default', maxLength: 3 } })
  expect(refused.message).toMatch(
    /^Bulk: not pushed, because queue default has its maxLength of 3 jobs: push again later/,
  )
  expect(refused.message).toMatch(/\(this bulk: of rows 0 to 4 all but 2 are stored \(details\.rows\)\)$/)
  const waiting = await t.queue()
  expect(waiting.map(({ args }) => args)).toEqual([[1], [2], [3]])
  expect(refused.details.pushed).toEqual(waiting.map(({ jid }) => jid))
  expect(refused.details.notPushed).toHaveLength(2)
  expect(refused.details).toMatchObject({ rows: [3, 4], next: 5 })
})

test('retries, due jobs, tracked jobs and requeued jobs are never refused', async () => {
  const t = bench({ queues: { default: { maxLength: 1 } } })
  const Fails = t.hq.job('Fails', { retryIn: 1 }, async (ctx) => {
    if (ctx.attempt === 1) throw new Error('once')
  })
  await Fails.performAsync()
  const worker = await t.work()
  await until(async () => (await t.set('retry')).length === 1)
  await worker.stop()
  await Fails.performAsync()
  await t.hq.job('Tracked', { track: true }, async () => {}).performAsync()
  expect(await t.hq.retries.retryAll()).toMatchObject({ done: 1, refused: 0 })
  expect(await t.hq.queue('default').size()).toBe(3)
  await expect(Fails.performAsync()).rejects.toMatchObject({ code: 'QUEUE_FULL' })
})

test('a transaction with a job for a full queue is rolled back', async () => {
  const t = bench({ url: 'sqlite::memory:', queues: { default: { maxLength: 1 } } })
  const Job = t.hq.job('Job', async () => {})
  const two = t.hq.transaction(() => {
    Job.performAsync().catch(() => {})
    Job.performAsync().catch(() => {})
  })
  await expect(two).rejects.toMatchObject({ code: 'QUEUE_FULL' })
  expect(await t.hq.queue('default').size()).toBe(0)
  await t.hq.transaction(() => void Job.performAsync())
  expect(await t.hq.queue('default').size()).toBe(1)
})

test('jobs that wait for room in a limit count for the size and the maxLength of their queue', async () => {
  const t = bench({ queues: { default: { maxLength: 3 } } })
  const { opened, open } = gate()
  const One = t.hq.job('One', { limit: { concurrency: 1 } }, () => opened)
  await One.performAsync()
  const worker = await t.work()
  await until(async () => (await t.hq.stats()).busy === 1)
  await One.performAsync()
  await One.set({ priority: 3 }).performAsync()
  const queue = t.hq.queue('default')
  await until(async () => (await queue.limited()) === 2)
  worker.quiet()
  await One.performAsync()
  expect(await queue.size()).toBe(3)
  expect(await t.hq.queueSummaries()).toMatchObject([{ name: 'default', size: 3, limited: 2 }])
  await expect(One.performAsync()).rejects.toMatchObject({ code: 'QUEUE_FULL' })
  expect(await queue.clear()).toBe(3)
  expect(await queue.size()).toBe(0)
  open()
})

test('a wrong maxLength is refused', () => {
  expect(() => bench({ queues: { mail: { maxLength: 0 } } })).toThrow(
    'new Highkiq: queues: mail: maxLength must be a whole number above 0 (got 0)',
  )
})
