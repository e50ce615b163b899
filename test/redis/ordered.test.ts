import { Highkiq, PushError } from 'highkiq'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FetchedBatch, OrderedEnd, OrderedSettlement, Store } from '#dist/store/contract.js'
import { shardOf } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { lua } from '#dist/store/redis/lua.generated.js'
import { sure } from '../conformance/bench.ts'
import { Collector } from '../engine/bench.ts'
import { contents } from './census.ts'
import { commandsDuring, scriptOf } from './monitor.ts'
import { freePort } from './port.ts'
import { FaultProxy } from './proxy.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

const MS = 1_000_000
const item = (id: string, payload: string, score = 1, performIn = 900) => ({ id, payload, score, performIn })
/** Ids of each of the two shards. */
const [ZERO, ONE] = [0, 1].map((shard) =>
  Array.from({ length: 60 }, (_, n) => `id${n}`).filter((id) => shardOf(id, 2) === shard),
) as [string[], string[]]
const [w1, w2, failed, f1, f2, f3, dead, extra] = ZERO as [
  string,
  string,
  string,
  string,
  string,
  string,
  string,
  string,
]
const page = { limit: 50, payloads: 9 }

/**
 * A queue of two shards. A owns the first one: one id waits there, one with two payloads, one that failed; three are
 * in flight, one of them with payloads waiting behind it. The owner of the second one died with an id in flight; one
 * id waits there.
 */
class Scene {
  readonly store: Store
  readonly redis: Redis
  token = 0
  flying: FetchedBatch[] = []
  settlements: OrderedSettlement[] = []

  constructor(url: string) {
    this.store = openStore(url)
    this.redis = new Redis(url)
  }

  static async make(url: string): Promise<Scene> {
    const scene = new Scene(url)
    const { store } = scene
    for (const owner of ['A', 'B', 'D']) await store.workers.join(owner, { queues: ['o'], seconds: 600, host: 'here' })
    await store.ordered.define('o', 2)
    for (const owner of ['A', 'B', 'D']) await store.ordered.join('o', owner)
    scene.token = sure(await store.ordered.acquireShard('o', 0, 'A', 3, MS)).token
    const theirs = sure(await store.ordered.acquireShard('o', 1, 'D', 3, MS)).token
    const fetch = async (owner: string, shard: number, token: number) =>
      sure((await store.ordered.settleAndFetch('o', owner, requestOf([], [{ shard, token, n: 9 }]))).fetched[0]).ids
    await store.ordered.push('o', 2, [item(failed, '"f"'), item(dead, '"d1"'), item(dead, '"d2"', 2)], MS)
    const first = await fetch('A', 0, scene.token)
    const ends: OrderedEnd[] = first.map(({ id }) =>
      id === dead
        ? { kind: 'dead', error: 'no' }
        : { kind: 'failed', state: { performIn: 2000, retryCount: 2, error: 'bad' } },
    )
    await store.ordered.settleAndFetch(
      'o',
      'A',
      requestOf(
        first.map((one, i) => scene.end(one, sure(ends[i]))),
        [],
      ),
    )
    await store.ordered.act('o', 'kill', [dead], { now: MS })
    await store.ordered.push(
      'o',
      2,
      [f1, f2, f3].map((id) => item(id, '"x"')),
      MS,
    )
    await store.ordered.push('o', 2, [item(sure(ONE[0]), '"y"'), item(sure(ONE[0]), '"z"')], MS)
    scene.flying = await fetch('A', 0, scene.token)
    await fetch('D', 1, theirs)
    await store.workers.claim('D')
    const waiting = [item(f1, '"behind"'), item(w1, '"1"'), item(w2, '"1"'), item(w2, '"2"'), item(sure(ONE[1]), '"1"')]
    await store.ordered.push('o', 2, waiting, MS)
    const kinds: OrderedEnd[] = [
      { kind: 'failed', state: { performIn: 1100, retryCount: 0, error: 'x' } },
      { kind: 'dead', error: 'y' },
      { kind: 'done' },
    ]
    scene.settlements = scene.flying.map((one, i) => scene.end(one, sure(kinds[i])))
    await scene.redis.del('hk:{queue:o}:ordered:notifications:A', 'hk:{queue:o}:ordered:notifications:B')
    return scene
  }

