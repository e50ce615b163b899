import { expect, onTestFinished, test, vi } from 'vitest'
import { Collector, gate, until } from '../engine/bench.ts'
import { api } from './api.ts'

const lines = (...all: unknown[]) => ({
  headers: { 'content-type': 'application/x-ndjson' },
  body: all.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('\n'),
})

test('a job is pushed with all its members, and integers of any size stay exact', async () => {
  const { call, queue } = api()
  const body = '{"class":"RubyWorker","args":[12345678901234567890,"é"],"queue":"low","tags":["vip"],"retry":3}'
  const { status, body: answer } = await call('POST', '/api/v1/jobs', {
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body,
  })
  expect(status).toBe(201)
  const [payload] = await queue('low')
  expect(payload).toMatchObject({ class: 'RubyWorker', jid: answer.jid, tags: ['vip'], retry: 3 })
  expect(JSON.stringify(payload?.args)).toBe(JSON.stringify([Number('12345678901234567890'), 'é']))
})

test('a job is scheduled with `at` in ISO 8601 or seconds, or with `in`', async () => {
  const { call, set } = api()
  const at = new Date(Date.now() + 3_600_000)
  const push = (more: object) => call('POST', '/api/v1/jobs', { json: { class: 'A', args: [], ...more } })
  await push({ at: at.toISOString() })
  await push({ at: at.getTime() / 1000 })
  await push({ in: '1h' })
  await push({ in: 3600 })
  for (const { score } of await set('schedule')) expect(Math.abs(score - at.getTime() / 1000)).toBeLessThan(5)
  expect(await set('schedule')).toHaveLength(4)
  for (const wrong of [
    { at: 'noon' },
    { in: 'soon' },
    { at: 1e9, in: 5 },
    { hk_task: '00' },
    { class: '' },
    { args: 5 },
  ]) {
    const { status, body } = await push(wrong)
    expect([status, body.error.code], JSON.stringify(wrong)).toEqual([400, expect.stringMatching(/^INVALID_/)])
  }
  expect(await set('schedule')).toHaveLength(4)
})

test('an array is pushed as a whole; an invalid item refuses all, and a later failure reports what was pushed', async () => {
  const { call, queue } = api()
  const { body } = await call('POST', '/api/v1/jobs', { json: [1, 2, 3].map((n) => ({ class: 'A', args: [n] })) })
  expect(body.jids).toHaveLength(3)
  expect((await queue()).map(({ jid }) => jid).sort()).toEqual([...body.jids].sort())

  const odd = await call('POST', '/api/v1/jobs', { json: [{ class: 'A', args: [] }, 'x'] })
  expect(odd.body.error).toMatchObject({ code: 'INVALID_REQUEST', details: { index: 1, pushed: [] } })
  expect(await queue()).toHaveLength(3)

  const half = await call('POST', '/api/v1/jobs', { json: [{ class: 'A', args: [] }, { class: 'A' }] })
  expect(half.body.error).toMatchObject({ code: 'INVALID_JOB', details: { index: 1, pushed: [expect.any(String)] } })
  expect(await queue()).toHaveLength(4)
})

test('jobs that client middleware stopped, and unique ones that another job has, are not reported as pushed', async () => {
  const { hq, call, queue } = api()
  hq.job('Once', { unique: true }, () => {})
  await hq.push({ class: 'Once', args: [] })
  hq.client.use((payload, next) => (payload.class === 'Stopped' ? null : next()))
  const jobs = ['A', 'Stopped', 'Once', 'B'].map((name) => ({ class: name, args: [] }))
  const { body } = await call('POST', '/api/v1/jobs', { json: [...jobs, { class: 'Wrong' }] })
  const [, a, b] = (await queue()).map(({ jid }) => jid)
  expect(new Set([a, b])).toEqual(new Set(body.error.details.pushed))
  expect(body.error.details.pushed).toHaveLength(2)
  const headers = { 'content-type': 'application/x-ndjson' }
  const lines = await call('POST', '/api/v1/jobs', {
    headers,
    body: [...jobs, 'no job'].map((one) => JSON.stringify(one)).join('\n\n'),
  })
  expect(lines.body.error.details).toMatchObject({ pushed: [expect.any(String), expect.any(String)] })
})

