import { setTimeout as sleep } from 'node:timers/promises'
import { BusinessFailure } from 'highkiq'
import { expect, test } from 'vitest'
import { gate, until } from '../engine/bench.ts'
import { type Api, api } from './api.ts'

const alerts = async ({ call }: Api) => (await call('GET', '/api/v1/live-stats')).body.alerts

/** Writes the heartbeat of a process, `ago` seconds in the past. */
function shows({ hq, clock }: Api, identity: string, ago: number): Promise<unknown> {
  const info = JSON.stringify({ hostname: 'b1', queues: ['default'], highkiq: '0', started_at: 0 })
  const beat = clock.now() - ago * 1000
  return hq.store.workers.heartbeat({ identity, info, concurrency: 10, busy: 9, beat, quiet: false, rss: 5 }, 60)
}

test('alert: jobs wait and no process runs', async () => {
  const app = api()
  await app.hq.pushBulk({ class: 'A', args: [[], [], []] })
  await app.hq.push({ class: 'A', args: [], queue: 'paused' })
  await app.hq.queue('paused').pause()
  expect(await alerts(app)).toEqual([{ kind: 'no-process', level: 'error', waiting: 3 }])
})

test('alert: a queue has jobs and no process serves it', async () => {
  const app = api()
  await app.work({ queues: ['default', 'paused'] })
  await app.hq.pushBulk({ class: 'A', args: [[], []], queue: 'imports' })
  await app.hq.push({ class: 'A', args: [], queue: 'paused' })
  await app.hq.queue('paused').pause()
  expect(await alerts(app)).toEqual([{ kind: 'queue-unserved', level: 'error', queue: 'imports', size: 2 }])
})

test('alert: a quiet process does not count as serving a queue', async () => {
  const app = api()
  const doors = gate()
  app.hq.job('Long', async () => doors.opened)
  const worker = await app.work()
  await app.hq.push({ class: 'Long', args: [] })
  await until(() => worker.busy === 1)
  await worker.quiet()
  await app.hq.push({ class: 'Long', args: [] })
  expect(await alerts(app)).toEqual([{ kind: 'queue-unserved', level: 'error', queue: 'default', size: 1 }])
  doors.open()
})

test('alert: a silent process, with its last heartbeat and when its jobs are rescued', async () => {
  const app = api()
  const owner = 'b1:1:aa.1'
  await app.hq.store.workers.join(owner, { queues: ['default'], seconds: 40, host: '{}' })
  await shows(app, 'b1:1:aa', 30)
  await shows(app, 'b1:2:bb', 30)
  await shows(app, 'b1:3:cc', 5)
  const [first, second, ...others] = await alerts(app)
  expect(others).toEqual([])
  expect(first).toMatchObject({ kind: 'process-silent', level: 'error', identity: 'b1:1:aa', busy: 9 })
  expect(Date.parse(first.beat)).toBeCloseTo(Date.now() - 30_000, -4)
  expect(first.returnsIn).toBeGreaterThan(10)
  expect(first.returnsIn).toBeLessThanOrEqual(40)
  // It has no lease, so there is nothing to wait for.
  expect(second).toMatchObject({ identity: 'b1:2:bb', returnsIn: 0 })
})

test('alert: a process with an expired lease is silent, even after a recent heartbeat', async () => {
  const app = api()
  await app.hq.store.workers.join('b1:1:aa.1', { queues: ['default'], seconds: 0.05, host: '{}' })
  await shows(app, 'b1:1:aa', 1)
  await until(async () => (await app.hq.store.workers.leases()).every(({ ended }) => ended))
  expect(await alerts(app)).toMatchObject([{ kind: 'process-silent', identity: 'b1:1:aa', returnsIn: 0 }])
})

test('a process that renews its lease is not silent, even without heartbeats', async () => {
  const app = api()
  const owner = 'b1:1:aa.1'
  await app.hq.store.workers.join(owner, { queues: ['default'], seconds: 40, host: '{}' })
  await shows(app, 'b1:1:aa', 30)
  // One observation is not enough to know.
  expect(await alerts(app)).toHaveLength(1)
  await app.hq.store.workers.renew(owner, 40)
  await sleep(2000)
  expect(await alerts(app)).toEqual([])
})

test('alert: a task paused because it has too many failures', async () => {
  const app = api()
  const Row = app.hq.job('Row', async (_ctx, _n: number) => {
    throw new BusinessFailure('no')
  })
  const rows = [[1], [2], [3], [4], [5]] as [number][]
  const task = await app.hq.tasks.create(Row, rows, { concurrency: 1, maxFailures: 1, name: 'autumn' })
  const byHand = await app.hq.tasks.create(Row, rows)
  await byHand.pause()
  await app.work()
  await until(async () => (await task.status())?.state === 'paused')
  const reason = 'too many rows were rejected: 2 of 2 so far'
  const cause = { code: 'too-many-failures', params: { rejected: 2, ended: 2 } }
  expect(await alerts(app)).toEqual([
    { kind: 'task-paused', level: 'failed', task: task.id, name: 'autumn', reason, cause },
  ])
})

