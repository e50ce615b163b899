import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { BusinessFailure, Discard, HighkiqError, Kill, Snooze, type TaskStatus } from 'highkiq'
import { expect, test } from 'vitest'
import { storeOfSuite } from '../engine/bench.ts'
import { collect, newApp } from './bench.ts'

test('options of set() hold for the rows of a task, except those of a single push', async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', { tags: ['mine'] }, async () => {})
  const said = Row.set({ queue: 'slow', retry: 2, tags: ['said'], wait: 60, jid: 'ours' })
  const task = await hq.tasks.create(said, [[], []])
  expect((await task.status())?.queue).toBe('slow')
  const rows = (await hq.store.jobs.peek('slow', 0, 10)).map((text) => JSON.parse(text))
  expect(rows).toMatchObject([{ retry: 2, tags: ['said'] }, { tags: ['said'] }])
  for (const row of rows) {
    expect(row).not.toHaveProperty('at')
    expect(row.jid).toMatch(/^[0-9a-f]{24}$/)
  }
  // What the task itself is told goes first.
  const other = await hq.tasks.create(said, [[]], { queue: 'fast' })
  expect((await other.status())?.queue).toBe('fast')
})

test('every row of a task ends like its job, and the counts match', async () => {
  const { hq } = newApp()
  const attempts = new Map<number, number>()
  const Row = hq.job('Row', { retry: 1, retryIn: () => 0.01 }, async (ctx, n: number) => {
    attempts.set(n, ctx.attempt)
    switch (n) {
      case 1:
        throw new BusinessFailure('no such product', { code: 'unknown_product', field: 'sku' })
      case 2:
        if (ctx.attempt === 1) throw new Error('first time unlucky')
        return 'second time lucky'
      case 3:
        throw new Error('always broken')
      case 4:
        throw new Kill('beyond hope')
      case 5:
        throw new Discard('not needed')
      case 6:
        if (ctx.attempt === 1) throw new Snooze(0.01)
        return
      default:
        ctx.message(`looked at ${n}`)
        return { doubled: n * 2 }
    }
  })
  const task = await hq.tasks.create(
    Row,
    Array.from({ length: 8 }, (_, n) => [n] as [number]),
    { name: 'eight' },
  )
  await hq.worker({ concurrency: 3 }).start()
  const status = await task.wait({ every: 10 })
  expect(status).toMatchObject({
    name: 'eight',
    job: 'Row',
    state: 'done',
    total: 8,
    backlog: 0,
    percent: 100,
    counts: { enqueued: 0, working: 0, finished: 4, failed: 1, error: 2, cancelled: 1 },
  })
  expect(attempts.get(2)).toBe(2)

  const events = await collect(task.events())
  expect(events.map(({ status }) => status)).toEqual([
    'finished',
    'failed',
    'finished',
    'error',
    'error',
    'cancelled',
    'finished',
    'finished',
  ])
  expect(events[0]).toMatchObject({ index: 0, attempts: 1, args: null, result: { doubled: 0 } })
  expect(events[0]?.messages.map(({ text }) => text)).toEqual(['working', 'looked at 0', 'finished'])
  expect(events[1]).toMatchObject({ code: 'unknown_product', args: [1] })
  expect(events[1]?.messages.at(-1)?.text).toBe('sku: no such product')
  expect(events[2]?.attempts).toBe(2)
  expect(events[2]?.messages.map(({ text }) => text).join('\n')).toMatch(
    /error: first time unlucky\nwaiting for retry 1 at .*/,
  )
  expect(events[3]).toMatchObject({ attempts: 2, args: [3] })
  expect(events[5]).toMatchObject({ code: 'discarded' })

  expect((await hq.tasks.event(events[1]?.jid ?? ''))?.status).toBe('failed')
  expect(await hq.stats()).toMatchObject({ dead: 2, enqueued: 0, retries: 0, scheduled: 0 })
})

test('a small task is done before a large one that was submitted first is at five percent', async () => {
  const { hq } = newApp()
  const large = hq.job('Large', async (_ctx, _n: number) => {})
  const small = hq.job('Small', async (_ctx, _n: number) => {})
  const rows = (n: number) => Array.from({ length: n }, (_, i) => [i] as [number])
  const first = await hq.tasks.create(large, rows(50_000))
  const second = await hq.tasks.create(small, rows(200))
  await hq.worker({ concurrency: 10 }).start()
  await second.wait({ every: 5 })
  const { counts } = (await first.status()) as TaskStatus
  expect(counts.finished).toBeLessThan(50_000 * 0.05)
})

