import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BusinessFailure, type Task, type TaskStatus } from 'highkiq'
import { describe, expect, onTestFinished, test } from 'vitest'
import { all, bench, Collector, gate, until } from '../engine/bench.ts'

const rows = (n: number) => Array.from({ length: n }, (_, i): [number] => [i])
const statuses = async (task: Task) => (await all(task.events())).map(({ status }) => status)

/** The counts of a task are those of its events, whatever happened. */
async function sound(task: Task): Promise<TaskStatus> {
  const status = (await task.status()) as TaskStatus
  const counts: Record<string, number> = { enqueued: 0, working: 0, finished: 0, failed: 0, error: 0, cancelled: 0 }
  for (const name of await statuses(task)) counts[name] = (counts[name] ?? 0) + 1
  expect(status.counts).toEqual(counts)
  return status
}

describe('retry', () => {
  test('rejected rows run again as the same events, in a new run, and dead entries go', async () => {
    const { hq, work } = bench()
    let strict = true
    const Row = hq.job('Row', { retry: 0 }, async (_ctx, n: number) => {
      if (!strict) return
      if (n === 1) throw new BusinessFailure('no', { code: 'bad' })
      if (n === 2) throw new BusinessFailure('no', { code: 'worse' })
      if (n === 3) throw new Error('broken')
    })
    const task = await hq.tasks.create(Row, rows(5))
    await work()
    await task.wait({ every: 10 })
    expect(await statuses(task)).toEqual(['finished', 'failed', 'failed', 'error', 'finished'])
    expect(await hq.dead.size()).toBe(1)
    expect(await task.reasons()).toEqual(
      expect.arrayContaining([
        { status: 'failed', code: 'bad', count: 1 },
        { status: 'failed', code: 'worse', count: 1 },
      ]),
    )

    strict = false
    expect(await task.retry({ status: ['failed'], code: 'bad' })).toMatchObject({
      run: 2,
      rows: 1,
      dropped: 0,
      refused: 0,
    })
    await task.wait({ every: 10 })
    expect(await statuses(task)).toEqual(['finished', 'finished', 'failed', 'error', 'finished'])

    expect(await task.retry()).toMatchObject({ run: 3, rows: 2, dropped: 0, refused: 0 })
    const status = await task.wait({ every: 10 })
    expect(status).toMatchObject({ state: 'done', run: 3, counts: { finished: 5 } })
    expect(await hq.dead.size()).toBe(0)
    expect(await task.reasons()).toEqual([])
    const [, event] = await all(task.events())
    expect(event?.messages.map(({ text }) => text)).toContain('no')
    await sound(task)
  })

  test('a row cancelled in a queue without workers runs once, with its new arguments', async () => {
    const { hq, work, queue } = bench()
    const ran: string[] = []
    const Row = hq.job('Row', async ({ payload }, text: string) => void ran.push(`${text} in run ${payload.hk_run}`))
    const task = await hq.tasks.create(Row, [['a'], ['b'], ['c'], ['d']], { window: 3 })
    await task.cancel('wrong file')
    const corrected = ['A', 'B', 'C', 'D'].map((text, index) => ({ index, args: [text] }))
    expect(await task.retry({ rows: corrected })).toMatchObject({ run: 2, rows: 4 })
    expect(await queue()).toHaveLength(3)
    await work()
    await task.wait({ every: 10 })
    expect(ran.sort()).toEqual(['A in run 2', 'B in run 2', 'C in run 2', 'D in run 2'])
    await sound(task)
  })

  test('a retry without rejected rows starts no run', async () => {
    const { hq, work } = bench()
    const task = await hq.tasks.create(
      hq.job('Row', async (_ctx, _n: number) => {}),
      rows(3),
    )
    await work()
    await task.wait({ every: 10 })
    expect(await task.retry()).toMatchObject({ run: 1, rows: 0, dropped: 0, refused: 0 })
    expect((await task.status())?.run).toBe(1)
  })

  test('a row can run with other arguments', async () => {
    const { hq, work } = bench()
    const Row = hq.job('Row', async (_ctx, text: string) => {
      if (Number.isNaN(Number(text))) throw new BusinessFailure('not a number', { code: 'number' })
      return Number(text)
    })
    const task = await hq.tasks.create(Row, [['1'], ['two'], ['3']])
    await work()
    await task.wait({ every: 10 })
    await task.retry({ rows: [{ index: 1, args: ['2'] }] })
    await task.wait({ every: 10 })
    const events = await all(task.events())
    expect(events.map(({ status, result }) => [status, result])).toEqual([
      ['finished', 1],
      ['finished', 2],
      ['finished', 3],
    ])
  })

  test('of two concurrent retries one runs the rows', async () => {
    const { hq, work } = bench()
    const ran = new Collector<number>()
    let strict = true
    const Row = hq.job('Row', async (_ctx, n: number) => {
      if (strict) throw new BusinessFailure('no')
      ran.add(n)
    })
    const task = await hq.tasks.create(Row, rows(20))
    await work()
    await task.wait({ every: 10 })
    strict = false
    const answers = await Promise.allSettled([task.retry(), task.retry()])
    const done = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value.rows : []))
    expect(done.reduce((sum, n) => sum + n, 0)).toBe(20)
    for (const answer of answers) if (answer.status === 'rejected') expect(answer.reason.code).toBe('TASK_BUSY')
    await task.wait({ every: 10 })
    expect(ran.all.toSorted((a, b) => a - b)).toEqual(rows(20).flat())
    await sound(task)
  })

  test('of two concurrent retries of a cancelled task neither cancels rows of the other', async () => {
    const { hq, work } = bench()
    const Row = hq.job('Row', async (_ctx, _n: number) => {})
    const task = await hq.tasks.create(Row, rows(20))
    await task.cancel()
    const again = () => task.retry({ status: ['cancelled'] })
    const answers = await Promise.allSettled([again(), again()])
    const run = answers.reduce((sum, answer) => sum + (answer.status === 'fulfilled' ? answer.value.rows : 0), 0)
    await work()
    await task.wait({ every: 10 })
    expect((await sound(task)).counts.finished).toBe(run)
    expect(run).toBe(20)
  })
})

