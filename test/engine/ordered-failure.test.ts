import { BatchFailure, Release, Snooze } from 'highkiq'
import { expect, test } from 'vitest'
import { gate, until } from './bench.ts'
import { frozen } from './ordered-bench.ts'

/** The cases of the specification that need a worker: numbers in brackets. */

const fail = () => {
  throw new Error('x')
}

test('[1] a numeric id becomes a string, and the default payload is empty', async () => {
  const { job, waiting } = frozen()
  await job.performAsync({ id: 7 })
  // A process gives each score once, later than all before.
  expect(await waiting()).toEqual([expect.stringMatching(/^7\{1000,-1,\{"":\d+(\.\d+)?\}\}$/)])
})

test('[8] a push with one invalid item stores nothing', async () => {
  const { job, waiting } = frozen()
  const item = (id: number) => ({ id, payload: 'v' })
  await expect(job.performAsync([item(1), item(2), { payload: 'v' }])).rejects.toThrow(/id/)
  const many = Array.from({ length: 250 }, (_, id) => item(id))
  for (const wrong of [Number.NaN, Infinity, 2 ** 53 + 2, -(2 ** 60)]) {
    await expect(job.performAsync([...many, { ...item(3), score: wrong }])).rejects.toThrow(/score/)
  }
  await expect(job.performAsync([...many, { ...item(3), performIn: Number.NaN }])).rejects.toThrow(/performIn/)
  expect(await waiting()).toEqual([])
})

test('[9] payloads that differ only in the order of their members are equal', async () => {
  const { job, waiting } = frozen()
  const push = (payload: object, score: number) => job.performAsync({ id: 1, payload: payload as never, score })
  await push({ a: 1, b: { d: [2], c: 3 } }, 2)
  await push({ b: { c: 3, d: [2] }, a: 1 }, 1)
  expect(await waiting()).toEqual(['1{1000,-1,{{"a":1,"b":{"c":3,"d":[2]}}:1}}'])
})

test('[5] [18] payloads pushed for a running id run after it, in order, and never beside it', async () => {
  const { opened, open } = gate()
  let running = 0
  const { here, job, calls, waiting, empty } = frozen({}, async () => {
    expect(++running).toBe(1)
    await opened
    running--
  })
  await here.work()
  await job.performAsync({ id: 1, payload: 'v1', score: 10 })
  await calls.atLeast(1)
  await job.performAsync({ id: 1, payload: 'v3', score: 30 })
  await job.performAsync({ id: 1, payload: 'v2', score: 20 })
  expect(await waiting()).toEqual(['1{1000,-1,{v2:20,v3:30}}'])
  open()
  await empty()
  expect(calls.all).toEqual(['1[v1]', '1[v2,v3]'])
  expect(await job.stats()).toMatchObject({ processed: 2, failed: 0 })
})

test('[19] [20] [21] payloads pushed for a running id are merged with its payloads when it fails', async () => {
  const { opened, open } = gate()
  const { here, time, job, calls, waiting, idle, empty } = frozen({}, async (_, n) => {
    await opened
    if (n === 1) fail()
  })
  await here.work()
  await job.performAsync({ id: 1, payload: 'v1', score: 10 })
  await calls.atLeast(1)
  await job.performAsync([
    { id: 1, payload: 'v1', score: 30 },
    { id: 1, payload: 'v2', score: 20, performAt: new Date(2_000_000) },
  ])
  open()
  await idle()
  expect(await waiting()).toEqual(['1{1010,0,{v1:10,v2:20},"x"}'])
  expect(calls.all).toEqual(['1[v1]'])
  time.now = 1010
  await empty()
  expect(calls.all).toEqual(['1[v1]', '1[v1,v2]'])
  expect(await job.stats()).toMatchObject({ processed: 1, failed: 1 })
})

test('[22] [23] a batch that throws is retried as a whole, a named id alone, and its failures add up', async () => {
  const { here, time, job, calls, waiting, idle } = frozen({}, ({ ctx }, n) => {
    if (n === 1) fail()
    if (n === 2) ctx.fail(2, new Error('two'))
    if (n === 3) throw new BatchFailure(new Map([['2', new Error('again')]]))
  })
  await job.performAsync([
    { id: 1, payload: 'v', score: 1 },
    { id: 2, payload: 'w', score: 2 },
  ])
  await here.work()
  await calls.atLeast(1)
  await idle()
  expect(await waiting()).toEqual(['1{1010,0,{v:1},"x"}', '2{1010,0,{w:2},"x"}'])
  expect(await job.stats()).toMatchObject({ processed: 0, failed: 2 })
  time.now = 1010
  await calls.atLeast(2)
  await idle()
  expect(await waiting()).toEqual(['2{1030,1,{w:2},"two"}'])
  expect(await job.stats()).toMatchObject({ processed: 1, failed: 3 })
  await job.performAsync({ id: 3, payload: 'y', score: 3, performAt: new Date(1_030_000) })
  time.now = 1030
  await calls.atLeast(3)
  await idle()
  expect(calls.all).toEqual(['1[v] 2[w]', '1[v] 2[w]', '2[w] 3[y]'])
  expect(await waiting()).toEqual(['2{1060,2,{w:2},"again"}'])
  expect(await job.stats()).toMatchObject({ processed: 2, failed: 4, morgueLength: 0 })
})

