import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { gate, until } from '../engine/bench.ts'
import { api, served } from './api.ts'
import { eventsOf } from './events.ts'

test('GET /about returns the app, its store and its jobs', async () => {
  const { call, hq } = api({ jobs: (hq) => void hq.job('ImportProduct', { queue: 'imports' }, async () => {}) })
  hq.job('Row', async () => {})
  const { status, body } = await call('GET', '/api/v1/about')
  expect(status).toBe(200)
  expect(body).toMatchObject({
    app: basename(process.cwd()),
    readOnly: false,
    hidesValues: false,
    canLogOut: false,
    store: { kind: hq.store.kind, title: expect.stringMatching(/^(SQLite · jobs\.db|Redis · 127\.0\.0\.1:\d+\/\d+)$/) },
    jobs: [
      { name: 'ImportProduct', queue: 'imports' },
      { name: 'Row', queue: 'default' },
    ],
  })
})

test('GET /live-stats returns figures and rates', async () => {
  const { call, hq, work, clock } = api()
  hq.job('Row', async () => {})
  hq.job('Bad', { retry: 5 }, async () => {
    throw new Error('no')
  })
  const first = await call('GET', '/api/v1/live-stats')
  const began = Date.parse(first.body.at)
  expect(first.body).toMatchObject({
    stats: { processed: 0, busy: 0, processes: 0, concurrency: 0, ordered: { total: { length: 0, lag: 0 } } },
    ...{ finishedPerSecond: 0, failedPerSecond: 0, alerts: [] },
    ...{ tasks: 0, orderedQueues: 0, crons: 0, queues: 0 },
  })
  expect(first.body.roundTrip).toBeLessThan(5000)
  await work({ concurrency: 7 })
  await hq.pushBulk({ class: 'Row', args: Array.from({ length: 40 }, () => []) })
  await hq.pushBulk({ class: 'Bad', args: Array.from({ length: 8 }, () => []) })
  await until(async () => (await hq.stats()).processed === 48)
  // Moves the clock ten seconds ahead.
  clock.ahead += 10
  await sleep(2000)
  const { body } = await call('GET', '/api/v1/live-stats')
  expect(body.stats).toMatchObject({ processed: 48, failed: 8, retries: 8, processes: 1, concurrency: 7, enqueued: 0 })
  // About 12 s, more on a busy machine.
  const seconds = (Date.parse(body.at) - began) / 1000
  expect(body.finishedPerSecond).toBeCloseTo(40 / seconds, 0)
  expect(body.failedPerSecond).toBeCloseTo(8 / seconds, 0)
})

test('the live stats count tasks, ordered queues, cron entries and queues', async () => {
  const { call, hq, work } = api()
  const doors = gate()
  const Row = hq.job('Row', async () => doors.opened)
  hq.ordered('Sync', async () => {})
  hq.cron('nightly', '0 3 * * *', 'Row')
  await hq.tasks.create(Row, [[], []])
  await hq.push({ class: 'Other', args: [], queue: 'low' })
  await work({ queues: ['default', 'low'], concurrency: 2 })
  await until(async () => (await hq.store.crons.list()).length === 1 && (await hq.orderedQueues()).length === 1)
  const { tasks, orderedQueues, crons, queues } = (await call('GET', '/api/v1/live-stats')).body
  expect({ tasks, orderedQueues, crons }).toEqual({ tasks: 1, orderedQueues: 1, crons: 1 })
  expect(queues).toBeGreaterThanOrEqual(1)
  doors.open()
})

test('the live stats are computed once every two seconds for all clients', async () => {
  const { call, handle, hq } = api()
  let looks = 0
  const { store } = hq
  const stats = store.metrics.totals.bind(store.metrics)
  store.metrics.totals = () => {
    looks++
    return stats()
  }
  const all = await Promise.all(Array.from({ length: 20 }, () => call('GET', '/api/v1/live-stats')))
  expect(new Set(all.map(({ body }) => body.at)).size).toBe(1)
  const streams = await Promise.all(
    Array.from({ length: 20 }, () => handle(new Request('http://localhost/api/v1/live'))),
  )
  const events = streams.map((response) => eventsOf(response))
  const heard = await Promise.all(events.map((one) => one.next()))
  expect(new Set(heard.map(({ value }) => value?.id)).size).toBe(1)
  expect(looks).toBeLessThanOrEqual(2)
  const before = looks
  const again = await Promise.all(events.map((one) => one.next()))
  expect(new Set(again.map(({ value }) => value?.id)).size).toBe(1)
  expect(again[0]?.value?.id).not.toBe(heard[0]?.value?.id)
  expect(looks - before).toBeLessThanOrEqual(2)
  for (const one of events) await one.return(undefined)
  await sleep(100)
  const closed = looks
  await sleep(2500)
  expect(looks).toBe(closed)
})

test('the live stream sends new stats, resumes after a reconnect, and reports a store that does not answer', async () => {
  const { handle, hq, call } = api()
  const open = async (seen?: string) => {
    const headers: RequestInit['headers'] = seen ? { 'last-event-id': seen } : {}
    const response = await handle(new Request('http://localhost/api/v1/live', { headers }))
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    const events = eventsOf(response)
    onTestFinished(async () => void (await events.return(undefined)))
    return events
  }
  const events = await open()
  const first = (await events.next()).value
  expect(first?.event).toBe('stats')
  expect(JSON.parse(first?.data as string)).toEqual((await call('GET', '/api/v1/live-stats')).body)
  const again = await open(first?.id)
  await hq.push({ class: 'A', args: [] })
  const news = (await again.next()).value
  expect(news?.id).not.toBe(first?.id)
  expect(JSON.parse(news?.data as string).stats.enqueued).toBe(1)
  hq.store.metrics.totals = () =>
    Promise.reject(Object.assign(new Error('secret of the network'), { code: 'ECONNREFUSED' }))
  let trouble = (await again.next()).value
  while (trouble?.event === 'stats') trouble = (await again.next()).value
  expect(trouble).toMatchObject({ event: 'trouble', data: expect.stringContaining('INTERNAL_ERROR') })
  expect(trouble?.data).not.toContain('secret')
})

