import { BatchFailure, BusinessFailure, type Highkiq, type Payload, Release, Snooze, type Task } from 'highkiq'
import { expect, test } from 'vitest'
import { bench, Child, Collector, until } from '../engine/bench.ts'
import { collect } from './bench.ts'

const ten = Array.from({ length: 10 }, (_, n) => [n] as [number])

/** Counts are those of the events, and its places are given back. */
async function expectExact({ store }: Highkiq, task: Task) {
  const events = await collect(task.events())
  const status = await task.status()
  for (const [name, count] of Object.entries(status?.counts ?? {})) {
    expect(
      events.filter((event) => event.status === name),
      name,
    ).toHaveLength(count)
  }
  expect(await store.tasks.find(task.id)).toMatchObject({ backlog: 0, inWindow: 0 })
  return { events, status }
}

test('ten rows with rowsPerJob 5 are two calls of five, and ten events', async () => {
  const { hq, work } = bench()
  const calls: { rows: number[]; attempt: number; index: number; indexes: readonly number[] }[] = []
  const Rows = hq.job('Rows', async ({ attempt, task }, rows: number[]) => {
    calls.push({ rows, attempt, index: task?.index as number, indexes: task?.indexes as number[] })
    return rows.map((n) => ({ doubled: 2 * n }))
  })
  const task = await hq.tasks.create(Rows, ten, { rowsPerJob: 5, keepArgs: 'all' })
  const texts = (await hq.store.jobs.peek('default', 0, 10)).map((text) => JSON.parse(text) as Payload)
  expect(texts.map(({ args }) => args)).toEqual([[[0, 1, 2, 3, 4]], [[5, 6, 7, 8, 9]]])
  expect(await hq.store.tasks.find(task.id)).toMatchObject({ inWindow: 2, backlog: 0, rowsPerJob: 5 })
  await work({ concurrency: 1 })
  expect(await task.wait({ every: 10 })).toMatchObject({ total: 10, counts: { finished: 10 } })
  expect(calls).toEqual([
    { rows: [0, 1, 2, 3, 4], attempt: 1, index: 0, indexes: [0, 1, 2, 3, 4] },
    { rows: [5, 6, 7, 8, 9], attempt: 1, index: 5, indexes: [5, 6, 7, 8, 9] },
  ])
  const { events } = await expectExact(hq, task)
  expect(events.map(({ args }) => args)).toEqual(ten)
  expect(events.map(({ result }) => result)).toEqual(ten.map(([n]) => ({ doubled: 2 * n })))
  expect(events.map(({ attempts }) => attempts)).toEqual(ten.map(() => 1))
  expect(await hq.stats().then(({ processed, failed }) => [processed, failed])).toEqual([2, 0])
})

test('with rowsPerJob a row of several arguments is a list', async () => {
  const { hq, work } = bench()
  const calls: unknown[] = []
  const Pairs = hq.job('Pairs', async (_, rows: [string, number][]) => void calls.push(rows))
  const task = await hq.tasks.create(Pairs, [['a', 1], ['b', 2], [['c', 3]]], { rowsPerJob: 2 })
  await work({ concurrency: 1 })
  expect(await task.wait({ every: 10 })).toMatchObject({ counts: { finished: 3 } })
  expect(calls).toEqual([
    [
      ['a', 1],
      ['b', 2],
    ],
    [['c', 3]],
  ])
})