describe('pause and limits', () => {
  test('a paused task queues no rows; after resume all run', async () => {
    const { hq, work } = bench()
    const Row = hq.job('Row', async (_ctx, _n: number) => {})
    const task = await hq.tasks.create(Row, rows(50), { window: 10 })
    await task.pause()
    expect(await task.status()).toMatchObject({ state: 'paused', backlog: 40 })
    await work()
    await until(async () => (await task.status())?.counts.finished === 10)
    expect(await task.status()).toMatchObject({ state: 'paused', backlog: 40 })
    await task.resume()
    expect(await task.wait({ every: 10 })).toMatchObject({ state: 'done', counts: { finished: 50 } })
    await expect(task.pause()).rejects.toMatchObject({ code: 'TASK_ENDED' })
  })

  test('no more than `concurrency` run at a time, and it can be changed', async () => {
    const { hq, work } = bench()
    let running = 0
    let most = 0
    const begun = new Collector<number>()
    const first = gate()
    const Row = hq.job('Row', async (_ctx, n: number) => {
      most = Math.max(most, ++running)
      begun.add(n)
      await first.opened
      running--
    })
    const task = await hq.tasks.create(Row, rows(30), { concurrency: 2 })
    await work({ concurrency: 10 })
    await begun.atLeast(2)
    expect(most).toBe(2)
    await task.set({ concurrency: 5 })
    await begun.atLeast(5)
    expect(running).toBe(5)
    first.open()
    await task.wait({ every: 10 })
    expect(most).toBe(5)
  })

  test('beyond maxFailures the task pauses with a reason, and continues after a resume', async () => {
    const { hq, work } = bench()
    const Row = hq.job('Row', async (_ctx, n: number) => {
      if (n < 5) throw new BusinessFailure('no')
    })
    const task = await hq.tasks.create(Row, rows(100), { maxFailures: 3, window: 5 })
    await work({ concurrency: 1 })
    await until(async () => (await task.status())?.state === 'paused')
    await until(async () => (await task.status())?.counts.enqueued === (await task.status())?.backlog)
    const status = (await task.status()) as TaskStatus
    expect(status.reason).toMatch(/rejected/)
    expect(status.backlog).toBeGreaterThan(85)
    await task.set({ maxFailures: null })
    await task.resume()
    expect(await task.wait({ every: 10 })).toMatchObject({ state: 'done', counts: { finished: 95, failed: 5 } })
  })

  test('beyond maxFailures with onMaxFailures cancel the other rows are cancelled', async () => {
    const { hq, work } = bench()
    const Row = hq.job('Row', async (_ctx, _n: number) => {
      throw new BusinessFailure('no')
    })
    const task = await hq.tasks.create(Row, rows(3000), { maxFailures: '10%', onMaxFailures: 'cancel' })
    await work()
    const status = await task.wait({ every: 10 })
    expect(status.state).toBe('cancelled')
    expect(status.counts.failed).toBeGreaterThanOrEqual(100)
    expect(status.counts.failed + status.counts.cancelled).toBe(3000)
    await sound(task)
  })
})

