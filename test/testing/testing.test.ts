import { setTimeout as sleep } from 'node:timers/promises'
import { BusinessFailure, Highkiq } from 'highkiq'
import { disable, drainAll, fake, inline } from 'highkiq/testing'
import { expect, onTestFinished, test } from 'vitest'
import { recorder } from '../engine/bench.ts'

const NOW = 1_700_000_000_123

/** An app whose store can't be opened: who pushes to it fails. */
function newApp(url = 'sqlite:/nowhere/at/all.db', now = () => NOW): Highkiq {
  const hq = new Highkiq({ url, logger: recorder(), clock: { now } })
  onTestFinished(() => hq.close())
  return hq
}

// ------------------------------------------------------------------------------------------------------------ fake

test.each([fake, inline])(
  "a tracked job can't be deferred without a worker, and the error says how to test it",
  async (mode) => {
    const hq = newApp()
    using _mode = mode(hq)
    const Pay = hq.job('Pay', { track: true }, async (ctx) => void (await ctx.defer()))
    const run = async () => {
      await Pay.performAsync()
      await Pay.drain()
    }
    await expect(run()).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/^ctx.defer: a job that runs without a worker .* test it with a worker/),
    })
  },
)

test('pushes stay in memory, by job and by queue, with enqueued_at or at, after a JSON round trip', async () => {
  const hq = newApp()
  using jobs = fake(hq)
  const Mail = hq.job('Mail', { queue: 'mails', tags: ['m'] }, async (_ctx, _to: unknown) => {})
  const list = Mail.jobs
  const jid = await Mail.performAsync({ to: 'ann', id: 2n ** 60n })
  await Mail.performIn(60, 'bob')
  await hq.push({ class: 'Ruby', args: [1] })
  expect(list).toEqual([
    {
      class: 'Mail',
      args: [{ to: 'ann', id: 2n ** 60n }],
      queue: 'mails',
      jid,
      retry: true,
      tags: ['m'],
      created_at: NOW,
      enqueued_at: NOW,
    },
    expect.objectContaining({ args: ['bob'], at: NOW / 1000 + 60 }),
  ])
  expect(list[1]).not.toHaveProperty('enqueued_at')
  expect(Mail.jobs).toBe(list)
  expect(jobs.queue('mails')).toEqual(list)
  expect(jobs.queue('default')).toMatchObject([{ class: 'Ruby' }])
  expect(jobs.jobs('Ruby')).toHaveLength(1)
  expect(jobs.jobs()).toHaveLength(3)
  Mail.clear()
  expect(list).toEqual([])
  expect(jobs.jobs().map(({ class: name }) => name)).toEqual(['Ruby'])
  jobs.clear()
  expect(jobs.jobs()).toEqual([])
})

test('bulks and pushes to another store stay in memory, too', async () => {
  const hq = newApp()
  using jobs = fake(hq)
  const J = hq.job('J', async (_ctx, _n: number) => {})
  expect(await J.performBulk([[1], [2]])).toHaveLength(2)
  await J.via('redis://127.0.0.1:1').performAsync(3)
  await hq.via('redis://127.0.0.1:1', () => J.performAsync(4))
  await hq.client.with((_payload, next) => next()).push({ class: 'J', args: [5] })
  expect(jobs.jobs().map(({ args }) => args[0])).toEqual([1, 2, 3, 4, 5])
})

test('runNow of a cron entry is collected like a push, and opens no store', async () => {
  const hq = newApp()
  using jobs = fake(hq)
  const Report = hq.job('Report', async (_ctx, at: string) => at)
  const nightly = hq.cron('nightly', '0 3 * * *', Report, {
    args: (at: Date) => [at.toISOString()],
    queue: 'reports',
    overlap: 'skip',
  })
  const jids = [await nightly.runNow(), await hq.cron('nightly').runNow()]
  const args = [new Date(NOW).toISOString()]
  expect(Report.jobs).toMatchObject(jids.map((jid) => ({ jid, args, queue: 'reports' })))
  expect(await jobs.performOne()).toBe(args[0])
})

