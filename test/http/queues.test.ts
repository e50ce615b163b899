import { expect, test } from 'vitest'
import { QueueSizeRecorder } from '#dist/metrics/queue-sizes.js'
import { gate } from '../engine/bench.ts'
import { type Api, api } from './api.ts'

const push = ({ hq }: Api, texts: string[], queue = 'default') =>
  hq.store.jobs.push(
    texts.map((text) => ({ to: 'queue', queue, text, end: 'back' })),
    Date.now(),
  )

const textOf = (n: number, more: object = {}) =>
  JSON.stringify({
    class: 'Job',
    args: [n],
    queue: 'default',
    jid: `jid-${n}`,
    enqueued_at: Date.now() - 60_000,
    ...more,
  })

interface Progress {
  jid: string
  key: string
}

async function walked({ call }: Api, path: string): Promise<Progress[]> {
  const lines: Progress[] = []
  let cursor = ''
  for (;;) {
    const { status, body, text } = await call('GET', `${path}${path.includes('?') ? '&' : '?'}${cursor}`)
    expect(status, text).toBe(200)
    lines.push(...body.items)
    if (body.next === null) return lines
    cursor = `cursor=${encodeURIComponent(body.next)}`
  }
}

const jids = (lines: Progress[]) => lines.map(({ jid }) => jid)

test('queues are listed with size, latency, and the processes that serve them', async () => {
  const t = api()
  await push(t, [textOf(1), textOf(2)])
  const idle = { maxLength: null, backlog: 0, ignoredBy: [], slots: 0, servedBy: [], trend: null }
  const { body } = await t.call('GET', '/api/v1/queues')
  expect(body).toEqual({
    items: [{ name: 'default', size: 2, limited: 0, latency: expect.any(Number), paused: false, ...idle }],
    next: null,
  })
  expect(body.items[0].latency).toBeGreaterThan(59)
  const none = await t.call('GET', '/api/v1/queues/none')
  expect(none.body).toEqual({ name: 'none', size: 0, limited: 0, latency: 0, paused: false, ...idle })

  const doors = gate()
  const Slow = t.hq.job('Slow', { queue: 'slow' }, (_ctx, _n: number) => doors.opened)
  await t.hq.tasks.create(Slow, [[1], [2], [3], [4]], { window: 1 })
  await t.work({ capsules: { one: { concurrency: 3, queues: ['slow', 'low'] } }, queues: ['other'], concurrency: 5 })
  const info = { queues: ['low'], concurrency: 7, hostname: 'ruby' }
  const about = { concurrency: 7, busy: 0, beat: Date.now(), quiet: false, rss: 1 }
  await t.hq.store.workers.heartbeat({ identity: 'ruby:1:abc', info: JSON.stringify(info), ...about }, 60)
  // After a change the server reads its lists again.
  await t.call('POST', '/api/v1/queues/slow/resume')
  const [process] = (await t.call('GET', '/api/v1/processes')).body.items.filter(({ ours }: { ours: boolean }) => ours)
  const slow = await t.call('GET', '/api/v1/queues/slow')
  expect(slow.body).toMatchObject({ backlog: 3, slots: 3, servedBy: [process.identity], ignoredBy: [] })
  const low = await t.call('GET', '/api/v1/queues/low')
  expect(low.body).toMatchObject({ slots: 10, ignoredBy: ['ruby:1:abc'] })
  expect(low.body.servedBy.sort()).toEqual([process.identity, 'ruby:1:abc'].sort())
  doors.open()
})

test('a queue shows its maxLength, the lowest that the apps of running workers have', async () => {
  const t = api({ app: { queues: { mail: { maxLength: 100 } } } })
  await push(t, [textOf(1)], 'mail')
  await push(t, [textOf(2)], 'other')
  const lengths = async (path = '/api/v1/queues') => {
    // After a change the server reads its lists again.
    await t.call('POST', '/api/v1/queues/other/resume')
    const { items } = (await t.call('GET', path)).body
    return items.map(({ name, maxLength }: Record<string, unknown>) => [name, maxLength])
  }
  expect(await lengths()).toEqual([
    ['mail', null],
    ['other', null],
  ])
  await t.work({ queues: ['none'] })
  const known = (most: number) => [
    ['mail', most],
    ['other', null],
  ]
  expect(await lengths()).toEqual(known(100))
  const info = JSON.stringify({ hostname: 'b', queues: ['none'], highkiq: '0', max_lengths: { mail: 50 } })
  const about = { concurrency: 1, busy: 0, beat: Date.now(), quiet: false, rss: 1 }
  await t.hq.store.workers.heartbeat({ identity: 'b:1:abc', info, ...about }, 60)
  expect(await lengths()).toEqual(known(50))
  expect(await lengths('/api/v1/live-queues')).toEqual(known(50))
})