describe('cancel and delete', () => {
  test('waiting rows are cancelled, and a running row gets an abort', async () => {
    const { hq, work } = bench()
    const begun = new Collector<number>()
    const aborted = new Collector<unknown>()
    let strict = true
    const Row = hq.job('Row', async (ctx, n: number) => {
      if (!strict) return
      begun.add(n)
      await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()))
      aborted.add(ctx.signal.reason.code)
      ctx.signal.throwIfAborted()
    })
    const ended = new Collector<unknown[]>()
    const Done = hq.job('Done', async (_ctx, id: string, run: number) => ended.add([id, run]))
    const task = await hq.tasks.create(Row, rows(1200), { onDone: Done })
    await work({ concurrency: 2 })
    await begun.atLeast(2)
    await task.cancel('enough')
    await aborted.atLeast(2)
    const status = await task.wait({ every: 10 })
    expect(status).toMatchObject({ state: 'cancelled', counts: { cancelled: 1200 }, backlog: 0 })
    expect(status.reason).toBe('enough')
    expect(await ended.atLeast(1)).toEqual([[task.id, 1]])
    // One that was taken just then may have begun: it hears of it at once.
    await until(() => aborted.all.length === begun.all.length)
    expect(new Set(aborted.all)).toEqual(new Set(['JOB_CANCELLED']))
    expect(begun.all.length).toBeLessThan(20)
    await sound(task)

    strict = false
    expect(await task.retry({ status: ['cancelled'] })).toMatchObject({ run: 2, rows: 1200 })
    expect(await task.wait({ every: 10 })).toMatchObject({ state: 'done', counts: { finished: 1200 } })
  })

  test('a task is cancelled while rows are still being added', async () => {
    const { hq } = bench()
    const Row = hq.job('Row', async (_ctx, _n: number) => {})
    const stored = new Collector<Task>()
    const more = gate()
    async function* slowly() {
      yield* rows(1000)
      yield [1000] as [number]
      await more.opened
      yield* rows(1000)
    }
    const adding = hq.tasks.create(Row, slowly(), { onStart: stored.add })
    const [task] = await stored.atLeast(1)
    await task?.cancel()
    more.open()
    await expect(adding).rejects.toMatchObject({ code: 'TASK_ENDED' })
    expect(await task?.status()).toMatchObject({ state: 'cancelled', counts: { cancelled: 1000 } })
  })

  test('a deleted task is gone, and its jobs leave nothing behind', async () => {
    const { hq, work, settled } = bench()
    const Row = hq.job('Row', async (_ctx, _n: number) => {})
    const task = await hq.tasks.create(Row, rows(1500))
    expect(await task.delete()).toBe(true)
    expect(await task.status()).toBeNull()
    expect(await task.delete()).toBe(false)
    expect((await hq.tasks.list()).items).toEqual([])
    await expect(task.retry()).rejects.toMatchObject({ code: 'UNKNOWN_TASK' })
    await work()
    await settled()
    expect(await hq.stats()).toMatchObject({ dead: 0, retries: 0 })
  })
})

