import type { Payload, SetEntry } from 'highkiq'
import { expect, test, vi } from 'vitest'
import { type Bench, bench, Collector } from '../engine/bench.ts'

const HOUR = 3600

function text(n: number | string, more: object = {}): string {
  return JSON.stringify({ class: 'Job', args: [n], queue: 'default', jid: `jid-${n}`, retry: true, ...more })
}

async function fill(
  t: Bench,
  to: 'retry' | 'schedule' | 'dead',
  entries: [text: string, score: number][],
): Promise<void> {
  await t.hq.store.jobs.push(
    entries.map(([text, score]) => ({ to, text, score })),
    t.clock.now(),
  )
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

const jids = (entries: { jid: string }[]) => entries.map(({ jid }) => jid)

async function first(entries: AsyncIterable<SetEntry>): Promise<SetEntry> {
  for await (const entry of entries) return entry
  throw new Error('there is none')
}

test('grouping by error without time reads some jobs, and reports when there are more', async () => {
  const t = bench()
  const dead = (name: string, from: number) =>
    Array.from({ length: 900 }, (_, n): [string, number] => [
      text(`${name}-${n}`, { error_class: 'E', error_message: 'no' }),
      from + n,
    ])
  await fill(t, 'dead', dead('first', 0))
  const noTime = { most: 100_000, ms: 0 }
  expect(await t.hq.dead.errors(noTime)).toMatchObject({ scanned: 900, complete: true, items: [{ count: 900 }] })
  await fill(t, 'dead', dead('more', 900))
  const { scanned, complete } = await t.hq.dead.errors(noTime)
  expect([complete, scanned >= 1000, scanned < 1800]).toEqual([false, true, true])
})

test('a job that died recently is found among very many before the whole set is searched', async () => {
  const t = bench()
  const dead = Array.from({ length: 3000 }, (_, n): [string, number] => [text(n), n])
  // A newer job names the one that is sought in its arguments.
  await fill(t, 'dead', [...dead, [text(3000, { args: ['jid-2900'] }), 3000]])
  const whole = vi.spyOn(t.hq.store.search, 'scanSet')
  expect(await t.hq.dead.find('jid-2900')).toMatchObject({ jid: 'jid-2900', score: 2900 })
  expect(whole).not.toHaveBeenCalled()
  expect(await t.hq.dead.find('jid-1')).toMatchObject({ jid: 'jid-1', score: 1 })
  expect(await t.hq.dead.find('jid-3001')).toBeNull()
})

test('a set is iterated from the highest score down, in pages or one by one', async () => {
  const t = bench()
  const entries = Array.from({ length: 120 }, (_, n) => [text(n), n < 60 ? 5 : n] as [string, number])
  await fill(t, 'retry', entries)
  expect(await t.hq.retries.size()).toBe(120)
  expect(await t.hq.scheduled.size()).toBe(0)
  const walked = await all(t.hq.retries)
  expect(walked.map(({ score }) => score)).toEqual(entries.map(([, score]) => score).sort((a, b) => b - a))
  expect(new Set(jids(walked)).size).toBe(120)
  for (const desc of [true, false]) {
    const paged: SetEntry[] = []
    let after: string | null = null
    do {
      const page = await t.hq.retries.page({ after, limit: 7, desc })
      expect(page.next?.length ?? 0).toBeLessThan(100)
      paged.push(...page.items)
      after = page.next
    } while (after !== null)
    expect(jids(desc ? paged : paged.reverse())).toEqual(jids(walked))
  }
  expect((await t.hq.retries.page({ limit: 120 })).next).toBe(null)
  expect(walked[0]?.at).toEqual(new Date(119_000))
  await expect(t.hq.retries.page({ after: 'nonsense' })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})

test('paging continues among texts with a common prefix', async () => {
  const t = bench()
  const texts = ['a', 'ab', 'abc', 'abcd', 'abż', 'abž', 'abžx', 'ab\u{1f600}', 'ab\u{1f601}', 'b']
  await fill(
    t,
    'dead',
    texts.map((one) => [one, 5]),
  )
  for (const limit of [1, 2, 3]) {
    for (const desc of [true, false]) {
      const paged: string[] = []
      let after: string | null = null
      do {
        const page = await t.hq.dead.page({ after, limit, desc })
        paged.push(...page.items.map(({ text }) => text))
        after = page.next
      } while (after !== null)
      expect(paged).toEqual(desc ? [...texts].reverse() : texts)
    }
  }
})

test('an entry is found by its jid, its score, or a pattern', async () => {
  const t = bench()
  await fill(t, 'dead', [
    [text(1, { error_class: 'TypeError' }), 7.25],
    [text(2), 7.25],
    [text(3, { error_class: 'TypeError' }), 9],
    [text('10'), 8],
  ])
  expect((await t.hq.dead.find('jid-1'))?.errorClass).toBe('TypeError')
  expect(await t.hq.dead.find('jid')).toBe(null)
  expect(await t.hq.retries.find('jid-1')).toBe(null)
  expect(jids(await t.hq.dead.fetch(7.25)).sort()).toEqual(['jid-1', 'jid-2'])
  expect(jids(await t.hq.dead.fetch(7.25, 'jid-2'))).toEqual(['jid-2'])
  expect(jids(await t.hq.dead.fetch([7.3, 9]))).toEqual(['jid-3', 'jid-10'])
  expect(await t.hq.dead.fetch(7)).toEqual([])
  await expect(t.hq.dead.fetch([2, 1])).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  const scanned = await t.hq.dead.scan('TypeError')
  expect(jids(scanned.items).sort()).toEqual(['jid-1', 'jid-3'])
  expect(scanned.next).toBe(null)
  expect(scanned.scanned).toBeGreaterThan(0)
  expect(jids((await t.hq.dead.scan('*"jid":"jid-?"*Type*')).items).sort()).toEqual(['jid-1', 'jid-3'])
  expect((await t.hq.dead.scan('Type*')).items).toEqual([])
})

test('retry sends exactly this entry to its queue through the middleware, decrements its count, and keeps the other bytes', async () => {
  const t = bench()
  t.hq.client.use((payload, next) => {
    payload.seen = true
    return next()
  })
  const raw =
    '{"class":"Job","args":[1.0,9007199254740993],"jid":"a","retry_count":3,"queue":"low","retry":true,"enqueued_at":1}'
  await fill(t, 'retry', [
    [raw, 10],
    [raw.replace('"a"', '"b"'), 10],
    [text('first', { retry_count: 0 }), 10],
  ])
  const entry = (await t.hq.retries.find('b')) as SetEntry
  expect(await entry.retry()).toBe(true)
  expect(await entry.retry()).toBe(false)
  expect(await ((await t.hq.retries.find('jid-first')) as SetEntry).retry()).toBe(true)
  expect(jids(await all(t.hq.retries))).toEqual(['a'])
  const [back] = await t.hq.store.jobs.peek('low', 0, 9)
  expect(back).toContain('"args":[1.0,9007199254740993]')
  expect(JSON.parse(back as string)).toMatchObject({ jid: 'b', retry_count: 2, seen: true })
  expect(Number(JSON.parse(back as string).enqueued_at)).toBeGreaterThan(1e12)
  expect((await t.queue())[0]).toMatchObject({ jid: 'jid-first', retry_count: -1 })
})

test('addToQueue does not change the retry count', async () => {
  const t = bench()
  await fill(t, 'schedule', [[text(1, { retry_count: 3 }), 1e10]])
  expect(await (await first(t.hq.scheduled)).addToQueue()).toBe(true)
  expect(await t.queue()).toMatchObject([{ jid: 'jid-1', retry_count: 3 }])
})

test('a retry that middleware filters is gone, as in Sidekiq; one for which it throws stays', async () => {
  const t = bench()
  let throws = true
  t.hq.client.use(async () => {
    if (throws) throw new Error('no database')
    return null
  })
  await fill(t, 'retry', [[text(1), 10]])
  const entry = await first(t.hq.retries)
  await expect(entry.retry()).rejects.toThrow('no database')
  expect(await t.hq.retries.size()).toBe(1)
  throws = false
  expect(await entry.retry()).toBe(true)
  expect(await t.hq.stats()).toMatchObject({ retries: 0, enqueued: 0 })
})

test('kill moves an entry to the dead set and calls the death handlers, unless told otherwise', async () => {
  const t = bench()
  const died: [string, string][] = []
  t.hq.onDeath((payload: Payload, error) => died.push([payload.jid, (error as Error).message]))
  await fill(
    t,
    'retry',
    [1, 2, 3].map((n) => [text(n), n]),
  )
  const [three, two, one] = (await all(t.hq.retries)) as [SetEntry, SetEntry, SetEntry]
  expect(await one.kill()).toBe(true)
  expect(await one.kill()).toBe(false)
  expect(await two.kill({ error: new Error('by hand') })).toBe(true)
  expect(await three.kill({ notify: false })).toBe(true)
  expect(died).toEqual([
    ['jid-1', 'Job killed by API'],
    ['jid-2', 'by hand'],
  ])
  expect(jids(await all(t.hq.dead)).sort()).toEqual(['jid-1', 'jid-2', 'jid-3'])
  const [dead] = await all(t.hq.dead)
  expect(Math.abs((dead?.score ?? 0) * 1000 - Date.now())).toBeLessThan(10_000)
  await expect(dead?.kill()).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})

test('an entry is rescheduled and deleted, and among several with one score it is the right one', async () => {
  const t = bench()
  await fill(
    t,
    'schedule',
    ['a', 'b', 'c'].map((n) => [text(n), 1e10]),
  )
  const b = (await t.hq.scheduled.find('jid-b')) as SetEntry
  expect(await b.reschedule('1h')).toBe(true)
  expect(await b.reschedule('2h')).toBe(false)
  const moved = (await t.hq.scheduled.find('jid-b')) as SetEntry
  expect(Math.abs(moved.score - Date.now() / 1000 - HOUR)).toBeLessThan(10)
  expect(await moved.reschedule(new Date(5e12))).toBe(true)
  expect((await t.hq.scheduled.find('jid-b'))?.score).toBe(5e9)
  await expect(moved.reschedule(Number.NaN)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  expect(await ((await t.hq.scheduled.find('jid-c')) as SetEntry).delete()).toBe(true)
  expect(jids(await all(t.hq.scheduled))).toEqual(['jid-a', 'jid-b'])
})

test('a retried entry runs', async () => {
  const t = bench()
  let broken = true
  const ran: number[] = []
  const Job = t.hq.job('Job', { retry: 3 }, async (_ctx, n: number) => {
    if (broken) throw new Error('broken')
    ran.push(n)
  })
  await Job.performBulk([[1], [2]])
  await t.work()
  await t.settled()
  expect(await t.hq.retries.size()).toBe(2)
  broken = false
  expect(await t.hq.retries.retryAll()).toEqual({ done: 2, refused: 0 })
  await t.settled()
  expect(ran.sort()).toEqual([1, 2])
})

test('all or matching entries are retried, killed and deleted in batches, with progress and a signal to stop', async () => {
  const t = bench()
  const died: string[] = []
  t.hq.onDeath(({ jid }) => died.push(jid))
  const entries = Array.from(
    { length: 450 },
    (_, n) => [text(n, n % 3 ? {} : { color: 'red' }), n % 7] as [string, number],
  )
  await fill(t, 'retry', entries)

  const told: number[] = []
  const onProgress = ({ done }: { done: number }) => told.push(done)
  expect(await t.hq.retries.deleteAll({ matching: '"color":"red"', onProgress })).toEqual({ done: 150, refused: 0 })
  expect(told.length).toBeGreaterThan(0)
  expect(told.at(-1)).toBe(150)

  const stop = new AbortController()
  const stopped = t.hq.retries.killAll({ signal: stop.signal, onProgress: () => stop.abort(new Error('enough')) })
  await expect(stopped).rejects.toThrow('enough')
  expect(await t.hq.dead.size()).toBe(100)
  expect(await t.hq.retries.killAll({ matching: '[2' })).toMatchObject({ refused: 0 })
  expect(died).toEqual([])
  const left = await t.hq.retries.size()
  expect(await t.hq.retries.killAll({ notify: true })).toEqual({ done: left, refused: 0 })
  expect(died).toHaveLength(left)
  expect(await t.hq.dead.size()).toBe(300)

  expect(await t.hq.dead.retryAll()).toEqual({ done: 300, refused: 0 })
  expect(await t.hq.stats()).toMatchObject({ enqueued: 300, dead: 0, retries: 0 })
  await expect(t.hq.dead.killAll()).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})

test('the limits of the dead set hold after one kill and after many', async () => {
  const t = bench({ dead: { max: 50, seconds: 1000 } })
  await fill(t, 'dead', [[text('old'), 5]])
  await fill(
    t,
    'retry',
    Array.from({ length: 130 }, (_, n) => [text(n), n]),
  )
  await (await first(t.hq.retries)).kill()
  expect(jids(await all(t.hq.dead))).toEqual(['jid-129'])
  await t.hq.retries.killAll()
  expect(await t.hq.dead.size()).toBe(50)
})

test('two concurrent actions affect each entry once', async () => {
  const t = bench()
  const other = t.another()
  await fill(
    t,
    'retry',
    Array.from({ length: 300 }, (_, n) => [text(n), n % 5]),
  )
  const [mine, theirs] = await Promise.all([t.hq.retries.retryAll(), other.hq.retries.killAll()])
  expect(mine.done + theirs.done).toBe(300)
  expect(await t.hq.stats()).toMatchObject({ enqueued: mine.done, dead: theirs.done, retries: 0 })
})

test('an entry that is not a job can be read, killed and deleted, but not run, and blocks no other', async () => {
  const t = bench()
  const garbage = ['not json', '{}', '[1]', '{"class":"A","args":null}', '{"class":7,"args":[],"jid":{}}']
  await fill(t, 'retry', [...garbage.map((one, n) => [one, n] as [string, number]), [text('ok'), 2]])
  const entries = await all(t.hq.retries)
  expect(entries.map((entry) => entry.text).sort()).toEqual([...garbage, text('ok')].sort())
  expect(JSON.parse(JSON.stringify(entries))).toHaveLength(6)
  await expect((await first(t.hq.retries)).retry()).rejects.toMatchObject({ code: 'INVALID_JOB' })
  expect(await t.hq.retries.find('{}')).toBe(null)
  expect(await t.hq.retries.retryAll()).toMatchObject({ done: 1, refused: 5, error: { code: 'INVALID_JOB' } })
  expect(await t.hq.retries.killAll({ notify: true, matching: 'class' })).toEqual({ done: 2, refused: 0 })
  expect(await t.hq.retries.deleteAll()).toEqual({ done: 3, refused: 0 })
  expect(await t.hq.dead.clear()).toBe(2)
})

test('scores of any size are shown, paged and fetched', async () => {
  const t = bench()
  const scores = [Number.POSITIVE_INFINITY, 1e300, 4e9 + 1 / 3, 0, -5, Number.NEGATIVE_INFINITY]
  await fill(
    t,
    'schedule',
    scores.map((score) => [text(String(score)), score]),
  )
  const found: SetEntry[] = []
  let after: string | null = null
  do {
    const page = await t.hq.scheduled.page({ after, limit: 1 })
    found.push(...page.items)
    after = page.next
  } while (after !== null)
  expect(found.map(({ score }) => score)).toEqual(scores)
  expect(JSON.stringify(found)).toContain('"at":null')
  for (const score of scores) expect(jids(await t.hq.scheduled.fetch(score))).toEqual([`jid-${score}`])
  for (const entry of found) expect(await entry.delete()).toBe(true)
})

test('clear empties a set, whatever its size', async () => {
  const t = bench()
  await fill(
    t,
    'schedule',
    Array.from({ length: 3000 }, (_, n) => [text(n), 1e10 + (n % 9)]),
  )
  expect(await t.hq.scheduled.clear()).toBe(3000)
  expect(await t.hq.scheduled.clear()).toBe(0)
  expect(await t.hq.stats()).toMatchObject({ scheduled: 0 })
})

test('schedule stores a job unchanged, with its own or a new jid, and the job runs when it is due', async () => {
  const t = bench()
  t.hq.client.use(() => null)
  const soon = t.hq.now() / 1000 + 3600
  const jid = await t.hq.scheduled.schedule(new Date(soon * 1000), { class: 'Job', args: [1], at: 5, enqueued_at: 6 })
  const [entry] = await all(t.hq.scheduled)
  expect(entry).toMatchObject({ jid, queue: 'default', class: 'Job', args: [1] })
  expect(entry?.score).toBeCloseTo(soon, 2)
  expect(entry?.payload).not.toHaveProperty('at')
  expect(entry?.payload).not.toHaveProperty('enqueued_at')
  expect(jid).toMatch(/^[0-9a-f]{24}$/)
  const raw = text('x').replace('["x"]', '[1.0, 12345678901234567890]')
  expect(await t.hq.retries.schedule('5m', raw)).toBe('jid-x')
  expect((await first(t.hq.retries)).text).toBe(raw)
  expect((await first(t.hq.retries)).score).toBeGreaterThan(t.hq.now() / 1000 + 290)
  for (const wrong of ['no json', '{"class":"Job","args":[]}', { class: 'Job' } as never]) {
    await expect(t.hq.retries.schedule(1, wrong)).rejects.toMatchObject({ code: 'INVALID_JOB' })
  }
  await expect(t.hq.retries.schedule(1, { class: 'J', args: [() => {}] })).rejects.toMatchObject({
    code: 'INVALID_ARGS',
  })
  await expect(t.hq.retries.schedule('soon', { class: 'J', args: [] })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
  })
  expect(await t.hq.retries.size()).toBe(1)
  t.hq.client.clear()
  const ran = new Collector<unknown>()
  t.hq.job('Job', (_ctx, n) => ran.add(n))
  await t.hq.retries.schedule(0, { class: 'Job', args: ['now'] })
  await t.work()
  await ran.atLeast(1)
  expect(ran.all).toEqual(['now'])
})

test('scheduling into the dead set applies its limit: the set keeps its newest', async () => {
  const t = bench({ dead: { max: 2 } })
  for (const n of [1, 2, 3]) await t.hq.dead.schedule(t.hq.now() / 1000 - 10 + n, { class: 'Job', args: [n] })
  expect((await all(t.hq.dead)).map(({ args }) => args)).toEqual([[3], [2]])
})

test('popEach returns entries lowest first, each to one of several callers, and only those that existed at its start', async () => {
  const t = bench()
  await fill(
    t,
    'dead',
    Array.from({ length: 250 }, (_, n) => [text(n), n]),
  )
  const other = t.another()
  const mine: unknown[] = []
  const theirs: unknown[] = []
  const counts = await Promise.all([
    t.hq.dead.popEach(({ args }) => void mine.push(args[0])),
    other.hq.dead.popEach(({ args }) => void theirs.push(args[0])),
  ])
  expect(counts).toEqual([mine.length, theirs.length])
  expect([...mine, ...theirs].sort((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 250 }, (_, n) => n))
  expect(mine).toEqual([...mine].sort((a, b) => Number(a) - Number(b)))
  expect(await t.hq.dead.size()).toBe(0)
  await fill(t, 'retry', [
    [text('a'), 1],
    [text('b'), 2],
  ])
  let n = 0
  const refill = async () => {
    if (n < 10) await fill(t, 'retry', [[text(`again-${n++}`), 100 + n]])
  }
  expect(await t.hq.retries.popEach(refill)).toBe(2)
  expect(jids(await all(t.hq.retries))).toEqual(['jid-again-1', 'jid-again-0'])
  const refuse = () => {
    throw new Error('stop')
  }
  await expect(t.hq.retries.popEach(refuse)).rejects.toThrow('stop')
  expect(jids(await all(t.hq.retries))).toEqual(['jid-again-1'])
})

test('all jobs of a class are deleted, an Active Job by its own class, and no job that only mentions it', async () => {
  const t = bench()
  const texts = Array.from({ length: 120 }, (_, n) => [text(n, n % 2 ? {} : { class: 'Old' }), n] as [string, number])
  const wrapped = { class: 'Sidekiq::ActiveJob::Wrapper', wrapped: 'Old', args: [{ arguments: [] }] }
  await fill(t, 'retry', [...texts, [text('w', wrapped), 500], [text('Old'), 501]])
  expect(await t.hq.retries.deleteByClass('Old')).toBe(61)
  expect(await t.hq.retries.deleteByClass('Old')).toBe(0)
  const left = await all(t.hq.retries)
  expect(left).toHaveLength(61)
  expect(left.filter((entry) => entry.class !== 'Job')).toEqual([])
})

test('an action on all matching entries skips none while another program removes others', async () => {
  const t = bench()
  const entries = Array.from({ length: 3000 }, (_, n) => {
    const text = JSON.stringify({ class: n % 2 ? 'Odd' : 'Even', args: [], jid: `${n}`, queue: 'default' })
    return { to: 'retry' as const, text, score: 2e9 + n }
  })
  await t.hq.store.jobs.push(entries, Date.now())
  const all = (name: string) => t.hq.retries.deleteAll({ where: ({ text }) => text.includes(`"${name}"`) })
  const answers = await Promise.all([all('Odd'), all('Even')])
  expect(answers.map(({ done }) => done)).toEqual([1500, 1500])
  expect(await t.hq.retries.size()).toBe(0)
})

test('entries that fail again during retryAll are not retried a second time', async () => {
  const t = bench()
  const fails = (n: number, at: number) => text(n, { retry_count: 0, failed_at: at, error_class: 'E' })
  const hour = t.clock.now() - 3_600_000
  await fill(
    t,
    'retry',
    Array.from({ length: 150 }, (_, n) => [fails(n, hour), 2e9 + n]),
  )
  await fill(t, 'retry', [[fails(1000, t.clock.now() + 86_400_000), 1e9]])
  // By the second look one of the first hundred has run, and waits for its next retry below all others.
  let isBack = false
  const where = () => {
    if (!isBack) t.clock.ahead += 1
    if (!isBack) void fill(t, 'retry', [[fails(140, t.clock.now()), 1.5e9]])
    isBack = true
    return true
  }
  const { done } = await t.hq.retries.retryAll({ where })
  expect(done).toBe(151)
  expect((await t.set('retry')).map(({ jid }) => jid)).toEqual(['jid-140'])
})