test('a job with a jid of its own is stored once while it waits or runs, alone, in an array and in a stream', async () => {
  const { call, hq, queue, set, work, settled } = api()
  const [begun, end] = [gate(), gate()]
  hq.job('Slow', async () => {
    begun.open()
    await end.opened
  })
  const one = { class: 'Slow', args: [], jid: 'order-7' }
  const two = { class: 'Slow', args: [], jid: 'order-8', in: 3600 }
  expect((await call('POST', '/api/v1/jobs', { json: one })).body).toEqual({ jid: 'order-7' })
  const second = await call('POST', '/api/v1/jobs', { json: { ...one, args: [2] } })
  expect([second.status, second.body]).toEqual([200, { jid: 'order-7', existing: true }])
  const all = await call('POST', '/api/v1/jobs', { json: [two, one, two] })
  expect([all.status, all.body]).toEqual([201, { jids: ['order-8', 'order-7', 'order-8'], existing: [1, 2] }])
  const both = { jids: ['order-8', 'order-7'], existing: [0, 1] }
  expect((await call('POST', '/api/v1/jobs', lines(two, one))).body).toEqual(both)
  const headers = { 'idempotency-key': 'two' }
  for (const status of [201, 200]) {
    expect(await call('POST', '/api/v1/jobs', { json: [two, one], headers })).toMatchObject({ status, body: both })
  }
  expect((await queue()).map(({ jid, args }) => [jid, args])).toEqual([['order-7', []]])
  expect((await set('schedule')).map(({ jid }) => jid)).toEqual(['order-8'])
  expect(await hq.push({ ...one, args: [3] })).toBe('order-7')
  expect(await queue()).toHaveLength(1)
  await work()
  await begun.opened
  await call('POST', '/api/v1/jobs', { json: one })
  expect(await queue()).toEqual([])
  end.open()
  await settled()
  // An ended job leaves its jid free, and without a lock nothing is compared.
  await call('POST', '/api/v1/jobs', { json: { ...one, queue: 'later' } })
  await call('POST', '/api/v1/jobs', { json: { ...one, queue: 'later', unique: false } })
  expect(await queue('later')).toHaveLength(2)
})

test('a push is unique when it asks for it, by a path in its arguments, and says what happens to another one', async () => {
  const { call, hq, queue } = api()
  const push = async (unique: unknown, ...args: unknown[]) =>
    call('POST', '/api/v1/jobs', { json: { class: 'Sync', args, unique } })
  const by = { for: 'pending', by: '0.shop' }
  const first = await push(by, { shop: 7, n: 1 })
  expect(first.status).toBe(201)
  const again = await push(by, { shop: 7, n: 2 })
  expect([again.status, again.body]).toEqual([200, { jid: first.body.jid, existing: true }])
  await push({ ...by, onConflict: 'replace' }, { shop: 7, n: 3 })
  expect((await push({ ...by, onConflict: 'raise' }, { shop: 7 })).body.error).toMatchObject({
    code: 'UNIQUE_CONFLICT',
  })
  expect((await push(by, { shop: 8 })).status).toBe(201)
  expect((await push({ for: '10m' }, 1)).status).toBe(201)
  expect((await push(true, 2)).body.jid).toBe((await push(true, 2)).body.jid)
  expect((await queue()).map(({ args }) => args)).toEqual([[{ shop: 7, n: 3 }], [{ shop: 8 }], [1], [2]])
  for (const wrong of ['pending', { for: 'ever' }, { by: 'shop' }, { by: 5 }, { onConflict: 'wait' }, { key: 1 }]) {
    const { status, body } = await push(wrong, 9)
    expect([status, body.error.code], JSON.stringify(wrong)).toEqual([400, 'INVALID_OPTION'])
  }
  expect(await hq.queue('default').size()).toBe(4)
})

/**
 * An API whose first push waits until `open` is called. `begun` has the jids of all pushes, `asked` the store's answers about
 * their key.
 */
function slowPush() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const { call, hq, clock } = api()
  const { opened, open } = gate()
  const begun = new Collector<string>()
  hq.client.use(async (payload, next) => {
    begun.add(payload.jid)
    if (begun.all.length === 1) await opened
    return next()
  })
  const asked = new Collector<string | null>()
  const { results } = hq.store
  const remember = results.remember.bind(results)
  results.remember = async (...what) => {
    const there = await remember(...what)
    asked.add(there)
    return there
  }
  const json = { class: 'A', args: [] }
  const push = (signal?: AbortSignal) =>
    call('POST', '/api/v1/jobs', { json, headers: { 'idempotency-key': 'slow' }, signal: signal ?? null })
  return { hq, clock, open, begun, asked, push }
}

