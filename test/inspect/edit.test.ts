import type { QueuedJob, SetEntry } from 'highkiq'
import { expect, test } from 'vitest'
import { type Bench, bench, Collector, gate } from '../engine/bench.ts'

const key = Buffer.alloc(32, 1)
const encryption = { keys: { 1: key }, active: 1 }

async function waiting({ hq }: Bench, jid: string | null): Promise<SetEntry | QueuedJob> {
  return (await hq.find(String(jid))).job as SetEntry | QueuedJob
}

test('a job of a queue gets other arguments, and keeps everything else and its place', async () => {
  const b = bench()
  const seen = new Collector<unknown>()
  const J = b.hq.job('J', async (ctx, ...args: unknown[]) => seen.add([ctx.jid, args]))
  const first = await J.set({ tags: ['vip'], extra: { mine: 1 } }).performAsync(1, 'a')
  const second = await J.performAsync(2)
  const [before] = (await b.queue()).filter(({ jid }) => jid === first)
  const job = await waiting(b, first)
  expect(await b.hq.edit(job, [2n ** 60n, { b: null }])).toBe(true)
  // The text that was read is gone.
  expect(await b.hq.edit(job, [3])).toBe(false)
  expect((await b.hq.queue('default').page()).items[1]?.text).toContain('[1152921504606846976,{"b":null}]')
  const [after] = (await b.queue()).filter(({ jid }) => jid === first)
  expect({ ...after, args: 0 }).toEqual({ ...before, args: 0 })
  await b.work({ concurrency: 1 })
  expect(await seen.atLeast(2)).toEqual([
    [first, [2n ** 60n, { b: null }]],
    [second, [2]],
  ])
})

test('a scheduled, failed or dead job stays where it is, with its time and its failures', async () => {
  const b = bench()
  const { hq } = b
  const J = hq.job('J', { retry: 1, retryIn: 3600 }, async (_ctx, fails: unknown) => {
    if (fails === true) throw new TypeError('broken')
  })
  const later = await J.performIn(3600, true)
  const failed = await J.performAsync(true)
  await b.work()
  await expect.poll(() => hq.retries.size()).toBe(1)
  for (const [set, jid] of [
    [hq.scheduled, later],
    [hq.retries, failed],
  ] as const) {
    const entry = (await set.find(String(jid))) as SetEntry
    expect(await b.hq.edit(entry, ['new'])).toBe(true)
    expect(await b.hq.edit(entry, ['newer'])).toBe(false)
    const now = (await set.find(String(jid))) as SetEntry
    expect(now.args).toEqual(['new'])
    expect(now.score).toBe(entry.score)
    expect({ ...now.payload, args: 0 }).toEqual({ ...entry.payload, args: 0 })
    // The same arguments change nothing.
    expect(await b.hq.edit(now, ['new'])).toBe(true)
    expect(await set.size()).toBe(1)
  }
  await ((await waiting(b, failed)) as SetEntry).kill()
  expect(await b.hq.edit(await waiting(b, failed), [false])).toBe(true)
  expect((await hq.dead.find(String(failed)))?.args).toEqual([false])
})

test('a job in the middle of a queue keeps its place, among the jobs of its priority', async () => {
  const b = bench()
  const seen = new Collector<unknown>()
  const J = b.hq.job('J', async (_ctx, n: number) => seen.add(n))
  const high = [await J.set({ priority: 3 }).performAsync(1), await J.set({ priority: 3 }).performAsync(2)]
  const low = [await J.performAsync(4), await J.performAsync(5), await J.performAsync(6)]
  expect(await b.hq.edit(String(high[0]), [10])).toBe(true)
  expect(await b.hq.edit(String(low[1]), [50])).toBe(true)
  await b.work({ concurrency: 1 })
  expect(await seen.atLeast(5)).toEqual([10, 2, 4, 50, 6])
})

test('of two edits at the same time one is done', async () => {
  const b = bench()
  const J = b.hq.job('J', async (_ctx, _n: number) => {})
  for (const jid of [await J.performAsync(0), await J.performIn(60, 0)]) {
    const job = await waiting(b, jid)
    const done = await Promise.all([1, 2, 3].map((n) => b.hq.edit(job, [n])))
    expect(done.filter(Boolean)).toHaveLength(1)
    const { args } = await waiting(b, jid)
    expect(args).toEqual([done.indexOf(true) + 1])
  }
})

test('an edit that races with a worker either changes what the handler gets, or says that it came too late', async () => {
  const b = bench()
  const seen = new Collector<[jid: string, args: unknown[]]>()
  b.hq.job('J', async (ctx, ...args: unknown[]) => seen.add([ctx.jid, args]))
  const jids = await b.hq.pushBulk({ class: 'J', args: Array.from({ length: 100 }, () => ['old']) })
  const jobs = (await b.hq.queue('default').page({ limit: 500 })).items
  const [edits] = await Promise.all([Promise.all(jobs.map((job) => b.hq.edit(job, ['new']))), b.work()])
  await seen.atLeast(100)
  await b.settled()
  expect(seen.all.map(([jid]) => jid).sort()).toEqual([...jids].sort())
  const got = new Map(seen.all)
  expect(jobs.map(({ jid }) => got.get(jid))).toEqual(edits.map((isDone) => [isDone ? 'new' : 'old']))
})

