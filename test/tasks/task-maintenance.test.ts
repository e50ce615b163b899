import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Highkiq, Snooze } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import type { Effect } from '#dist/store/contract.js'
import { TaskMaintenance } from '#dist/tasks/task-maintenance.js'
import { PRODUCER, rows, spec, taskId } from '../conformance/tasks/tracked.ts'
import { bench, Collector, gate, until } from '../engine/bench.ts'

const DAY = 86_400

/** Takes jobs out of a queue, as a program does that does not report their end. */
async function rob({ store }: Highkiq, queue: string, n: number, now: number): Promise<string[]> {
  await store.workers.join('stranger', { queues: [queue], seconds: 60, host: 'elsewhere' })
  const turn = { now, started: [], settlements: [], fetch: { queues: [queue], n } }
  const { fetched: taken } = await store.workers.settleAndFetch('stranger', turn)
  const settlements = taken.map(({ ticket }) => ({
    queue,
    ticket,
    move: null,
    processed: 1 as const,
    failed: 0 as const,
  }))
  await store.workers.settleAndFetch('stranger', { ...turn, settlements, fetch: { queues: [], n: 0 } })
  await store.workers.release('stranger')
  return taken.map(({ text }) => text)
}

/** Records the queues and sets that a walk reads; `ms` is the time that each takes. */
function scansOf({ store }: Highkiq, ms = 0): Collector<string> {
  const scans = new Collector<string>()
  for (const name of ['scanQueues', 'scanQueue', 'scanSet'] as const) {
    const scan = (store.search[name] as (...args: unknown[]) => unknown).bind(store.search)
    const heard = async (...args: unknown[]) => {
      scans.add(String(args[0]))
      await sleep(ms)
      return scan(...args)
    }
    store.search[name] = heard as never
  }
  return scans
}

/** Task maintenance that pauses for as long as it walked, or as `walkingPart` says. */
function maintenanceOf(
  hq: Highkiq,
  now: () => number,
  about: { walkingPart?: number; everySeconds?: number } = { walkingPart: 1 },
): TaskMaintenance {
  const report = (thrown: unknown) => {
    throw thrown
  }
  const maintenance = new TaskMaintenance({ store: hq.store, now, report }, { everySeconds: 1, ...about })
  onTestFinished(() => maintenance.stop())
  return maintenance
}

test('one search finds the rows of all idle tasks, and a missing row frees its slot in the window', async () => {
  const { hq, clock } = bench()
  const Row = hq.job('Row', { queue: 'nobody' }, async (_ctx, _n: number) => {})
  const rows = Array.from({ length: 4 }, (_, i): [number] => [i])
  const tasks = [1, 2, 3].map(() => hq.tasks.create(Row, rows, { window: 2, lostAfter: '30d' }))
  const ids = (await Promise.all(tasks)).map(({ id }) => id)
  const [text = ''] = await rob(hq, 'nobody', 1, clock.now())
  const robbed = JSON.parse(text).hk_task as string

  clock.ahead = DAY
  const scans = scansOf(hq)
  await maintenanceOf(hq, clock.now).run()
  expect(scans.all.toSorted()).toEqual(['nobody', 'retry', 'schedule'])
  const held = Object.fromEntries(
    await Promise.all(ids.map(async (id) => [id, (await hq.tasks.get(id).status())?.backlog] as const)),
  )
  expect(held).toEqual(Object.fromEntries(ids.map((id) => [id, id === robbed ? 1 : 2])))
})

test('a task with a priority that makes no progress keeps to its window', async () => {
  const { hq, clock } = bench()
  const Row = hq.job('Row', { queue: 'nobody', priority: 5 }, async (_ctx, _n: number) => {})
  const task = await hq.tasks.create(Row, [[1], [2], [3], [4]], { window: 2 })
  clock.ahead = 60
  const maintenance = maintenanceOf(hq, clock.now, { walkingPart: 1e9 })
  for (let i = 0; i < 2; i++) await maintenance.run()
  expect(await task.status()).toMatchObject({ backlog: 2, retrying: 0 })
})