test('[24] [25] at the last retry only the first payload dies, and only of the id without retries', async () => {
  const { here, time, exhausted, job, calls, waiting, dead, idle } = frozen({}, fail)
  await job.performAsync([
    { id: 1, payload: 'v1', score: 1 },
    { id: 1, payload: 'v2', score: 2 },
    { id: 3, payload: 'only', score: 3 },
  ])
  await here.work()
  await calls.atLeast(1)
  await idle()
  time.now = 1010
  await calls.atLeast(2)
  await idle()
  expect((await waiting())[0]).toBe('1{1030,1,{v1:1,v2:2},"x"}')
  time.now = 1030
  await calls.atLeast(3)
  await idle()
  expect((await waiting())[0]).toBe('1{1060,2,{v1:1,v2:2},"x"}')
  await job.performAsync({ id: 2, payload: 'w', score: 9, performAt: new Date(1_060_000) })
  expect(exhausted).toEqual([])
  await job.pause()
  time.now = 1060
  await job.resume()
  await calls.atLeast(4)
  // What is left of 1 is fresh and due at once.
  await calls.atLeast(5)
  await idle()
  expect(calls.all.slice(3)).toEqual(['1[v1,v2] 2[w] 3[only]', '1[v2]'])
  expect(await dead()).toEqual(['1{1060,{v1:1},"x"}', '3{1060,{only:3},"x"}'])
  expect(exhausted.sort()).toEqual(['1{v1:1} x', '3{only:3} x'])
  expect(await waiting()).toEqual(['1{1070,0,{v2:2},"x"}', '2{1070,0,{w:9},"x"}'])
})

test('[26] payloads that always fail die one after the other, and the hook is called for each', async () => {
  const { here, exhausted, job, calls, dead, empty } = frozen({ maxRetries: 1, retryIn: () => 0 }, fail)
  await job.performAsync([
    { id: 1, payload: 'v1', score: 1 },
    { id: 1, payload: 'v2', score: 2 },
  ])
  await here.work()
  await empty()
  expect(calls.all).toEqual(['1[v1,v2]', '1[v1,v2]', '1[v2]', '1[v2]'])
  expect(await dead()).toEqual(['1{1000,{v1:1,v2:2},"x"}'])
  expect(exhausted).toEqual(['1{v1:1} x', '1{v2:2} x'])
})

test("an id whose error can't be read is retried, and the next id runs", async () => {
  const unreadable = Object.defineProperty(new Error('odd'), 'highkiq', {
    get() {
      throw new Error('no verdict')
    },
  })
  const { here, job, calls, waiting, idle } = frozen({ batchSize: 1 }, ({ ctx }, n) => {
    if (n === 1) ctx.fail(1, unreadable)
  })
  await job.performAsync([1, 2].map((id) => ({ id, payload: 'v', score: id })))
  await here.work()
  await calls.atLeast(2)
  await idle()
  expect(calls.all).toEqual(['1[v]', '2[v]'])
  const error =
    "the handler threw an error that can't be read, or passed one to ctx.fail: use an error whose getters do not throw"
  expect(await waiting()).toEqual([`1{1010,0,{v:1},"${error}"}`])
})

test('snoozed and released ids run again unchanged, without a failure', async () => {
  const { here, job, calls, waiting } = frozen({ maxRetries: 1 }, (_, n) => {
    throw n === 1 ? new Snooze(50) : new Release()
  })
  await job.performAsync([{ id: 1, payload: 'v1', score: 1 }])
  await here.work()
  await calls.atLeast(1)
  await job.performAsync([{ id: 2, payload: 'v2', score: 2 }])
  await calls.atLeast(2)
  await until(async () => (await waiting()).length === 2)
  expect(await waiting()).toEqual(['1{1050,-1,{v1:1}}', '2{1001,-1,{v2:2}}'])
  expect(await job.stats()).toMatchObject({ failed: 0, processed: 0, morgueLength: 0 })
})

test('[27] a hook that throws is reported; its payload is in the morgue, and the process continues', async () => {
  const onExhausted = () => {
    throw new Error('the hook broke')
  }
  const { here, job, calls, waiting, dead, empty } = frozen({ maxRetries: 0, onExhausted }, (_, n) => {
    if (n === 1) fail()
  })
  await job.performAsync([
    { id: 1, payload: 'v1', score: 1 },
    { id: 1, payload: 'v2', score: 2 },
  ])
  await here.work()
  await calls.atLeast(2)
  await empty()
  expect(calls.all).toEqual(['1[v1,v2]', '1[v2]'])
  expect(await dead()).toEqual(['1{1000,{v1:1},"x"}'])
  expect(await waiting()).toEqual([])
  expect(here.errors.map(({ error }) => error.message)).toContain('the hook broke')
  await job.performAsync({ id: 5, payload: 'after' })
  await calls.atLeast(3)
})

test('a payload that is not JSON fails only its own id, and goes to the morgue after its retries', async () => {
  const { here, job, exhausted, calls } = frozen({ maxRetries: 0 })
  await job.performAsync([2, 3].map((id) => ({ id, payload: 'v' })))
  await here.hq.store.ordered.push('Sync', 1, [{ id: '1', payload: '{no', score: 1, performIn: 1 }], 0)
  await here.work()
  await until(async () => (await job.stats()).morgueLength === 1)
  await calls.atLeast(1)
  expect(calls.all).toEqual(['2[v] 3[v]'])
  expect(exhausted).toEqual([expect.stringMatching(/^1\{\{no:1\} /)])
  expect(await job.stats()).toMatchObject({ processed: 2, failed: 1 })
})
