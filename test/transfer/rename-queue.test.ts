import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { PORT } from '#dist/app.js'
import { limitLike, pauseLike, renamePass } from '#dist/inspect/rename-queue.js'
import type { Effect, Settlement } from '#dist/store/contract.js'
import { runHere } from '../cli/in-process.ts'
import { job, NOW, retry, sure, toQueue } from '../conformance/bench.ts'
import type { StoreFactory } from '../conformance/factory.ts'
import { postgres } from '../conformance/postgres.ts'
import { redis } from '../conformance/redis.ts'
import { file } from '../conformance/sqlite.ts'
import { bench, Child, Collector } from '../engine/bench.ts'
import { onPostgres } from '../postgres/suite.ts'
import { onRedis } from '../redis/suite.ts'

const SETS = ['schedule', 'retry', 'dead'] as const
const renamed = (text: string) => text.replace(/"(queue|retry_queue)":"(p\d:)?q"/g, '"$1":"$2new"')

async function open(factory: StoreFactory) {
  const made = await factory.create()
  onTestFinished(() => made.destroy())
  const t = bench({ url: made.url })
  const { store } = t.hq
  const pass = (own = t) => renamePass(own.hq[PORT], 'q', 'new')
  const texts = (queue: string) => store.jobs.peek(queue, 0, 999)
  const sets = () => Promise.all(SETS.map((set) => store.jobSets.page(set, { limit: 99 })))
  return { t, url: made.url, store, pass, texts, sets }
}