test("tasks that can't be cancelled, deleted or checked are reported and tried again, and hold up no other task", async () => {
  const { hq, clock } = bench()
  const { tasks } = hq.store
  const Row = hq.job('Row', { queue: 'nobody' }, async (_ctx, _n: number) => {})
  const create = async (options: object = {}) => (await hq.tasks.create(Row, [[1], [2]], { window: 1, ...options })).id
  const twice = async (options?: object) => [await create(options), await create(options)] as const
  const cancelled = await twice()
  for (const id of cancelled) await tasks.cancel(id, null, clock.now())
  const expired = await twice({ keep: 60 })
  for (const id of expired) await hq.tasks.get(id).cancel()
  const idle = await twice()
  await rob(hq, 'nobody', 9, clock.now())
  clock.ahead = DAY

  const original = { cancelRows: tasks.cancelRows, delete: tasks.delete, events: tasks.events }
  const broken = new Set([cancelled[0], expired[0], idle[0]])
  for (const name of ['cancelRows', 'delete', 'events'] as const) {
    const call = original[name].bind(tasks) as (id: string, ...rest: unknown[]) => unknown
    tasks[name] = (async (id: string, ...rest: unknown[]) => {
      if (broken.has(id)) throw new Error(`broken ${name}`)
      return call(id, ...rest)
    }) as never
  }
  const reports: unknown[] = []
  const report = (thrown: unknown, { task }: Record<string, unknown>) => reports.push([(thrown as Error).message, task])
  const maintenance = new TaskMaintenance(
    { store: hq.store, now: clock.now, report },
    { everySeconds: 1, walkingPart: 1e9 },
  )
  onTestFinished(() => maintenance.stop())
  for (let i = 0; i < 2; i++) await maintenance.run()
  expect(reports).toEqual([
    ['broken cancelRows', cancelled[0]],
    ['broken delete', expired[0]],
    ['broken events', idle[0]],
  ])
  const seen = async () => {
    const all = await Promise.all([...cancelled, ...expired, ...idle].map((id) => tasks.find(id)))
    return all.map((task) => task && [task.state, task.backlog])
  }
  const [open, ended] = [
    ['running', 1],
    ['running', 0],
  ]
  expect(await seen()).toEqual([['cancelling', 1], ['cancelled', 0], ['cancelled', 0], null, open, ended])

  broken.clear()
  const { now } = performance
  performance.now = () => now.call(performance) + 31_000
  onTestFinished(() => {
    performance.now = now
  })
  await maintenance.run()
  expect(await seen()).toEqual([['cancelled', 0], ['cancelled', 0], null, null, ended, ended])
  expect(reports).toHaveLength(3)
})

test('old tracked jobs are deleted, and overdue rows end, at once, however many there are', async () => {
  const { hq, clock } = bench()
  const { tasks } = hq.store
  const Tracked = hq.job('Tracked', { queue: 'nobody', track: true }, async (_ctx, _n: number) => {})
  const args = Array.from({ length: 250 }, (_, i): [number] => [i])
  const at = clock.now()
  const ended = (await Tracked.performBulk(args)) as string[]
  const end = { kind: 'event', run: 1, attempt: 1, status: 'finished', window: 'leave', at } as const
  await tasks.changeEvents(
    ended.map((jid) => ({ ...end, jid })),
    at,
  )
  const deferred = (await Tracked.performBulk(args)) as string[]
  for (const jid of deferred) await tasks.defer({ jid, run: 1, attempt: 1, at, until: at + 1000 }, at)
  clock.ahead = 31 * DAY
  await maintenanceOf(hq, clock.now, { everySeconds: 3600 }).start()
  const isDone = async () =>
    (await tasks.expired(clock.now(), 1)).length === 0 && (await tasks.overdue(clock.now(), 1)).length === 0
  await until(isDone)
  expect(await tasks.event(ended[249] as string)).toBe(null)
  expect(await tasks.event(deferred[249] as string)).toMatchObject({ status: 'error', code: 'deferred-timeout' })
})

