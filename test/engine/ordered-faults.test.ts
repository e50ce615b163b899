import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Highkiq, HighkiqError } from 'highkiq'
import { expect, test } from 'vitest'
import { shardOf } from '#dist/store/contract.js'
import { bench, Child, Collector, gate, until } from './bench.ts'

type Request = Parameters<Highkiq['store']['ordered']['settleAndFetch']>[2]

/** Stands between the app and its store: `before` may break a call that is not made, `after` one whose answer is lost. */
function meddle(
  { store }: Highkiq,
  { before, after }: { before?: (turn: Request) => void; after?: (turn: Request) => void },
) {
  const made = store.ordered.settleAndFetch.bind(store.ordered)
  store.ordered.settleAndFetch = async (queue, owner, turn) => {
    before?.(turn)
    const answer = await made(queue, owner, turn)
    after?.(turn)
    return answer
  }
}

function once(breaks: (turn: Request) => boolean): (turn: Request) => void {
  let broke = false
  return (turn) => {
    if (broke || !breaks(turn)) return
    broke = true
    throw new Error('the connection broke')
  }
}

/** Nothing waits, and nothing is in flight. */
const emptied = (job: { stats(): Promise<{ length: number; busy: number }> }) =>
  until(async () => {
    const { length, busy } = await job.stats()
    return length + busy === 0
  })

/** An id that falls into a shard. */
function idOf(shard: number, shards: number): string {
  for (let id = 0; ; id++) if (shardOf(`${id}`, shards) === shard) return `${id}`
}

const fetches = (turn: Request) => turn.fetch.some(({ n }) => n > 0)
const settles = (turn: Request) => turn.settlements.length > 0

test.each([
  ['a call that takes is not made', { before: once(fetches) }],
  ['the answer to a call that takes is lost', { after: once(fetches) }],
  ['a call that settles is not made', { before: once(settles) }],
  ['the answer to a call that settles is lost', { after: once(settles) }],
])('%s: everything runs once, in its order', async (_, faults) => {
  const t = bench()
  meddle(t.hq, faults)
  const ran: Record<string, unknown[]> = {}
  const job = t.hq.ordered('Sync', { shards: 3, batchSize: 2 }, (_ctx, batch) => {
    for (const [id, payloads] of batch) ran[id] = [...(ran[id] ?? []), ...payloads]
  })
  for (const payload of [1, 2, 3]) {
    await job.performAsync(Array.from({ length: 100 }, (_, id) => ({ id, payload, performAt: new Date(1000) })))
    if (payload === 1) await t.work()
  }
  await emptied(job)
  expect(Object.keys(ran)).toHaveLength(100)
  for (const payloads of Object.values(ran)) expect(payloads).toEqual([1, 2, 3])
  expect(t.errors.map(({ error }) => error.message)).toEqual(['the connection broke'])
  await until(async () => (await job.stats()).processed >= 100)
})

test.each([
  ['the disk is full, and the shard goes', new HighkiqError('STORE_FULL', 'the disk is full'), 'before'],
  ['no answer comes, the id is seen in flight, and then the shard goes', new Error('the connection broke'), 'after'],
])('%s to another process: onExhausted does not hear of an id that is not dead', async (_, problem, when) => {
  const t = bench()
  const { store } = t.hq
  const exhausted = new Collector<unknown>()
  const calls = new Collector<unknown>()
  const { opened, open } = gate()
  const options = { shards: 1, maxRetries: 0, onExhausted: (dead: unknown) => exhausted.add(dead) }
  const job = t.hq.ordered('Sync', options, async (_ctx, batch) => {
    calls.add([...batch.keys()])
    if (calls.all.length === 1) throw new Error('first')
    await opened
  })
  const dies = (turn: Request) => turn.settlements.some(({ end }) => end.kind === 'dead')
  let failed = false
  meddle(t.hq, {
    before: (turn) => {
      if (failed || !dies(turn)) return
      failed = true
      throw problem
    },
  })
  const look = store.ordered.inFlight.bind(store.ordered)
  let released = false
  store.ordered.inFlight = async (queue, owner) => {
    const found = await look(queue, owner)
    const [one] = failed && !released ? found : []
    if (!one) return found
    released = true
    await store.ordered.releaseShard(queue, one.shard, one.owner, one.token, Date.now())
    return when === 'after' ? found : look(queue, owner)
  }
  await job.performAsync({ id: 'a' })
  await t.work()
  await calls.atLeast(2)
  open()
  await emptied(job)
  expect(exhausted.all).toEqual([])
  expect((await job.morgue.list()).items).toEqual([])
  expect(t.errors.map(({ error }) => error.code)).toContain('LEASE_LOST')
})

