import { expect, test } from 'vitest'
import { QueueSizeRecorder } from '#dist/metrics/queue-sizes.js'
import { gate, until } from '../engine/bench.ts'
import { type Api, api } from './api.ts'

interface Changes {
  version: string
  whole: boolean
  items: { name: string; size: number; sizes: (number | null)[]; paused: boolean; waitingSince: string | null }[]
  removed: string[]
}

async function changes({ call }: Api, list: 'queues' | 'processes', since = ''): Promise<Changes> {
  const { status, body, text } = await call('GET', `/api/v1/live-${list}${since && `?since=${since}`}`)
  expect(status, text).toBe(200)
  return body
}

const ENQUEUED_AT = Date.now() - 60_000

const push = ({ hq, clock }: Api, queue: string) => {
  const text = JSON.stringify({ class: 'A', args: [], queue, jid: 'a', enqueued_at: ENQUEUED_AT })
  return hq.store.jobs.push([{ to: 'queue', queue, text, end: 'back' }], clock.now())
}

/** A request that changes something, so that the server reads its lists again. */
const act = ({ call }: Api, queue: string, what: 'pause' | 'resume' | 'clear') =>
  call('POST', `/api/v1/queues/${queue}/${what}`)

test('the live queues are sent once as a whole, and then only those that have changed', async () => {
  const t = api()
  for (const name of ['a', 'b', 'c']) await push(t, name)
  const first = await changes(t, 'queues')
  expect(first).toMatchObject({ whole: true, removed: [] })
  expect(first.items.map(({ name, size }) => [name, size])).toEqual([
    ['a', 1],
    ['b', 1],
    ['c', 1],
  ])
  expect(first.items[0]?.waitingSince).toBe(new Date(ENQUEUED_AT).toISOString())

  // Jobs wait longer all the time: that alone changes nothing.
  t.clock.ahead += 30
  await act(t, 'b', 'pause')
  const paused = await changes(t, 'queues', first.version)
  expect(paused).toMatchObject({ whole: false, items: [{ name: 'b', paused: true }], removed: [] })
  await act(t, 'c', 'clear')
  expect(await changes(t, 'queues', paused.version)).toMatchObject({ whole: false, items: [], removed: ['c'] })
  // A client that missed an answer gets both changes.
  const missed = await changes(t, 'queues', first.version)
  expect([missed.whole, missed.items.map(({ name }) => name), missed.removed]).toEqual([false, ['b'], ['c']])
  expect((await changes(t, 'queues', missed.version)).items).toEqual([])
})

test('the live queues have the sizes of the last hour, and queues whose sizes are the same are not sent again', async () => {
  const t = api()
  const fiveMinutes = 300_000
  const end = t.clock.now() - (t.clock.now() % fiveMinutes)
  let time = 0
  const report = (error: unknown) => {
    throw error
  }
  const recorder = new QueueSizeRecorder({ store: t.hq.store, now: () => time, report })
  const sampleAt = async (at: number) => {
    time = at
    await recorder.run()
  }
  await push(t, 'images')
  await sampleAt(end - 12 * fiveMinutes)
  await push(t, 'images')
  await push(t, 'images')
  await sampleAt(end - 11 * fiveMinutes)
  await act(t, 'images', 'clear')
  await push(t, 'images')
  await sampleAt(end - 11 * fiveMinutes + 60_000)
  await sampleAt(end - fiveMinutes)
  await push(t, 'new')
  const first = await changes(t, 'queues')
  expect(first.items.map(({ name, sizes }) => [name, sizes])).toEqual([
    ['images', [1, 3, ...new Array(9).fill(null), 1]],
    ['new', []],
  ])
  await act(t, 'new', 'pause')
  expect((await changes(t, 'queues', first.version)).items.map(({ name }) => name)).toEqual(['new'])
})

test('a client of another server gets the whole list', async () => {
  const t = api()
  await push(t, 'a')
  const { version } = await changes(api(), 'queues')
  const whole = await changes(t, 'queues', version)
  expect([whole.whole, whole.items.map(({ name }) => name)]).toEqual([true, ['a']])
})

test('a slow read that ends after a newer one changes nothing', async () => {
  const t = api()
  const { jobs } = t.hq.store
  const queues = jobs.queues.bind(jobs)
  const doors = gate()
  let reads = 0
  jobs.queues = async (only) => {
    const found = await queues(only)
    if (!only && ++reads === 1) await doors.opened
    return found
  }
  await push(t, 'a')
  const slow = changes(t, 'queues')
  await until(async () => reads === 1)
  await push(t, 'b')
  await act(t, 'other', 'resume')
  const newer = await changes(t, 'queues')
  expect(newer.items.map(({ name }) => name)).toEqual(['a', 'b'])
  doors.open()
  expect((await slow).items.map(({ name }) => name)).toEqual(['a', 'b'])
  expect(await changes(t, 'queues', newer.version)).toMatchObject({ whole: false, items: [], removed: [] })
})

test('the live processes are sent once as a whole, and then only those that have changed', async () => {
  const t = api()
  const queues = Array.from({ length: 25 }, (_, n) => `q${n}`)
  const beat = (name: string, busy: number) => {
    const record = { identity: `${name}:1:a`, concurrency: 5, busy, beat: t.clock.now(), quiet: false, rss: 1 }
    return t.hq.store.workers.heartbeat({ ...record, info: JSON.stringify({ hostname: name, queues }) }, 60)
  }
  await beat('a', 0)
  await beat('b', 0)
  const first = await changes(t, 'processes')
  expect(first).toMatchObject({
    whole: true,
    items: [
      { identity: 'a:1:a', busy: 0, queues: queues.slice(0, 20), moreQueues: 5 },
      { identity: 'b:1:a', busy: 0 },
    ],
  })
  t.clock.ahead += 1
  await beat('b', 3)
  await act(t, 'other', 'resume')
  const next = await changes(t, 'processes', first.version)
  expect(next).toMatchObject({ whole: false, items: [{ identity: 'b:1:a', busy: 3 }], removed: [] })
  await t.hq.store.workers.removeProcess('a:1:a')
  await act(t, 'other', 'resume')
  expect(await changes(t, 'processes', next.version)).toMatchObject({ items: [], removed: ['a:1:a'] })
})