test('a missing row is found among any number of scheduled or waiting tracked jobs', async () => {
  const { hq, clock } = bench()
  const Later = hq.job('Later', { queue: 'later', track: true }, async (_ctx, _n: number) => {})
  const args = Array.from({ length: 1100 }, (_, i): [number] => [i])
  await Later.performBulk(args.slice(0, 1000), { at: clock.now() / 1000 + 30 * DAY })
  await Later.performBulk(args.slice(1000))
  const Row = hq.job('Row', { queue: 'nobody' }, async (_ctx, _n: number) => {})
  const task = await hq.tasks.create(Row, [[1]], { lostAfter: 60 })
  await rob(hq, 'nobody', 1, clock.now())
  clock.ahead = DAY
  expect((await hq.store.tasks.idle(clock.now(), { limit: 5000 })).items.length).toBeLessThanOrEqual(101)
  // A row ends after two walks that did not find it.
  const maintenance = maintenanceOf(hq, clock.now)
  await maintenance.run()
  expect((await task.status())?.state).toBe('running')
  await until(async () => {
    await maintenance.run()
    return (await task.status())?.state === 'done'
  })
  expect(await task.reasons()).toEqual([{ status: 'error', code: 'ran-elsewhere', count: 1 }])
})

test('a row that a walk did not find ends after the next walk, which comes soon, however long the first one took', async () => {
  const { hq, clock } = bench()
  const Row = hq.job('Row', { queue: 'nobody' }, async (_ctx, _n: number) => {})
  const task = await hq.tasks.create(Row, [[1]], { lostAfter: 60 })
  await rob(hq, 'nobody', 1, clock.now())
  clock.ahead = DAY
  const maintenance = maintenanceOf(hq, clock.now, { walkingPart: 0.01 })
  const { now } = performance
  let ms = 0
  performance.now = () => now.call(performance) + ms
  onTestFinished(() => {
    performance.now = now
  })
  const { search } = hq.store
  const { scanSet } = search
  search.scanSet = async (...call) => {
    ms += 60_000
    return scanSet.apply(search, call)
  }
  // The first walk frees the place of the row in the window, which is progress of the task.
  for (let i = 0; i < 3; i++) {
    await maintenance.run()
    ms += 6000
    clock.ahead += DAY
  }
  expect((await task.status())?.state).toBe('done')
})

test('a cancelled task ends although the job of a row that ran is gone', async () => {
  const { hq, clock } = bench()
  const Row = hq.job('Row', { queue: 'nobody' }, async (_ctx, _n: number) => {})
  const task = await hq.tasks.create(Row, [[1], [2], [3]], { lostAfter: 60 })
  const [text = ''] = await rob(hq, 'nobody', 1, clock.now())
  const start = { kind: 'event', run: 1, attempt: 1, status: 'working', window: 'keep', at: clock.now() } as const
  await hq.store.tasks.changeEvents([{ ...start, jid: JSON.parse(text).jid }], clock.now())
  await task.cancel()
  expect(await task.status()).toMatchObject({ state: 'cancelling', counts: { working: 1, cancelled: 2 } })

  const maintenance = maintenanceOf(hq, clock.now, { walkingPart: 1e9 })
  for (let i = 0; i < 3; i++) await maintenance.run()
  expect((await task.status())?.state).toBe('cancelling')
  for (let i = 0; i < 3; i++) {
    clock.ahead += DAY
    await maintenance.run()
  }
  expect(await task.status()).toMatchObject({ state: 'cancelled', counts: { error: 1, cancelled: 2 } })
})

test('every cancelled task ends, however many of them wait for rows that run', async () => {
  const { hq, clock } = bench()
  const { tasks } = hq.store
  const Tracked = hq.job('Tracked', { queue: 'nobody', track: true }, async (_ctx, _n: number) => {})
  const jids = (await Tracked.performBulk(Array.from({ length: 130 }, (_, i): [number] => [i]))) as string[]
  const at = clock.now()
  await rob(hq, 'nobody', jids.length, at)
  const start = { kind: 'event', run: 1, attempt: 1, status: 'working', window: 'keep', at } as const
  await tasks.changeEvents(
    jids.map((jid) => ({ ...start, jid })),
    at,
  )
  const Row = hq.job('Row', { queue: 'nobody' }, async (_ctx, _n: number) => {})
  const last = await hq.tasks.create(Row, [[1], [2]])
  // The process that cancels them dies before it cancels their rows.
  for (const id of [...jids.map((jid) => jid.slice(0, 16)), last.id]) await tasks.cancel(id, null, at)
  const maintenance = maintenanceOf(hq, clock.now, { walkingPart: 1e9 })
  await maintenance.run()
  expect((await last.status())?.state).toBe('cancelled')

  clock.ahead = DAY
  await until(async () => {
    await maintenance.run()
    return (await tasks.cancelling({ limit: 1 })).items.length === 0
  })
})

