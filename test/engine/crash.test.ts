import { expect, test } from 'vitest'
import type { SwapAnswer } from '#dist/store/contract.js'
import { bench, Child, Collector, promptly, until } from './bench.ts'

test('the jobs of a killed process run again on another worker, long before its lease ends, in their order, once', async () => {
  const t = bench()
  const ran = new Collector<unknown>()
  t.hq.job('Long', async (ctx, n: number) => ran.add([n, ctx.attempt, ctx.payload.hk_crashes]))
  for (const n of [1, 2, 3]) await t.hq.push({ class: 'Long', args: [n] })
  // Its lease outlasts the test: the process beside it must see that it is gone.
  const child = new Child(t.url, { concurrency: 2, leaseSeconds: 300 })
  await child.waitFor('began', 2)
  await t.work({ leaseSeconds: 1, concurrency: 1 })
  await ran.atLeast(1)
  expect(ran.all).toEqual([[3, 1, undefined]])
  child.kill('SIGKILL')
  await ran.atLeast(3)
  expect(ran.all.slice(1)).toEqual([
    [1, 1, 1],
    [2, 1, 1],
  ])
  await t.settled()
  expect(await t.hq.store.metrics.totals()).toMatchObject({
    processed: 3,
    failed: 0,
    enqueued: 0,
    retries: 0,
    dead: 0,
  })
  expect(t.log.lines.filter(({ level }) => level === 'warn')).toMatchObject([
    { about: { jobs: 2 }, message: 'rescued jobs of a process that died' },
  ])
})

test('when a handler uses up the memory of its process, the jobs of that process run again on another worker', async () => {
  const t = bench()
  const ran = new Collector<unknown>()
  for (const name of ['Long', 'Hungry']) {
    t.hq.job(name, async (ctx) => ran.add([name, ctx.attempt, ctx.payload.hk_crashes]))
  }
  const child = new Child(t.url, { concurrency: 2, leaseSeconds: 300 }, 'child.js', ['--max-old-space-size=50'])
  await t.hq.push({ class: 'Long', args: [1] })
  await child.waitFor('began')
  await t.hq.push({ class: 'Hungry', args: [] })
  expect(await child.exited).toMatchObject({ code: null })
  await t.work({ leaseSeconds: 1 })
  expect((await ran.atLeast(2)).toSorted()).toEqual([
    ['Hungry', 1, 1],
    ['Long', 1, 1],
  ])
  await t.settled()
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 2, failed: 0, dead: 0 })
})

test('when the worker with the leader lock is killed, another one has its work after about a lease', async () => {
  const t = bench()
  const Later = t.hq.job('Later', () => {})
  const batch = () => t.hq.batch({}, () => Later.performIn(1e6))
  const brokenOff = async (bid: string) => {
    await t.hq.store.batches.cancel(bid, t.clock.now())
    await until(async () => (await t.hq.batches.get(bid))?.state === 'failed')
  }
  const [first, second] = [await batch(), await batch()]
  const child = new Child(t.url)
  await brokenOff(first)
  await t.work({ leaseSeconds: 1 })
  child.kill('SIGKILL')
  await child.exited
  await promptly(3, brokenOff(second))
})

test('after the third crash in a row the job is dead with the reason, and death handlers run', async () => {
  const t = bench()
  const deaths = new Collector<unknown>()
  t.hq.onDeath((payload, error) => deaths.add([payload.jid, payload.hk_crashes, (error as Error).message]))
  const jid = await t.hq.push({ class: 'Killer', args: [] })
  await t.work({ leaseSeconds: 1, queues: ['other'] })
  for (const crashes of [0, 1, 2]) {
    const child = new Child(t.url)
    const [began] = await child.waitFor('began')
    expect(began).toMatchObject({ crashes })
    expect(await child.exited).toMatchObject({ signal: 'SIGKILL' })
    if (crashes < 2) await until(async () => (await t.hq.store.metrics.totals()).enqueued === 1)
  }
  const message = 'its process died 3 times in a row while it held the job'
  expect(await deaths.atLeast(1)).toEqual([[jid, 3, message]])
  await until(async () => (await t.hq.store.jobSets.size('dead')) === 1)
  expect(await t.set('dead')).toMatchObject([{ jid, hk_crashes: 3, error_class: 'Crashed', error_message: message }])
  expect(await t.hq.store.metrics.totals()).toMatchObject({ enqueued: 0, fetched: 0 })
})