describe('growing', () => {
  test('a task may mix jobs, and handlers add rows to it', async () => {
    const { hq, work } = bench()
    const Leaf = hq.job('Leaf', { queue: 'elsewhere' }, async (_ctx, n: number) => n)
    const Root = hq.job('Root', { retry: 1, retryIn: () => 0.01 }, async (ctx, n: number) => {
      await ctx.task?.add(Leaf, [[n * 10], [n * 10 + 1]])
      if (ctx.attempt === 1) throw new Error('after adding')
      await ctx.task?.add(Leaf, [[n * 10 + 2]])
    })
    const ended = new Collector<unknown[]>()
    const Done = hq.job('Done', async (_ctx, id: string, run: number) => ended.add([id, run]))
    const task = await hq.tasks.create(Root, rows(3), { onDone: Done })
    await work()
    const status = await task.wait({ every: 10 })
    // What an attempt added that failed is not added again by the next one: its rows are there once.
    expect(status).toMatchObject({ state: 'done', total: 3 + 3 * 3, counts: { finished: 12 } })
    const events = await all(task.events())
    expect(events.filter(({ job }) => job === 'Leaf')).toHaveLength(9)
    expect(await ended.atLeast(1)).toEqual([[task.id, 1]])
    await expect(task.add(Leaf, [[1]])).rejects.toMatchObject({ code: 'TASK_ENDED' })
  })

  test('in a later run a handler adds what is missing; with new arguments it adds its rows from the first', async () => {
    const { hq, work } = bench()
    const Leaf = hq.job('Leaf', async (_ctx, name: string) => name)
    let strict = true
    const Root = hq.job('Root', { retry: 0 }, async (ctx, name: string) => {
      const leaves = [1, 2, 3].map((n): [string] => [`${name}${n}`])
      await ctx.task?.add(Leaf, leaves.slice(0, 2))
      if (strict) throw new Error('after adding')
      await ctx.task?.add(Leaf, leaves.slice(2))
    })
    const task = await hq.tasks.create(Root, [['a'], ['b'], ['c']], { keepArgs: 'all' })
    await work()
    await task.wait({ every: 10 })
    const added = async () =>
      (await all(task.events())).flatMap(({ job, args }) => (job === 'Leaf' ? args : [])).toSorted()
    expect(await added()).toEqual(['a1', 'a2', 'b1', 'b2', 'c1', 'c2'])

    strict = false
    await task.retry({ rows: [{ index: 0 }, { index: 1, args: ['b'] }, { index: 2, args: ['d'] }] })
    expect(await task.wait({ every: 10 })).toMatchObject({ state: 'done', counts: { finished: 3 + 6 + 2 + 3 } })
    expect(await added()).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'c1', 'c2', 'd1', 'd2', 'd3'])
  })

  test('rows are added from outside while the task runs', async () => {
    const { hq, work } = bench()
    const Row = hq.job('Row', async (_ctx, n: number) => n)
    const task = await hq.tasks.create(Row, rows(10))
    expect(await task.add(Row, rows(1500))).toBe(1500)
    await work()
    expect(await task.wait({ every: 10 })).toMatchObject({ state: 'done', total: 1510, counts: { finished: 1510 } })
  })

  test('rows added later have the present options of their job', async () => {
    const { hq, work } = bench()
    const retries = new Collector<unknown>()
    const Row = hq.job('Row', async (ctx, _n: number) => retries.add(ctx.payload.retry))
    const task = await hq.tasks.create(Row, rows(1))
    await task.add(Row.set({ retry: 3 }), rows(1))
    await task.add(Row, rows(1))
    await work({ concurrency: 1 })
    await task.wait({ every: 10 })
    expect(retries.all).toEqual([true, 3, true])
  })

  test('another producer resumes adding where the first one stopped', async () => {
    const { hq, work } = bench()
    const Row = hq.job('Row', async (_ctx, n: number) => n)
    async function* broken() {
      yield* rows(1500)
      throw new Error('the line is dead')
    }
    let task: Task | undefined
    await expect(
      hq.tasks.create(Row, broken(), {
        onStart: (started) => {
          task = started
        },
      }),
    ).rejects.toThrow('the line is dead')
    await work()
    expect((await task?.wait({ every: 10 }))?.state).toBe('interrupted')
    expect(await task?.resumeAdding(Row, rows(3200))).toBe(1700)
    expect(await task?.wait({ every: 10 })).toMatchObject({ state: 'done', total: 3200, counts: { finished: 3200 } })
    await expect(task?.resumeAdding(Row, rows(3200))).rejects.toMatchObject({ code: 'TASK_ENDED' })
    const owners = (await hq.store.workers.leases()).map(({ owner }) => owner)
    expect(owners.filter((owner) => owner.startsWith('producer:'))).toEqual([])
  })

  test('a claimed producer ends with TASK_TAKEN_OVER, although all its rows are stored', async () => {
    const { hq } = bench()
    const Row = hq.job('Row', async (_ctx, _n: number) => {})
    const id = '00112233445566aa'
    const source = async function* () {
      // So many rows are stored at once.
      yield* rows(1000)
      const record = await hq.store.tasks.find(id)
      expect(await hq.store.workers.claim(record?.producer ?? '')).toBe(true)
    }
    await expect(hq.tasks.create(Row, source(), { id })).rejects.toMatchObject({
      code: 'TASK_TAKEN_OVER',
      details: { task: id },
    })
    const task = hq.tasks.get(id)
    expect(await task.status()).toMatchObject({ state: 'interrupted', total: 1000 })
    expect(await task.resumeAdding(Row, rows(1000))).toBe(0)
    expect(await task.status()).toMatchObject({ state: 'running', total: 1000 })
  })
})

