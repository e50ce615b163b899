import { createHandler } from 'highkiq/http'
import { expect, test } from 'vitest'
import { Collector, gate, until } from '../engine/bench.ts'
import { api, caller } from './api.ts'

/** Makes an ordered queue without a worker, with two waiting ids; `broken` ids are in the morgue. */
async function queue(broken: number[] = []) {
  const here = api()
  const Sync = here.hq.ordered('Sync', { shards: 2, maxRetries: 0 }, async () => {
    throw new Error('not today')
  })
  if (broken.length > 0) {
    await Sync.performAsync(broken.map((id) => ({ id, payload: { v: id }, score: id })))
    const worker = await here.work()
    await until(async () => (await Sync.stats()).morgueLength === broken.length)
    await worker.stop()
  }
  await Sync.performAsync([
    { id: 1, payload: { v: 1 }, score: 1, performIn: 4e9 },
    { id: 2, payload: 'x', score: 2.5, performIn: 0 },
  ])
  return { ...here, Sync }
}

test('ordered queues and their waiting ids are listed', async () => {
  const { call } = await queue()
  const list = await call('GET', '/api/v1/ordered')
  expect(list.body).toMatchObject({ items: [{ name: 'Sync', length: 2, fresh: 2, morgueLength: 0 }], next: null })
  const one = await call('GET', '/api/v1/ordered/Sync')
  expect(one.body).toMatchObject({ name: 'Sync', paused: false, shards: [{ shard: 0 }, { shard: 1, owner: null }] })
  const { body } = await call('GET', '/api/v1/ordered/Sync/waiting?limit=1')
  expect(body.items).toMatchObject([{ id: '2', retryCount: -1, payloads: [{ payload: 'x', score: 2.5 }], size: 1 }])
  const next = await call('GET', `/api/v1/ordered/Sync/waiting?limit=1&cursor=${encodeURIComponent(body.next)}`)
  expect(next.body.items).toMatchObject([{ id: '1', performIn: new Date(4e12).toISOString() }])
  const found = await call('GET', '/api/v1/ordered/Sync/ids/1')
  expect(found.body).toMatchObject({ waiting: { id: '1' }, inFlight: null, dead: null })
})

test('waiting ids are made due, deleted and killed; ids in the morgue are resurrected or deleted', async () => {
  const { call, Sync } = await queue([7, 8, 9])
  const morgue = await call('GET', '/api/v1/ordered/Sync/morgue?by=id')
  expect(morgue.body.items).toMatchObject([
    { id: '7', error: 'not today', deaths: 1, payloads: [{ payload: { v: 7 }, score: 7 }] },
    { id: '8' },
    { id: '9' },
  ])
  const act = async (path: string, json: object) => {
    const { status, body } = await call('POST', `/api/v1/ordered/Sync/${path}`, { json })
    return status === 200 ? body.ids : body.error.code
  }
  expect(await act('morgue/resurrect', { ids: [7] })).toBe(1)
  expect(await act('morgue/delete', { ids: ['8', 'nobody'] })).toBe(1)
  expect(await act('morgue/delete', { all: true })).toBe(1)
  expect(await act('waiting/now', { all: true })).toBe(1)
  expect(await act('waiting/kill', { ids: [1] })).toBe(1)
  expect(await act('waiting/delete', { ids: [2, 7] })).toBe(2)
  expect(await Sync.stats()).toMatchObject({ length: 0, morgueLength: 1 })
  for (const wrong of [{}, { ids: 1 }, { ids: [{}] }, { all: false }, { ids: [1], all: true }, { id: 1 }]) {
    expect(await act('waiting/delete', wrong), JSON.stringify(wrong)).toBe('INVALID_REQUEST')
  }
})

test('the ids in flight are listed, and the figures over time as a worker stored them', async () => {
  const { call, hq, work, clock } = api()
  const doors = gate()
  const began = new Collector<void>()
  const Sync = hq.ordered('Sync', { shards: 1 }, async () => {
    began.add()
    await doors.opened
  })
  await Sync.performAsync([{ id: 7 }])
  expect((await call('GET', '/api/v1/ordered/Sync/in-flight')).body).toEqual({ items: [], next: null })
  await work()
  await began.atLeast(1)
  const { body } = await call('GET', '/api/v1/ordered/Sync/in-flight')
  expect(body.items).toEqual([{ id: '7', shard: 0, owner: expect.any(String), fetchedAt: expect.any(String) }])
  expect((await call('GET', '/api/v1/ordered/Nobody/in-flight')).body.error.code).toBe('UNKNOWN_ORDERED')
  doors.open()

  const figures = { length: 3, busy: 1, lag: 2.5, morgueLength: 4, processed: 9, failed: 2 }
  const minute = Math.floor(clock.now() / 60_000) * 60_000
  await hq.store.metrics.recordSnapshot(minute - 60_000, JSON.stringify({ ordered: { Sync: figures } }))
  await hq.store.metrics.recordSnapshot(minute, JSON.stringify({ ordered: { Other: figures } }))
  expect((await call('GET', '/api/v1/ordered/Sync/history')).body).toEqual({
    step: 60,
    points: [{ at: new Date(minute - 60_000).toISOString(), ...figures }],
  })
})