function suite(factory: StoreFactory) {
  test('waiting jobs keep their order, priority, time and lock, and both of their queues get the new name', async () => {
    const { store, pass, texts, sets } = await open(factory)
    const all = Array.from({ length: 250 }, (_, n) => job(n, n % 3 === 0 ? { queue: 'p5:q' } : { retry_queue: 'q' }))
    const unique = job('u', { hk_unique: 'success:K', jid: 'aa' })
    const inSets = SETS.map((to, i) => ({ to, text: job(to, { queue: 'other', retry_queue: 'p2:q' }), score: i + 0.5 }))
    await store.jobs.push([toQueue('new', job(0)), ...inSets], NOW)
    await store.jobs.push([{ ...toQueue('q', unique), unique: { jid: 'aa', claims: [{ key: 'K' }] } }], NOW)
    const pushes = all.map((text, n) => toQueue(n % 3 === 0 ? 'p5:q' : 'q', text))
    await store.jobs.push([...pushes, toQueue('q2', job('q2'))], NOW)
    const [before, entries] = [(await texts('q')).map(renamed), await sets()]
    expect(await pass()).toMatchObject({ moved: 254, left: { running: 0, others: 0, rows: 0 } })
    expect(await pass()).toMatchObject({ moved: 0 })
    expect(await texts('new')).toEqual([...before.slice(0, 84), job(0), ...before.slice(84)])
    expect([await texts('q'), await texts('q2')]).toEqual([[], [job('q2')]])
    expect(await sets()).toEqual(entries.map((some) => some.map((one) => ({ ...one, text: renamed(one.text) }))))
    expect((await store.unique.find(['K'], NOW))[0]?.holder).toBe('aa')
  })

  test('a pass that is ended in the middle of a set stops there, and says what it has moved', async () => {
    const { t, store, texts } = await open(factory)
    const retries = Array.from({ length: 250 }, (_, n) => ({ to: 'retry' as const, text: job(n), score: n }))
    await store.jobs.push([toQueue('q', job('q')), ...retries], NOW)
    const ending = new AbortController()
    const swap = store.jobSets.swap.bind(store.jobSets)
    store.jobSets.swap = (...args) => {
      ending.abort()
      return swap(...args)
    }
    expect(await renamePass(t.hq[PORT], 'q', 'new', ending.signal)).toMatchObject({ moved: 100 })
    expect([await store.jobSets.size('retry'), await texts('q')]).toEqual([250, [job('q')]])
    const moved = (await store.jobSets.page('retry', { limit: 999 })).filter(({ text }) => text.includes('"new"'))
    expect(moved).toHaveLength(100)
  })

  test('the new queue is paused once if the old one is, so that a person can resume it', async () => {
    const { t, store, pass } = await open(factory)
    expect(await pauseLike(t.hq[PORT], 'q', 'new')).toBe(false)
    await store.jobs.pauseQueue('q', true)
    expect(await pauseLike(t.hq[PORT], 'q', 'new')).toBe(true)
    expect(await store.jobs.pausedQueues()).toEqual(['new', 'q'])
    await store.jobs.pauseQueue('new', false)
    await pass()
    expect(await store.jobs.pausedQueues()).toEqual(['q'])
  })

  test('a job that waits for room in a limit goes on waiting, with the new name', async () => {
    const { store, pass } = await open(factory)
    const limit = { name: 'job:X', max: 1, count: 0, per: 0, burst: 0, window: 'smooth' } as const
    const set = `limited:${limit.name}` as const
    await store.jobs.push([toQueue('q', job(1))], NOW)
    await store.workers.join('h:1:1', { queues: ['q'], seconds: 60, host: 'here' })
    const step = { now: NOW, started: [], settlements: [], fetch: { queues: ['q'], n: 1 } }
    const { ticket, text } = sure((await store.workers.settleAndFetch('h:1:1', step)).fetched[0])
    const move = { to: set, text, score: 5 }
    const effects: Effect[] = [{ kind: 'await-limit', limit }]
    const settlements: Settlement[] = [{ queue: 'q', ticket, move, processed: 0, failed: 0, effects }]
    await store.workers.settleAndFetch('h:1:1', { ...step, settlements, fetch: { queues: [], n: 0 } })
    expect(await pass()).toMatchObject({ moved: 1, left: { running: 0, others: 0 } })
    expect(await store.jobSets.page(set, { limit: 9 })).toEqual([{ text: renamed(text), score: 5 }])
  })

  test('the numbers that were set for the limits of the old queue are set for the new one, unless it has its own', async () => {
    const { t, store } = await open(factory)
    const like = () => limitLike(t.hq[PORT], 'q', 'new')
    expect(await like()).toBe(false)
    await t.hq.limits.set('queue:q', { concurrency: 3 })
    expect(await like()).toBe(true)
    expect(await store.limits.allSet()).toEqual([
      { name: 'queue:new', numbers: { max: 3 } },
      { name: 'queue:q', numbers: { max: 3 } },
    ])
    await t.hq.limits.set('queue:new', { concurrency: 5 })
    expect(await like()).toBe(false)
    expect((await t.hq.limits.list()).map(({ id, concurrency }) => [id, concurrency])).toEqual([
      ['queue:new', 5],
      ['queue:q', 3],
    ])
  })

  test('jobs of tasks, batches and cron entries stay; running ones are counted, and move when they fail', async () => {
    const { store, pass, texts, sets } = await open(factory)
    const stays = [{ hk_task: '0123456789abcdef', hk_run: 1 }, { bid: 'b' }, { hk_lock: 'l' }].map((one) =>
      job('x', one),
    )
    await store.jobs.push([toQueue('q', job(1)), ...stays.map((text) => toQueue('q', text))], NOW)
    await store.workers.join('h:1:1', { queues: ['q'], seconds: 60, host: 'here' })
    const step = { now: NOW, started: [], settlements: [], fetch: { queues: ['q'], n: 1 } }
    const { fetched } = await store.workers.settleAndFetch('h:1:1', step)
    expect(await pass()).toMatchObject({ moved: 0, left: { running: 1, rows: 1, batches: 1, crons: 1 } })
    const settlements = [retry(sure(fetched[0]), 7)]
    await store.workers.settleAndFetch('h:1:1', { ...step, settlements, fetch: { queues: [], n: 0 } })
    expect(await pass()).toMatchObject({ moved: 1, left: { running: 0 } })
    expect([await texts('q'), await sets()]).toEqual([stays, [[], [{ text: renamed(job(1)), score: 7 }], []]])
  })

  test('running jobs of another queue are counted while they may come back to the old one', async () => {
    const { store, pass, sets } = await open(factory)
    await store.jobs.push([toQueue('other', job(1, { queue: 'other', retry_queue: 'q' }))], NOW)
    await store.workers.join('h:1:1', { queues: ['other'], seconds: 60, host: 'here' })
    const step = { now: NOW, started: [], settlements: [], fetch: { queues: ['other'], n: 1 } }
    const { fetched } = await store.workers.settleAndFetch('h:1:1', step)
    expect(await pass()).toMatchObject({ moved: 0, left: { running: 1 } })
    const settlements = [retry(sure(fetched[0]), 7)]
    await store.workers.settleAndFetch('h:1:1', { ...step, settlements, fetch: { queues: [], n: 0 } })
    expect(await pass()).toMatchObject({ moved: 1, left: { running: 0 } })
    expect((await sets())[1]).toEqual([{ text: job(1, { queue: 'other', retry_queue: 'new' }), score: 7 }])
  })

  test('after kill -9 during and between its calls, the command moves the rest in the same order', async () => {
    const { store, url, texts } = await open(factory)
    const all = Array.from({ length: 900 }, (_, n) => job(n))
    const retries = Array.from({ length: 250 }, (_, n) => ({ text: job(`r${n}`), score: n }))
    const items = [
      ...all.map((text) => toQueue('q', text)),
      ...retries.map((one) => ({ to: 'retry' as const, ...one })),
    ]
    await store.jobs.push(items, NOW)
    for (const [at, answered] of [
      [1, true],
      [2, false],
      [3, true],
      [4, false],
    ] as const) {
      const victim = new Child(url, { at, answered }, '../transfer/rename-victim.js')
      expect(await victim.exited).toMatchObject({ signal: 'SIGKILL' })
      const [before, after] = [await texts('q'), await texts('new')]
      expect([...after, ...before.map(renamed)]).toEqual(all.map(renamed))
    }
    const [moved, waiting] = [(await texts('new')).length, (await texts('q')).length]
    expect(Math.min(moved, waiting)).toBeGreaterThan(0)
    expect(await runHere(['queues', 'rename', 'q', 'new', '--url', url])).toMatchObject({ code: 0 })
    expect([await texts('q'), await texts('new')]).toEqual([[], all.map(renamed)])
    const entries = await store.jobSets.page('retry', { limit: 999 })
    expect(entries.toSorted((a, b) => a.score - b.score)).toEqual(
      retries.map(({ text, score }) => ({ text: renamed(text), score })),
    )
  })

  test('while workers serve both queues and two processes rename one, each job runs once', async () => {
    const { t, pass } = await open(factory)
    const ran = new Collector<number>()
    const all = Array.from({ length: 600 }, (_, n) => n)
    await t.hq.job('J', { queue: 'q' }, async (_, n: number) => ran.add(n)).performBulk(all.map((n) => [n]))
    await t.work({ queues: ['q', 'new'], concurrency: 3 })
    await Promise.all([pass(), pass(t.another())])
    await t.settled()
    expect(ran.all.toSorted((a, b) => a - b)).toEqual(all)
  })

  test('while workers serve both queues, the jobs of both have one limit together', async () => {
    const { t, pass } = await open(factory)
    const app = t.another({ queues: { new: { limit: { concurrency: 2 } }, q: { limitOf: 'new' } } })
    const ran = new Collector<number>()
    let running = 0
    const J = app.hq.job('J', async () => {
      const now = ++running
      await app.hq.stats()
      running--
      ran.add(now)
    })
    for (const queue of ['q', 'new']) await J.set({ queue }).performBulk(Array.from({ length: 20 }, () => []))
    await app.work({ queues: ['q', 'new'], concurrency: 6 })
    while ((await pass(app)).moved > 0);
    await ran.atLeast(40)
    expect(Math.max(...ran.all)).toBe(2)
  })
}