test('a task without rows is done at once', async () => {
  const { hq } = newApp()
  const task = await hq.tasks.create(
    hq.job('Row', async () => {}),
    [],
  )
  expect(await task.status()).toMatchObject({ state: 'done', total: 0, percent: 100 })
})

test('rows are read no further ahead than they are stored, and jobs run while others are still being read', async () => {
  const { hq } = newApp()
  let done = 0
  const Row = hq.job('Row', async () => {
    done++
  })
  let read = 0
  let doneWhileReading = 0
  let begun: (() => void) | undefined
  const running = new Promise<void>((resolve) => {
    begun = resolve
  })
  await hq.worker().start()
  await hq.tasks.create(
    Row,
    (async function* () {
      for (let i = 0; i < 3000; i++) {
        read++
        if (i === 2500) {
          await running
          while (done === 0) await new Promise((resume) => setTimeout(resume, 5))
          doneWhileReading = done
        }
        yield [] as []
      }
    })(),
    {
      onStart: () => {
        expect(read).toBeLessThanOrEqual(1001)
        begun?.()
      },
    },
  )
  expect(doneWhileReading).toBeGreaterThan(0)
})

test('an argument that is not JSON interrupts the task; the rows before it run', async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', async (_ctx, _value: unknown) => {})
  const rows = Array.from({ length: 1500 }, (_, i) => [i === 1200 ? { when: new Date() } : i] as [unknown])
  const failure = await hq.tasks.create(Row, rows).catch((error) => error)
  expect(failure).toMatchObject({ code: 'INVALID_ARGS' })
  expect(failure.message).toMatch(/args\[0\]\.when is a Date: pass when\.toISOString\(\)/)
  const { items } = await hq.tasks.list()
  expect(items).toMatchObject([{ state: 'interrupted', total: 1200 }])
  await hq.worker().start()
  const status = await hq.tasks.get(items[0]?.id ?? '').wait({ every: 10 })
  expect(status).toMatchObject({ state: 'interrupted', counts: { finished: 1200 } })

  await expect(hq.tasks.create(Row, [[new Map()]])).rejects.toMatchObject({ code: 'INVALID_ARGS' })
  expect((await hq.tasks.list()).items).toHaveLength(1)
})

test('client middleware sees each row: it may change it, stop it, and add members of its own', async () => {
  const { hq } = newApp()
  const seen: unknown[] = []
  const Row = hq.job('Row', async (ctx, n: number) => {
    seen.push([n, ctx.payload.locale])
  })
  hq.client.use(async (payload, next) => {
    const n = payload.args[0] as number
    if (n === 1) return null
    if (n === 2) payload.args = [20]
    if (n === 3) payload.locale = 'zh'
    return next()
  })
  const task = await hq.tasks.create(Row, [[0], [1], [2], [3]])
  await hq.worker({ concurrency: 1 }).start()
  const status = await task.wait({ every: 10 })
  expect(status.counts).toMatchObject({ finished: 3, cancelled: 1 })
  expect(seen).toEqual([
    [0, undefined],
    [20, undefined],
    [3, 'zh'],
  ])
  hq.client.clear().use((payload, next) => {
    payload.queue = 'elsewhere'
    return next()
  })
  await expect(hq.tasks.create(Row, [[1]])).rejects.toThrow(/a task has one queue \(default\)/)
})

test('big integers and unusual texts arrive in the handler as they were given', async () => {
  const { hq } = newApp()
  const values = [2n ** 70n, 'ünïcødé 漢字 שלום 😀', 'a"b\\c\n\t\u2028', -0.5, 1e21, null, { a: [{ b: true }] }]
  const arrived: unknown[] = []
  const Row = hq.job('Row', async (_ctx, value: unknown) => {
    arrived.push(value)
  })
  const task = await hq.tasks.create(
    Row,
    values.map((value) => [value] as [unknown]),
  )
  await hq.worker({ concurrency: 1 }).start()
  await task.wait({ every: 10 })
  expect(arrived.map(String)).toEqual(values.map(String))
  expect(arrived[0]).toBe(2n ** 70n)
})