test('a repeated request waits while the first one still pushes', async () => {
  const { hq, clock, open, begun, asked, push } = slowPush()
  const first = push()
  await begun.atLeast(1)
  for (let n = 2; n <= 4; n++) {
    clock.ahead += 15
    vi.advanceTimersByTime(10_000)
    await asked.atLeast(n)
  }
  const again = push()
  await asked.atLeast(6)
  expect(begun.all).toHaveLength(1)
  open()
  const answers = [await first, await again]
  expect(answers.map(({ status }) => status)).toEqual([201, 200])
  expect(answers[1]?.body).toEqual(answers[0]?.body)
  expect(await hq.queue('default').size()).toBe(1)
})

test('a repeated request waits also at a server whose clock is an hour ahead', async () => {
  const { hq, clock, open, begun, asked, push } = slowPush()
  const first = push()
  await begun.atLeast(1)
  clock.ahead += 3600
  const again = push()
  await Promise.race([asked.atLeast(4), begun.atLeast(2)])
  expect(begun.all).toHaveLength(1)
  open()
  expect([(await first).status, (await again).status]).toEqual([201, 200])
  expect(await hq.queue('default').size()).toBe(1)
})

test('a request pushes when the claim of a dead server has not changed for 30 s, although the clock of that server was ahead', async () => {
  const now = performance.now.bind(performance)
  let ahead = 0
  const monotonic = vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead)
  onTestFinished(() => monotonic.mockRestore())
  const { hq, clock, begun, asked, push } = slowPush()
  clock.ahead = 3600
  void push()
  await begun.atLeast(1)
  clock.ahead = 0
  const leaving = new AbortController()
  const early = push(leaving.signal)
  await asked.atLeast(2)
  leaving.abort()
  await early
  expect(begun.all).toHaveLength(1)
  ahead = 30_000
  expect((await push()).status).toBe(200)
  expect(await hq.queue('default').size()).toBe(1)
})

test('a request that was stopped for 30 s while it pushed stores nothing after another one took over', async () => {
  const now = performance.now.bind(performance)
  let ahead = 0
  const monotonic = vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead)
  onTestFinished(() => monotonic.mockRestore())
  const { hq, open, begun, asked, push } = slowPush()
  const stopped = push()
  await begun.atLeast(1)
  const second = push()
  await asked.atLeast(3)
  ahead = 30_000
  const { status, body } = await second
  expect(status).toBe(200)
  open()
  expect(await stopped).toMatchObject({ status: 503, body: { error: { code: 'PUSH_FAILED' } } })
  expect(await push()).toMatchObject({ status: 200, body })
  expect(await hq.queue('default').size()).toBe(1)
})

test('the same key pushes the same jobs once, even when the server died before it answered', async () => {
  const { call, hq } = api()
  const push = (json: unknown, key = 'one') =>
    call('POST', '/api/v1/jobs', { json, headers: { 'idempotency-key': key } })
  const job = { class: 'A', args: [{ n: 1 }] }
  const first = await push(job)
  const again = await push(job)
  expect([first.status, again.status, again.body]).toEqual([201, 200, first.body])
  expect(await hq.queue('default').size()).toBe(1)
  const other = await push({ ...job, args: [2] })
  expect([other.status, other.body.error.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED'])
  // A wrong request can be corrected under the same key.
  expect((await push({ class: 'A' }, 'two')).status).toBe(400)
  expect((await push({ ...job, jid: 'mine' }, 'two')).body).toEqual({ jid: 'mine' })
  // Several requests at once, in each order.
  const jobs = [job, { class: 'B', args: [], jid: 'named' }, job]
  const answers = await Promise.all([push(jobs, 'three'), push(jobs, 'three'), push(jobs, 'three')])
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 201])
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expect(answers[0]?.body.jids[1]).toBe('named')
  expect(await hq.queue('default').size()).toBe(5)
  // A request died after two of three pushes: a repeat pushes the third.
  let isBroken = true
  hq.client.use((payload, next) => {
    if (isBroken && payload.class === 'B') throw new Error('not now')
    return next()
  })
  const three = [job, { class: 'B', args: [] }, job]
  expect((await push(three, 'four')).status).toBe(500)
  expect(await hq.queue('default').size()).toBe(7)
  isBroken = false
  const repeat = await push(three, 'four')
  expect([repeat.status, repeat.body.jids.length]).toEqual([200, 3])
  expect(await hq.queue('default').size()).toBe(8)
  for (const jid of repeat.body.jids) expect((await hq.find(jid)).state).toBe('queued')
  expect((await push(three, 'four')).body).toEqual(repeat.body)
  const lines = {
    body: '{"class":"A","args":[]}',
    headers: { 'content-type': 'application/x-ndjson', 'idempotency-key': 'x' },
  }
  expect((await call('POST', '/api/v1/jobs', lines)).status).toBe(400)
  expect((await push(job, 'a b')).status).toBe(400)
})

