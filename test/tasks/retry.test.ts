/** Rejected rows run once more: which, what is counted, and what is refused. */
import { BusinessFailure, type Highkiq, HighkiqError, type Task } from 'highkiq'
import { expect, test } from 'vitest'
import { all, bench, Collector, until } from '../engine/bench.ts'

const NOTHING = { rows: 0, unchanged: 0, finished: 0, open: 0, dropped: 0, refused: 0 }
const rows = (n: number) => Array.from({ length: n }, (_, i): [number] => [i])

/** Refuses the rows with these numbers, as long as they are the first argument. */
function refusing(hq: Highkiq, numbers: number[], name = 'Row') {
  return hq.job(name, { retry: 0 }, async (_ctx, n: number) => {
    if (numbers.includes(n)) throw new BusinessFailure('no', { code: 'no' })
  })
}

async function csv(task: Task, options: object = {}): Promise<string> {
  return new Response((await task.report({ format: 'csv', ...options })) as never).text()
}

test('a retry without rows starts no run and pushes no callback', async () => {
  const { hq, work, queue } = bench()
  const Row = refusing(hq, [1])
  const Done = hq.job('Done', { queue: 'calls' }, async (_ctx, _id: string, _run: number) => {})
  const task = await hq.tasks.create(Row, rows(3), { onDone: Done, keepArgs: 'all' })
  await work({ queues: ['default'] })
  await task.wait({ every: 10 })
  const done = await queue('calls')
  expect(done).toHaveLength(1)
  const report = await csv(task, { rows: 'all' })
  const [header, ...lines] = report.trimEnd().split('\r\n')
  const finished = Buffer.from([header, lines[0], lines[2]].join('\n'))
  expect(await task.retry({ status: ['cancelled'] })).toEqual({ ...NOTHING, run: 1 })
  expect(await task.retry({ code: 'other' })).toEqual({ ...NOTHING, run: 1 })
  expect(await task.retry({ rows: [] })).toEqual({ ...NOTHING, run: 1 })
  expect(await task.retry({ rows: [{ index: 0, args: [7] }] })).toEqual({ ...NOTHING, run: 1, finished: 1 })
  expect(await task.retry({ report: finished })).toEqual({ ...NOTHING, run: 1, finished: 2 })
  expect(await task.retry({ report: Buffer.from(`${header}\n`) })).toEqual({ ...NOTHING, run: 1 })
  expect(await task.status()).toMatchObject({ state: 'done', run: 1 })
  expect(await queue('calls')).toEqual(done)

  const none = await hq.tasks.create(Row, rows(3), { onDone: Done, keepArgs: 'none' })
  await none.wait({ every: 10 })
  expect(await none.retry()).toEqual({ ...NOTHING, run: 1, dropped: 1 })
  expect(await none.retry({ rows: [{ index: 1 }] })).toEqual({ ...NOTHING, run: 1, dropped: 1 })
  expect(await none.status()).toMatchObject({ state: 'done', run: 1 })
  expect(await queue('calls')).toHaveLength(2)
})

test('a retry whose first answers of the store are lost runs all its rows, in one run', async () => {
  const { hq, work, queue } = bench()
  let isStrict = true
  const Row = hq.job('Row', { retry: 0 }, async () => {
    if (isStrict) throw new Error('broken')
  })
  const Done = hq.job('Done', { queue: 'calls' }, async (_ctx, _id: string, _run: number) => {})
  const task = await hq.tasks.create(Row, [[]], { onDone: Done })
  await work()
  await task.wait({ every: 10 })
  isStrict = false
  const { tasks, search } = hq.store
  const [startRun, scanSet] = [tasks.startRun.bind(tasks), search.scanSet.bind(search)]
  tasks.startRun = async (...call) => {
    tasks.startRun = startRun
    await startRun(...call)
    throw new HighkiqError('STORE_TIMEOUT', 'the answer was lost')
  }
  search.scanSet = async () => {
    search.scanSet = scanSet
    throw new HighkiqError('STORE_UNREACHABLE', 'the connection was lost')
  }
  expect(await task.retry()).toEqual({ ...NOTHING, run: 2, rows: 1 })
  expect(await task.wait({ every: 10 })).toMatchObject({ state: 'done', run: 2, counts: { finished: 1 } })
  const calls = await queue('calls')
  expect(calls.map(({ args }) => args)).toEqual([
    [task.id, 1],
    [task.id, 2],
  ])
})