test('the jobs of a queue are listed newest first, searched, shown, and deleted one by one', async () => {
  const t = api()
  await push(
    t,
    Array.from({ length: 300 }, (_, n) => textOf(n, n % 10 ? {} : { class: 'Tenth', tags: ['x'] })),
  )
  const path = '/api/v1/queues/default/jobs'
  const lines = await walked(t, `${path}?limit=70`)
  expect(jids(lines)).toEqual(Array.from({ length: 300 }, (_, n) => `jid-${299 - n}`))
  expect(lines[0]).toMatchObject({ class: 'Job', queue: 'default', preview: '[299]', tags: [] })
  const tenth = Array.from({ length: 30 }, (_, n) => `jid-${290 - n * 10}`)
  expect(jids(await walked(t, `${path}?limit=7&search=Tenth`))).toEqual(tenth)
  expect(jids(await walked(t, `${path}?limit=7&class=Tenth`))).toEqual(tenth)
  expect(jids(await walked(t, `${path}?limit=7&class=Tent`))).toEqual([])

  // Keys stay valid while other jobs are pushed, fetched and requeued.
  await push(t, [textOf(300)])
  await t.hq.queue('default').deleteByClass('Tenth')
  await t.hq.store.jobs.push([{ to: 'queue', queue: 'default', text: textOf(301), end: 'front' }], Date.now())
  for (const n of [0, 1, 150, 297]) {
    const line = lines[n] as Progress
    const key = `key=${encodeURIComponent(line.key)}`
    const detail = await t.call('GET', `${path}/${line.jid}?${key}`)
    expect(detail.body).toMatchObject({ jid: line.jid, args: [299 - n], at: null, backtrace: null })
    expect((await t.call('DELETE', `${path}/${line.jid}?${key}`)).body).toEqual({ done: 1, refused: 0 })
    const gone = await t.call('DELETE', `${path}/${line.jid}?${key}`)
    expect([gone.status, gone.body.error.code]).toEqual([404, 'UNKNOWN_JID'])
  }
  expect((await t.call('DELETE', `${path}/jid-3`)).body.done).toBe(1)
  expect(await t.hq.queue('default').size()).toBe(302 - 30 - 5)
  for (const wrong of ['odd', 'x~y', '5']) {
    expect((await t.call('GET', `${path}/jid-3?key=${wrong}`)).status, wrong).toBe(400)
  }
})

test('the queues with the oldest or with the most jobs are listed first', async () => {
  const t = api()
  const old = { enqueued_at: Date.now() - 600_000 }
  await push(t, [textOf(1), textOf(2), textOf(3)], 'large')
  await push(t, [textOf(4, old)], 'old')
  await push(t, [textOf(5)], 'small')
  const names = async (query: string) =>
    (await t.call('GET', `/api/v1/queues${query}`)).body.items.map(({ name }: { name: string }) => name)
  expect(await names('')).toEqual(['large', 'old', 'small'])
  expect(await names('?by=size')).toEqual(['large', 'old', 'small'])
  expect((await names('?by=latency'))[0]).toBe('old')
  expect(await names('?by=latency&limit=1')).toEqual(['old'])
  expect((await t.call('GET', '/api/v1/queues?by=odd')).status).toBe(400)
})

test('the jobs of a queue are listed oldest first, while others are pushed and fetched', async () => {
  const t = api()
  await push(
    t,
    Array.from({ length: 30 }, (_, n) => textOf(n)),
  )
  const path = '/api/v1/queues/default/jobs?order=oldest'
  expect(jids(await walked(t, `${path}&limit=7`))).toEqual(Array.from({ length: 30 }, (_, n) => `jid-${n}`))
  const first = (await t.call('GET', `${path}&limit=10`)).body
  await push(t, [textOf(30)])
  for (const n of [0, 1, 2]) await t.call('DELETE', `/api/v1/queues/default/jobs/jid-${n}`)
  const next = (await t.call('GET', `${path}&limit=3&cursor=${encodeURIComponent(first.next)}`)).body
  expect(jids(next.items)).toEqual(['jid-10', 'jid-11', 'jid-12'])
  const key = encodeURIComponent(next.items[0].key)
  expect((await t.call('GET', `/api/v1/queues/default/jobs/jid-10?key=${key}`)).body.args).toEqual([10])
})

test('the classes in a queue are counted, with the time of the next job of each', async () => {
  const t = api()
  const at = Date.now() - 600_000
  const texts = Array.from({ length: 30 }, (_, n) =>
    textOf(n, { class: n % 3 ? 'Mail' : 'Image', enqueued_at: at + n * 1000 }),
  )
  await push(t, texts)
  const path = '/api/v1/queues/default/classes'
  expect((await t.call('GET', path)).body).toEqual({
    items: [
      { class: 'Mail', count: 20, since: new Date(at + 1000).toISOString() },
      { class: 'Image', count: 10, since: new Date(at).toISOString() },
    ],
    scanned: 30,
    complete: true,
  })
  await t.call('POST', '/api/v1/queues/default/clear')
  expect((await t.call('GET', path)).body).toEqual({ items: [], scanned: 0, complete: true })
})