test('keepArgs decides which arguments of rows are kept', async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', async (_ctx, n: number) => {
    if (n === 1) throw new BusinessFailure('no')
  })
  const worker = hq.worker()
  await worker.start()
  for (const [keepArgs, expected] of [
    ['rejected', [null, [1]]],
    ['all', [[0], [1]]],
    ['none', [null, null]],
  ] as const) {
    const task = await hq.tasks.create(Row, [[0], [1]], { keepArgs })
    await task.wait({ every: 10 })
    expect((await collect(task.events())).map(({ args }) => args)).toEqual(expected)
  }
})

test('wait can be aborted, reports progress, and rejects for an unknown task', async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', async () => {})
  const task = await hq.tasks.create(Row, [[]])
  const seen: TaskStatus[] = []
  const stop = new AbortController()
  const waiting = task.wait({
    signal: stop.signal,
    every: 5,
    onProgress: (status) => {
      seen.push(status)
      stop.abort(new Error('enough'))
    },
  })
  await expect(waiting).rejects.toThrow()
  expect(seen[0]).toMatchObject({ total: 1, counts: { enqueued: 1 } })
  await expect(hq.tasks.get('0'.repeat(16)).wait()).rejects.toMatchObject({ code: 'UNKNOWN_TASK' })
  expect(await hq.tasks.get('0'.repeat(16)).status()).toBeNull()
})

test('tasks are listed newest first, a page at a time', async () => {
  let now = 1_700_000_000_000
  const { hq } = newApp({ clock: { now: () => now++ } })
  const Row = hq.job('Row', async () => {})
  for (let i = 0; i < 5; i++) await hq.tasks.create(Row, [], { name: `t${i}` })
  const first = await hq.tasks.list({ limit: 3 })
  expect(first.items.map(({ name }) => name)).toEqual(['t4', 't3', 't2'])
  const second = await hq.tasks.list({ limit: 3, cursor: first.next ?? '' })
  expect(second.items.map(({ name }) => name)).toEqual(['t1', 't0'])
  expect(second.next).toBeNull()
})

test('a message from outside is kept with its event; of many the first and the last stay', async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', async () => {})
  const task = await hq.tasks.create(Row, [[]])
  const [event] = await collect(task.events())
  const jid = event?.jid ?? ''
  for (let i = 1; i <= 60; i++) await hq.tasks.message(jid, `message ${i}`)
  const texts = (await hq.tasks.event(jid))?.messages.map(({ text }) => text) ?? []
  expect(texts).toHaveLength(51)
  expect(texts.slice(9, 12)).toEqual(['message 10', '(10 messages are not kept)', 'message 21'])
  await hq.tasks.message(jid, 'x'.repeat(5000))
  expect((await hq.tasks.event(jid))?.messages.at(-1)?.text).toHaveLength(2000)
  await expect(hq.tasks.message('f'.repeat(24), 'hello')).rejects.toMatchObject({ code: 'UNKNOWN_TASK' })
})

test('a producer killed while adding leaves an interrupted task whose rows run', async () => {
  const { hq, url } = newApp()
  const Row = hq.job('Row', async () => {})
  const producer = fork(fileURLToPath(new URL('producer.js', import.meta.url)), [url], { silent: true })
  const [line] = await once(producer.stdout as NodeJS.ReadableStream, 'data')
  producer.kill('SIGKILL')
  await once(producer, 'exit')
  const task = hq.tasks.get(String(line).trim())
  expect(await task.status()).toMatchObject({ state: 'adding', total: 1000 })
  await hq.worker({ leaseSeconds: 1 }).start()
  expect(await task.wait({ every: 20 })).toMatchObject({ state: 'interrupted', counts: { finished: 1000 } })
  expect(Row.name).toBe('Row')
})

test('a row that is not a list of arguments is refused with its number, and no task remains', async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', async (_ctx, _n: unknown) => {})
  const wrong = (rows: unknown) => hq.tasks.create(Row, rows as [unknown][])
  await expect(wrong([[1], { sku: 'a' }])).rejects.toThrow('row 2 is an object: each row is the list')
  await expect(wrong(['ab'])).rejects.toMatchObject({ code: 'INVALID_JOB' })
  await expect(wrong(5)).rejects.toMatchObject({ code: 'INVALID_JOB' })
  await expect(hq.tasks.create(Row, [], { windw: 3 } as object)).rejects.toThrow(
    /no option windw; did you mean window\? There are name/,
  )
  expect((await hq.tasks.list()).items).toEqual([])
})