test('a run that the store interrupts has rows: it ends, and calls onDone, when they have run', async () => {
  const { hq, work, queue } = bench()
  let isStrict = true
  const Row = hq.job('Row', { retry: 0 }, async () => {
    if (isStrict) throw new Error('broken')
  })
  const Done = hq.job('Done', { queue: 'calls' }, async (_ctx, _id: string, _run: number) => {})
  const task = await hq.tasks.create(Row, [[]], { onDone: Done })
  await work()
  await task.wait({ every: 10 })
  isStrict = false
  const { tasks } = hq.store
  tasks.retryRows = async () => {
    throw new HighkiqError('STORE_FULL', 'the disk is full')
  }
  await expect(task.retry()).rejects.toMatchObject({ code: 'STORE_FULL' })
  expect(await task.wait({ every: 10 })).toMatchObject({ state: 'done', run: 2, counts: { finished: 1, error: 0 } })
  expect((await queue('calls')).map(({ args }) => args)).toEqual([
    [task.id, 1],
    [task.id, 2],
  ])
})

test('rejected rows are selected although the store does not answer for a moment', async () => {
  const { hq, work } = bench()
  const Row = refusing(hq, [1])
  const task = await hq.tasks.create(Row, rows(3))
  await work()
  await task.wait({ every: 10 })
  const { tasks } = hq.store
  const { events } = tasks
  tasks.events = async () => {
    tasks.events = events
    throw new HighkiqError('STORE_UNREACHABLE', 'the connection was lost')
  }
  expect(await task.retry()).toEqual({ ...NOTHING, run: 2, rows: 1 })
})

test('rows of a report are counted by their outcome', async () => {
  const { hq, work } = bench()
  const Row = refusing(hq, [1, 2, 4, 9])
  const task = await hq.tasks.create(Row, rows(5), { keepArgs: 'all' })
  await work()
  await task.wait({ every: 10 })
  const report = (await csv(task, { rows: 'all' })).replace('[1]', '[7]').replace('[4]', '[9]')
  const retried = await task.retry({ report: Buffer.from(report) })
  expect(retried).toEqual({ ...NOTHING, run: 2, rows: 3, unchanged: 1, finished: 2 })
  const status = await task.wait({ every: 10 })
  expect(status).toMatchObject({ run: 2, counts: { finished: 3, failed: 2 } })
  await task.pause().catch(() => {})
  const open = await hq.tasks.create(Row, rows(2), { queue: 'nobody' })
  const given = [{ index: 1, args: [1] }]
  expect(await open.retry({ rows: given })).toEqual({ ...NOTHING, run: 1, open: 1 })
})