test('a worker that loses its lease aborts its handlers, and continues with a new identity', async () => {
  const t = bench()
  const reasons = new Collector<string>()
  const fences: number[] = []
  const job = t.hq.ordered('Sync', { shards: 1 }, async (ctx) => {
    fences.push(ctx.fence)
    if (fences.length > 1) return
    await new Promise<void>((resolve) =>
      ctx.signal.addEventListener('abort', () => {
        reasons.add(ctx.signal.reason.code)
        resolve()
      }),
    )
  })
  await job.performAsync([{ id: 1 }, { id: 2 }])
  const worker = await t.work()
  await until(() => fences.length === 1)
  await t.hq.store.workers.claim(`${worker.identity}.0`)
  await reasons.atLeast(1)
  await until(async () => (await job.stats()).processed === 2)
  expect(reasons.all).toEqual(['LEASE_LOST'])
  expect(fences).toHaveLength(3)
  expect(fences[1]).toBeGreaterThan(fences[0] as number)
  expect(t.errors.map(({ error }) => error.code)).toContain('LEASE_LOST')
})

test('batches of a killed process run elsewhere, in order, and count once', async () => {
  const t = bench()
  const calls = new Collector<unknown>()
  const job = t.hq.ordered('Sync', { shards: 1 }, (_ctx, batch) => calls.add(Object.fromEntries(batch)))
  await job.performAsync({ id: 'a', payload: 'wait', score: 10 })
  const child = new Child(t.url, { ordered: {} })
  await child.waitFor('batch')
  await job.performAsync([
    { id: 'a', payload: 'later', score: 20 },
    { id: 'a', payload: 'before', score: 5 },
  ])
  child.kill('SIGKILL')
  await child.exited
  await t.work({ leaseSeconds: 1 })
  expect(await calls.atLeast(1)).toEqual([{ a: ['before', 'wait', 'later'] }])
  await until(async () => (await job.stats()).processed === 1)
})

test('an id that crashes its process three times in a row goes to the morgue, and the others run', async () => {
  const t = bench()
  const job = t.hq.ordered('Sync', { shards: 1 }, () => {})
  await job.performAsync([
    { id: 'good', performAt: new Date(1000) },
    { id: 'bad', payload: 'kill', performAt: new Date(2000) },
    { id: 'fine', performAt: new Date(3000) },
  ])
  const children: Child[] = []
  const over = emptied(job)
  for (let isOver = false; !isOver; ) {
    const child = new Child(t.url, { ordered: {} })
    children.push(child)
    isOver = await Promise.race([child.exited.then(() => false), over.then(() => true)])
  }
  const batches = children.flatMap((child) => child.all('batch').map(({ ids }) => ids))
  // The first time it was in flight beside another one, and nobody knew.
  expect(batches.filter((ids) => String(ids) === 'bad').length).toBe(4)
  expect(batches.filter((ids) => String(ids) === 'fine').length).toBe(1)
  expect((await job.morgue.list()).items).toMatchObject([{ id: 'bad', error: 'crashed 3 times' }])
})