test('jobs of a request with a key take no locks, except those with a jid of their own', async () => {
  const { call, hq, queue } = api()
  const headers = { 'idempotency-key': 'many' }
  const json = [
    { class: 'Work', args: [1] },
    { class: 'Work', args: [2], jid: 'own' },
    { class: 'Work', args: [3] },
  ]
  const first = await call('POST', '/api/v1/jobs', { json, headers })
  expect(first.body.jids).toEqual([expect.stringMatching(/^[0-9a-f]{24}$/), 'own', expect.any(String)])
  expect(await call('POST', '/api/v1/jobs', { json, headers })).toMatchObject({ status: 200, body: first.body })
  const locks = new Map((await queue()).map(({ jid, hk_unique: lock }) => [jid, lock]))
  expect(first.body.jids.map((jid: string) => locks.get(jid))).toEqual([undefined, 'jid', undefined])
  expect(locks.size).toBe(3)
  expect((await hq.uniqueLocks.page()).items.map(({ jid }) => jid)).toEqual(['own'])
})

test('a repeated request answers the job that has the lock of a refused one, also when that job has ended', async () => {
  const { call, hq } = api()
  hq.job('Once', { unique: true }, async () => {})
  hq.job('Stopped', async () => {})
  hq.client.use((payload, next) => (payload.class === 'Stopped' ? null : next()))
  const push = (json: unknown, key: string) =>
    call('POST', '/api/v1/jobs', { json, headers: { 'idempotency-key': key } })
  const once = { class: 'Once', args: [1] }
  const holder = await hq.push(once)
  expect(await push(once, 'one')).toMatchObject({ status: 200, body: { jid: holder, existing: true } })
  const list = [{ class: 'Stopped', args: [] }, once, { class: 'Once', args: [2] }]
  const first = await push(list, 'two')
  expect(first).toMatchObject({ status: 201, body: { jids: [null, holder, expect.any(String)], existing: [1] } })
  expect(await hq.cancel(holder as string)).toBe('removed')
  const repeats = [await push(once, 'one'), await push(list, 'two')]
  expect(repeats.map(({ status, body }) => [status, body])).toEqual([
    [200, { jid: holder, existing: true }],
    [200, first.body],
  ])
  expect(await hq.queue('default').size()).toBe(1)
})

test('a push of a unique job that another job holds up says that the job exists already', async () => {
  const { call, hq } = api()
  hq.job('Once', { unique: true }, async () => {})
  const once = (n: number) => ({ class: 'Once', args: [n] })
  const holder = await hq.push(once(1))
  const post = (about: object) => call('POST', '/api/v1/jobs', about)
  expect(await post({ json: once(1) })).toMatchObject({ status: 200, body: { jid: holder, existing: true } })
  const { status, body } = await post({ json: once(2) })
  expect([status, body]).toEqual([201, { jid: expect.any(String) }])
  const both = [body.jid, expect.any(String), holder]
  const list = [once(2), once(3), once(1)]
  expect(await post({ json: list })).toMatchObject({ status: 201, body: { jids: both, existing: [0, 2] } })
  expect(await post(lines(once(4), once(1)))).toMatchObject({ status: 201, body: { existing: [1] } })
  expect(await hq.queue('default').size()).toBe(4)
})

test('a stream of lines is pushed while it is read, and a bad line is reported with its number and the pushed jobs', async () => {
  const { call, hq } = api({ limits: { rows: 3000 } })
  const job = (n: number) => ({ class: 'A', args: [n] })
  const many = Array.from({ length: 2500 }, (_, n) => job(n))
  const { status, body } = await call(
    'POST',
    '/api/v1/jobs',
    lines(...many.slice(0, 1200), '', ' ', ...many.slice(1200)),
  )
  expect([status, new Set(body.jids).size]).toEqual([201, 2500])
  expect(await hq.queue('default').size()).toBe(2500)

  const bad = await call('POST', '/api/v1/jobs', lines(...many.slice(0, 1500), '', '{"class":', job(1)))
  expect([bad.status, bad.body.error.code, bad.body.error.message]).toEqual([
    400,
    'INVALID_REQUEST',
    expect.stringMatching(/^line 1502 is not JSON/),
  ])
  const { pushed } = bad.body.error.details
  expect(await hq.queue('default').size()).toBe(2500 + pushed.length)

  const wrong = await call('POST', '/api/v1/jobs', lines(job(1), '', { class: 5 }))
  expect(wrong.body.error.details).toMatchObject({ line: 3, pushed: [expect.any(String)] })

  const more = await call('POST', '/api/v1/jobs', lines(...many, ...many))
  expect([more.status, more.body.error.code]).toEqual([413, 'TOO_MANY_ROWS'])
})

