import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { FetchedJob, Settlement, Store } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { done, job, NOW, requestOf, toQueue } from '../conformance/bench.ts'
import { startProxy } from './proxy.ts'
import { type RedisServer, startServer } from './server.ts'
import { script } from './steps/stage.ts'
import { onRedis } from './suite.ts'

const SCORE = NOW / 1000
const [SET, PACKS, NEWEST] = ['hk:finished', 'hk:finished:packs', 'hk:finished:newest']

onRedis('finished jobs that nobody has read', () => {
  let server: RedisServer
  let database = 0
  beforeAll(async () => {
    server = await startServer({ databases: 50, 'maxmemory-policy': 'noeviction' })
  })
  afterAll(() => server.remove())

  async function open(url = server.url(++database)) {
    const [store, redis] = [openStore(url), new Redis(server.url(database))]
    onTestFinished(async () => {
      redis.disconnect()
      await store.close()
    })
    await store.workers.join('A', { queues: ['q'], seconds: 600, host: 'here' })
    return { store, redis }
  }

  let next = 0
  async function fetch(store: Store, n: number): Promise<FetchedJob[]> {
    const texts = Array.from({ length: n }, () => job(++next, { note: 'é🦙' }))
    await store.jobs.push(
      texts.map((text) => toQueue('q', text)),
      NOW,
    )
    const fetch = { queues: ['q'], n }
    return (await store.workers.settleAndFetch('A', requestOf({ fetch }))).fetched
  }
  async function settle(store: Store, jobs: readonly FetchedJob[], score = SCORE): Promise<void> {
    const settlements = jobs.map((one, i) => kept(one, score + i * 0.001))
    const { settled } = await store.workers.settleAndFetch('A', requestOf({ settlements }))
    expect(settled).toEqual(jobs.map(() => 'ok'))
  }
  const texts = async (store: Store) =>
    (await store.jobSets.page('finished', { limit: 999 })).map(({ text }) => text).sort()
  const textsOf = (jobs: readonly FetchedJob[]) => jobs.map(({ text }) => text).sort()

  test('those of a step are one entry of a stream, which reading moves into the sorted set', async () => {
    const { store, redis } = await open()
    const jobs = await fetch(store, 30)
    await settle(store, jobs.slice(0, 20))
    await settle(store, jobs.slice(20))
    expect([await redis.xlen(PACKS), await redis.exists(SET)]).toEqual([2, 0])
    expect(await store.jobSets.size('finished')).toBe(30)
    expect(await redis.xlen(PACKS)).toBe(2)
    expect(await texts(store)).toEqual(textsOf(jobs))
    expect([await redis.exists(PACKS), await redis.zcard(SET)]).toEqual([0, 30])
  })

  test('packs are removed whole and unread, and of one at the border some jobs stay', async () => {
    const { store, redis } = await open()
    const jobs = await fetch(store, 40)
    for (const n of [0, 10, 20, 30]) await settle(store, jobs.slice(n, n + 10), SCORE + n)
    await store.jobSets.prune('finished', 20, 0)
    expect([await redis.xlen(PACKS), await redis.exists(SET)]).toEqual([2, 0])
    await store.jobSets.prune('finished', 15, 0)
    expect([await redis.xlen(PACKS), await redis.zcard(SET)]).toEqual([1, 5])
    await store.jobSets.prune('finished', 99, SCORE + 30.004)
    expect(await texts(store)).toEqual(textsOf(jobs.slice(34)))
  })

  test('none is lost when the counter was deleted or overwritten, and packs stay in order', async () => {
    const { store, redis } = await open()
    const jobs = await fetch(store, 12)
    await settle(store, jobs.slice(0, 4))
    await redis.del(NEWEST)
    await settle(store, jobs.slice(4, 8), SCORE + 1)
    await redis.set(NEWEST, 'no number')
    await settle(store, jobs.slice(8), SCORE + 2)
    expect(await store.jobSets.size('finished')).toBe(12)
    await store.jobSets.prune('finished', 6, 0)
    expect(await texts(store)).toEqual(textsOf(jobs.slice(6)))
  })

  test('a pack that an older process has added is read', async () => {
    const { store, redis } = await open()
    const [one, two, three] = [job('one'), job('two'), job('three')]
    await redis.xadd(PACKS, `2-${NOW}`, 'n', '2', 's', `${SCORE} 2`, 't', `${one}\0${two}`)
    await redis.set(NEWEST, '2')
    await store.jobs.push([toQueue('q', three)], NOW)
    const { fetched } = await store.workers.settleAndFetch('A', requestOf({ fetch: { queues: ['q'], n: 1 } }))
    const settlements = fetched.map((one) => {
      const { move } = kept(one, SCORE + 1)
      return done(one, { move: { ...move, members: ',"hk_started":1' } as Settlement['move'] })
    })
    await store.workers.settleAndFetch('A', requestOf({ settlements }))
    expect(await store.jobSets.size('finished')).toBe(3)
    expect(await texts(store)).toEqual([one, two, `${three.slice(0, -1)},"hk_started":1}`].sort())
  })

  test('a server at its memory limit keeps, removes and shows them', async () => {
    const { store, redis } = await open()
    const jobs = await fetch(store, 20)
    await redis.config('SET', 'maxmemory', '1')
    onTestFinished(() => void redis.config('SET', 'maxmemory', '0'))
    await settle(store, jobs.slice(0, 10))
    await settle(store, jobs.slice(10), SCORE + 1)
    await store.jobSets.prune('finished', 15, 0)
    expect(await texts(store)).toEqual(textsOf(jobs.slice(5)))
  })

  test.each(['cut-before-reply', 'cut-before'] as const)(
    'a reader without an answer finds each once (%s)',
    async (act) => {
      const proxy = await startProxy(server)
      onTestFinished(() => proxy.close())
      const { store, redis } = await open(proxy.url(++database))
      const jobs = await fetch(store, 20)
      await settle(store, jobs)
      const cut = proxy.onRequest(script('finishedUnpack'), act)
      await expect(store.jobSets.page('finished', { limit: 99 })).rejects.toThrow()
      await cut.happened
      expect(await redis.exists(PACKS)).toBe(act === 'cut-before' ? 1 : 0)
      expect(await texts(store)).toEqual(textsOf(jobs))
      expect(await store.jobSets.size('finished')).toBe(20)
    },
  )
})

function kept(one: FetchedJob, score: number): Settlement {
  return done(one, { move: { to: 'finished', text: one.text, score } })
}