test('arguments are checked, client middleware runs, and filtered jobs are not kept', async () => {
  const hq = newApp()
  using jobs = fake(hq)
  hq.client.use((payload, next) => {
    payload.seen = true
    return payload.args[0] === 'stop' ? null : next()
  })
  await expect(hq.push({ class: 'J', args: [new Date()] })).rejects.toMatchObject({ code: 'INVALID_ARGS' })
  await expect(hq.push({ class: 'J' } as never)).rejects.toMatchObject({ code: 'INVALID_JOB' })
  expect(await hq.push({ class: 'J', args: ['stop'] })).toBeNull()
  await hq.push({ class: 'J', args: [] })
  expect(jobs.jobs()).toMatchObject([{ seen: true }])
})

test('drain runs pushed jobs and the jobs that they push, in order, without the app’s server middleware', async () => {
  const hq = newApp()
  using jobs = fake(hq)
  const ran: unknown[] = []
  hq.server.use(() => {
    throw new Error('not here')
  })
  jobs.server.use(async (ctx, next) => {
    ran.push(`around ${ctx.args[0]}`)
    return next()
  })
  const Count = hq.job('Count', async (ctx, n: number) => {
    ran.push(n, ctx.attempt, ctx.queue)
    if (n > 1) await Count.performAsync(n - 1)
    await Other.performAsync()
  })
  const Other = hq.job('Other', { queue: 'others' }, async () => void ran.push('other'))
  await Count.performIn(3600, 2)
  expect(await Count.drain()).toBe(2)
  expect(ran).toEqual(['around 2', 2, 1, 'default', 'around 1', 1, 1, 'default'])
  expect(Other.jobs).toHaveLength(2)
  expect(await Count.drain()).toBe(0)
  await Count.performAsync(1)
  expect(await drainAll(hq)).toBe(4)
  expect(jobs.jobs()).toEqual([])
})

test('performOne runs the next job and returns its value; without a job it throws EMPTY_QUEUE', async () => {
  const hq = newApp()
  using jobs = fake(hq)
  const Double = hq.job('Double', async (_ctx, n: number) => n * 2)
  await Double.performBulk([[1], [2]])
  expect(await Double.performOne()).toBe(2)
  expect(Double.jobs.map(({ args }) => args)).toEqual([[2]])
  expect(await jobs.performOne()).toBe(4)
  const empty = { code: 'EMPTY_QUEUE', message: expect.stringContaining('no Double waits') }
  await expect(Double.performOne()).rejects.toMatchObject(empty)
  await expect(jobs.performOne()).rejects.toMatchObject({ code: 'EMPTY_QUEUE' })
})

test('an error of a handler reaches the test; its job is gone, those behind it wait', async () => {
  const hq = newApp()
  using _ = fake(hq)
  const no = new BusinessFailure('no')
  const J = hq.job('J', async (_ctx, n: number) => {
    if (n === 1) throw no
  })
  await J.performBulk([[1], [2]])
  await expect(J.drain()).rejects.toBe(no)
  expect(J.jobs.map(({ args }) => args)).toEqual([[2]])
  await hq.push({ class: 'Unknown', args: [] })
  await expect(drainAll(hq)).rejects.toMatchObject({ code: 'UNKNOWN_JOB' })
})

test('a transaction keeps its rows in the database and its jobs in memory, after the commit', async () => {
  const hq = newApp('sqlite::memory:')
  using jobs = fake(hq)
  await hq.transaction((db) => {
    db.exec('CREATE TABLE mine (n INTEGER)')
    void hq.push({ class: 'J', args: [1] })
    expect(jobs.jobs()).toEqual([])
  })
  expect(jobs.jobs()).toMatchObject([{ args: [1] }])
  await expect(
    hq.transaction(() => {
      void hq.push({ class: 'J', args: [2] })
      throw new Error('no')
    }),
  ).rejects.toThrow('no')
  expect(jobs.jobs()).toHaveLength(1)
  expect((await hq.stats()).enqueued).toBe(0)
})