test('deaths at the takeover of a shard are reported, even when the answer with them was lost', async (context) => {
  const t = bench()
  context.skip(t.url.startsWith('sqlite'), "its answers can't be lost on their way")
  const told = new Collector<unknown>()
  const options = { shards: 1, maxCrashes: 1, onExhausted: (dead: unknown) => told.add(dead) }
  const job = t.hq.ordered('Sync', options, () => {})
  await job.performAsync({ id: 'x', payload: 'p', score: 1 })
  const { store } = t.hq
  await store.workers.join('gone', { queues: ['Sync'], seconds: 60, host: 'elsewhere' })
  await store.ordered.join('Sync', 'gone')
  const owned = await store.ordered.acquireShard('Sync', 0, 'gone', 1, Date.now())
  const takes = [{ shard: 0, token: owned?.token ?? 0, n: 1 }]
  await store.ordered.settleAndFetch('Sync', 'gone', { now: Date.now(), settlements: [], fetch: takes, maxPayloads: 1 })
  await store.workers.claim('gone')
  const own = store.ordered.acquireShard.bind(store.ordered)
  let lost = 0
  store.ordered.acquireShard = async (...about) => {
    const answer = await own(...about)
    if (lost++ === 0) throw new Error('the connection broke')
    return answer
  }
  await t.work()
  expect(await told.atLeast(1)).toEqual([
    [{ id: 'x', payloads: [{ payload: 'p', score: 1 }], error: 'crashed 1 times' }],
  ])
  expect(lost).toBe(2)
})

test('an uncaught error counts as a crash of the running id', async () => {
  const t = bench()
  const job = t.hq.ordered('Sync', { shards: 1 }, () => {})
  await job.performAsync({ id: 'x', payload: 'doom' })
  for (let n = 0; n < 3; n++) {
    const child = new Child(t.url, { ordered: {}, timeout: 0.1 })
    await child.waitFor('batch')
    expect(await child.exited).toMatchObject({ code: 1 })
  }
  await t.work({ leaseSeconds: 1 })
  await until(async () => (await job.stats()).morgueLength === 1)
  expect(await job.morgue.find('x')).toMatchObject({ error: 'crashed 3 times' })
})

test('a process that was frozen past its lease starts nothing before it has checked its shards', async () => {
  const t = bench()
  const job = t.hq.ordered('Sync', { shards: 1 }, () => {})
  const ids = Array.from({ length: 30 }, (_, id) => String(id))
  await job.performAsync(ids.map((id, i) => ({ id, payload: 'sleep', performAt: new Date(1000 + i) })))
  const frozen = new Child(t.url, { ordered: {} })
  // It sleeps in the midst of one, has told how the one before ended, and does not just begin with the next.
  await frozen.freeze(t, async () => {
    await frozen.waitFor('batch', Math.max(3, frozen.all('batch').length + 1))
    await new Promise((resolve) => setTimeout(resolve, 50))
  })
  await t.work({ leaseSeconds: 1 })
  await emptied(job)
  // All that it had told before has been read by now.
  const begun = frozen.all('batch').length
  frozen.kill('SIGCONT')
  await until(() => frozen.all('error').length > 0)
  await job.performAsync({ id: 'after' })
  await emptied(job)
  // The one that it was in the middle of ended there, too.
  const again = frozen.all('batch').slice(begun)
  expect(again.filter(({ ids }) => String(ids) !== 'after')).toEqual([])
})

test('a worker waits for a store that is briefly away, and nothing is lost', async () => {
  const t = bench()
  const { opened, open } = gate()
  let away = false
  meddle(t.hq, {
    before: () => {
      if (away) throw new Error('away')
    },
  })
  const calls = new Collector<unknown>()
  const job = t.hq.ordered('Sync', { shards: 1 }, async (_ctx, batch) => {
    calls.add([...batch.keys()])
    if (calls.all.length === 1) await opened
  })
  await job.performAsync([
    { id: 1, performAt: new Date(1000) },
    { id: 2, performAt: new Date(2000) },
  ])
  await t.work()
  await calls.atLeast(1)
  away = true
  open()
  await until(() => t.errors.length > 0)
  await new Promise((resolve) => setTimeout(resolve, 300))
  away = false
  await until(async () => (await job.stats()).processed === 2)
  expect(calls.all).toEqual([['1'], ['2']])
  expect(t.errors.map(({ error }) => error.message)).toEqual(['away'])
})