test('rows named by a BatchFailure fail, each with its own error, and the others finish', async () => {
  const { hq, work, errors } = bench()
  const calls: [rows: number[], attempt: number][] = []
  const Rows = hq.job('Rows', { retry: 1, retryIn: () => 0.01 }, async (ctx, rows: number[]) => {
    calls.push([rows, ctx.attempt])
    if (rows.length === 1) {
      // Alone its place is the first.
      if (rows[0] === 3) throw new BatchFailure(new Map([[0, new Error('still broken')]]))
      return
    }
    ctx.message('all of them')
    ctx.message('the second one', 1)
    const failures = new Map<number, unknown>([
      [1, new BusinessFailure('no price', { code: 'no_price' })],
      [2, new Error('not now')],
      [3, new Error('broken')],
    ])
    throw new BatchFailure(failures)
  })
  const task = await hq.tasks.create(
    Rows,
    [0, 1, 2, 3, 4].map((n) => [n]),
    { rowsPerJob: 5 },
  )
  await work()
  await task.wait({ every: 10 })
  expect(calls.slice(0, 1)).toEqual([[[0, 1, 2, 3, 4], 1]])
  expect(calls.slice(1).sort()).toEqual([
    [[2], 2],
    [[3], 2],
  ])
  const { events, status } = await expectExact(hq, task)
  expect(status?.counts).toMatchObject({ finished: 3, failed: 1, error: 1 })
  expect(events.map((event) => [event.status, event.attempts, event.code])).toEqual([
    ['finished', 1, null],
    ['failed', 1, 'no_price'],
    ['finished', 2, null],
    ['error', 2, 'Error'],
    ['finished', 1, null],
  ])
  const texts = events.map(({ messages }) => messages.map(({ text }) => text))
  expect(texts[0]).toEqual(['working', 'all of them', 'finished'])
  expect(texts[1]).toEqual(['working', 'all of them', 'the second one', 'no price'])
  expect(texts[3]?.filter((text) => text.startsWith('error'))).toEqual(['error: broken', 'error: still broken'])
  expect(await hq.dead.size()).toBe(1)
  expect(errors.map(({ error }) => error.message).sort()).toEqual(['broken', 'not now', 'still broken'])
})

test('after any other throw each row runs alone, with its own end', async () => {
  const { hq, work, errors } = bench()
  const calls: [rows: number[], attempt: number][] = []
  const Rows = hq.job('Rows', { retry: 0 }, async (ctx, rows: number[]) => {
    calls.push([rows, ctx.attempt])
    if (rows.includes(2)) throw new BusinessFailure('two is no number', { code: 'two' })
    return rows.map((n) => -n)
  })
  const task = await hq.tasks.create(
    Rows,
    [1, 2, 3].map((n) => [n]),
    { rowsPerJob: 10, concurrency: 1, keepArgs: 'all' },
  )
  await work({ concurrency: 5 })
  await task.wait({ every: 10 })
  expect(calls).toEqual([
    [[1, 2, 3], 1],
    [[1], 2],
    [[2], 2],
    [[3], 2],
  ])
  const { events, status } = await expectExact(hq, task)
  expect(status?.counts).toMatchObject({ finished: 2, failed: 1, error: 0 })
  expect(events.map(({ result, args }) => [result, args])).toEqual([
    [-1, [1]],
    [undefined, [2]],
    [-3, [3]],
  ])
  expect(events[0]?.messages.map(({ text }) => text)).toContain(
    'the call with several rows failed: two is no number; this row now runs alone',
  )
  // The call itself is told to who watches, its rows are no errors.
  expect(errors.map(({ error, about }) => [error.message, about.next])).toEqual([['two is no number', 'row by row']])
  expect(await hq.retries.size()).toBe(0)
})

test.each([
  ['a BatchFailure of places that there are not', () => new BatchFailure(new Map([[7, new Error('who?')]]))],
  ['an ordinary error', () => new Error('broken')],
  ['a BatchFailure that says nothing', () => Object.assign(Object.create(null), { highkiq: 'batch-failure' })],
  [
    "something that can't be read",
    () => ({
      get highkiq() {
        throw new Error('no')
      },
    }),
  ],
])('%s breaks a call apart', async (_, thrown) => {
  const { hq, work } = bench()
  const calls: number[][] = []
  const Rows = hq.job('Rows', async (_ctx, rows: number[]) => {
    calls.push(rows)
    if (rows.length > 1) throw thrown()
  })
  const task = await hq.tasks.create(Rows, [[1], [2]], { rowsPerJob: 2, concurrency: 1 })
  await work()
  expect(await task.wait({ every: 10 })).toMatchObject({ counts: { finished: 2 } })
  expect(calls).toEqual([[1, 2], [1], [2]])
})

test("a call whose process was killed is split, so that one row can't crash the others", async () => {
  const t = bench()
  const ran: unknown[] = []
  const Long = t.hq.job('Long', { maxCrashes: 2 }, async (ctx, rows: number[]) => {
    ran.push([rows, ctx.attempt, ctx.payload.hk_crashes])
  })
  const task = await t.hq.tasks.create(Long, [[1], [2], [3]], { rowsPerJob: 3 })
  const child = new Child(t.url, { concurrency: 1 })
  const [began] = await child.waitFor('began')
  expect(began).toMatchObject({ n: [1, 2, 3] })
  await until(async () => (await task.status())?.counts.working === 3)
  child.kill('SIGKILL')
  await child.exited
  await t.work({ leaseSeconds: 1, concurrency: 1 })
  await task.wait({ every: 10 })
  expect(ran).toEqual([
    [[1], 2, 1],
    [[2], 2, 1],
    [[3], 2, 1],
  ])
  const { events } = await expectExact(t.hq, task)
  expect(events.map(({ status, attempts }) => [status, attempts])).toEqual([1, 2, 3].map(() => ['finished', 2]))
  expect(events[2]?.messages.map(({ text }) => text)).toContain(
    'the worker died and the row was requeued (consecutive crashes: 1)',
  )
})