// ---------------------------------------------------------------------------------------------------------- inline

test("inline runs each push at once, also scheduled ones, and throws the handler's error", async () => {
  const hq = newApp()
  using mode = inline(hq)
  const ran: unknown[] = []
  const no = new Error('no')
  hq.server.use(() => {
    throw new Error('not here')
  })
  mode.server.use((ctx, next) => {
    ran.push(`around ${ctx.payload.class}`)
    return next()
  })
  const Inner = hq.job('Inner', async (ctx, given: { a: number[] }) => void ran.push(given, ctx.jid))
  const Outer = hq.job('Outer', async (_ctx, n: number) => {
    if (n === 0) throw no
    await Inner.performAsync(given)
    ran.push('end')
  })
  const given = { a: [1] }
  const jid = await Outer.performAsync(1)
  expect(jid).toMatch(/^[0-9a-f]{24}$/)
  expect(ran).toEqual(['around Outer', 'around Inner', { a: [1] }, expect.any(String), 'end'])
  expect(ran[2]).not.toBe(given)
  await expect(Outer.performAsync(0)).rejects.toBe(no)
  await expect(Outer.performIn(60, 0)).rejects.toBe(no)
  await expect(Outer.performBulk([[1], [0], [1]])).rejects.toBe(no)
  expect(ran.filter((what) => what === 'end')).toHaveLength(2)
})

// ---------------------------------------------------------------------------------------------------- modes and scopes

test('a mode ends with its block, and only once', async () => {
  const hq = newApp('sqlite::memory:')
  {
    using jobs = fake(hq)
    await hq.push({ class: 'J', args: [1] })
    expect(jobs.jobs()).toHaveLength(1)
  }
  await hq.push({ class: 'J', args: [2] })
  expect((await hq.stats()).enqueued).toBe(1)
  const first = fake(hq)
  first.dispose()
  using second = fake(hq)
  first.dispose()
  await hq.push({ class: 'J', args: [3] })
  expect(second.jobs()).toHaveLength(1)
})

test('with a function a mode applies to that function, and not to concurrent code', async () => {
  const hq = newApp('sqlite::memory:')
  const J = hq.job('J', async (_ctx, n: number) => n)
  const scoped = fake(hq, async (jobs) => {
    await J.performAsync(1)
    await sleep(20)
    await J.performAsync(2)
    expect(J.jobs).toBe(jobs.jobs('J'))
    return jobs.jobs().length
  })
  await J.performAsync(3)
  expect(await scoped).toBe(2)
  expect((await hq.stats()).enqueued).toBe(1)
  const no = new Error('no')
  await expect(
    inline(hq, () => {
      throw no
    }),
  ).rejects.toBe(no)
  await J.performAsync(4)
  expect((await hq.stats()).enqueued).toBe(2)
})

test('a mode with a function may run inside the mode of the app', async () => {
  const hq = newApp('sqlite::memory:')
  using jobs = fake(hq)
  const ran: number[] = []
  const J = hq.job('J', async (_ctx, n: number) => void ran.push(n))
  await J.performAsync(1)
  await inline(hq, () => J.performAsync(2))
  await disable(hq, () => J.performAsync(3))
  expect(jobs.jobs().map(({ args }) => args[0])).toEqual([1])
  expect(ran).toEqual([2])
  expect((await hq.stats()).enqueued).toBe(1)
})