/** What the app does with its store: calls that take, and waits. */
function told(hq: Highkiq, after = () => {}) {
  const heard: string[] = []
  meddle(hq, {
    after: (turn) => {
      if (!fetches(turn)) return
      heard.push('asked')
      after()
    },
  })
  const { store } = hq
  const wait = store.ordered.wait.bind(store.ordered)
  store.ordered.wait = (...args) => {
    heard.push('waits')
    return wait(...args)
  }
  return heard
}

test('ids that become due during a call are fetched at once', async () => {
  const time = { now: 1000 }
  const t = bench({ clock: { now: () => time.now * 1000 } })
  const heard = told(t.hq, () => {
    time.now = 1010
  })
  const { opened, open } = gate()
  const job = t.hq.ordered('Sync', { shards: 1 }, () => {
    heard.push('began')
    open()
  })
  await job.performAsync({ id: 1, performAt: new Date(1_005_000) })
  await t.work({ pollInterval: 1 })
  await opened
  expect(heard.slice(heard.indexOf('asked'))).toEqual(['asked', 'asked', 'began'])
})

test('a shard with large payloads leaves room in the calls for the others', async () => {
  const t = bench()
  const heard = told(t.hq)
  const { opened, open } = gate()
  const calls = new Collector<unknown>()
  const job = t.hq.ordered('Sync', { shards: 2 }, async (_ctx, batch) => {
    heard.push('began')
    calls.add([...batch.keys()])
    await opened
  })
  await t.work({ pollInterval: 1 })
  await until(async () => (await job.stats()).shards.filter(({ owner }) => owner).length === 2)
  await job.pause()
  const payload = 'x'.repeat(600_000)
  for (let id = 1; id <= 12; id++) await job.performAsync({ id, payload })
  heard.splice(0)
  await job.resume()
  // One of each.
  await calls.atLeast(2)
  const [first, second] = [heard.indexOf('began'), heard.lastIndexOf('began')]
  expect(heard.slice(first, second)).not.toContain('waits')
  open()
  await emptied(job)
})

test('a release that reaches the store late does not affect the batch that runs by then', async () => {
  const t = bench()
  const { opened, open } = gate()
  const { store } = t.hq
  const running = { now: 0, most: 0 }
  const job = t.hq.ordered('Sync', { shards: 1 }, async () => {
    running.most = Math.max(running.most, ++running.now)
    await opened
    running.now--
  })
  let share = [{ queue: 'Sync', shard: 0 }]
  const release = store.ordered.releaseShard.bind(store.ordered)
  let late: (() => Promise<boolean>) | undefined
  store.ordered.releaseShard = async (...about) => {
    if (late) return release(...about)
    late = () => release(...about)
    share = [{ queue: 'Sync', shard: 0 }]
    throw new Error('the connection broke')
  }
  await t.work({ leaseSeconds: 1, splitter: () => share })
  const owner = async () => (await store.ordered.assignments('Sync'))?.owners[0]?.owner
  await until(owner)
  share = []
  await until(() => late)
  await job.performAsync({ id: 1 })
  await until(() => running.now === 1)
  await late?.()
  // Two looks at who owns what.
  await sleep(1000)
  open()
  await emptied(job)
  expect(running.most).toBe(1)
  expect(t.errors.map(({ error }) => error.message)).toEqual(['the connection broke'])
  expect(await job.stats()).toMatchObject({ processed: 1 })
})

test('a worker acquires and releases the other shards when the store refuses one', async () => {
  const t = bench()
  const { store } = t.hq
  const calls = new Collector<unknown>()
  const job = t.hq.ordered('Sync', { shards: 3 }, (_ctx, batch) => calls.add([...batch.keys()]))
  const acquire = store.ordered.acquireShard.bind(store.ordered)
  store.ordered.acquireShard = async (queue, shard, ...rest) => {
    if (shard === 0) throw new Error('refused')
    return acquire(queue, shard, ...rest)
  }
  const release = store.ordered.releaseShard.bind(store.ordered)
  store.ordered.releaseShard = async (queue, shard, ...rest) => {
    if (shard === 1) throw new Error('refused')
    return release(queue, shard, ...rest)
  }
  const ids = [0, 1, 2].map((shard) => idOf(shard, 3))
  await job.performAsync(ids.map((id) => ({ id })))
  const worker = await t.work()
  await calls.atLeast(2)
  expect(calls.all.flat().sort()).toEqual(ids.slice(1).sort())
  const owners = async () => (await store.ordered.assignments('Sync'))?.owners.map(({ owner }) => owner !== null)
  expect(await owners()).toEqual([false, true, true])
  await worker.quiet()
  await until(async () => (await owners())?.join() === 'false,true,false')
  expect(new Set(t.errors.map(({ error }) => error.message))).toEqual(new Set(['refused']))
})