  end({ id, ticket }: FetchedBatch, end: OrderedEnd): OrderedSettlement {
    return { id, ticket, shard: 0, token: this.token, end }
  }

  /** Leaves out what differs between two runs, the numbers of tickets; and notifications, which may be lost. */
  async contents(): Promise<string> {
    const found = Object.entries(await contents(this.redis))
    const all = Object.fromEntries(found.filter(([key]) => !key.includes(':notifications:')))
    return JSON.stringify(all, (_, value) =>
      typeof value === 'string' ? value.replace(/\b1[789]\d{11}\b/g, 'N') : value,
    )
  }

  async break(key: string): Promise<void> {
    if (await this.redis.exists(key)) await this.redis.rename(key, 'away')
    await this.redis.xadd(key, '*', 'what', 'a stream')
  }

  async mend(key: string): Promise<void> {
    await this.redis.del(key)
    if (await this.redis.exists('away')) await this.redis.rename('away', key)
  }

  async close(): Promise<void> {
    this.redis.disconnect()
    await this.store.close()
  }
}

function requestOf(settlements: OrderedSettlement[], takes: { shard: number; token: number; n: number }[]) {
  return { now: MS, settlements, fetch: takes, maxPayloads: 9 }
}

/** Does what is not done yet. Returns why it is not done, or '' when all is done. */
const operations: Record<string, (scene: Scene) => Promise<unknown>> = {
  define: ({ store }) => store.ordered.define('new', 3),
  push: ({ store }) =>
    store.ordered.push(
      'o',
      2,
      [item(extra, '"n"'), item(w1, '"n"'), { ...item(w2, '"n"', 1, 800), wake: true }, item(f2, '"n"')],
      MS,
    ),
  join: ({ store }) => store.ordered.join('o', 'B'),
  own: ({ store }) => store.ordered.acquireShard('o', 1, 'B', 1, MS),
  release: ({ store, token }) => store.ordered.releaseShard('o', 0, 'A', token, MS),
  leave: ({ store }) => store.ordered.leave('o', 'A', MS),
  async settle(scene) {
    const answer = await scene.store.ordered.settleAndFetch('o', 'A', requestOf(scene.settlements, []))
    scene.settlements = scene.settlements.filter((_, i) => answer.settled[i] === 'error')
    return answer.problem ?? ''
  },
  async fetch({ store, token }) {
    const { fetched: taken, problem } = await store.ordered.settleAndFetch(
      'o',
      'A',
      requestOf([], [{ shard: 0, token, n: 9 }]),
    )
    return problem ?? (sure(taken[0]).lost ? 'lost' : '')
  },
  pause: ({ store }) => store.ordered.pause('o', true),
  reshard: ({ store }) => store.ordered.reshard('o', 3),
  async move({ store }) {
    await store.ordered.reshard('o', 3)
    while ((await store.ordered.moveShards('o')) > 0);
  },
  now: ({ store }) => store.ordered.act('o', 'now', [w1, failed], { now: MS }),
  kill: ({ store }) => store.ordered.act('o', 'kill', [w1, w2, failed], { now: MS }),
  delete: ({ store }) => store.ordered.act('o', 'delete', [w1, w2, f1], { now: MS }),
  'delete a payload': async ({ store }) => {
    await store.ordered.deletePayload('o', w2, '"1"')
    await store.ordered.deletePayload('o', w1, '"1"')
  },
  cancel: ({ store }) => store.ordered.cancel('o', [w1, w2, f1, f2]),
  resurrect: ({ store }) => store.ordered.resurrect('o', [dead], MS),
  deleteDead: ({ store }) => store.ordered.deleteDead('o', [dead]),
  trim: ({ store }) => store.ordered.pruneMorgue('o', 0, 0),
  async read({ store }) {
    await store.ordered.assignments('o')
    for (const by of ['id', 'performIn', 'retryCount'] as const) await store.ordered.waiting('o', by, page)
    await store.ordered.waiting('o', 'performIn', { ...page, after: { value: 1, id: 'x' } })
    for (const by of ['id', 'updatedAt'] as const) await store.ordered.morgue('o', by, page)
    await store.ordered.find('o', w2)
    await store.ordered.counts('o', MS)
  },
  async transfer({ store: { ordered, transfers } }) {
    // No id moves unless its queue is paused.
    await ordered.pause('o', true)
    const payloads: [string, number][] = [['"moved"', 1]]
    const state = { performIn: 1100, retryCount: 0, error: 'x', crashes: 0, suspect: false }
    const ids = [
      { id: extra, payloads, waiting: state, dead: null },
      { id: dead, payloads, waiting: null, dead: { updatedAt: 1, error: null, deaths: 1 } },
    ]
    await transfers.putIds({ transfer: 'P', number: 1 }, 'o', 2, ids)
    const from = { queue: 'o', ids: [w1, w2], dead: false }
    const held = (await transfers.held()) ?? (await transfers.holdIds('T', 'there', from))
    return held && (await transfers.returnIds(held)) ? '' : 'not returned'
  },
  async adopt({ store, redis }) {
    const key = (name: string) => `lowkiq:A:v1:o:morgue:${name}`
    await redis.zadd(key(`payloads:${extra}`), 1, '"l"')
    await redis.zadd(key('all_ids_lex'), 0, extra)
    await redis.zadd(key('all_ids_scored_by_updated_at'), 900, extra)
    const adopted = await sure(store.leftovers).adoptLowkiq(2, false)
    return adopted.flatMap(({ left }) => left.map(({ reason }) => reason)).join()
  },
  async forget({ store }) {
    await store.ordered.define('none', 1)
    await store.ordered.deleteQueue('none')
  },
}