describe('callbacks', () => {
  test('onDone is pushed once for each run after the last row, onFailure at the first rejected one', async () => {
    const { hq, work } = bench()
    let strict = true
    const Row = hq.job('Row', async (_ctx, n: number) => {
      if (strict && n % 2 === 1) throw new BusinessFailure('odd')
    })
    const done = new Collector<unknown[]>()
    const failures = new Collector<unknown[]>()
    const Done = hq.job('Done', { queue: 'callbacks' }, async (_ctx, id: string, run: number) => {
      done.add([run, (await hq.tasks.get(id).status())?.state])
    })
    const Failure = hq.job('Failure', async (_ctx, _id: string, run: number) => failures.add([run]))
    const task = await hq.tasks.create(Row, rows(30), { onDone: Done, onFailure: Failure })
    await work({ queues: ['default', 'callbacks'] })
    expect(await done.atLeast(1)).toEqual([[1, 'done']])
    strict = false
    await task.retry()
    expect(await done.atLeast(2)).toEqual([
      [1, 'done'],
      [2, 'done'],
    ])
    expect(failures.all).toEqual([[1]])
  })

  test('a task without rows is done and pushes its callbacks', async () => {
    const { hq, work } = bench()
    const done = new Collector<string>()
    const Done = hq.job('Done', async (_ctx, id: string, _run: number) => done.add(id))
    const task = await hq.tasks.create(
      hq.job('Row', async (_ctx, _n: number) => {}),
      [],
      { onDone: Done },
    )
    await work()
    expect(await done.atLeast(1)).toEqual([task.id])
  })
})

describe('a single tracked job', () => {
  test('a tracked job has its own event, found by its id', async () => {
    const { hq, work } = bench()
    const Report = hq.job('Report', { track: true }, async (ctx, name: string) => {
      ctx.message(`writing ${name}`)
      return { pages: 3 }
    })
    const jid = (await Report.performAsync('sales')) as string
    expect(await hq.tasks.event(jid)).toMatchObject({ jid, job: 'Report', status: 'enqueued', args: ['sales'] })
    await work()
    await until(async () => (await hq.tasks.event(jid))?.status === 'finished')
    const event = await hq.tasks.event(jid)
    expect(event).toMatchObject({ attempts: 1, args: ['sales'], result: { pages: 3 } })
    expect(event?.messages.map(({ text }) => text)).toEqual(['working', 'writing sales', 'finished'])
    expect((await hq.tasks.list()).items).toEqual([])
  })

  test('a scheduled job that fails and is retried has one event', async () => {
    const { hq, work } = bench()
    const Report = hq.job('Report', { track: true, retry: 1, retryIn: () => 0.01 }, async (ctx) => {
      if (ctx.attempt === 1) throw new Error('not yet')
    })
    const jid = (await Report.performIn(0.05)) as string
    expect((await hq.tasks.event(jid))?.status).toBe('enqueued')
    await work()
    await until(async () => (await hq.tasks.event(jid))?.status === 'finished')
    expect(await hq.tasks.event(jid)).toMatchObject({ attempts: 2 })
  })
})