test('an unknown, repeated or malformed row is refused before any row runs', async () => {
  const { hq, work } = bench()
  const Row = refusing(hq, [1, 2])
  const task = await hq.tasks.create(Row, rows(3))
  await work()
  await task.wait({ every: 10 })
  const bad = (given: unknown[], words: RegExp) =>
    expect(task.retry({ rows: given as [] })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(words),
    })
  await bad(
    [
      { index: 1, args: [5] },
      { index: 3, args: [5] },
    ],
    /has 3 rows, none with index 3/,
  )
  await bad(
    [
      { index: 1, args: [5] },
      { index: 1, args: [6] },
    ],
    /index 1 is given twice/,
  )
  await bad([{ index: 1, args: 5 }], /\{ index, args/)
  await bad([{ index: -1, args: [] }], /\{ index, args/)
  await bad([7], /\{ index, args/)
  await expect(task.retry({ rows: [{ index: 1, args: [Number.NaN] }] })).rejects.toMatchObject({ code: 'INVALID_ARGS' })
  const report = (await csv(task)).replace(`${task.id}:2:1`, `${task.id}:77:1`)
  await expect(task.retry({ report: Buffer.from(report) })).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringMatching(/row 3, column "row key": task .* has 3 rows, none with index 77/),
    details: { row: 3 },
  })
  expect(await task.status()).toMatchObject({ run: 1, state: 'done', counts: { failed: 2 } })
})

test('rows of another job run again as its jobs, from a report and with given arguments', async () => {
  const { hq, work } = bench()
  const ran = new Collector<unknown[]>()
  let strict = true
  const handler =
    (name: string) =>
    async (ctx: { payload: { tags?: string[] } }, ...args: unknown[]) => {
      ran.add([name, ctx.payload.tags ?? [], ...args])
      if (strict) throw new BusinessFailure('no')
    }
  const Price = hq.job('Price', handler('Price'))
  const Mail = hq.job('Mail', { tags: ['m'] }, handler('Mail'))
  const task = await hq.tasks.import(Price, Buffer.from('sku,price\na,1\nb,2\n'))
  await task.add(Mail, [
    ['bob', 1],
    ['eve', 2],
  ])
  await task.add(Price.set({ tags: ['late'] }), [[{ own: 'row' }]])
  await work()
  await task.wait({ every: 10 })

  const report = await csv(task)
  const [header, ...lines] = report.trimEnd().split('\r\n')
  expect(header).toBe('sku,price,row,row key,status,code,messages,attempts,job,arguments')
  expect(lines.map((line) => line.split(',').slice(0, 2))).toEqual([['a', '1'], ['b', '2'], ...Array(3).fill(['', ''])])
  expect(lines[2]).toContain('Mail,"[""bob"",1]"')
  expect(lines[0]).toMatch(/,1,,$/)
  strict = false
  ran.all.length = 0
  const fixed = report.replace('b,2', 'b,3').replace('""eve""', '""adam""')
  expect(await task.retry({ report: Buffer.from(fixed) })).toMatchObject({ run: 2, rows: 5, unchanged: 3 })
  expect(await task.wait({ every: 10 })).toMatchObject({ counts: { finished: 5 } })
  expect(ran.all.map((one) => JSON.stringify(one)).sort()).toEqual([
    '["Mail",["m"],"adam",2]',
    '["Mail",["m"],"bob",1]',
    '["Price",["late"],{"own":"row"}]',
    '["Price",[],{"sku":"a","price":"1"}]',
    '["Price",[],{"sku":"b","price":"3"}]',
  ])
})

test.each(['csv', 'xlsx', 'ndjson'] as const)(
  'a report in %s of a mixed task comes back as what it was',
  async (format) => {
    const { hq, work } = bench()
    let strict = true
    const ran = new Collector<string>()
    const job = (name: string) =>
      hq.job(name, async (_ctx, ...args: unknown[]) => {
        if (strict) throw new BusinessFailure('no')
        ran.add(`${name} ${JSON.stringify(args)}`)
      })
    const [Row, Other] = [job('Row'), job('Other')]
    const created = await hq.tasks.create(Row, [[1], ['x']])
    await created.add(Other, [[{ job: 'mine' }]])
    const lines = ['{"job":"a","arguments":[1]}', '{"x":1.5}']
    const imported = await hq.tasks.import(Row as never, Buffer.from(lines.join('\n')))
    await imported.add(Other, [['y', null]])
    await work()
    for (const task of [created, imported]) {
      await task.wait({ every: 10 })
      const report = Buffer.from(await new Response((await task.report({ format })) as never).arrayBuffer())
      strict = false
      expect(await task.retry({ report })).toMatchObject({ rows: 3 })
      await task.wait({ every: 10 })
      strict = true
    }
    const row = '[{"job":"a","arguments":[1]}]'
    expect(ran.all.toSorted()).toEqual(
      [
        'Other ["y",null]',
        'Other [{"job":"mine"}]',
        'Row ["x"]',
        'Row [1]',
        `Row ${row}`,
        'Row [{"x":1.5}]',
      ].toSorted(),
    )
  },
)