test('items of ordered queues are kept, and drained together, each id with all its payloads', async () => {
  const hq = newApp()
  const calls: unknown[] = []
  const Sync = hq.ordered('Sync', { batchSize: 2 }, (_ctx, batch: Map<string, number[]>) => {
    calls.push(Object.fromEntries(batch))
    if (batch.has('bad')) throw new Error('bad')
  })
  {
    using jobs = fake(hq)
    await Sync.performAsync([
      { id: 1, payload: 2, score: 2 },
      { id: 2, payload: 5 },
      { id: 1, payload: 1, score: 1 },
    ])
    await Sync.performAsync({ id: 3, payload: 6, performIn: '1h' })
    expect(Sync.pushed).toMatchObject([{ id: '1', payload: 2, score: 2 }, { id: '2' }, { id: '1' }, { id: '3' }])
    expect(jobs.ordered('Sync')).toEqual(Sync.pushed)
    expect(calls).toEqual([])
    expect(await drainAll(hq)).toBe(4)
    expect(calls.splice(0)).toEqual([{ 1: [1, 2], 2: [5] }, { 3: [6] }])
    await Sync.performAsync({ id: 1 })
    Sync.clear()
    expect(await Sync.drain()).toBe(0)
  }
  await inline(hq, async () => {
    await Sync.performAsync({ id: 7, payload: 7 })
    await expect(Sync.performAsync({ id: 'bad', payload: 0 })).rejects.toThrow('bad')
  })
  expect(calls).toEqual([{ 7: [7] }, { bad: [0] }])
})

test('modes are not nested', async () => {
  const hq = newApp()
  const nested = expect.objectContaining({ code: 'INVALID_OPTION' })
  {
    using _ = fake(hq)
    expect(() => fake(hq)).toThrow(nested)
    expect(() => inline(hq)).toThrow(/inline\(hq\) while fake\(hq\) is on: end that one first/)
    expect(() => disable(hq)).toThrow(nested)
  }
  {
    using _ = disable(hq)
    expect(() => fake(hq)).toThrow(nested)
  }
  await fake(hq, async () => {
    expect(() => fake(hq)).toThrow(nested)
    await expect(inline(hq, () => {})).rejects.toThrow(/inside the function of another mode/)
  })
  using _ = fake(hq)
})

test('a mode applies to one app only', async () => {
  const [one, two] = [newApp(), newApp('sqlite::memory:')]
  using jobs = fake(one)
  await two.push({ class: 'J', args: [] })
  expect(jobs.jobs()).toEqual([])
  expect((await two.stats()).enqueued).toBe(1)
})

test('without fake(hq), the jobs of a class throw an error that names it', async () => {
  const hq = newApp()
  const J = hq.job('J', async () => {})
  const words = /call fake\(hq\)/
  expect(() => J.jobs).toThrow(words)
  await expect(J.drain()).rejects.toThrow(words)
  await expect(J.performOne()).rejects.toThrow(words)
  expect(() => J.clear()).toThrow(words)
  await expect(drainAll(hq)).rejects.toThrow(words)
  using _ = inline(hq)
  expect(() => J.jobs).toThrow(words)
})

test('performInline runs the job in every mode', async () => {
  const hq = newApp()
  using _ = fake(hq)
  const order: string[] = []
  hq.server.use((_ctx, next) => {
    order.push('server')
    return next()
  })
  const J = hq.job('J', async (_ctx, n: number) => n + 1)
  expect(await J.performInline(1)).toBe(2)
  expect(order).toEqual(['server'])
  expect(J.jobs).toEqual([])
})

// ---------------------------------------------------------------------------------------------------------- unique