test('the rows of a cancelled task are not read again in each round while one of them runs', async () => {
  const { hq, clock } = bench()
  const { tasks } = hq.store
  const Row = hq.job('Row', { queue: 'nobody' }, async (_ctx, _n: number) => {})
  const cancelRows = tasks.cancelRows.bind(tasks)
  const calls: string[] = []
  tasks.cancelRows = async (id, ...rest) => {
    calls.push(id)
    return cancelRows(id, ...rest)
  }
  const cancelled = async () => {
    const { id } = await hq.tasks.create(Row, [[1], [2]])
    const [text = ''] = await rob(hq, 'nobody', 1, clock.now())
    const start = { kind: 'event', run: 1, attempt: 1, status: 'working', window: 'keep', at: clock.now() } as const
    await tasks.changeEvents([{ ...start, jid: JSON.parse(text).jid }], clock.now())
    await tasks.cancel(id, null, clock.now())
    return id
  }
  const first = await cancelled()
  // The first walk is due at once, the next one after an hour.
  const maintenance = maintenanceOf(hq, clock.now, { walkingPart: 1e-9 })
  for (let i = 0; i < 4; i++) await maintenance.run()
  expect(calls).toEqual([first, first])
  // Jobs of the first task that it cancelled are in the queue.
  await rob(hq, 'nobody', 9, clock.now())
  const second = await cancelled()
  for (let i = 0; i < 4; i++) await maintenance.run()
  expect(calls).toEqual([first, first, second])
})

test('a missing row is found, and not too early, after a process with a clock a year ahead changed its task', async () => {
  const { hq, clock } = bench()
  const { tasks } = hq.store
  const Row = hq.job('Row', { queue: 'nobody' }, async (_ctx, _n: number) => {})
  clock.ahead = 365 * DAY
  const create = async () => (await hq.tasks.create(Row, [[1]], { lostAfter: 3600 })).id
  const ids = [await create(), await create(), await create()] as const
  const at = clock.now()
  const started = (await rob(hq, 'nobody', 3, at)).map((text) => JSON.parse(text).jid as string).slice(1)
  const start = { kind: 'event', run: 1, attempt: 1, status: 'working', window: 'keep', at } as const
  await tasks.changeEvents(
    started.map((jid) => ({ ...start, jid })),
    at,
  )
  await tasks.cancel(ids[2], null, at)
  const states = async () => (await Promise.all(ids.map((id) => tasks.find(id)))).map((task) => task?.state)

  clock.ahead = 0
  const maintenance = maintenanceOf(hq, clock.now, { walkingPart: 1e9 })
  for (let i = 0; i < 3; i++) await maintenance.run()
  // No walk sees a job in the memory of another program.
  expect(await states()).toEqual(['running', 'running', 'cancelling'])
  clock.ahead = DAY
  for (let i = 0; i < 3; i++) {
    await maintenance.run()
    clock.ahead += DAY
  }
  expect(await states()).toEqual(['done', 'done', 'cancelled'])
})

test('a missing row is found behind any number of rows that were put back into the backlog', async () => {
  const { hq, clock } = bench()
  const Row = hq.job('Row', { queue: 'nobody' }, async (_ctx, _n: number) => {})
  const args = Array.from({ length: 600 }, (_, i): [number] => [i])
  const task = await hq.tasks.create(Row, args, { window: 1 })
  await task.cancel()
  // Rows run in the order in which they are put back: the last one is in the queue, and the others are in the backlog.
  await task.retry({ rows: args.map((_, i) => ({ index: 599 - i })) })
  expect(await task.status()).toMatchObject({ backlog: 599, counts: { enqueued: 600 } })
  const robbed = await rob(hq, 'nobody', 9, clock.now())
  expect(robbed.map((text) => JSON.parse(text).args)).toContainEqual([599])
  clock.ahead = DAY
  await maintenanceOf(hq, clock.now).run()
  expect(await task.status()).toMatchObject({ backlog: 598 })
  expect((await hq.store.jobs.peek('nobody', 0, 9)).map((text) => JSON.parse(text).args)).toEqual([[598]])
})