test('a queue that is deleted while a worker joins it is defined again, and the worker keeps its lease', async () => {
  const t = bench()
  const { store } = t.hq
  const { opened, open } = gate()
  const runs = new Collector<unknown>()
  const Slow = t.hq.job('Slow', () => {
    runs.add('began')
    return opened
  })
  t.hq.ordered('Sync', { shards: 1 }, () => {})
  const define = store.ordered.define.bind(store.ordered)
  let isDeleted = false
  store.ordered.define = async (queue, shards) => {
    const stored = await define(queue, shards)
    if (!isDeleted) isDeleted = await store.ordered.deleteQueue(queue)
    return stored
  }
  await Slow.performAsync()
  await t.work()
  await runs.atLeast(1)
  await until(async () => (await store.ordered.assignments('Sync'))?.members.length === 1)
  open()
  await t.settled()
  expect(isDeleted).toBe(true)
  expect(runs.all).toHaveLength(1)
  expect(t.errors).toEqual([])
})

test('while the store refuses one settlement, the other ids run and the worker stops at once', async () => {
  const t = bench()
  const { store } = t.hq
  const settle = store.ordered.settleAndFetch.bind(store.ordered)
  const refused = new Collector<number>()
  store.ordered.settleAndFetch = async (queue, owner, call) => {
    const at = call.settlements.findIndex(({ id }) => id === 'bad')
    if (at < 0) return settle(queue, owner, call)
    const answer = await settle(queue, owner, { ...call, settlements: call.settlements.toSpliced(at, 1) })
    refused.add(at)
    return { ...answer, settled: answer.settled.toSpliced(at, 0, 'error'), problem: 'bad: refused' }
  }
  const job = t.hq.ordered('Sync', { shards: 2 }, () => {})
  await job.performAsync({ id: 'bad' })
  const worker = await t.work({ timeout: 10 })
  await refused.atLeast(3)
  await job.performAsync(Array.from({ length: 300 }, (_, id) => ({ id })))
  await until(async () => (await job.stats()).processed === 300)
  const before = performance.now()
  await worker.stop()
  expect(performance.now() - before).toBeLessThan(6000)
  expect((await store.ordered.assignments('Sync'))?.members).toEqual([])
  expect((await job.waiting.list()).items.map(({ id }) => id)).toEqual(['bad'])
  expect(new Set(t.errors.map(({ error }) => error.message))).toEqual(new Set(['bad: refused']))
})

test('a worker whose store the app closes leaves the event loop free, also when an id becomes due', () => {
  const t = bench()
  // A blocked event loop would block the test, too, so the worker has a process of its own.
  const program = `
    import { Highkiq } from 'highkiq'
    import { setTimeout as sleep } from 'node:timers/promises'
    const hq = new Highkiq({ url: ${JSON.stringify(t.url)} })
    const O = hq.ordered('O', { shards: 8, retryIn: () => 1 }, async (_ctx, batch) => {
      if (batch.has('fails')) throw new Error('broken')
      await sleep(600)
    })
    await hq.worker({ orderedConcurrency: 8 }).start()
    await O.performAsync(['fails', 'a', 'b', 'c'].map((id) => ({ id, payload: 1 })))
    await sleep(300)
    await hq.store.close()
    await sleep(1500)
    process.exit(7)
  `
  const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { timeout: 20_000 })
  expect(status).toBe(7)
})