describe('an export', () => {
  test('an export keeps the rows of each page, and returns them in the order of the pages', async () => {
    const { hq, work } = bench()
    const Page = hq.job('Page', async (_ctx, from: number) => [
      { id: from, name: `n${from}` },
      { id: from + 1, name: 'ß, "quoted"' },
    ])
    const task = await hq.tasks.export(Page, [0, 2, 4], { format: 'csv', columns: ['id', 'name'] })
    await expect(task.download()).rejects.toMatchObject({ code: 'TASK_NOT_DONE' })
    await work({ concurrency: 3 })
    await task.wait({ every: 10 })
    const text = await new Response(await task.download()).text()
    expect(text.replace('\uFEFF', '').trim().split(/\r?\n/)).toEqual([
      'id,name',
      '0,n0',
      '1,"ß, ""quoted"""',
      '2,n2',
      '3,"ß, ""quoted"""',
      '4,n4',
      '5,"ß, ""quoted"""',
    ])
  })
  test('a download that waits has the pages that a running page adds between two reads of the download', async () => {
    const { hq, work } = bench()
    const [begun, go, more] = [new Collector<number>(), gate(), gate()]
    const More = hq.job('More', async (_ctx, n: number) => {
      await more.opened
      return [{ n }]
    })
    const Page = hq.job('Page', async (ctx, n: number) => {
      begun.add(n)
      await go.opened
      await ctx.task?.add(More, [[n + 1]])
      return [{ n }]
    })
    const task = await hq.tasks.export(Page, [0], { format: 'ndjson' })
    await work({ concurrency: 2 })
    await begun.atLeast(1)
    const file = await task.download({ wait: true })
    const find = hq.store.tasks.find.bind(hq.store.tasks)
    let [isFirst, hasEnded] = [true, false]
    // The first page ends after the download has read the task, and before it reads the pages.
    hq.store.tasks.find = async (id) => {
      const record = await find(id)
      if (hasEnded) more.open()
      if (!isFirst) return record
      isFirst = false
      go.open()
      await until(async () => (await hq.store.tasks.events(id, { limit: 1 }))[0]?.status === 'finished')
      hasEnded = true
      return record
    }
    expect(await new Response(file as never).text()).toBe('{"n":0}\n{"n":1}\n')
  })
  test('a download that waits refuses an interrupted export, and with partial has the pages that are there', async () => {
    const { hq, work, clock } = bench()
    const Page = hq.job('Page', async (_ctx, n: number) => [{ n }])
    const task = await hq.tasks.export(Page, [0], { format: 'ndjson' })
    const { tasks, workers } = hq.store
    await workers.join('producer', { queues: ['default'], seconds: 60, host: 'elsewhere' })
    await tasks.openAdding(task.id, 'producer', clock.now())
    await tasks.endAdding(task.id, 'producer', clock.now(), true)
    await work()
    const read = async (partial: boolean) =>
      new Response((await task.download({ wait: true, partial })) as never).text()
    await expect(read(false)).rejects.toMatchObject({
      code: 'EXPORT_INCOMPLETE',
      message: expect.stringContaining('was interrupted'),
    })
    expect(await read(true)).toBe('{"n":0}\n')
  })
  test("a page that can't become a file ends as error at once, with the reason", async () => {
    const { hq, work } = bench()
    const pages: unknown[][] = [
      [[1, 'a']],
      [{ id: 1 }, 'text'],
      [{ id: 1, unitprice: 2 }],
      [{ id: 1, unit_price: 2, more: 3 }],
      [{ id: 2 }],
      [],
    ]
    const Page = hq.job('Page', { retry: 3 }, async (_ctx, n: number) => pages[n] as object[])
    await work()
    const said = async (options: object) => {
      const task = await hq.tasks.export(Page, [...pages.keys()], options)
      await task.wait({ every: 10 })
      return (await all(task.events())).map(({ status, attempts, messages, result }) => {
        return status === 'error' ? `${attempts}: ${messages.at(-1)?.text}` : result
      })
    }
    const columns = ['id', 'unit_price']
    expect(await said({ format: 'xlsx', columns })).toEqual([
      { rows: 1 },
      '1: error: row 2 of the page is neither an object nor a list of cells',
      '1: error: no row has "unit_price", a column of the export; did you mean unitprice?',
      { rows: 1 },
      { rows: 1, missing: ['unit_price'] },
      { rows: 0 },
    ])
    const bare = await said({})
    expect(bare[0]).toBe('1: error: row 1 of the page is a list: name its cells in the option columns of tasks.export')
    expect((await said({ columns: ['id'] }))[0]).toBe(
      '1: error: row 1 of the page has 2 cells, and the export 1 columns',
    )
    await expect(hq.tasks.export(Page, [0], { columns: ['id', 'id'] })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
    })
  })
  test('an export into a folder reads the path from its task, not from a payload', async () => {
    const { hq, work } = bench()
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-parts-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const Page = hq.job('Page', async (_ctx, n: number) => [{ n }])
    hq.client.use((payload, next) => {
      payload.hk_part = join(folder, 'forged') as never
      return next()
    })
    const task = await hq.tasks.export(Page, [1, 2], { artifacts: join(folder, 'own') })
    await work()
    await task.wait({ every: 10 })
    expect(readdirSync(folder)).toEqual(['own'])
    expect(readdirSync(join(folder, 'own'))).toEqual([task.id])
    expect(await new Response(await task.download()).text()).toMatch(/^\uFEFF?n\r?\n1\r?\n2\r?\n$/)
  })
})