test('a row whose job moved to another queue stays open; one in the dead set ends as dead', async () => {
  const { hq, clock } = bench()
  const Row = hq.job('Row', { queue: 'nobody' }, async (_ctx, _n: number) => {})
  const task = await hq.tasks.create(Row, [[0], [1], [2]], { lostAfter: 60 })
  const [moved = '', died = ''] = await rob(hq, 'nobody', 3, clock.now())
  await hq.store.jobs.push(
    [
      { to: 'queue', queue: 'elsewhere', text: moved, end: 'back' },
      { to: 'dead', text: died, score: clock.now() / 1000 },
    ],
    clock.now(),
  )
  clock.ahead = DAY
  const maintenance = maintenanceOf(hq, clock.now)
  await until(async () => {
    await maintenance.run()
    return (await hq.store.tasks.find(task.id))?.counts.error === 2
  })
  expect((await task.reasons()).map(({ code }) => code).toSorted()).toEqual(['dead', 'ran-elsewhere'])
  const rows = await hq.store.tasks.events(task.id, { limit: 9 })
  expect(rows.map(({ status, code }) => code ?? status)).toEqual(['enqueued', 'dead', 'ran-elsewhere'])
})

test('a row stays open when its job moves between its limit and its queue during the searches', async () => {
  const { hq, clock } = bench()
  const { search, jobSets, tasks } = hq.store
  const Row = hq.job('Row', { queue: 'nobody' }, async (_ctx, _n: number) => {})
  const task = await hq.tasks.create(Row, [[1]], { lostAfter: 60 })
  const [text = ''] = await hq.store.jobs.peek('nobody', 0, 1)
  const limited = 'limited:job:Row'
  const limit = { name: 'job:Row', max: 1, count: 0, per: 0, burst: 1, window: 'smooth' } as const
  const effects: Effect[] = [{ kind: 'await-limit', limit }]
  const toLimit = () => search.pull('nobody', [{ text, to: { to: limited, text, score: 1 }, effects }], clock.now())
  const toQueue = () =>
    jobSets.swap(limited, [{ text, score: 1, to: { to: 'queue', queue: 'nobody', text, end: 'front' } }], clock.now())
  const scan = search.scanQueues.bind(search)
  let scans = 0
  search.scanQueues = async (queues, needle) => {
    scans++
    if (scans <= 3) await toLimit()
    const found = await scan(queues, needle)
    // During the third search the job waits on for its limit.
    if (scans <= 2) await toQueue()
    return found
  }
  clock.ahead = DAY
  const maintenance = maintenanceOf(hq, clock.now, { walkingPart: 1e9 })
  for (let i = 0; i < 2; i++) {
    await maintenance.run()
    clock.ahead += DAY
  }
  expect((await tasks.find(task.id))?.counts).toMatchObject({ enqueued: 1, error: 0 })
})

test('the rows of a job that is back in the backlog stay open, however long it stays there', async () => {
  const { hq, clock, work } = bench()
  const Rows = hq.job('Rows', async (ctx, _rows: number[]) => {
    await hq.tasks.get(ctx.task?.id ?? '').pause()
    throw new Snooze(0.01)
  })
  const task = await hq.tasks.create(Rows, [[1], [2], [3]], { rowsPerJob: 3, lostAfter: 60 })
  const worker = await work()
  await until(async () => (await task.status())?.backlog === 1)
  await worker.stop()
  const maintenance = maintenanceOf(hq, clock.now, { walkingPart: 1e9 })
  for (let i = 0; i < 3; i++) {
    clock.ahead += DAY
    await maintenance.run()
  }
  expect(await task.status()).toMatchObject({ state: 'paused', backlog: 1, counts: { enqueued: 3 } })
})

test('rows that enter the queue during a search are not missing', async () => {
  const { hq, clock } = bench()
  const Row = hq.job('Row', { queue: 'nobody' }, async (_ctx, _n: number) => {})
  const rows = Array.from({ length: 8 }, (_, i): [number] => [i])
  const task = await hq.tasks.create(Row, rows, { window: 2 })
  clock.ahead = 60
  const { search } = hq.store
  const scan = search.scanQueues.bind(search)
  search.scanQueues = async (...call) => {
    const found = await scan(...call)
    await task.set({ window: 4 })
    return found
  }
  await maintenanceOf(hq, clock.now).run()
  expect(await hq.store.tasks.find(task.id)).toMatchObject({ window: 4, inWindow: 4, backlog: 4 })
  expect(await hq.store.jobs.peek('nobody', 0, 9)).toHaveLength(4)
})