/** Operations of which each part is all or nothing. */
const inParts = new Set(['define', 'settle', 'fetch', 'leave', 'move', 'transfer', 'adopt', 'forget'])

onRedis('ordered queues', () => {
  let server: RedisServer
  let scenes = 0
  const scriptsSeen = new Set<string>()
  beforeAll(async () => {
    server = await startServer({ databases: 2000, 'maxmemory-policy': 'noeviction' })
  })
  afterAll(() => server.remove())
  const scene = () => Scene.make(server.url(++scenes))

  describe.each(Object.entries(operations))('%s', (name, run) => {
    test('a key of the wrong type is named in an error; once it is mended the operation succeeds', async () => {
      const well = await scene()
      const keys = new Set<string>()
      for (const words of await commandsDuring(well.redis, () => run(well))) {
        const script = scriptOf(words)
        if (script === undefined) continue
        const [, , count, ...rest] = words
        for (const key of rest.slice(0, Number(count))) keys.add(key)
        scriptsSeen.add(script)
      }
      for (const key of await well.redis.keys('hk:{queue:o}:ordered:*payloads:*')) keys.add(key)
      const end = await well.contents()
      await well.close()
      const complaints = await Promise.all(
        [...keys].map(async (key) => {
          const one = await scene()
          await one.break(key)
          const before = await one.contents()
          const told = await run(one).then(
            (answer) => (typeof answer === 'string' ? answer : ''),
            (thrown: Error) => thrown.message,
          )
          const found: string[] = []
          if (told && !told.includes(key)) found.push(`${key} is not named in “${told}”`)
          if (told && !inParts.has(name) && (await one.contents()) !== before)
            found.push(`${key}: something was changed`)
          await one.mend(key)
          // A key that the operation does not need does not stop it.
          if (told) await run(one)
          const after = await one.contents()
          if (after !== end) found.push(`${key}: ends as ${after}, not as ${end}`)
          await one.close()
          return found
        }),
      )
      expect(complaints.flat()).toEqual([])
    })
  })

  test('a shard whose key has the wrong type stops no push of many ids to the other shard', async () => {
    const one = await scene()
    try {
      const key = 'hk:{queue:o}:ordered:due:1'
      await one.break(key)
      const items = (ids: readonly string[]) => ids.slice(-10).map((id) => item(id, '"m"'))
      await one.store.ordered.push('o', 2, items(ZERO), MS)
      await expect(one.store.ordered.push('o', 2, items(ONE), MS)).rejects.toThrow(key)
    } finally {
      await one.close()
    }
  })

  test('every key of every script is tried with the wrong type', () => {
    const ours = Object.keys(lua).filter((name) => name.startsWith('ordered'))
    expect([...scriptsSeen].filter((name) => name.startsWith('ordered')).sort()).toEqual(ours.sort())
  })

  test('a server without memory settles and fetches, changes owners, and refuses a push', async () => {
    const one = await scene()
    const { store, redis } = one
    await redis.config('SET', 'maxmemory', '1')
    try {
      const before = await one.contents()
      const pushes = [[item(extra, '"n"')], [item(w1, '"n"')], [item(w2, '"n"')], [item(f2, '"n"')]]
      for (const items of pushes) {
        const pushed = store.ordered.push('o', 2, items, MS)
        await expect(pushed).rejects.toMatchObject({ code: 'PUSH_FAILED', maybePushed: false })
      }
      expect(await one.contents()).toBe(before)
      expect(await store.ordered.define('o', 2)).toBe(2)
      expect((await store.ordered.inFlight('o')).length).toBeGreaterThan(0)
      expect(await store.ordered.counts('o', MS)).toMatchObject({ morgueLength: 1, shards: [{ busy: 3 }, {}] })
      const takes = [{ shard: 0, token: one.token, n: 9 }]
      const answer = await store.ordered.settleAndFetch('o', 'A', requestOf(one.settlements, takes))
      expect(answer.settled).toEqual(['ok', 'ok', 'ok'])
      expect(
        sure(answer.fetched[0])
          .ids.map(({ id }) => id)
          .sort(),
      ).toEqual([w1, w2].sort())
      expect(await store.ordered.join('o', 'B')).toBe(true)
      expect(await store.ordered.acquireShard('o', 1, 'B', 1, MS)).toMatchObject({ died: [{ id: ONE[0] }] })
      expect(await store.ordered.releaseShard('o', 0, 'A', one.token, MS)).toBe(true)
      expect(await store.ordered.cancel('o', [w1])).toEqual(['removed'])
      expect(await store.ordered.resurrect('o', [dead], MS)).toBe(1)
      await store.ordered.leave('o', 'B', MS)
      expect(await store.ordered.assignments('o')).toMatchObject({ members: ['A'] })
    } finally {
      await redis.config('SET', 'maxmemory', '0')
      await one.close()
    }
  })

  test('a push whose answer is lost is maybePushed, and one that was not sent is not', async () => {
    const proxy = new FaultProxy(await freePort(), server.port, 1)
    await proxy.listen()
    const { redis } = await scene()
    const database = scenes
    const store = openStore(proxy.url(database))
    try {
      await store.ordered.push('o', 2, [item(extra, '"0"')], MS)
      for (const [act, stored] of [
        ['cut-before', false],
        ['cut-before-reply', true],
      ] as const) {
        proxy.onRequest((name) => name.startsWith('EVAL'), act)
        const error = await store.ordered.push('o', 2, [item(extra, `"${act}"`)], MS).catch((thrown) => thrown)
        expect(error).toBeInstanceOf(PushError)
        expect(error).toMatchObject({ maybePushed: true })
        const { waiting } = await openStoreFor(server.url(database), (direct) => direct.ordered.find('o', extra))
        expect(waiting?.payloads.some(([text]) => text === `"${act}"`)).toBe(stored)
      }
    } finally {
      redis.disconnect()
      await store.close()
      await proxy.close()
    }
  })

  test('an owner that repeats acquireShard gets the same deaths until it fetches', async () => {
    const one = await scene()
    const { store } = one
    try {
      const first = sure(await store.ordered.acquireShard('o', 1, 'B', 1, MS))
      expect(first.died).toMatchObject([{ id: ONE[0], error: 'crashed 1 times', deaths: 1 }])
      expect(await store.ordered.acquireShard('o', 1, 'B', 1, MS)).toEqual({ ...first, rescued: 0 })
      expect(await store.ordered.acquireShard('o', 1, 'A', 1, MS)).toBe(null)
      await store.ordered.settleAndFetch('o', 'B', requestOf([], [{ shard: 1, token: first.token, n: 1 }]))
      expect(await store.ordered.acquireShard('o', 1, 'B', 1, MS)).toEqual({
        token: first.token,
        rescued: 0,
        died: [],
      })
    } finally {
      await one.close()
    }
  })

  test('the index of names is kept while it is used, and dropped after a while', async () => {
    const one = await scene()
    const { store, redis } = one
    const root = 'hk:{queue:many}:ordered'
    const ids = Array.from({ length: 2300 }, (_, n) => `id${String(n).padStart(4, '0')}`)
    const push = async (some: readonly string[]) => {
      for (let from = 0; from < some.length; from += 100) {
        const items = some.slice(from, from + 100).map((id) => item(id, '"x"'))
        await store.ordered.push('many', 2, items, MS)
      }
    }
    const named = async () => {
      const found = await store.ordered.waiting('many', 'id', { limit: 5000, payloads: 0 })
      return found.map(({ id }) => id)
    }
    try {
      await push(ids.slice(0, 2000))
      expect(await redis.exists(`${root}:names`)).toBe(0)
      // Another process has begun, before the server was restarted: its cursor is not valid any more.
      await redis.hset(root, { named: Date.now() + 60_000, naming: '0123abc 4711' })
      await push(ids.slice(2000, 2100))
      expect(await named()).toEqual(ids.slice(0, 2100))
      // Ids are added and removed meanwhile.
      await push(ids.slice(2100, 2200))
      await store.ordered.act('many', 'delete', ids.slice(0, 50), { now: MS })
      await store.workers.join('W', { queues: ['many'], seconds: 600, host: 'here' })
      await store.ordered.join('many', 'W')
      const { token } = sure(await store.ordered.acquireShard('many', 0, 'W', 3, MS))
      const answer = await store.ordered.settleAndFetch('many', 'W', requestOf([], [{ shard: 0, token, n: 20 }]))
      const taken = new Set(sure(answer.fetched[0]).ids.map(({ id }) => id))
      expect(taken.size).toBe(20)
      const left = ids.slice(50, 2200).filter((id) => !taken.has(id))
      expect(await redis.zcard(`${root}:names`)).toBe(left.length)
      expect(await named()).toEqual(left)
      // The index has not been used for long.
      await redis.hset(root, 'named', 1)
      await push(ids.slice(2200, 2250))
      expect(await redis.exists(`${root}:names`)).toBe(0)
      expect(await redis.hmget(root, 'named', 'naming')).toEqual([null, null])
      expect(await named()).toEqual([...left, ...ids.slice(2200, 2250)])
      // The index is dropped while ids are moved between shards: all are moved all the same.
      await store.ordered.reshard('many', 5)
      expect(await store.ordered.moveShards('many')).toBeGreaterThan(0)
      await redis.hset(root, 'named', 1)
      await push(ids.slice(2250))
      expect(await redis.exists(`${root}:names`)).toBe(0)
      while ((await store.ordered.moveShards('many')) > 0);
      expect(await store.ordered.assignments('many')).toMatchObject({ shards: 5, from: null })
      for (let shard = 0; shard < 5; shard++) {
        const due = await redis.zrange(`${root}:due:${shard}`, 0, '-1')
        expect(due.filter((id) => shardOf(id, 5) !== shard)).toEqual([])
      }
    } finally {
      await one.close()
    }
  })

  test('a wait names the shard that was changed, and all shards when there are several', async () => {
    const one = await scene()
    const { store, redis } = one
    const push = (id: string, performIn: number) => store.ordered.push('o', 2, [item(id, '"1"', 1, performIn)], MS)
    const wait = () => store.ordered.wait('A', ['p', 'o'], 5000, new AbortController().signal)
    await store.ordered.acquireShard('o', 1, 'A', 3, MS)
    await redis.del('hk:{queue:o}:ordered:notifications:A')
    await push(sure(ZERO[20]), 500)
    expect(await wait()).toEqual({ queue: 'o', shard: 0 })
    await push(sure(ONE[20]), 500)
    await push(sure(ONE[21]), 400)
    expect(await wait()).toEqual({ queue: 'o', shard: 1 })
    await push(sure(ONE[22]), 300)
    await push(sure(ZERO[21]), 400)
    expect(await wait()).toEqual({ queue: 'o', shard: undefined })
    await store.ordered.pause('o', true)
    await push(sure(ZERO[22]), 300)
    expect(await wait()).toEqual({ queue: 'o', shard: undefined })
    await one.close()
  })

  test('after a push the worker fetches only from the shard and queue of that push', async () => {
    const hq = new Highkiq({ url: server.url(++scenes) })
    const ran = new Collector<string>()
    const [one] = ['One', 'Two'].map((name) => hq.ordered(name, { shards: 4 }, () => ran.add(name)))
    const worker = hq.worker({ pollInterval: 1 })
    await worker.start()
    await expect.poll(async () => (await sure(one).stats()).shards.every(({ owner }) => owner)).toBe(true)
    await sure(one).performAsync({ id: ZERO[0] })
    await ran.atLeast(1)
    await expect.poll(async () => (await sure(one).stats()).processed).toBe(1)
    const asked: [string, number[]][] = []
    const { store } = hq
    const turn = store.ordered.settleAndFetch.bind(store.ordered)
    store.ordered.settleAndFetch = (queue, owner, about) => {
      asked.push([queue, about.fetch.filter(({ n }) => n > 0).map(({ shard }) => shard)])
      return turn(queue, owner, about)
    }
    const { queue } = sure(one)
    const shard = shardOf(sure(ONE[0]), 4)
    // At intervals the worker asks for all shards anyway.
    let isAlone = false
    for (let n = 2; n < 6 && !isAlone; n++) {
      asked.splice(0)
      await sure(one).performAsync({ id: ONE[0] })
      await ran.atLeast(n)
      isAlone = asked.length > 0 && asked.every(([name, shards]) => name === queue && shards.every((s) => s === shard))
    }
    expect(isAlone).toBe(true)
    await worker.stop()
    await hq.close()
  })

  test('a queue that is created again while it is deleted is still listed', async () => {
    const proxy = new FaultProxy(await freePort(), server.port, 1)
    await proxy.listen()
    const { redis, store: direct } = await scene()
    const store = openStore(proxy.url(scenes))
    try {
      await direct.ordered.define('again', 2)
      const step = proxy.onRequest((name) => name === 'SREM', 'hold')
      const forgotten = store.ordered.deleteQueue('again')
      await step.happened
      await direct.ordered.push('again', 2, [item('a', '"1"')], MS)
      step.release()
      expect(await forgotten).toBe(true)
      expect(await direct.ordered.queues()).toContain('again')
    } finally {
      redis.disconnect()
      await store.close()
      await proxy.close()
    }
  })
})

async function openStoreFor<T>(url: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = openStore(url)
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}