test('alert: a task makes no progress for minutes', async () => {
  const app = api()
  const doors = gate()
  const Row = app.hq.job('Row', async () => {})
  const Retried = app.hq.job('Retried', { retry: 5, retryIn: () => 3600 }, async () => {
    throw new Error('later')
  })
  app.hq.job('Long', async () => doors.opened)
  const waiting = await app.hq.tasks.create(Retried, [[]])
  const first = await app.work()
  await until(async () => (await waiting.status())?.retrying === 1)
  await first.stop()
  const task = await app.hq.tasks.create(Row, [[], []], { name: 'recount' })
  await app.hq.tasks.create(Row, [[]], { name: 'unserved', queue: 'elsewhere' })
  app.clock.ahead += 375
  // The only slot is busy.
  await app.hq.store.jobs.push(
    [{ to: 'queue', queue: 'default', text: '{"class":"Long","args":[],"jid":"1"}', end: 'front' }],
    0,
  )
  const worker = await app.work({ concurrency: 1 })
  await until(() => worker.busy === 1)
  const told = await alerts(app)
  expect(told).toEqual([
    { kind: 'queue-unserved', level: 'error', queue: 'elsewhere', size: 1 },
    { kind: 'task-stands-still', level: 'failed', task: task.id, name: 'recount', minutes: 6 },
  ])
  doors.open()
})

test('alert: a shard of an ordered queue has due ids and no owner', async () => {
  const app = api()
  await app.hq.ordered('Sync', { shards: 1 }, async () => {}).performAsync([{ id: 1, payload: {} }])
  await app.hq
    .ordered('Fresh', { shards: 1 }, async () => {})
    .performAsync([{ id: 1, payload: {}, performIn: 60 + Date.now() / 1000 }])
  app.clock.ahead += 30
  expect(await alerts(app)).toEqual([
    { kind: 'ordered-silent', level: 'failed', queue: 'Sync', shard: 0, lag: expect.closeTo(30, -1) },
  ])
})

test('alert: a queue grows minute by minute', async () => {
  const app = api()
  const { hq, clock } = app
  await app.work({ queues: ['elsewhere', 'grows', 'steady'], concurrency: 1 })
  for (const name of ['grows', 'steady']) await hq.queue(name).pause()
  const { alertFinder } = await import('#dist/alerts/finder.js')
  const finder = alertFinder(hq)
  await hq.pushBulk({ class: 'A', args: Array.from({ length: 50 }, () => []), queue: 'steady' })
  const began = clock.ahead
  for (let minute = 0; minute <= 6; minute++) {
    clock.ahead = began + minute * 60
    await hq.pushBulk({ class: 'A', args: Array.from({ length: 10 }, () => []), queue: 'grows' })
    await finder.sample()
  }
  const kinds = async () => (await finder.find()).alerts.filter(({ kind }) => kind === 'queue-grows')
  // A paused queue raises no alert.
  expect(await kinds()).toEqual([])
  clock.ahead = began
  // The only slot is busy, so that no job starts.
  const doors = gate()
  hq.job('Long', async () => doors.opened)
  await hq.push({ class: 'Long', args: [], queue: 'elsewhere' })
  await until(async () => (await hq.store.metrics.totals()).fetched === 1)
  for (const name of ['grows', 'steady']) await hq.queue(name).resume()
  expect(await kinds()).toEqual([
    { kind: 'queue-grows', level: 'failed', queue: 'grows', perMinute: 10, minutes: 6, latency: expect.any(Number) },
  ])
  doors.open()
})

/** Adds retries with consecutive times, each with the error that `errorOf` returns. */
async function fail({ hq, clock }: Api, count: number, errorOf: (n: number) => string): Promise<void> {
  const now = clock.now()
  const entries = Array.from({ length: count }, (_, n) => {
    const failed = { error_class: 'Error', error_message: errorOf(n), failed_at: now - 1000 * n, retry_count: 0 }
    const job = { class: n % 50 === 0 ? 'Other' : 'SyncStock', args: [n], jid: `${n}`, queue: 'default', ...failed }
    return { to: 'retry' as const, text: JSON.stringify(job), score: now / 1000 + 60 + n }
  })
  for (let from = 0; from < count; from += 1000) await hq.store.jobs.push(entries.slice(from, from + 1000), now)
}

test('alert: many retries share one error', async () => {
  const app = api()
  await fail(app, 60, (n) => (n < 45 ? `connect ECONNREFUSED 10.0.0.${n}:5432` : `another ${'x'.repeat(n)}`))
  const told = await alerts(app)
  expect(told).toEqual([
    {
      kind: 'retries-share-error',
      level: 'error',
      error: 'Error: connect ECONNREFUSED …:5432',
      filter: 'Error: connect ECONNREFUSED …:5432',
      class: expect.stringMatching(/SyncStock|Other/),
      count: 45,
      since: expect.any(String),
    },
  ])
  expect(Date.parse(told[0].since)).toBeCloseTo(Date.now() - 44_000, -4)
  const found = await app.call('GET', `/api/v1/retries?limit=100&cause=${encodeURIComponent(told[0].filter)}`)
  expect(found.body.items).toHaveLength(45)
})

test('no alert for few retries with one error or for a small share, and none that shows redacted values', async () => {
  const few = api()
  await fail(few, 19, () => 'no')
  expect(await alerts(few)).toEqual([])
  const small = api()
  await fail(small, 300, (n) => `${'abcdefghijklmnopqrstuvwxyz'[n % 26]} broke`)
  expect(await alerts(small)).toEqual([])
  const redacted = api({ redact: ['error_message'] })
  await fail(redacted, 30, () => 'the password is tiger')
  const told = await alerts(redacted)
  expect(told).toMatchObject([{ kind: 'retries-share-error', count: 30 }])
  expect(JSON.stringify(told)).not.toContain('tiger')
})

test('the shared errors of very many retries are estimated from a sample of both ends', async () => {
  const app = api()
  await fail(app, 5000, (n) => (n < 3500 ? 'connect ECONNREFUSED' : 'timeout'))
  const told = await alerts(app)
  const counts = Object.fromEntries(told.map(({ error, count }: { error: string; count: number }) => [error, count]))
  expect(Object.keys(counts).sort()).toEqual(['Error: connect ECONNREFUSED', 'Error: timeout'])
  expect(counts['Error: timeout']).toBeGreaterThan(500)
})