test('a job without a jid goes to the dead set by its last crash, and can be retried by hand', async () => {
  const t = bench()
  await t.raw('{"class":"Killer","args":[],"queue":"default","retry":true,"hk_crashes":2}')
  await t.work({ leaseSeconds: 1, queues: ['other'] })
  await new Child(t.url).exited
  await until(async () => (await t.hq.store.jobSets.size('dead')) === 1)
  expect(await t.hq.dead.retryAll()).toMatchObject({ done: 1 })
  expect(await t.queue()).toMatchObject([{ class: 'Killer' }])
})

test('a worker claims the lease of a dead process also while the store refuses to rescue a job of another one', async () => {
  const t = bench()
  const ran = new Collector<string>()
  const J = t.hq.job('J', (_ctx, owner: string) => ran.add(owner))
  const { workers } = t.hq.store
  for (const owner of ['refused', 'dead']) {
    await J.performAsync(owner)
    await workers.join(owner, { queues: ['default'], seconds: 1, host: 'elsewhere\n1 1' })
    const fetch = { queues: ['default'], n: 1 }
    const { fetched } = await workers.settleAndFetch(owner, { now: Date.now(), started: [], settlements: [], fetch })
    expect(fetched).toHaveLength(1)
  }
  const { rescue } = workers
  workers.rescue = (items, now) =>
    Promise.all(
      items.map(async (item): Promise<SwapAnswer> => {
        if (item.owner === 'refused') return 'error'
        const [answer] = await rescue.call(workers, [item], now)
        return answer as SwapAnswer
      }),
    )
  expect(await workers.claim('refused')).toBe(true)
  await t.work({ leaseSeconds: 1 })
  expect(await ran.atLeast(1)).toEqual(['dead'])
  expect(t.errors).toMatchObject([{ error: { code: 'STORE_UNUSABLE' } }])
})

test('an idle worker runs the jobs of a dead worker in their order, however many they are', async () => {
  const t = bench()
  const ran = new Collector<number>()
  const J = t.hq.job('J', (_ctx, n: number) => ran.add(n))
  const { workers } = t.hq.store
  const all = Array.from({ length: 350 }, (_, n) => n)
  await J.performBulk(all.map((n) => [n]))
  await workers.join('dead', { queues: ['default'], seconds: 60, host: 'elsewhere\n1 1' })
  for (let n = all.length; n > 0; ) {
    const fetch = { queues: ['default'], n }
    const { fetched } = await workers.settleAndFetch('dead', { now: Date.now(), started: [], settlements: [], fetch })
    n -= fetched.length
  }
  await t.work({ leaseSeconds: 1, concurrency: 1 })
  expect(await workers.claim('dead')).toBe(true)
  expect(await ran.atLeast(all.length)).toEqual(all)
})

test('jobs of the next dead process are rescued while an onDeath handler never answers, and a stop logs what it drops', async () => {
  const t = bench()
  const deaths = new Collector<string>()
  t.hq.onDeath((payload) => {
    deaths.add(payload.jid)
    return new Promise(() => {})
  })
  const worker = await t.work({ leaseSeconds: 1, queues: ['other'] })
  await t.raw('{"class":"Killer","args":[],"jid":"k","retry":true,"hk_crashes":2}')
  await new Child(t.url).exited
  await deaths.atLeast(1)
  await t.hq.push({ class: 'Killer', args: [] })
  await new Child(t.url).exited
  await promptly(
    3,
    until(async () => (await t.hq.store.metrics.totals()).enqueued === 1),
  )
  await worker.stop()
  const dropped = t.log.lines.filter(({ message }) => /^stopped before all onDeath handlers/.test(message))
  expect(dropped).toMatchObject([{ level: 'warn', about: { jids: ['k'] } }])
})

test('an attempt that ends resets the number of crashes', async () => {
  const t = bench({ url: 'sqlite::memory:' })
  t.hq.job('J', async () => {
    throw new Error('x')
  })
  await t.raw('{"class":"J","args":[],"jid":"j","retry":true,"hk_crashes":2}')
  await t.work()
  await until(async () => (await t.hq.store.jobSets.size('retry')) === 1)
  expect((await t.set('retry'))[0]).not.toHaveProperty('hk_crashes')
})