test('long lines of a stream are pushed before there are a thousand of them, so that the server need not keep them', async () => {
  const { call } = api({ limits: { bodyBytes: 5000 } })
  const long = Array.from({ length: 20 }, () => ({ class: 'A', args: ['x'.repeat(1000)] }))
  const bad = await call('POST', '/api/v1/jobs', lines(...long, '{'))
  expect(bad.body.error.details.pushed).toHaveLength(20)
})

test('GET /jobs/JID returns where a job is, and waits for its result', async () => {
  const { call, hq, work } = api()
  const doors = gate()
  hq.job('Sum', { keepResult: 60 }, async (_ctx, a: number, b: number) => {
    await doors.opened
    return a + b
  })
  const { jid } = (await call('POST', '/api/v1/jobs', { json: { class: 'Sum', args: [2, 3] } })).body
  const find = async (wait = 0) => (await call('GET', `/api/v1/jobs/${jid}?wait=${wait}`)).body
  expect(await find()).toMatchObject({
    jid,
    state: 'queued',
    queue: 'default',
    class: 'Sum',
    args: [2, 3],
    result: null,
  })
  await work()
  const waiting = find(30)
  doors.open()
  expect(await waiting).toMatchObject({ jid, result: 5, failure: null })
  expect(await find()).toMatchObject({ state: 'ended', result: 5 })
  expect((await call('GET', '/api/v1/jobs/nothing?wait=5')).body).toMatchObject({ state: 'unknown', event: null })
})

test('waiting ends for a job without a stored result, and for a job that died', async () => {
  const { call, hq, work } = api()
  hq.job('Quiet', async () => {})
  hq.job('Broken', { retry: false, keepResult: 60 }, async () => {
    throw new TypeError('no such thing')
  })
  const push = async (name: string) =>
    (await call('POST', '/api/v1/jobs', { json: { class: name, args: [] } })).body.jid
  const [quiet, broken] = [await push('Quiet'), await push('Broken')]
  const waiting = Promise.all([quiet, broken].map((jid) => call('GET', `/api/v1/jobs/${jid}?wait=30`)))
  await work()
  const [one, other] = await waiting
  expect(one?.body).toMatchObject({ state: 'unknown', result: null })
  expect(other?.body).toMatchObject({ result: null, failure: { message: expect.stringContaining('no such thing') } })
})

test('GET /jobs/JID returns all details and the key of a job, wherever it is', async () => {
  const { call, hq, work } = api()
  const begun = gate()
  const doors = gate()
  const Slow = hq.job('Slow', async () => {
    begun.open()
    await doors.opened
  })
  const find = async (jid: string | null) => (await call('GET', `/api/v1/jobs/${jid}`)).body
  const later = await find(await Slow.performIn(3600))
  expect(later).toMatchObject({
    state: 'scheduled',
    gaveUp: false,
    task: null,
    job: { class: 'Slow', at: expect.any(String) },
  })
  const key = encodeURIComponent(later.job.key)
  expect((await call('POST', `/api/v1/scheduled/${later.jid}/addToQueue?key=${key}`)).body.done).toBe(1)
  const queued = await find(later.jid)
  expect(queued).toMatchObject({ state: 'queued', job: { jid: later.jid, args: [], at: null } })
  const place = `/api/v1/queues/default/jobs/${later.jid}?key=${encodeURIComponent(queued.job.key)}`
  expect((await call('GET', place)).body).toEqual(queued.job)
  await work()
  await begun.opened
  expect(await find(later.jid)).toMatchObject({ state: 'running', job: { class: 'Slow', key: '' } })
  doors.open()
  const task = await hq.tasks.create(Slow, [[], []])
  const row = await find((await hq.store.tasks.events(task.id, { after: 0, limit: 1 }))[0]?.jid ?? '')
  expect(row.task).toEqual({ id: task.id, index: 1 })
  expect(await find('nothing')).toMatchObject({ state: 'unknown', job: null, task: null, gaveUp: false })
})