test('fake keeps one job for each lock, and replaces and debounces as a store does', async () => {
  const hq = newApp()
  using jobs = fake(hq)
  const Save = hq.job('Save', { unique: { by: (user: number) => user } }, async (_ctx, _user: number, _n: number) => {})
  const [first, other] = [await Save.performAsync(1, 1), await Save.performAsync(2, 1)]
  expect(await Save.performAsync(1, 2)).toBe(first)
  expect(other).not.toBe(first)
  const set = (onConflict: 'raise' | 'replace' | 'debounce') =>
    Save.set({ unique: { by: (user: number) => user, onConflict } })
  await expect(set('raise').performAsync(1, 3)).rejects.toMatchObject({ code: 'UNIQUE_CONFLICT' })
  expect(await set('replace').performAsync(1, 4)).toBe(first)
  const later = await set('debounce').performIn(60, 3, 1)
  expect(await set('debounce').performIn(90, 3, 2)).toBe(later)
  expect(Save.jobs.map(({ args, at }) => [args, at])).toEqual([
    [[1, 4], undefined],
    [[2, 1], undefined],
    [[3, 2], NOW / 1000 + 90],
  ])
  expect(await Save.set({ jid: 'own' }).performAsync(9, 1)).toBe('own')
  expect(await Save.set({ jid: 'own' }).performAsync(8, 1)).toBe('own')
  expect(jobs.jobs()).toHaveLength(4)
  await Save.drain()
  expect(await Save.performAsync(1, 5)).not.toBe(first)
})

test('fake refuses a unique job that a running job pushes with its own lock, as a store does', async () => {
  const hq = newApp()
  using _ = fake(hq)
  const pushed: (string | null)[] = []
  for (const [name, keeps] of [
    ['until-success', true],
    ['10m', true],
    ['until-start', false],
    ['pending', false],
  ] as const) {
    const Again = hq.job(`Again ${name}`, { unique: { for: name } }, async () => {
      pushed.push(await Again.performAsync())
      pushed.push(await Again.set({ unique: { for: name, onConflict: 'replace' } }).performAsync())
    })
    const jid = await Again.performAsync()
    await Again.performOne()
    const [first, second] = pushed.splice(0)
    expect([name, first === jid, second === first, Again.jobs.length]).toEqual([name, keeps, true, keeps ? 0 : 1])
    Again.clear()
    expect(await Again.performAsync()).not.toBe(jid)
  }
})

test('inline refuses a unique job that a running job pushes with its own lock', async () => {
  const hq = newApp()
  using _ = inline(hq)
  const pushed: (string | null)[] = []
  const Again = hq.job('Again', { unique: true }, async () => {
    pushed.push(await Again.performAsync())
  })
  const jid = await Again.performAsync()
  expect(pushed).toEqual([jid])
  expect(await Again.performAsync()).not.toBe(jid)
})

test.each([fake, inline])(
  'the lock of a unique job with a duration lasts that long, also when the job has ended before',
  async (begin) => {
    let now = NOW
    const hq = newApp(undefined, () => now)
    using _ = begin(hq)
    const ran: number[] = []
    const Throttled = hq.job('Throttled', { unique: { for: '10m', by: () => 0 } }, async (_ctx, n: number) => {
      ran.push(n)
    })
    const push = async (job: Pick<typeof Throttled, 'performAsync'>, n: number) => {
      const jid = await job.performAsync(n)
      if (begin === fake) await drainAll(hq)
      return jid
    }
    const first = await push(Throttled, 1)
    now += 600_000 - 1
    expect(await push(Throttled, 2)).toBe(first)
    const onConflict = (how: 'raise' | 'replace') =>
      Throttled.set({ unique: { for: '10m', by: () => 0, onConflict: how } })
    await expect(push(onConflict('raise'), 3)).rejects.toMatchObject({ code: 'UNIQUE_CONFLICT' })
    expect(await push(onConflict('replace'), 4)).toBe(first)
    now += 1
    expect(await push(Throttled, 5)).not.toBe(first)
    expect(ran).toEqual([1, 5])
  },
)

test('fake: clear releases the locks of the jobs that it forgets, also of those that have run', async () => {
  const hq = newApp()
  using jobs = fake(hq)
  const unique = { for: '10m' } as const
  const [One, Other] = [hq.job('One', { unique }, async () => {}), hq.job('Other', { unique }, async () => {})]
  const before = [await One.performAsync(), await Other.performAsync()]
  await drainAll(hq)
  One.clear()
  const after = [await One.performAsync(), await Other.performAsync()]
  expect([after[0] === before[0], after[1] === before[1]]).toEqual([false, true])
  jobs.clear()
  expect(await Other.performAsync()).not.toBe(before[1])
})