test('a queue is paused, resumed and resharded', async () => {
  const { call } = await queue()
  expect((await call('POST', '/api/v1/ordered/Sync/pause')).body.paused).toBe(true)
  expect((await call('POST', '/api/v1/ordered/Sync/resume')).body.paused).toBe(false)
  const { body } = await call('POST', '/api/v1/ordered/Sync/reshard', { json: { shards: 3 } })
  expect([body.shards.length, body.length]).toEqual([3, 2])
  for (const shards of [0, 1.5, '3', undefined]) {
    const { status } = await call('POST', '/api/v1/ordered/Sync/reshard', { json: { shards } })
    expect(status).toBe(400)
  }
})

test('an unknown queue and a wrong request are refused', async () => {
  const { call } = await queue()
  const none = await call('GET', '/api/v1/ordered/Other/morgue')
  expect([none.status, none.body.error.code]).toEqual([404, 'UNKNOWN_ORDERED'])
  expect(none.body.error.message).toBe('no ordered queue is named Other: there are Sync')
  const pushed = await call('POST', '/api/v1/jobs', { json: { class: 'Sync', args: [] } })
  expect([pushed.status, pushed.body.error]).toMatchObject([
    400,
    { code: 'INVALID_JOB', message: expect.stringContaining('send { id, payload } to POST /api/v1/ordered/Sync') },
  ])
  for (const wrong of ['by=colour', 'limit=0', 'cursor=odd', 'by=retryCount&from=x']) {
    expect((await call('GET', `/api/v1/ordered/Sync/waiting?${wrong}`)).status, wrong).toBe(400)
  }
})

test('ordered jobs are pushed: one, an array, or one a line', async () => {
  const owner = await queue()
  const { call } = owner
  const push = (json: unknown) => call('POST', '/api/v1/ordered/Sync', { json })
  const now = Date.now() / 1000
  expect(await push({ id: 5, payload: { v: 1 }, score: 2, performIn: 300 })).toMatchObject({
    status: 201,
    body: { pushed: 1 },
  })
  const at = new Date(4e12).toISOString()
  expect((await push([{ id: 'a' }, { id: 'b', performAt: at }, { id: 'c', performIn: '5m' }])).body).toEqual({
    pushed: 3,
  })
  const due = async (id: string | number) => (await owner.Sync.waiting.find(id))?.performIn ?? Number.NaN
  expect(Math.abs((await due(5)) - now - 300)).toBeLessThan(30)
  expect(await due('b')).toBe(4e9)
  expect(Math.abs((await due('c')) - now - 300)).toBeLessThan(30)

  const headers = { 'content-type': 'application/x-ndjson' }
  const lines = (all: unknown[]) =>
    call('POST', '/api/v1/ordered/Sync', { body: all.map((one) => JSON.stringify(one)).join('\n\n'), headers })
  const many = Array.from({ length: 1500 }, (_, id) => ({ id, payload: id }))
  expect((await lines(many)).body).toEqual({ pushed: 1500 })
  // Blank lines count; the batch of a thousand lines before the wrong one is stored.
  const wrong = await lines([...many, { id: 9, score: 'x' }])
  expect([wrong.status, wrong.body.error.code]).toEqual([400, 'INVALID_JOB'])
  expect(wrong.body.error.message).toMatch(/^line 3001: .*score must be a number/)
  expect(wrong.body.error.details).toMatchObject({ line: 3001, pushed: 1000 })
  expect((await lines([{ id: 1 }, 5])).body.error).toMatchObject({ details: { line: 3, pushed: 0 } })
  // Long lines are stored before there are a thousand of them.
  const long = Array.from({ length: 12 }, (_, id) => ({ id, payload: 'x'.repeat(1_000_000) }))
  expect((await lines([...long, 5])).body.error.details).toMatchObject({ pushed: 10 })
  for (const odd of [
    {},
    { id: '' },
    { id: 1, scor: 1 },
    { id: 1, performAt: 'soon' },
    { id: 1, performIn: 'soon' },
    5,
  ]) {
    expect((await push(odd)).status, JSON.stringify(odd)).toBe(400)
  }
})

test('a server pushes to a queue that its own app does not define, but not to an unknown one', async () => {
  const owner = await queue()
  const handle = createHandler(owner.another().hq)
  const call = caller('http://localhost:7433', (request) => handle(request, { remote: '127.0.0.1' }))
  expect((await call('POST', '/api/v1/ordered/Sync', { json: { id: 77 } })).body).toEqual({ pushed: 1 })
  expect(await owner.Sync.waiting.find(77)).toMatchObject({ id: '77' })
  const { status, body } = await call('POST', '/api/v1/ordered/Snyc', { json: { id: 77 } })
  expect([status, body.error.code]).toEqual([404, 'UNKNOWN_ORDERED'])
  const job = await call('POST', '/api/v1/jobs', { json: { class: 'Sync', args: [77] } })
  expect([job.status, job.body.error.code]).toEqual([400, 'INVALID_JOB'])
  expect(await owner.hq.orderedQueues()).toEqual(['Sync'])
})
