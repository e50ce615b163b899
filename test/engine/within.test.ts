import { expect, test } from 'vitest'
import { bench, Collector, gate, until } from './bench.ts'

test('a call of within that gets its room only after its job has ended throws, runs nothing and frees its slot', async () => {
  const t = bench()
  const api = t.hq.limit('api', { concurrency: 1 })
  const { opened, open } = gate()
  const [began, thrown, ran] = [new Collector<string>(), new Collector<string>(), new Collector<string>()]
  t.hq.job('Holder', async (ctx) => {
    await api.within(ctx, async () => {
      began.add('holder')
      await opened
    })
  })
  const { limits } = t.hq.store
  const { acquire } = limits
  t.hq.job('Leaver', async (ctx) => {
    const asked = new Collector<true>()
    limits.acquire = async (...request) => {
      const answer = await acquire.call(limits, ...request)
      asked.add(true)
      return answer
    }
    api.within(ctx, { wait: 60 }, () => ran.add('leaver')).catch((error: Error) => thrown.add(error.message))
    await asked.atLeast(1)
  })
  await t.hq.push({ class: 'Holder', args: [] })
  await t.work({ concurrency: 2 })
  await began.atLeast(1)
  await t.hq.push({ class: 'Leaver', args: [] })
  await until(async () => (await t.hq.stats()).processed === 1)
  open()
  expect((await thrown.atLeast(1))[0]).toBe(
    'limit api: the job Leaver ended while a call of within waited for room, so its work did not run; await each call of within in the handler',
  )
  await until(async () => (await t.hq.limits.list()).length === 0)
  expect(ran.all).toEqual([])
})

test('a call of within whose slot arrives after its job has ended frees the slot', async () => {
  const t = bench()
  const api = t.hq.limit('api', { concurrency: 1 })
  const { opened, open } = gate()
  const [asked, thrown] = [new Collector<true>(), new Collector<string>()]
  const { limits } = t.hq.store
  const { acquire } = limits
  limits.acquire = async (...request) => {
    asked.add(true)
    await opened
    return acquire.call(limits, ...request)
  }
  t.hq.job('Leaver', async (ctx) => {
    api.within(ctx, () => {}).catch((error: Error) => thrown.add(error.message))
    await asked.atLeast(1)
  })
  await t.hq.push({ class: 'Leaver', args: [] })
  await t.work()
  await until(async () => (await t.hq.stats()).processed === 1)
  open()
  expect((await thrown.atLeast(1))[0]).toMatch('limit api: the job Leaver ended while a call of within waited for room')
  expect(await t.hq.limits.list()).toEqual([])
})