test('a row of another job whose options are gone is refused with its row number', async () => {
  const { hq, work } = bench()
  const Row = hq.job('Row', async (_ctx, _row: object) => {
    throw new BusinessFailure('no')
  })
  const Other = hq.job('Other', async (_ctx, _n: number) => {
    throw new BusinessFailure('no')
  })
  const task = await hq.tasks.import(Row, Buffer.from('sku\na\n'))
  await task.add(Other, [[1]])
  const none = await hq.tasks.import(Row, Buffer.from('sku\nb\n'), { keepArgs: 'none' })
  await none.add(Other, [[1]])
  await work()
  await task.wait({ every: 10 })
  const report = await csv(task)
  const refused = (text: string, words: RegExp) =>
    expect(task.retry({ report: Buffer.from(text) })).rejects.toMatchObject({
      code: 'INVALID_FILE',
      message: expect.stringMatching(words),
      details: { row: 3 },
    })
  await refused(report.replace('[1]', '[1'), /row 3, column "arguments": it is not JSON/)
  await refused(report.replace('[1]', '1'), /row 3, column "arguments": it is not a list/)
  await refused(report.replace('[1]', ''), /row 3, column "arguments": it is a row of job Other/)
  await refused(report.replace('Other', 'Row'), /row 3, column "job": it is a row of job Other/)
  const cut = report.replace(',job,arguments', '').replaceAll(/,(Row|Other),[^\r]*/g, '')
  await refused(cut, /row 3, column "arguments": it is a row of job Other/)
  expect(await task.status()).toMatchObject({ run: 1 })

  await none.wait({ every: 10 })
  const emptied = (await csv(none)).replace(/Other,\r/, 'Other,[1]\r')
  await expect(none.retry({ report: Buffer.from(emptied) })).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringMatching(/row 3: .*of job Other.*keepArgs/),
  })
  await expect(none.retry({ rows: [{ index: 1, args: [1] }] })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})

test('an interrupted task stays interrupted after a retry, and can still be resumed', async () => {
  const { hq, work } = bench()
  let strict = true
  const Row = hq.job('Row', async (_ctx, n: number) => {
    if (strict && n === 1) throw new BusinessFailure('no')
  })
  async function* broken() {
    yield* rows(1003)
    throw new Error('the line is dead')
  }
  const started = new Collector<Task>()
  await expect(hq.tasks.create(Row, broken(), { onStart: started.add })).rejects.toThrow('the line is dead')
  const [task] = (await started.atLeast(1)) as [Task]
  await work()
  expect(await task.wait({ every: 10 })).toMatchObject({ state: 'interrupted', counts: { finished: 1002, failed: 1 } })
  strict = false
  expect(await task.retry()).toMatchObject({ run: 2, rows: 1 })
  expect(await task.wait({ every: 10 })).toMatchObject({ state: 'interrupted', run: 2, counts: { finished: 1003 } })
  expect(await task.resumeAdding(Row, rows(1005))).toBe(2)
  expect(await task.wait({ every: 10 })).toMatchObject({ state: 'done', run: 2, counts: { finished: 1005 } })
})

