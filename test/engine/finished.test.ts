import { expect, test, vi } from 'vitest'
import { all, bench, Collector, until } from './bench.ts'

test('a job with keepFinished is found with its result and times, and leaves no trace without', async () => {
  const t = bench()
  const kept = t.hq.job('Kept', { keepFinished: true }, async (_, n: number) => ({ n }))
  const gone = t.hq.job('Gone', async () => 1)
  const [one, two] = [await kept.performAsync(7), await gone.performAsync()] as [string, string]
  const before = Date.now()
  await t.work()
  await t.settled()
  const found = await t.hq.find(one)
  expect(found).toMatchObject({ state: 'succeeded', queue: 'default', result: { n: 7 }, payload: { args: [7] } })
  for (const at of [found.startedAt, found.finishedAt]) {
    expect(at?.getTime()).toBeGreaterThanOrEqual(before)
    expect(at?.getTime()).toBeLessThanOrEqual(Date.now())
  }
  expect((await t.hq.find(two)).state).toBe('unknown')
  expect((await all(t.hq.finished)).map(({ jid, result }) => [jid, result])).toEqual([[one, { n: 7 }]])
})

test('a finished job is found without a search of the dead jobs, unless a later push with its jid died', async () => {
  const t = bench()
  const kept = t.hq.job('Kept', { keepFinished: true }, async () => {})
  const jid = (await kept.performAsync()) as string
  await t.work()
  await until(async () => (await t.hq.finished.size()) === 1)
  const at = Date.now() / 1000
  const dead = Array.from({ length: 3000 }, (_, n) => {
    return { to: 'dead', text: JSON.stringify({ class: 'J', args: [], jid: `dead-${n}` }), score: at - 60 - n } as const
  })
  await t.hq.store.jobs.push(dead, Date.now())
  const { search, jobSets } = t.hq.store
  const reads = [vi.spyOn(search, 'scanSet'), vi.spyOn(jobSets, 'page')] as const
  expect(await t.hq.find(jid)).toMatchObject({ state: 'succeeded', job: { jid } })
  const deadReads = reads.map(({ mock }) => (mock.calls as unknown[][]).filter(([set]) => set === 'dead').length)
  expect(deadReads).toEqual([0, 1])
  expect(await t.hq.finished.find(jid)).toMatchObject({ jid })
  expect(await t.hq.finished.find('dead-7')).toBe(null)
  await t.hq.dead.schedule(new Date(Date.now() + 60_000), { class: 'J', args: [], jid })
  expect(await t.hq.find(jid)).toMatchObject({ state: 'dead', job: { class: 'J' } })
})

test('the option of a job comes before that of its queue, and that before the one of the app', async () => {
  const t = bench({
    defaultJobOptions: { keepFinished: true },
    queues: { quiet: { keepFinished: false }, loud: { keepFinished: { max: 5 } } },
  })
  const ran = new Collector<string>()
  const says = (name: string) => async () => ran.add(name)
  t.hq.job('App', says('App'))
  t.hq.job('Queue', { queue: 'quiet' }, says('Queue'))
  t.hq.job('Job', { queue: 'quiet', keepFinished: true, priority: 3 }, says('Job'))
  t.hq.job('Off', { queue: 'loud', keepFinished: false }, says('Off'))
  t.hq.process('loud', says('Process'))
  for (const name of ['App', 'Queue', 'Job', 'Off']) await t.hq.jobNamed(name).performAsync()
  await t.hq.push({ class: 'Other', queue: 'loud', args: [] })
  await t.work({ queues: ['default', 'quiet', 'loud'] })
  await ran.atLeast(5)
  await t.settled()
  expect((await all(t.hq.finished)).map((job) => job.class).sort()).toEqual(['App', 'Job', 'Other'])
})

test('jobs that failed, and rows of tasks, are not among the finished jobs', async () => {
  const t = bench({ defaultJobOptions: { keepFinished: true } })
  t.hq.job('Fails', { retry: 0 }, async () => {
    throw new Error('no')
  })
  t.hq.job('Twice', { retryIn: 1 }, async (ctx) => {
    if (ctx.attempt === 1) throw new Error('not yet')
  })
  const tracked = t.hq.job('Tracked', { track: true }, async () => 1)
  await t.hq.jobNamed('Fails').performAsync()
  const twice = (await t.hq.jobNamed('Twice').performAsync()) as string
  const row = (await tracked.performAsync()) as string
  await t.work()
  await until(async () => (await t.set('retry')).length === 1)
  t.clock.ahead = 60
  await until(async () => (await t.hq.find(twice)).state === 'succeeded')
  await t.settled()
  expect((await all(t.hq.finished)).map(({ jid }) => jid)).toEqual([twice])
  expect(await t.hq.find(row)).toMatchObject({ state: 'ended', event: { status: 'finished', result: 1 } })
  expect(await t.hq.dead.size()).toBe(1)
})

test('the oldest finished jobs are removed: those that exceed the limit, and those that are too old', async () => {
  const t = bench()
  // Each job ends at another time: of jobs that ended in the same millisecond, any is the oldest.
  const few = t.hq.job('Few', { keepFinished: { for: '10m', max: 20 } }, async (_, n: number) => {
    t.clock.ahead = n
  })
  const jids: string[] = []
  for (let n = 0; n < 50; n++) jids.push((await few.performAsync(n)) as string)
  const worker = await t.work({ concurrency: 1 })
  await t.settled()
  await until(async () => (await t.hq.finished.size()) === 20)
  const kept = (await all(t.hq.finished)).map(({ jid }) => jid)
  expect([...kept].sort()).toEqual(jids.slice(30).sort())
  t.clock.ahead = 660
  await until(async () => (await t.hq.finished.size()) === 0)
  await worker.stop()
})

