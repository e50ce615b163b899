import { expect, test } from 'vitest'
import { bench, Collector, gate, promptly, until } from './bench.ts'

test('a scheduled job runs when it is due: a push of the same process wakes the background service', async () => {
  const { hq, work } = bench()
  const late = new Collector<number>()
  const J = hq.job('J', async (_ctx, due: number) => late.add(Date.now() - due))
  await work({ pollInterval: 1 })
  // The nearer one comes later: whoever sleeps until the first one would miss it.
  const now = Date.now()
  await J.performAt(new Date(now + 700), now + 700)
  await J.performAt(new Date(now + 200), now + 200)
  await late.atLeast(2)
  for (const ms of late.all) {
    expect(ms).toBeGreaterThanOrEqual(0)
    expect(ms).toBeLessThan(500)
  }
})

test('a job that another process schedules runs in time', async () => {
  const a = bench()
  const b = a.another()
  const late = new Collector<number>()
  const J = a.hq.job('J', async (_ctx, due: number) => late.add(Date.now() - due))
  b.hq.job('J', async (_ctx, due: number) => late.add(Date.now() - due))
  await b.work({ pollInterval: 1 })
  const due = Date.now() + 300
  await J.performAt(new Date(due), due)
  const [ms] = await late.atLeast(1)
  expect(ms).toBeGreaterThanOrEqual(0)
  expect(ms).toBeLessThan(1200)
})

test('more than a batch of due jobs run in the order of their times, each once', async () => {
  const { hq, work, settled, clock } = bench()
  const ran: number[] = []
  const J = hq.job('J', async (_ctx, n: number) => void ran.push(n))
  const now = Date.now()
  for (let n = 0; n < 250; n++) void J.performAt(now / 1000 + 100 + n / 1000, n)
  await until(async () => (await hq.store.jobSets.size('schedule')) === 250)
  clock.ahead = 101
  await work({ concurrency: 1 })
  await until(async () => (await hq.store.jobSets.size('schedule')) === 0)
  await settled()
  expect(ran).toEqual(Array.from({ length: 250 }, (_, n) => n))
})

test('a limited job starts when its limit has room, while jobs become due as fast as the worker can move them', async () => {
  const t = bench()
  const { jobs, jobSets } = t.hq.store
  const [ran, moves] = [new Collector<number>(), new Collector<true>()]
  const { opened, open } = gate()
  const Limited = t.hq.job('Limited', { limit: { concurrency: 1 } }, async (_ctx, n: number) => {
    ran.add(n)
    if (n === 1) await opened
  })
  let pushed = 0
  const due = () => {
    const text = JSON.stringify({ class: 'Due', args: [], jid: `due ${pushed++}`, queue: 'unserved' })
    return { to: 'schedule', text, score: 1 } as const
  }
  const swap = jobSets.swap.bind(jobSets)
  jobSets.swap = async (set, swaps, now) => {
    if (set === 'schedule') {
      await jobs.push(swaps.map(due), now)
      moves.add(true)
    }
    return swap(set, swaps, now)
  }
  await t.work({ concurrency: 2 })
  await Limited.performBulk([[1], [2]])
  await until(async () => (await t.hq.stats()).limited === 1)
  await jobs.push(Array.from({ length: 200 }, due), Date.now())
  await moves.atLeast(3)
  open()
  expect(await ran.atLeast(2)).toEqual([1, 2])
})

test('only one of several workers moves due jobs', async () => {
  const apps = [bench()]
  for (let n = 0; n < 2; n++) apps.push((apps[0] as (typeof apps)[0]).another())
  const moved = new Collector<number>()
  const ran = new Collector<unknown>()
  for (const [n, { hq, work }] of apps.entries()) {
    hq.job('J', async (ctx) => ran.add(ctx.jid))
    hq.client.use((_payload, next) => {
      moved.add(n)
      return next()
    })
    await work()
  }
  const pusher = (apps[0] as (typeof apps)[0]).another()
  const J = pusher.hq.job('J', async () => {})
  const at = Date.now() / 1000 + 100
  for (let n = 0; n < 40; n++) await J.performAt(at + n)
  for (let n = 0; n < 40; n++) {
    for (const { clock } of apps) clock.ahead = 101 + n
    await ran.atLeast(n + 1)
  }
  await ran.atLeast(40)
  expect(moved.all).toHaveLength(40)
  expect(new Set(moved.all).size).toBe(1)
  expect(new Set(ran.all).size).toBe(40)
})

test('when the worker that moves due jobs becomes quiet, it releases the leader lock, and another continues', async () => {
  const a = bench()
  const b = a.another()
  const ran = new Collector<string>()
  const released = new Collector<string>()
  const release = a.hq.store.workers.releaseLock.bind(a.hq.store.workers)
  a.hq.store.workers.releaseLock = async (name, holder) => {
    await release(name, holder)
    released.add(name)
  }
  const J = a.hq.job('J', async () => ran.add('a'))
  b.hq.job('J', async () => ran.add('b'))
  const first = await a.work()
  await J.performIn(0.01)
  await ran.atLeast(1)
  await b.work()
  await first.quiet()
  await until(() => released.all.includes('due-jobs'))
  await J.performIn(0.01)
  await ran.atLeast(2)
  expect(ran.all[1]).toBe('b')
})