test('cancelling a task aborts its running call, and no other row starts', async () => {
  const { hq, work, settled } = bench()
  const began = new Collector<number[]>()
  const Rows = hq.job('Rows', async ({ signal }, rows: number[]) => {
    began.add(rows)
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  const task = await hq.tasks.create(Rows, ten, { rowsPerJob: 3, window: 3 })
  await work({ concurrency: 1 })
  await began.atLeast(1)
  await task.cancel()
  await task.wait({ every: 10 })
  const { status, events } = await expectExact(hq, task)
  expect(status).toMatchObject({ state: 'cancelled', counts: { cancelled: 10 } })
  expect(began.all).toEqual([[0, 1, 2]])
  expect(events.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 0, 0, 0, 0, 0, 0, 0])
  // No cancellation is left.
  await settled()
  expect(await hq.store.cancellations.among(events.map(({ jid }) => jid))).toEqual([])
  // They run again, each alone.
  expect(await task.retry({ status: ['cancelled'] })).toMatchObject({ rows: 10 })
  await began.atLeast(2)
  await until(() => began.all.length === 2)
  expect(began.all[1]).toEqual([0])
  await task.cancel()
  await task.wait({ every: 10 })
})

test('cancelling a task while a call of two waits starts neither row', async () => {
  const { hq, work, settled } = bench()
  const calls: number[][] = []
  const Rows = hq.job('Rows', async (_, rows: number[]) => void calls.push(rows))
  const task = await hq.tasks.create(Rows, ten.slice(0, 4), { rowsPerJob: 2, window: 1 })
  await task.cancel()
  await work()
  await until(async () => (await hq.queue('default').size()) === 0)
  await settled()
  expect(calls).toEqual([])
  const { status } = await expectExact(hq, task)
  expect(status?.counts).toMatchObject({ cancelled: 4 })
})

test('rows that are one job with others do not count as waiting for a retry', async () => {
  const { hq, work } = bench()
  const began = new Collector<number>()
  const Rows = hq.job('Rows', { retryIn: () => 3600 }, async ({ signal }, rows: number[]) => {
    if (rows[0] === 0) throw new BatchFailure(new Map([[1, new Error('later')]]))
    began.add(rows.length)
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  const task = await hq.tasks.create(Rows, ten, { rowsPerJob: 4 })
  expect(await task.status()).toMatchObject({ backlog: 0, retrying: 0, rowsPerJob: 4, counts: { enqueued: 10 } })
  await work({ concurrency: 1 })
  await began.atLeast(1)
  expect(await task.status()).toMatchObject({ retrying: 0, counts: { finished: 3 } })
  await task.cancel()
})

test('a cancelled row is left out of its call and logged, and the others run', async () => {
  const { hq, work, log } = bench()
  const calls: number[][] = []
  const Rows = hq.job('Rows', { keepResult: 60 }, async ({ task }, rows: number[]) => {
    calls.push(rows, [...(task?.indexes ?? [])])
    return rows.map((n) => n * 10)
  })
  const task = await hq.tasks.create(Rows, ten.slice(0, 5), { rowsPerJob: 5, window: 1 })
  const jids = (await collect(task.events())).map(({ jid }) => jid)
  expect(await hq.cancel(jids[0] as string)).toBe('requested')
  expect(await hq.cancel(jids[3] as string)).toBe('requested')
  await work()
  await task.wait({ every: 10 })
  expect(calls).toEqual([
    [1, 2, 4],
    [1, 2, 4],
  ])
  const { status } = await expectExact(hq, task)
  expect(status?.counts).toMatchObject({ finished: 3, cancelled: 2 })
  for (const i of [0, 3]) {
    await expect(hq.store.results.find(jids[i] as string, 0)).resolves.toContain('JOB_CANCELLED')
    expect(log.lines).toContainEqual(
      expect.objectContaining({ message: 'dropped: cancelled', about: expect.objectContaining({ jid: jids[i] }) }),
    )
  }
  expect(await hq.result(jids[2] as string)).toBe(20)
  expect(await hq.store.cancellations.among(jids)).toEqual([])
})

test('a row that already runs again is left out of an old call, and the others run', async () => {
  const t = bench()
  const { hq, work } = t
  const calls: number[][] = []
  const Rows = hq.job('Rows', async (_, rows: number[]) => void calls.push(rows))
  const task = await hq.tasks.create(Rows, ten.slice(0, 4), { rowsPerJob: 4, keepArgs: 'all' })
  // An operator put the call among the dead; one of its rows is put back to work.
  const [text = ''] = await hq.store.jobs.peek('default', 0, 1)
  const dead = { to: 'dead', text, score: 1 } as const
  for await (const job of hq.queue('default')) await job.delete()
  expect((await task.status())?.counts).toMatchObject({ cancelled: 4 })
  await hq.store.jobs.push([dead], Date.now())
  await task.retry({ rows: [{ index: 0, args: [0] }] })
  await t.raw(text)
  await work({ concurrency: 1 })
  await task.wait({ every: 10 })
  await t.settled()
  expect(calls).toEqual([[0], [1, 2, 3]])
  const { status } = await expectExact(hq, task)
  expect(status?.counts).toMatchObject({ finished: 4 })
})

test('rows that are snoozed, released or interrupted stay together', async () => {
  const t = bench()
  const calls: [rows: number[], attempt: number][] = []
  const began = new Collector<number>()
  const Rows = t.hq.job('Rows', async (ctx, rows: number[]) => {
    calls.push([rows, ctx.attempt])
    began.add(ctx.attempt)
    if (ctx.attempt === 1) throw new Snooze(0.01)
    if (ctx.attempt === 2) throw new Release()
    if (ctx.attempt > 3) return
    await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
  })
  const task = await t.hq.tasks.create(Rows, [[1], [2]], { rowsPerJob: 2, window: 1 })
  const worker = await t.work({ timeout: 0.1 })
  await began.atLeast(3)
  await worker.stop()
  expect(await t.hq.store.tasks.find(task.id)).toMatchObject({ counts: { enqueued: 2 }, inWindow: 1 })
  await t.work()
  await task.wait({ every: 10 })
  expect(calls).toEqual([1, 2, 3, 4].map((attempt) => [[1, 2], attempt]))
  const { events } = await expectExact(t.hq, task)
  expect(events.map(({ attempts }) => attempts)).toEqual([4, 4])
})

test('concurrency counts calls, also after they were split', async () => {
  const { hq, work } = bench()
  let running = 0
  let most = 0
  const Rows = hq.job('Rows', async (_, rows: number[]) => {
    running++
    most = Math.max(most, running)
    await new Promise((resolve) => setTimeout(resolve, 2))
    running--
    if (rows.length === 1) return
    if (rows.includes(4) || rows.includes(40)) throw new BatchFailure(new Map([[2, new Release()]]))
    if (rows.some((n) => n % 3 === 0)) throw new Error('apart')
  })
  const task = await hq.tasks.create(
    Rows,
    Array.from({ length: 60 }, (_, n) => [n]),
    { rowsPerJob: 4, concurrency: 2 },
  )
  await work({ concurrency: 10 })
  await task.wait({ every: 10 })
  expect(most).toBe(2)
  expect((await expectExact(hq, task)).status?.counts).toMatchObject({ finished: 60 })
})

test('rows that are rejected before or after their run are in the report and run again alone, also corrected', async () => {
  const { hq, work } = bench()
  const calls: object[][] = []
  const Rows = hq.job('Rows', async (_, rows: { sku: string; price: string }[]) => {
    calls.push(rows)
    const bad = rows.flatMap(({ price }, i) =>
      price === 'x' ? [[i, new BusinessFailure('no number', { code: 'price', field: 'price' })] as const] : [],
    )
    if (bad.length > 0) throw new BatchFailure(new Map(bad))
  })
  const file = Buffer.from('sku,price\na,1\nb,x\nc,3\nd,x\ne,5\n')
  await work({ concurrency: 1 })
  const task = await hq.tasks.import(Rows, file, { rowsPerJob: 3 })
  expect(await task.wait({ every: 10 })).toMatchObject({ counts: { finished: 3, failed: 2 } })
  expect(calls.map((rows) => rows.length)).toEqual([3, 2])
  const chunks: Uint8Array[] = []
  for await (const chunk of (await task.report({ format: 'ndjson' })) as unknown as AsyncIterable<Uint8Array>) {
    chunks.push(chunk)
  }
  const report = Buffer.concat(chunks).toString()
  expect(
    report
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toMatchObject([
    { sku: 'b', price: 'x', row: 3, status: 'failed', code: 'price' },
    { sku: 'd', price: 'x', row: 5, status: 'failed', code: 'price' },
  ])
  const corrected = Buffer.from(report.replaceAll('"price":"x"', '"price":"7"'))
  expect(await task.retry({ report: corrected })).toMatchObject({ rows: 2 })
  expect(await task.wait({ every: 10 })).toMatchObject({ counts: { finished: 5 } })
  expect(calls.slice(2)).toEqual([[{ sku: 'b', price: '7' }], [{ sku: 'd', price: '7' }]])
  await expectExact(hq, task)
})

test('rows that middleware changed run alone, in a list; so do those of another job without one', async () => {
  const { hq, work } = bench()
  const calls: unknown[] = []
  hq.client.use(async (payload, next) => {
    if (payload.args[0] === 2) payload.tags = ['two']
    return next()
  })
  const Rows = hq.job('Rows', async (ctx, rows: number[]) => {
    calls.push(rows)
    if (rows.includes(1)) await ctx.task?.add(Other, [['a', 'b']], 0)
    await expect(ctx.task?.add(Other, [['c', 'd']], 5)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    expect(() => ctx.message('whose?', 5)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  })
  const Other = hq.job('Other', async (_, ...args: string[]) => void calls.push(args))
  const task = await hq.tasks.create(
    Rows,
    [0, 1, 2, 3].map((n) => [n]),
    { rowsPerJob: 10 },
  )
  await task.add(Rows, [[[4]], [[5]]])
  await work({ concurrency: 1 })
  await task.wait({ every: 10 })
  expect(calls).toEqual([[0, 1], [2], [3], [[4], [5]], ['a', 'b']])
  await expectExact(hq, task)
})

test('rows that are too large for one job become several jobs', async () => {
  const { hq, work } = bench()
  const calls: number[] = []
  const Rows = hq.job('Rows', async (_, rows: string[]) => void calls.push(rows.length))
  const task = await hq.tasks.create(
    Rows,
    Array.from({ length: 10 }, () => ['x'.repeat(300_000)]),
    { rowsPerJob: 10 },
  )
  await work({ concurrency: 1 })
  await task.wait({ every: 10 })
  expect(calls.every((count) => count <= 3)).toBe(true)
  expect(calls.reduce((sum, count) => sum + count, 0)).toBe(10)
  await expectExact(hq, task)
})

test('a thousand rows of one job, of which some fail', async () => {
  const { hq, work } = bench()
  let calls = 0
  const Rows = hq.job('Rows', { retry: 0 }, async (_, rows: number[]) => {
    calls++
    if (rows.length === 1) return
    throw new BatchFailure(new Map(rows.filter((n) => n % 100 === 0).map((n) => [n % 1000, new Error('odd')])))
  })
  const task = await hq.tasks.create(
    Rows,
    Array.from({ length: 2500 }, (_, n) => [n]),
    { rowsPerJob: 1000 },
  )
  await work({ concurrency: 2 })
  await task.wait({ every: 10 })
  expect(calls).toBe(3)
  expect((await expectExact(hq, task)).status?.counts).toMatchObject({ finished: 2475, error: 25 })
})

test.each([0, 1001, 2.5, '5', Number.NaN, null])('rowsPerJob %s is refused', async (rowsPerJob) => {
  const { hq } = bench()
  const Rows = hq.job('Rows', async (_, _rows: number[]) => {})
  const options = { rowsPerJob: rowsPerJob as number }
  await expect(hq.tasks.create(Rows, ten, options)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})

test('a page of an export is a job of its own', async () => {
  const { hq } = bench()
  const Page = hq.job('Page', async (_, _page: number) => [])
  const options = { rowsPerJob: 2 } as object
  await expect(hq.tasks.export(Page, [1, 2], options)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})

test('an iterable job refuses rowsPerJob', async () => {
  const { hq, work } = bench()
  const Items = hq.iterable<[rows: number[]], number, number>('Items', { enumerate: () => [], each: async () => {} })
  const task = await hq.tasks.create(Items, [[1], [2]], { rowsPerJob: 2 })
  await work()
  expect(await task.wait({ every: 10 })).toMatchObject({ counts: { error: 2 } })
})