describe('on SQLite', () => suite(file))
onPostgres('on PostgreSQL', () => suite(postgres))
onRedis('on Redis', () => {
  suite(redis())

  test('the running jobs of a Sidekiq process are counted until it has ended them; those of Highkiq once', async () => {
    const { store, url, pass } = await open(redis())
    const client = new Redis(url)
    onTestFinished(() => client.disconnect())
    const show = async (identity: string, info: object, payload: string) => {
      await client.sadd('processes', identity)
      await client.hset(identity, { info: JSON.stringify(info), busy: 1, beat: Date.now() / 1000 })
      await client.hset(`${identity}:work`, 'tid', JSON.stringify({ queue: 'q', payload, run_at: 1 }))
    }
    await store.jobs.push([toQueue('q', job(1))], NOW)
    await store.workers.join('h:1:1', { queues: ['q'], seconds: 60, host: 'here' })
    const step = { now: NOW, started: [], settlements: [], fetch: { queues: ['q'], n: 1 } }
    await store.workers.settleAndFetch('h:1:1', step)
    await show('h:1:1', { highkiq: '1' }, job(1))
    expect(await pass()).toMatchObject({ left: { running: 1 } })
    await show('ruby:1:a', { version: '8.1.7', queues: ['q'] }, job(2))
    expect(await pass()).toMatchObject({ left: { running: 2 } })
    await client.del('ruby:1:a:work')
    expect(await pass()).toMatchObject({ left: { running: 1 } })
  })
})