test('rows waiting for a retry are counted apart, and have no estimated time', async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', async (_ctx, n: number) => {
    if (n === 1) throw new Error('db down')
  })
  const task = await hq.tasks.create(Row, [[0], [1], [2]])
  await hq.worker().start()
  let status = await task.status()
  while (status?.retrying !== 1) status = await task.status()
  expect(status).toMatchObject({ counts: { enqueued: 1, finished: 2 }, backlog: 0, etaSeconds: null })
})

test('a task that was stored although its creation failed is interrupted, not adding', async () => {
  const { hq } = newApp()
  const { tasks } = hq.store
  const create = tasks.create.bind(tasks)
  tasks.create = async (spec) => {
    await create(spec)
    throw new HighkiqError('STORE_FULL', 'the answer was lost')
  }
  const Row = hq.job('Row', async (_ctx, _n: number) => {})
  await expect(hq.tasks.create(Row, [[1]])).rejects.toMatchObject({ code: 'STORE_FULL' })
  expect((await hq.tasks.list()).items).toMatchObject([{ state: 'interrupted', total: 0 }])
})

// Its URL sets how large a file may become.
test.runIf(storeOfSuite() === 'SQLite')(
  'a store that is full while rows are added leaves the task interrupted, not adding',
  async () => {
    const { hq, url } = newApp()
    const small = newApp({ url: `${url}?maxMegabytes=1` }).hq
    const Row = small.job('Row', async (_ctx, _ballast: string) => {})
    const rows = Array.from({ length: 5000 }, () => ['x'.repeat(500)] as [string])
    await expect(small.tasks.create(Row, rows)).rejects.toMatchObject({ code: 'STORE_FULL' })
    expect((await hq.tasks.list()).items).toMatchObject([{ state: 'interrupted' }])
  },
)

test('of many messages of one attempt the first and the last are kept', async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', async (ctx) => {
    for (let n = 1; n <= 1000; n++) ctx.message(`m${n}`)
  })
  const task = await hq.tasks.create(Row, [[]])
  await hq.worker().start()
  await task.wait({ every: 10 })
  const [event] = await collect(task.events())
  const texts = event?.messages.map(({ text }) => text).filter((text) => !/working|finished/.test(text)) ?? []
  expect(texts.slice(0, 3)).toEqual(['m1', 'm2', 'm3'])
  expect(texts.slice(9, 12)).toEqual(['m10', '(960 messages are not kept)', 'm971'])
  expect(texts.at(-1)).toBe('m1000')
})

test('an error without a code has the name of its class as code', async () => {
  const { hq } = newApp()
  class OutOfStock extends Error {}
  class UnknownSku extends BusinessFailure {}
  const Row = hq.job('Row', { retry: 0 }, async (_ctx, n: number) => {
    if (n === 0) throw new OutOfStock('none left')
    if (n === 1) throw new UnknownSku('no such product')
    if (n === 2) throw new UnknownSku('no such product', { code: 'unknown_sku' })
    throw new BusinessFailure('no price')
  })
  const task = await hq.tasks.create(Row, [[0], [1], [2], [3]])
  await hq.worker({ concurrency: 3 }).start()
  await task.wait({ every: 10 })
  const events = await collect(task.events())
  expect(events.map(({ status, code }) => [status, code])).toEqual([
    ['error', 'OutOfStock'],
    ['failed', 'UnknownSku'],
    ['failed', 'unknown_sku'],
    ['failed', null],
  ])
  expect(await collect(task.events({ code: 'UnknownSku' }))).toHaveLength(1)
  expect(await task.retry({ code: 'OutOfStock', status: ['error'] })).toMatchObject({ rows: 1 })
})

test('the code of a row has at most 200 characters, and its task ends', async () => {
  const { hq } = newApp()
  const code = randomBytes(6000).toString('base64')
  const Row = hq.job('Row', async () => {
    throw new BusinessFailure('no', { code })
  })
  const task = await hq.tasks.create(Row, [[]])
  await hq.worker().start()
  await task.wait({ every: 10 })
  expect(await task.reasons()).toEqual([{ status: 'failed', code: code.slice(0, 200), count: 1 }])
})

test('promises of rows are awaited, in a task as in performBulk', async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', async (_ctx, _n: number) => {})
  const rows = () => [[1], Promise.resolve([2])] as [number][]
  const task = await hq.tasks.create(Row, rows())
  expect((await task.status())?.total).toBe(2)
  expect(await Row.performBulk(rows())).toHaveLength(2)
})