test('a job is named by its jid, and only a waiting one can be changed', async () => {
  const b = bench()
  const jid = String(await b.hq.push({ class: 'J', args: [1], wait: 60 }))
  expect(await b.hq.edit(jid, [2])).toBe(true)
  const copy = await b.hq.duplicate(jid)
  expect((await b.hq.find(String(copy))).payload?.args).toEqual([2])
  await expect(b.hq.edit('nothing', [])).rejects.toMatchObject({
    code: 'UNKNOWN_JID',
    message: "job nothing can't be edited (unknown): only jobs in a queue or a job set can",
  })
  await expect(b.hq.duplicate(null as never)).rejects.toThrow('must be a string (got null)')
  await expect(b.hq.edit({ jid } as never, [])).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})

test('arguments that JSON would change, and too large ones, are refused, and the job stays', async () => {
  const b = bench({ maxArgsBytes: { refuse: 1000 } })
  const jid = await b.hq.push({ class: 'J', args: [1] })
  const job = await waiting(b, jid)
  await expect(b.hq.edit(job, [new Date()])).rejects.toThrow('J: args[0] is a Date')
  await expect(b.hq.edit(job, 'x' as never)).rejects.toThrow(
    'J: args must be an array, one element for each argument (got "x")',
  )
  await expect(b.hq.edit(job, ['x'.repeat(1000)])).rejects.toMatchObject({ code: 'ARGS_TOO_LARGE' })
  expect((await b.queue()).map(({ args }) => args)).toEqual([[1]])
})

test('rows of a task, tracked jobs and jobs of Active Job are refused', async () => {
  const b = bench()
  const { hq } = b
  const J = hq.job('J', async (_ctx, _n: number) => {})
  const task = await hq.tasks.create(J, [[1]])
  const [row] = await b.queue()
  await expect(b.hq.edit(await waiting(b, row?.jid ?? ''), [2])).rejects.toThrow(
    `job ${row?.jid} has a record in task ${task.id}: cancel it, and push it with other arguments`,
  )
  const job = await waiting(b, row?.jid ?? '')
  await expect(b.hq.duplicate(job)).rejects.toThrow(`is a row of task ${task.id}: retry the row in its task`)
  const rails = await hq.activeJob('Thumbnail').performAsync(1)
  await expect(b.hq.edit(await waiting(b, rails), [2])).rejects.toThrow('belongs to Active Job: change it in Rails')
})

test('an encrypted argument is kept or replaced, and never shown', async () => {
  const b = bench({ encryption })
  const seen = new Collector<unknown>()
  const J = b.hq.job('J', { encrypt: true }, async (_ctx, ...args: unknown[]) => seen.add(args))
  const [kept, replaced] = [await J.performAsync(1, 'secret'), await J.performAsync(2, 'secret')]
  // An app without keys can keep it.
  const other = bench({ url: b.url })
  expect(await other.hq.edit(await waiting(other, kept), [10, '[encrypted]'])).toBe(true)
  await expect(other.hq.edit(await waiting(other, replaced), [20, 'new'])).rejects.toThrow('J: encrypt needs keys')
  expect(await b.hq.edit(await waiting(b, replaced), [20, 'new'])).toBe(true)
  for (const { text } of (await b.hq.queue('default').page()).items) expect(text).not.toMatch(/secret|"new"/)
  await b.work()
  expect((await seen.atLeast(2)).sort()).toEqual([
    [10, 'secret'],
    [20, 'new'],
  ])
})

test('a duplicate has class, arguments and options of the job, and nothing of its attempts', async () => {
  const b = bench({ encryption })
  const { hq } = b
  const Fail = hq.job(
    'Fail',
    { retry: 1, retryIn: 0, encrypt: true, backtrace: true },
    async (_ctx, _id: number, _s: string) => {
      throw new Error('broken')
    },
  )
  const jid = await Fail.set({ tags: ['vip'], extra: { mine: 1 } }).performAsync(1, 'secret')
  await hq.queue('default').pause()
  const worker = await b.work()
  await hq.queue('default').resume()
  await expect.poll(() => hq.dead.size()).toBe(1)
  await worker.stop()
  const dead = (await hq.dead.find(String(jid))) as SetEntry
  const copy = await b.hq.duplicate(dead)
  expect(copy).not.toBe(jid)
  expect(await hq.dead.size()).toBe(1)
  const [job] = await b.queue()
  expect(job).toEqual({
    ...{ class: 'Fail', args: [1, expect.stringMatching(/^hk1\.1\./)], queue: 'default', jid: copy, retry: 1 },
    ...{ backtrace: true, tags: ['vip'], mine: 1, encrypt: true },
    ...{ created_at: expect.any(Number), enqueued_at: expect.any(Number) },
  })
  // The copy is bound to its own id.
  const seen = new Collector<unknown>()
  const reader = bench({ url: b.url, encryption })
  reader.hq.job('Fail', async (_ctx, id: number, s: string) => seen.add([id, s]))
  await reader.work()
  expect(await seen.atLeast(1)).toEqual([[1, 'secret']])
})