test('a finished job runs again by hand, without its result, and is kept again', async () => {
  const t = bench()
  const ran = new Collector<unknown>()
  const job = t.hq.job('Again', { keepFinished: true }, async (ctx) => {
    ran.add([ctx.payload.hk_started, ctx.payload.hk_result])
    ctx.message(`run ${ran.all.length}`)
    return ran.all.length
  })
  const jid = (await job.performAsync()) as string
  await t.work()
  await until(async () => (await t.hq.find(jid)).result === 1)
  const entry = await t.hq.finished.find(jid)
  await expect(entry?.kill()).rejects.toThrow('kill: the job has finished: delete it instead')
  await expect(t.hq.edit(jid, [2])).rejects.toThrow('has finished: push it again with other arguments')
  expect(await entry?.retry()).toBe(true)
  expect(await entry?.retry()).toBe(false)
  await until(async () => (await t.hq.find(jid)).result === 2)
  expect(ran.all).toEqual([
    [undefined, undefined],
    [undefined, undefined],
  ])
  expect((await t.hq.find(jid)).job?.messages).toMatchObject([{ text: 'run 1' }, { text: 'run 2' }])
  expect(await t.hq.finished.deleteAll()).toMatchObject({ done: 1 })
  expect((await t.hq.find(jid)).state).toBe('unknown')
})

test('a job that was pushed with hk_ members or with white space behind it is kept with those of its run', async () => {
  const t = bench({ defaultJobOptions: { keepFinished: true } })
  t.hq.job('Foreign', async (_, n: number) => n)
  const text = (n: number, more = '') =>
    `{"class":"Foreign","queue":"default","jid":"j${n}","retry":0,"args":[${n}]${more}}`
  const texts = [
    text(0, ',"hk_started":5,"hk_result":"old","hk_progress":{}'),
    `${text(1)}\n `,
    text(2, ',"more":"hk_result"'),
  ]
  for (const text of texts) await t.raw(text)
  const before = Date.now()
  await t.work()
  await t.settled()
  const found = await Promise.all([0, 1, 2].map((n) => t.hq.find(`j${n}`)))
  expect(found.map(({ state, result }) => [state, result])).toEqual([0, 1, 2].map((n) => ['succeeded', n]))
  for (const { startedAt, progress } of found) {
    expect(startedAt?.getTime()).toBeGreaterThanOrEqual(before)
    expect(progress ?? undefined).toBeUndefined()
  }
})

test('a result that is no JSON or too large is left out, and the job is kept', async () => {
  const t = bench({ defaultJobOptions: { keepFinished: true } })
  t.hq.job('Large', async () => 'x'.repeat(20_000))
  t.hq.job('None', async () => {})
  const loop: { self?: object } = {}
  loop.self = loop
  t.hq.job('Loop', async () => loop)
  for (const name of ['Large', 'None', 'Loop']) await t.hq.jobNamed(name).performAsync()
  await t.work()
  await t.settled()
  const entries = await all(t.hq.finished)
  expect(entries.map((entry) => [entry.class, entry.result]).sort()).toEqual([
    ['Large', undefined],
    ['Loop', undefined],
    ['None', undefined],
  ])
})

test('keepFinished of a job with track is refused, but not as a default', () => {
  const both = { track: true, keepFinished: true }
  const refused = 'Both: keepFinished keeps no job with track'
  expect(() => bench().hq.job('Both', both, async () => {})).toThrow(refused)
  const { hq } = bench({ defaultJobOptions: { track: true } })
  expect(() => hq.job('Both', { keepFinished: { max: 5 } }, async () => {})).toThrow(refused)
  hq.job('Untracked', { track: false, keepFinished: true }, async () => {})
  hq.job('Unkept', { keepFinished: false }, async () => {})
  bench({ defaultJobOptions: { keepFinished: true } }).hq.job('Tracked', { track: true }, async () => {})
})

test('wrong values of keepFinished are refused with the name of the option and what is right', () => {
  const define = (keepFinished: unknown) => () =>
    bench().hq.job('Kept', { keepFinished } as { keepFinished: boolean }, async () => {})
  expect(define('1h')).toThrow('Kept: keepFinished must be true, false or { for: \'1h\', max: 10_000 } (got "1h")')
  expect(define({ max: 0 })).toThrow('Kept: keepFinished: max must be a whole number above 0 (got 0)')
  expect(define({ for: 'soon' })).toThrow('soon')
  expect(define({ for: 0 })).toThrow('keepFinished.for must be longer than 0 s, and at most 1,000,000,000 s (got 0 s)')
  expect(define({ age: 5 })).toThrow('Kept: keepFinished: there is no option age')
  const app = (options: object) => () => bench(options)
  expect(app({ keepFinished: true })).toThrow('did you mean defaultJobOptions: { keepFinished }?')
  expect(app({ queues: { mail: { keep: 1 } } })).toThrow('new Highkiq: queues: mail: there is no option keep')
  expect(app({ queues: { 'a b': {} } })).toThrow('"a b" is not a queue name')
  expect(() =>
    bench()
      .hq.job('A', async () => {})
      .set({ keepFinished: true } as Record<string, unknown> as never),
  ).toThrow('keepFinished is not an option of a push')
})