test('a limit delays no job in a test, and mistakes in it are found', async () => {
  const hq = newApp()
  using _ = fake(hq)
  const ran: number[] = []
  const [own, other] = [hq.limit('own', { rate: 1, per: '1h' }), hq.limit('other', { concurrency: 1, by: () => '' })]
  const Good = hq.job('Good', { limit: [own, { concurrency: 1 }] }, async (ctx, n: number) => {
    ran.push(await other.within(ctx, { key: n }, () => n))
  })
  const NoKey = hq.job('NoKey', { limit: { concurrency: 1, by: () => '' } }, async () => {})
  const Own = hq.job('Own', { limit: own }, async (ctx) => own.within(ctx, () => {}))
  await Good.performBulk([[1], [2], [3]])
  await Good.drain()
  expect(ran).toEqual([1, 2, 3])
  await expect(NoKey.performInline()).rejects.toThrow('NoKey: limit.by must return a number or a string')
  await expect(Own.performInline()).rejects.toThrow('limit own: the job Own has this limit already')
})

test('drain runs the jobs of a queue with the highest priority first, as a worker does', async () => {
  const hq = newApp()
  using jobs = fake(hq)
  const ran: string[] = []
  const Mail = hq.job('Mail', async (_ctx, name: string) => void ran.push(name))
  await Mail.performAsync('low')
  await Mail.set({ queue: 'other', priority: 9 }).performAsync('other queue')
  await Mail.set({ priority: 9 }).performIn(3600, 'scheduled')
  await Mail.set({ priority: 3 }).performAsync('middle')
  await Mail.set({ priority: 9 }).performAsync('high')
  await Mail.set({ priority: 9 }).performAsync('high later')
  expect(await drainAll(hq)).toBe(6)
  expect(ran).toEqual(['high', 'high later', 'middle', 'low', 'other queue', 'scheduled'])
  await Mail.performBulk([['a'], ['b']])
  await Mail.set({ priority: 1 }).performAsync('c')
  await jobs.performOne()
  expect(ran.at(-1)).toBe('c')
})

test('hq.result answers a job that has run in a test, and says at once why another has no result', async () => {
  const hq = newApp()
  const Sum = hq.job('Sum', { keepResult: 60 }, async (_ctx, a: number, b: number) => ({ sum: a + b }))
  const Bad = hq.job('Bad', { keepResult: 60 }, async () => {
    throw Object.assign(new TypeError('no price'), { code: 'no_price' })
  })
  const Row = hq.job('Row', { track: true }, async () => 'row')
  const Plain = hq.job('Plain', async () => 7)
  const none = (words: RegExp) => ({ code: 'NO_RESULT', message: expect.stringMatching(words) })

  using jobs = fake(hq)
  const sum = await Sum.performAsync(1, 2)
  await expect(hq.result(sum)).rejects.toMatchObject(none(/has not ended: with fake\(hq\), run it by drain\(\)/))
  const [row, plain, bad] = [await Row.performAsync(), await Plain.performAsync(), await Bad.performAsync()]
  await expect(drainAll(hq)).rejects.toThrow('no price')
  expect(await hq.result(sum)).toEqual({ sum: 3 })
  expect(await hq.result(row)).toBe('row')
  await expect(hq.result(plain)).rejects.toMatchObject(none(/it has ended: a job keeps one that says keepResult/))
  await expect(hq.result(bad)).rejects.toMatchObject({
    code: 'JOB_FAILED',
    message: `job ${bad} failed for good: no price`,
    details: { code: 'no_price', class: 'TypeError' },
  })
  jobs.dispose()

  using _ = inline(hq)
  expect(await hq.result(await Sum.performAsync(2, 2))).toEqual({ sum: 4 })
})