test('a duplicate of a scheduled job is due now, and of a tracked one has a record of its own', async () => {
  const b = bench()
  const { hq } = b
  const J = hq.job('J', { track: true, queue: 'other' }, async (_ctx, _n: number) => {})
  const jid = await J.performIn(3600, 1)
  const copy = await b.hq.duplicate(await waiting(b, jid))
  expect(await hq.scheduled.size()).toBe(1)
  expect(await b.queue('other')).toMatchObject([{ jid: copy, args: [1], queue: 'other' }])
  expect((await hq.find(String(copy))).event).toMatchObject({ status: 'enqueued' })
  hq.client.use(() => null)
  expect(await b.hq.duplicate(await waiting(b, jid))).toBeNull()
})

test('a duplicate takes other arguments, another queue, priority and tags, and a time', async () => {
  const b = bench()
  const { hq } = b
  const jid = String(await hq.push({ class: 'J', args: [1, 'a'], queue: 'low', priority: 3, tags: ['vip'], retry: 7 }))
  const moved = await hq.duplicate(jid, { args: [2], queue: 'high', tags: [] })
  expect(
    (await hq.queue('high').page()).items.map(({ jid, args, priority, tags, payload }) => [
      jid,
      args,
      priority,
      tags,
      payload.retry,
    ]),
  ).toEqual([[moved, [2], 3, [], 7]])
  await hq.duplicate(jid, { priority: 0 })
  expect((await hq.queue('low').page()).items.map(({ priority }) => priority).sort()).toEqual([0, 3])
  const later = await hq.duplicate(jid, { wait: '1h' })
  const at = await hq.duplicate(jid, { waitUntil: new Date(Date.now() + 7_200_000) })
  expect((await hq.scheduled.page()).items.map((entry) => entry.jid)).toEqual([at, later])
  for (const [changes, words] of [
    [{ args: 'x' }, 'args must be an array, one element for each argument (got "x")'],
    [{ priority: 10 }, 'priority must be a whole number from 0 to 9 (got 10)'],
    [{ tags: [1] }, 'tags must be an array of strings'],
    [{ queue: 'a b' }, '"a b" is not a queue name'],
    [{ retries: 3 }, 'there is no option retries; there are args, queue, priority, tags, wait, waitUntil'],
    [{ args: [new Date()] }, 'J: args[0] is a Date'],
  ] as const) {
    await expect(hq.duplicate(jid, changes as never)).rejects.toThrow(words)
  }
})

test('a running job is duplicated by its jid', async () => {
  const b = bench()
  const doors = gate()
  const begun = new Collector<unknown>()
  b.hq.job('Slow', async (_ctx, ...args: unknown[]) => {
    begun.add(args)
    await doors.opened
  })
  const jid = String(await b.hq.push({ class: 'Slow', args: [1] }))
  await b.work({ concurrency: 1 })
  await begun.atLeast(1)
  await expect(b.hq.edit(jid, [2])).rejects.toThrow(`job ${jid} can't be edited (running)`)
  const copy = await b.hq.duplicate(jid, { args: [2] })
  expect(copy).not.toBe(jid)
  doors.open()
  expect(await begun.atLeast(2)).toEqual([[1], [2]])
})

test('a duplicate with other arguments has the lock of these, and an encrypted argument is kept or replaced', async () => {
  const b = bench({ encryption })
  const { hq } = b
  const seen = new Collector<unknown>()
  const Once = hq.job('Once', { unique: true }, async (_ctx, _n: number) => {})
  const jid = String(await Once.performAsync(1))
  await expect(hq.duplicate(jid)).rejects.toMatchObject({ code: 'UNIQUE_CONFLICT' })
  await expect(hq.duplicate(jid, { args: [1] })).rejects.toMatchObject({ code: 'UNIQUE_CONFLICT', details: { jid } })
  const other = await hq.duplicate(jid, { args: [2] })
  expect(await Once.performAsync(2)).toBe(other)
  const Secret = hq.job('Secret', { encrypt: true, queue: 'secret' }, async (_ctx, ...args: unknown[]) =>
    seen.add(args),
  )
  const secret = String(await Secret.performAsync(1, 'first'))
  await hq.duplicate(secret, { args: [2, '[encrypted]'] })
  await hq.duplicate(secret, { args: [3, 'other'] })
  for (const { text } of (await hq.queue('secret').page()).items) expect(text).not.toMatch(/first|"other"/)
  await b.work({ queues: ['secret'] })
  expect((await seen.atLeast(3)).sort()).toEqual([
    [1, 'first'],
    [2, 'first'],
    [3, 'other'],
  ])
})