test('GET /jobs/JID returns the progress of a running job, and the last one of a job that finished', async () => {
  const { call, hq, work, settled } = api()
  const end = gate()
  hq.job('Slow', { keepFinished: true }, async (ctx) => {
    ctx.progress(1, 4, 'x'.repeat(400))
    await end.opened
    ctx.progress(4, 4)
  })
  const jid = await hq.push({ class: 'Slow', args: [] })
  const find = async () => (await call('GET', `/api/v1/jobs/${jid}`)).body
  expect(await find()).toMatchObject({ state: 'queued', progress: null })
  await work()
  await vi.waitUntil(async () => (await find()).progress, { timeout: 20_000 })
  const note = `${'x'.repeat(299)}…`
  expect(await find()).toMatchObject({ state: 'running', progress: { done: 1, total: 4, note } })
  end.open()
  await settled()
  expect((await find()).progress).toEqual({ done: 4, total: 4 })
})

test('a job is cancelled, and an unknown job is a 404', async () => {
  const { call, hq, queue } = api()
  const jid = await hq.push({ class: 'A', args: [] })
  expect((await call('DELETE', `/api/v1/jobs/${jid}?queue=default`)).body).toEqual({ jid, outcome: 'removed' })
  expect(await queue()).toEqual([])
  const again = await call('DELETE', `/api/v1/jobs/${jid}`)
  expect([again.status, again.body.error.code]).toEqual([404, 'UNKNOWN_JID'])
})

test('an error names what a request can send, and no method or call of the library', async () => {
  const { call, hq } = api()
  hq.job('Once', { unique: { onConflict: 'raise' } }, async () => {})
  const messageOf = async (...request: Parameters<typeof call>) => (await call(...request)).body.error.message
  const once = { class: 'Once', args: [] }
  const jid = await hq.push(once)
  expect(await messageOf('POST', '/api/v1/jobs', { json: once })).toBe(
    `Once: not pushed, because job ${jid} has its lock: wait until that job has ended, or use its jid`,
  )
  expect(await messageOf('POST', '/api/v1/tasks', { json: { job: 'Once', args: [[1]] } })).toBe(
    "Once: rows of a task can't be unique: name another job, for the app makes Once unique",
  )
  expect(await messageOf('GET', '/api/v1/queues/p3:mail')).toBe(
    'p3:mail is a priority of queue mail: name queue mail, which has the jobs of all priorities',
  )
  const bid = await hq.batch({ onDeath: hq.job('Dead', async () => {}) }, () => hq.push({ class: 'A', args: [] }))
  expect(await messageOf('POST', '/api/v1/jobs', { json: { class: 'A', args: [], bid } })).toBe(
    `A: a push can't name the batch ${bid} as its bid: leave it out`,
  )
  const meta = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`m${n}`, 'x'.repeat(1000)]))
  expect(await messageOf('POST', '/api/v1/tasks', { json: { job: 'Dead', args: [[1]], meta } })).toMatch(/^meta must/)
})

test('a job has its batch, its locks, and the limit for which it waits', async () => {
  const t = api()
  const { opened, open } = gate()
  const Limited = t.hq.job(
    'Limited',
    { limit: { concurrency: 1, by: (key: string) => key } },
    async (_ctx, _key: string) => opened,
  )
  const Unique = t.hq.job('Unique', { unique: true }, async () => {})
  const detail = async (jid: string | null) => (await t.call('GET', `/api/v1/jobs/${jid}`)).body.job
  const none = { bid: null, limit: null, locks: [] }
  const locked = await Unique.performAsync()
  expect(await detail(locked)).toMatchObject({ ...none, locks: [expect.any(String)] })
  const jids: (string | null)[] = []
  const bid = await t.hq.batch({}, async () => {
    for (let n = 0; n < 2; n++) jids.push(await Limited.performAsync('a'))
  })
  expect(await detail(jids[1] as string)).toMatchObject({ ...none, bid: bid })
  await t.work()
  await until(async () => (await t.hq.stats()).limited === 1)
  const states = await Promise.all(jids.map((jid) => t.hq.find(jid as string)))
  const waiting = jids[states.findIndex(({ state }) => state === 'limited')] as string
  const awaited = { id: 'job:Limited', kind: 'job', name: 'Limited', position: 1, key: 'a' }
  expect(await detail(waiting)).toMatchObject({ bid: bid, limit: awaited, locks: [] })
  open()
})