test('the waits in a queue are told minute by minute', async () => {
  const t = api()
  const minute = 60_000
  const now = t.clock.now()
  const at = now - (now % minute)
  const histogram = (bucket: number, count: number) => Array.from({ length: 26 }, (_, i) => (i === bucket ? count : 0))
  const record = (number: number, time: number, queue: string, counts: number[]) =>
    t.hq.store.metrics.record({ source: 'a', number, at: time, jobs: [], waits: [{ queue, ms: 1, histogram: counts }] })
  await record(1, at - minute, 'mail', histogram(0, 10))
  await record(2, at - minute, 'other', histogram(0, 99))
  await record(3, at - 5 * minute, 'mail', histogram(20, 30))
  await record(4, at - 70 * minute, 'mail', histogram(0, 5))
  const { body } = await t.call('GET', '/api/v1/queues/mail/waits')
  expect(body.runs).toBe(40)
  expect(Date.parse(body.to) - Date.parse(body.from)).toBe(60 * minute)
  expect(body.minutes.map(({ at, runs }: { at: string; runs: number }) => [Date.parse(at), runs])).toEqual([
    [at - 5 * minute, 30],
    [at - minute, 10],
  ])
  expect(body.minutes[0].p50).toBeGreaterThan(body.minutes[1].p99)
  expect((await t.call('GET', '/api/v1/queues/none/waits')).body).toMatchObject({ runs: 0, p50: null, minutes: [] })
  expect((await t.call('GET', '/api/v1/queues/mail/waits?minutes=481')).status).toBe(400)
})

test('a queue has its sizes step by step, where a worker stored them', async () => {
  const t = api()
  const minute = 60_000
  const now = t.clock.now()
  const last = now - (now % minute)
  let time = 0
  const report = (error: unknown) => {
    throw error
  }
  const recorder = new QueueSizeRecorder({ store: t.hq.store, now: () => time, report })
  for (const ago of [200, 5, 3]) {
    await push(t, [textOf(ago)], 'mail')
    time = last - ago * minute
    await recorder.run()
  }
  const { body } = await t.call('GET', '/api/v1/queues/mail/sizes')
  expect(Date.parse(body.to) - Date.parse(body.from)).toBe(60 * minute)
  expect(body.step).toBe(60)
  expect(body.points).toEqual([
    { at: new Date(last - 5 * minute).toISOString(), size: 2 },
    { at: new Date(last - 3 * minute).toISOString(), size: 3 },
  ])
  const long = (await t.call('GET', '/api/v1/queues/mail/sizes?hours=72')).body
  expect(long.step).toBe(600)
  expect(long.points[0].size).toBe(1)
  expect(long.points.at(-1).size).toBe(3)
  expect((await t.call('GET', '/api/v1/queues/mail/sizes?hours=73')).status).toBe(400)
})

test('a queue is paused, resumed and cleared', async () => {
  const t = api()
  await push(t, [textOf(1), textOf(2)], 'b/ü')
  const act = (name: string) => t.call('POST', `/api/v1/queues/${encodeURIComponent('b/ü')}/${name}`)
  expect((await act('pause')).body).toMatchObject({ name: 'b/ü', paused: true, size: 2 })
  expect((await act('resume')).body).toMatchObject({ paused: false })
  expect((await act('clear')).body).toEqual({ done: 2 })
  expect((await act('clear')).body).toEqual({ done: 0 })
  expect((await t.call('GET', '/api/v1/queues')).body.items).toEqual([])
})

test('hostile jobs of a queue are listed, shown and deleted like any other', async () => {
  const t = api()
  const texts = [
    textOf(1, { class: '<b>', args: ['\u202e<script>', 'x'.repeat(1_000_000)] }),
    textOf(2, { class: 5, args: null, queue: { a: 1 }, enqueued_at: 'soon', tags: 'none' }),
    'no JSON <i>',
    '[]',
    '',
    textOf(3),
  ]
  await push(t, texts)
  const lines = await walked(t, '/api/v1/queues/default/jobs')
  expect(lines).toHaveLength(texts.length)
  expect(JSON.stringify(lines).length).toBeLessThan(10_000)
  for (const { jid, key } of lines) {
    const path = `/api/v1/queues/default/jobs/${encodeURIComponent(jid || '-')}?key=${encodeURIComponent(key)}`
    expect((await t.call('GET', path)).status).toBe(200)
    expect((await t.call('DELETE', path)).body.done).toBe(1)
  }
  expect(await t.hq.queue('default').size()).toBe(0)
})
