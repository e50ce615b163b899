import { expect, test } from 'vitest'
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
  const idle = { backlog: 0, ignoredBy: [], slots: 0, servedBy: [], trend: null }
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
  const [process] = (await t.call('GET', '/api/v1/processes')).body.items.filter(({ ours }: { ours: boolean }) => ours)
  const slow = await t.call('GET', '/api/v1/queues/slow')
  expect(slow.body).toMatchObject({ backlog: 3, slots: 3, servedBy: [process.identity], ignoredBy: [] })
  const low = await t.call('GET', '/api/v1/queues/low')
  expect(low.body).toMatchObject({ slots: 10, ignoredBy: ['ruby:1:abc'] })
  expect(low.body.servedBy.sort()).toEqual([process.identity, 'ruby:1:abc'].sort())
  doors.open()
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