test('live streams count towards the limit of streams until the client closes them', async () => {
  const { url } = await served({ limits: { streams: 1 } })
  const leave = new AbortController()
  expect((await fetch(`${url}/api/v1/live`, { signal: leave.signal })).status).toBe(200)
  expect((await fetch(`${url}/api/v1/live`)).status).toBe(429)
  leave.abort()
  await until(async () => {
    const { status, body } = await fetch(`${url}/api/v1/live`)
    await body?.cancel()
    return status === 200
  })
})

test('GET /history returns days, newest first', async () => {
  const { call, hq, work } = api()
  hq.job('Row', async () => {})
  await hq.push({ class: 'Row', args: [] })
  await work()
  await until(async () => (await hq.stats()).processed === 1)
  const { body } = await call('GET', '/api/v1/history?days=3')
  const today = new Date().toISOString().slice(0, 10)
  expect(body).toMatchObject({ items: [{ date: today, processed: 1, failed: 0 }, {}, { processed: 0 }], next: null })
  expect((await call('GET', '/api/v1/history?days=1826')).status).toBe(400)
})

test('throughput combines the metrics of processes with the samples of this server', async () => {
  const { call, hq } = api()
  const minute = Math.floor(Date.now() / 60_000) * 60_000
  const jobs = (processed: number, failed: number) => [{ name: 'A', processed, failed, ms: 5, histogram: [] }]
  const tell = (number: number, at: number, processed: number, failed: number) =>
    hq.store.metrics.record({ source: 'test', number, at, jobs: jobs(processed, failed) })
  await tell(1, minute - 60_000, 60, 6)
  await tell(2, minute - 3_600_000, 30, 0)
  await hq.deploy('v1', new Date(minute - 120_000))
  const throughput = async (range: string) => (await call('GET', `/api/v1/throughput?range=${range}`)).body
  const hour = await throughput('1h')
  expect([hour.step, hour.points.length, hour.deploys]).toEqual([
    60,
    60,
    [{ at: new Date(minute - 120_000).toISOString(), label: 'v1' }],
  ])
  expect(Date.parse(hour.to) - Date.parse(hour.from)).toBe(3_600_000)
  const point = (body: typeof hour, at: number) =>
    body.points.find((one: { at: string }) => Date.parse(one.at) === at) ?? {}
  expect(point(hour, minute - 60_000)).toMatchObject({ finished: 54, failed: 6 })
  expect(point(hour, minute - 180_000)).toMatchObject({ finished: 0, failed: 0 })
  const five = await throughput('5m')
  expect([five.step, five.points.length]).toEqual([10, 30])
  expect(point(five, minute - 60_000)).toMatchObject({ finished: 9, failed: 1 })
  expect((await throughput('24h')).points).toHaveLength(144)
  const days = await throughput('30d')
  expect([days.step, days.points.length]).toEqual([86_400, 30])
  expect((await call('GET', '/api/v1/throughput?range=1y')).status).toBe(400)
})

test('gauges are the figures that a worker stored, minute by minute, ten minutes or day', async () => {
  const { call, hq, clock } = api()
  const gauges = async (range = '') => (await call('GET', `/api/v1/gauges${range}`)).body
  expect(await gauges()).toEqual({ step: 60, points: [] })
  const minute = Math.floor(clock.now() / 60_000) * 60_000
  const stats = { processed: 9, failed: 2, busy: 1, enqueued: 4, backlog: 3, retries: 5, dead: 6 }
  await hq.store.metrics.recordSnapshot(
    minute - 120_000,
    JSON.stringify({ ...stats, takenAt: minute - 90_000, ordered: {} }),
  )
  await hq.store.metrics.recordSnapshot(minute - 60_000, 'not ours')
  const [at, takenAt] = [120_000, 90_000].map((ago) => new Date(minute - ago).toISOString())
  expect(await gauges('?range=5m')).toEqual({ step: 60, points: [{ at, takenAt, ...stats }] })
  expect(await gauges('?range=24h')).toMatchObject({ step: 600, points: [stats] })
  expect(await gauges('?range=30d')).toMatchObject({ step: 86_400, points: [stats] })
  expect((await call('GET', '/api/v1/gauges?range=1y')).status).toBe(400)
})

test('GET /stats returns hq.stats() with every ordered queue', async () => {
  const { call, hq } = api()
  await hq.ordered('Sync', () => {}).performAsync([{ id: 1 }, { id: 2 }])
  await hq.ordered('Other', () => {}).performAsync({ id: 1, performIn: 300 })
  await hq.push({ class: 'Job', args: [] })
  const { body } = await call('GET', '/api/v1/stats')
  expect(body).toMatchObject({
    enqueued: 1,
    ordered: { queues: { Sync: { length: 2 }, Other: { length: 1, lag: 0 } } },
  })
  const own = await hq.stats()
  const shape = (value: unknown): unknown =>
    value && typeof value === 'object'
      ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shape(one)]))
      : typeof value
  expect(shape(body)).toEqual(shape(own))
})