test('rate and time after a retry are those of its run', async () => {
  const { hq, work, clock } = bench()
  let strict = true
  const Row = hq.job('Row', async (_ctx, n: number) => {
    if (strict && n < 2) throw new BusinessFailure('no')
  })
  const task = await hq.tasks.create(Row, rows(10))
  const born = clock.now()
  await work()
  await task.wait({ every: 10 })
  strict = false
  clock.ahead = 100_000
  await task.retry()
  const status = await task.wait({ every: 10 })
  expect(status.runAt.getTime()).toBeGreaterThanOrEqual(born + 100_000_000)
  expect(status.createdAt.getTime()).toBeLessThan(born + 60_000)
  const seconds = ((status.finishedAt as Date).getTime() - status.runAt.getTime()) / 1000
  expect(status.ratePerSecond).toBeCloseTo(2 / Math.max(seconds, 0.001), 5)
})

test('a task beyond maxFailures whose rows have all ended is done, and its retry runs', async () => {
  const { hq, work } = bench()
  let strict = true
  const Row = hq.job('Row', async (_ctx, _n: number) => {
    if (strict) throw new BusinessFailure('no')
  })
  const task = await hq.tasks.create(Row, rows(2), { maxFailures: 0, window: 2 })
  await work()
  const reason = 'too many rows were rejected: 2 of 2 so far'
  expect(await task.wait({ every: 10 })).toMatchObject({ state: 'done', reason, counts: { failed: 2 } })
  strict = false
  await task.retry()
  const again = await task.wait({ every: 10 })
  expect(again).toMatchObject({ state: 'done', run: 2, counts: { finished: 2 } })
  expect(again.reason).toBe(undefined)
})

test('retried error rows leave the dead set, which is not read for other rows', async () => {
  const { hq, work } = bench()
  let strict = true
  const Row = hq.job('Row', { retry: 0 }, async (_ctx, n: number) => {
    if (strict) throw n === 0 ? new Error('broken') : new BusinessFailure('no')
  })
  const task = await hq.tasks.create(Row, rows(3))
  await work()
  await task.wait({ every: 10 })
  strict = false
  const read = new Collector<string>()
  const { search } = hq.store
  const scan = search.scanSet.bind(search)
  search.scanSet = (set, ...rest) => {
    if (set === 'dead') read.add(set)
    return scan(set, ...rest)
  }
  expect(await task.retry({ status: ['failed'] })).toMatchObject({ rows: 2 })
  expect(read.all).toEqual([])
  await task.wait({ every: 10 })
  expect(await hq.dead.size()).toBe(1)
  expect(await task.retry()).toMatchObject({ rows: 1 })
  expect(read.all.length).toBeGreaterThan(0)
  await task.wait({ every: 10 })
  expect(await hq.dead.size()).toBe(0)
  expect((await all(task.events())).map(({ status }) => status)).toEqual(Array(3).fill('finished'))
})

test('rows that another retry has started meanwhile start no run', async () => {
  const { hq, work, queue } = bench()
  let strict = true
  const Row = hq.job('Row', { retry: 0 }, async (_ctx, _n: number) => {
    if (strict) throw new Error('broken')
  })
  const Done = hq.job('Done', { queue: 'calls' }, async (_ctx, _id: string, _run: number) => {})
  const task = await hq.tasks.create(Row, rows(2), { onDone: Done, keepArgs: 'all' })
  await work({ queues: ['default'] })
  await task.wait({ every: 10 })
  strict = false
  const { tasks } = hq.store
  const events = tasks.events.bind(tasks)
  let reads = 0
  tasks.events = async (...query) => {
    const found = await events(...query)
    if (query[1].status && reads++ === 0) {
      for (const entry of await all(hq.dead)) await entry.retry()
      await until(async () => (await hq.store.tasks.find(task.id))?.counts.finished === 2)
    }
    return found
  }
  expect(await task.retry()).toEqual({ ...NOTHING, run: 1, finished: 2 })
  expect(await task.status()).toMatchObject({ state: 'done', run: 1, counts: { finished: 2 } })
  expect(await queue('calls')).toHaveLength(1)
})