test('a due job whose client middleware hangs delays no other job, and its middleware runs in one worker', async () => {
  const a = bench()
  const b = a.another()
  const ran = new Collector<string>()
  const passed = new Collector<string>()
  const leaders = new Collector<string>()
  const { opened, open } = gate()
  for (const [worker, { hq }] of Object.entries({ a, b })) {
    const { workers } = hq.store
    const acquire = workers.acquireLock.bind(workers)
    workers.acquireLock = async (lock, ...rest) => {
      const isHeld = await acquire(lock, ...rest)
      if (lock === 'due-jobs' && isHeld) leaders.add(worker)
      return isHeld
    }
    hq.job('J', async (_ctx, name: string) => ran.add(name))
    hq.client.use(async (payload, next) => {
      passed.add(payload.args[0] as string)
      if (payload.args[0] === 'hangs') await opened
      return next()
    })
  }
  const J = a.another().hq.job('J', async (_ctx, _name: string) => {})
  const due = Date.now() / 1000 + 0.5
  await J.performAt(due, 'hangs')
  await J.performAt(due, 'beside')
  await a.work()
  await b.work()
  await promptly(2, ran.atLeast(1))
  // The leader keeps its lock while the middleware hangs.
  await leaders.atLeast(leaders.all.length + 1)
  await J.performIn(0.01, 'behind')
  await promptly(2, ran.atLeast(2))
  expect(ran.all).toEqual(['beside', 'behind'])
  expect(passed.all.filter((name) => name === 'hangs')).toHaveLength(1)
  expect(new Set(leaders.all).size).toBe(1)
  open()
  await promptly(1, ran.atLeast(3))
  expect(passed.all).toHaveLength(3)
})

test('promote chooses another queue, deletes or postpones a job; without an answer the job goes to its own queue', async () => {
  const { hq, work, clock, queue, set } = bench()
  const asked: unknown[] = []
  const J = hq.job('J', { queue: 'own' }, (_ctx, _name: string) => {})
  const now = Date.now() / 1000
  const later = new Date((now + 5000) * 1000)
  const answers: Record<string, string | Date | undefined> = { other: 'other', gone: 'drop', later, own: undefined }
  // What is past is now.
  answers.past = new Date(1)
  for (const [n, name] of Object.keys(answers).entries()) await J.performAt(now + 100 + n, name)
  await hq.store.jobs.push([{ to: 'schedule', text: 'garbage', score: 1 }], Date.now())
  let passed = 0
  hq.client.use((_payload, next) => {
    passed++
    return next()
  })
  clock.ahead = 200
  await work({
    queues: ['none'],
    promote: async (payload) => {
      asked.push(payload.args[0])
      return answers[payload.args[0] as string]
    },
  })
  await until(
    async () => (await hq.store.jobSets.size('schedule')) === 1 && (await hq.store.metrics.totals()).enqueued === 3,
  )
  expect(asked).toEqual(['other', 'gone', 'later', 'own', 'past'])
  expect(await set('schedule')).toMatchObject([{ args: ['later'], score: later.getTime() / 1000 }])
  expect(await queue('other')).toMatchObject([{ args: ['other'], queue: 'other' }])
  expect((await queue('own')).map(({ args }) => args[0])).toEqual(['own', 'past'])
  expect(await set('dead')).toMatchObject([{ text: 'garbage' }])
  // What is dropped or put off does not pass the client middleware.
  expect(passed).toBe(3)
})

test('a due job without a queue, or whose queue has a NUL, runs in the queue default', async () => {
  const { hq, work } = bench()
  const ran = new Collector<string>()
  hq.job('J', (_ctx, queue: string) => void ran.add(queue))
  for (const queue of ['\0', 'a\0', '']) {
    const text = JSON.stringify({ class: 'J', args: [queue], queue, jid: `j${queue}` })
    await hq.store.jobs.push([{ to: 'schedule', text, score: 1 }], Date.now())
  }
  await work()
  expect((await ran.atLeast(3)).sort()).toEqual(['', '\0', 'a\0'])
})

test.each<[string, () => unknown]>([
  [
    'throws',
    () => {
      throw new Error('no plan')
    },
  ],
  ['names no queue', () => 'a b'],
  ['answers an invalid date', () => new Date('never')],
  ['answers a number', () => 5],
])('a promote of one’s own that %s puts the job off by a minute, and is reported', async (_, promote) => {
  const { hq, work, clock, set, errors } = bench({ url: 'sqlite::memory:' })
  const J = hq.job('J', () => {})
  const now = Date.now() / 1000
  await J.performAt(now + 100)
  clock.ahead = 200
  await work({ promote: promote as () => undefined })
  await until(async () => ((await set('schedule'))[0]?.score ?? 0) > now + 250)
  expect(errors).toMatchObject([{ about: { during: 'promoting a due job', again: 'in 60 s' } }])
})
