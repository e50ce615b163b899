import type { SetEntry, Task } from 'highkiq'
import { expect, test } from 'vitest'
import { bench, gate, until } from '../engine/bench.ts'

/** Whatever is done by hand to a task's rows, its counts equal its events. */
async function exact(task: Task): Promise<Record<string, number>> {
  const status = await task.status()
  const counted: Record<string, number> = {}
  for await (const { status } of task.events()) counted[status] = (counted[status] ?? 0) + 1
  const counts = Object.fromEntries(Object.entries(status?.counts ?? {}).filter(([, n]) => n > 0))
  expect(counts).toEqual(counted)
  return counts
}

const messages = async (task: Task, index: number) => {
  for await (const event of task.events()) if (event.index === index) return JSON.stringify(event.messages)
  throw new Error('no such row')
}

test('a row that is deleted from its queue is cancelled, and the next row is queued', async () => {
  const t = bench()
  const Job = t.hq.job('Job', async (_ctx, _n: number) => {})
  const task = await t.hq.tasks.create(Job, [[0], [1], [2], [3], [4]], { window: 2 })
  const queue = t.hq.queue('default')
  for await (const job of queue) if (job.args[0] === 0) expect(await job.delete()).toBe(true)
  expect(await exact(task)).toEqual({ cancelled: 1, enqueued: 4 })
  expect(await messages(task, 0)).toContain('deleted')
  expect(await queue.size()).toBe(2)
  await t.work()
  expect((await task.wait()).counts).toMatchObject({ cancelled: 1, finished: 4 })
})

test('a queue is cleared of rows and other jobs alike, and the counts of the tasks are right', async () => {
  const t = bench()
  const Job = t.hq.job('Job', async (_ctx, _n: number) => {})
  const task = await t.hq.tasks.create(Job, [[0], [1], [2], [3], [4]], { window: 2 })
  await Job.performBulk(Array.from({ length: 300 }, (_, n) => [n] as [number]))
  const queue = t.hq.queue('default')
  const before = await queue.size()
  expect(before).toBe(302)
  const dropped = await queue.clear()
  expect(dropped).toBeGreaterThanOrEqual(before)
  const { cancelled = 0 } = await exact(task)
  expect(cancelled).toBeGreaterThanOrEqual(2)
  expect(cancelled + (await queue.size()) + ((await task.status())?.backlog ?? 0)).toBe(5)
  await queue.clear()
  await queue.clear()
  expect(await exact(task)).toEqual({ cancelled: 5 })
  expect((await task.status())?.state).toBe('done')
  for await (const _ of t.hq.queues()) throw new Error('no queue should be left')
})

test('a row that waits for a retry is retried, killed and deleted; a dead row that is retried reopens its task', async () => {
  const t = bench()
  let broken = true
  const Job = t.hq.job('Job', { retry: 2 }, async (_ctx, _n: number) => {
    if (broken) throw new Error('broken')
  })
  const task = await t.hq.tasks.create(Job, [[0], [1], [2], [3]])
  await t.work()
  await until(async () => (await t.hq.retries.size()) === 4)
  const entry = async (n: number) => {
    const { items } = await t.hq.retries.scan(`"args":[${n}]`)
    return items[0] as SetEntry
  }
  expect(await (await entry(0)).delete()).toBe(true)
  expect(await (await entry(1)).kill()).toBe(true)
  expect(await exact(task)).toEqual({ cancelled: 1, error: 1, enqueued: 2 })
  expect(await messages(task, 1)).toContain('killed')
  broken = false
  expect(await (await entry(2)).retry()).toBe(true)
  await until(async () => (await task.status())?.counts.finished === 1)
  expect(await t.hq.retries.clear()).toBe(1)
  expect(await exact(task)).toEqual({ cancelled: 2, error: 1, finished: 1 })
  expect((await task.status())?.state).toBe('done')

  expect(await t.hq.dead.retryAll()).toEqual({ done: 1, refused: 0 })
  await until(async () => (await task.status())?.state === 'done')
  expect(await exact(task)).toEqual({ cancelled: 2, finished: 2 })
})

test('deleting a dead row does not change its event', async () => {
  const t = bench()
  const Job = t.hq.job('Job', { retry: 0 }, async (_ctx, _n: number) => {
    throw new Error('broken')
  })
  const task = await t.hq.tasks.create(Job, [[0], [1], [2]])
  await t.work()
  await task.wait()
  for await (const entry of t.hq.dead) {
    await entry.delete()
    break
  }
  expect(await t.hq.dead.clear()).toBe(2)
  expect(await exact(task)).toEqual({ error: 3 })
})

test('a row that middleware filters at its retry is cancelled', async () => {
  const t = bench()
  const Job = t.hq.job('Job', { retry: 0 }, async (_ctx, _n: number) => {
    throw new Error('broken')
  })
  const task = await t.hq.tasks.create(Job, [[0]])
  await t.work()
  await task.wait()
  t.hq.client.use(() => null)
  expect(await t.hq.dead.retryAll()).toEqual({ done: 1, refused: 0 })
  expect(await exact(task)).toEqual({ cancelled: 1 })
})

test('the state of a row: backlog, queued, running, retry, dead, ended', async () => {
  const t = bench()
  const begun = gate()
  const end = gate()
  let broken = false
  const Job = t.hq.job('Job', { retry: 1 }, async (_ctx, n: number) => {
    if (broken) throw new Error('broken')
    if (n > 0) return
    begun.open()
    await end.opened
  })
  const task = await t.hq.tasks.create(Job, [[0], [1], [2]], { window: 1 })
  const jid = (n: number) => `${task.id}${n.toString(16).padStart(8, '0')}`
  const state = async (n: number) => (await t.hq.find(jid(n))).state
  expect([await state(0), await state(2)]).toEqual(['queued', 'backlog'])
  await t.work({ concurrency: 1 })
  await begun.opened
  expect(await t.hq.find(jid(0))).toMatchObject({ state: 'running', queue: 'default', event: { index: 0 } })
  broken = true
  end.open()
  await until(async () => (await t.hq.retries.size()) === 2)
  expect([await state(0), await state(1), await state(2)]).toEqual(['ended', 'retry', 'retry'])
  await (await t.hq.retries.find(jid(2)))?.kill()
  expect(await t.hq.find(jid(2))).toMatchObject({ state: 'dead', payload: { args: [2] }, event: { status: 'error' } })
})