test('missing rows leave the window also when rows are added during the search', async () => {
  const { hq, clock } = bench()
  const { tasks, search } = hq.store
  const template = JSON.stringify({ class: 'RowJob', queue: 'nobody', retry: true, hk_task: taskId(1) })
  const task = spec(1, { queue: 'nobody', window: 2, template })
  await tasks.create(task)
  const add = (from: number) => tasks.addRows(task.id, PRODUCER, from, rows(from, 4), clock.now())
  await add(0)
  await rob(hq, 'nobody', 1, clock.now())
  clock.ahead = 60
  const scan = search.scanQueues.bind(search)
  search.scanQueues = async (...call) => {
    const found = await scan(...call)
    await add(4)
    return found
  }
  await maintenanceOf(hq, clock.now).run()
  expect(await tasks.find(task.id)).toMatchObject({ inWindow: 2, backlog: 5 })
  expect(await hq.store.jobs.peek('nobody', 0, 9)).toHaveLength(2)
})

test('searches through queues and sets use a hundredth of the time, whatever their length', async () => {
  const { hq, clock } = bench()
  const Row = hq.job('Row', { queue: 'nobody' }, async (_ctx, _n: number) => {})
  await hq.tasks.create(Row, [[1]])
  clock.ahead = 60
  const scans = scansOf(hq, 50)
  const maintenance = maintenanceOf(hq, clock.now, {})
  // The first walk takes 150 ms, so that the next one comes after 15 s.
  for (let i = 0; i < 5; i++) await maintenance.run()
  expect(scans.all.toSorted()).toEqual(['nobody', 'retry', 'schedule'])
})

test.each(['store', 'dir'])(
  'a payload with the ids of a page does not replace what the page is (%s)',
  async (where) => {
    const { hq, work, raw, settled } = bench()
    const folder = await mkdtemp(join(tmpdir(), 'highkiq-parts-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const [begun, go] = [new Collector<unknown>(), gate()]
    const Page = hq.job('Page', { retry: 0 }, async (_ctx, n: number) => {
      if (n === 0) return [['true']]
      if (n === 99) {
        begun.add(n)
        await go.opened
      }
      return [['forged']]
    })
    const artifacts = where === 'store' ? 'store' : folder
    const task = await hq.tasks.export(Page, [[0]], { artifacts, columns: ['a'], format: 'ndjson' })
    const forged = {
      class: 'Page',
      args: [99],
      queue: 'default',
      jid: `${task.id}00000000`,
      hk_task: task.id,
      hk_part: true,
    }
    // It runs when the page is there already; that its start is old nobody asks of a first attempt.
    await work({ concurrency: 1 })
    await task.wait({ every: 10 })
    await raw(JSON.stringify({ ...forged, hk_run: 1, created_at: 1, enqueued_at: 1, retry: 0 }))
    await begun.atLeast(1)
    go.open()
    await settled()
    await until(async () => (await hq.store.metrics.totals()).processed >= 2)
    const file = await new Response((await task.download()) as never).text()
    expect(file).toBe('{"a":"true"}\n')
    if (where === 'dir') expect(readdirSync(join(folder, task.id))).toEqual(['0.part'])
  },
)

test('a task whose rows a person retries while the worker deletes another one is not deleted', async () => {
  const { hq, clock } = bench()
  const { tasks } = hq.store
  const Row = hq.job('Row', { queue: 'nobody' }, async (_ctx, _n: number) => {})
  const ids: string[] = []
  for (const n of [1, 2]) ids.push((await hq.tasks.create(Row, [[n]], { keep: 60 })).id)
  for (const id of ids) await hq.tasks.get(id).cancel()
  clock.ahead = DAY
  const remove = tasks.delete.bind(tasks)
  const deleted: string[] = []
  tasks.delete = async (id, limit) => {
    const isFirst = deleted.length === 0
    deleted.push(id)
    if (isFirst) for (const other of ids) if (other !== id) await hq.tasks.get(other).retry({ status: ['cancelled'] })
    return remove(id, limit)
  }
  await maintenanceOf(hq, clock.now).run()
  expect(new Set(deleted).size).toBe(1)
  const [kept = ''] = ids.filter((id) => !deleted.includes(id))
  expect(await tasks.find(kept)).toMatchObject({ state: 'running', run: 2 })
})
