import { inflateSync } from 'node:zlib'
import { BusinessFailure, Discard, Highkiq, HighkiqError, type JobOptions, Kill, Release, Snooze } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import { type Bench, Collector, bench as onDisk, recorder, until } from './bench.ts'

// What is decided here does not depend on where jobs are kept.
const bench: typeof onDisk = (options = {}) => onDisk({ url: 'sqlite::memory:', ...options })

/** A job that always throws the same, pushed once, worked until it lies in `lies` (or is gone). */
async function failing(t: Bench, thrown: unknown, options: JobOptions = {}, more: Record<string, unknown> = {}) {
  const deaths: unknown[] = []
  t.hq.onDeath((payload, error) => deaths.push([payload.jid, error, payload]))
  const ran = new Collector<number>()
  t.hq.job('J', options, async (ctx) => {
    ran.add(ctx.attempt)
    throw thrown
  })
  const jid = await t.hq.push({ class: 'J', args: [1], ...more })
  await t.work()
  await ran.atLeast(1)
  await t.settled()
  return { jid, deaths, ran, retry: (await t.set('retry'))[0], dead: (await t.set('dead'))[0] }
}

const figures = ({ hq }: { hq: Highkiq }) => hq.store.metrics.totals()

test('a failed job is retried after 15 s, with the error in Sidekiq’s fields', async () => {
  const t = bench({ clock: { now: () => 1_700_000_000_000 } })
  const { retry, deaths, jid } = await failing(t, new TypeError('broken'))
  expect(retry).toMatchObject({
    jid,
    queue: 'default',
    score: 1_700_000_015,
    retry_count: 0,
    failed_at: 1_700_000_000_000,
    error_class: 'TypeError',
    error_message: 'broken',
  })
  expect(retry).not.toHaveProperty('retried_at')
  expect(retry).not.toHaveProperty('error_backtrace')
  expect(deaths).toEqual([])
  expect(await figures(t)).toMatchObject({ processed: 1, failed: 1, retries: 1, dead: 0 })
  expect(t.errors).toMatchObject([
    {
      error: { message: 'broken' },
      about: {
        context: 'Job raised exception',
        job: { jid, args: [1], retry_count: 0, error_message: 'broken' },
        ...{ jid, class: 'J', queue: 'default', attempt: 1, next: 'retry at 2023-11-14T22:13:35.000Z' },
      },
    },
  ])
})

test('retries run at growing intervals until the last; then the job is dead', async () => {
  const t = bench()
  const { hq, clock } = t
  const ran = new Collector<number>()
  const exhausted: unknown[] = []
  const deaths: unknown[] = []
  hq.onDeath((payload, error) => deaths.push([payload.retry_count, (error as Error).message]))
  const options = { retry: 2, onExhausted: (payload: unknown, error: unknown) => exhausted.push([payload, error]) }
  const J = hq.job('J', options, async (ctx) => {
    ran.add(ctx.attempt)
    throw new Error(`attempt ${ctx.attempt}`)
  })
  const jid = await J.performAsync()
  await t.work()
  for (const [attempt, wait] of [
    [1, 15],
    [2, 16],
  ] as const) {
    await ran.atLeast(attempt)
    await until(async () => (await hq.store.jobSets.size('retry')) === 1)
    const [job] = await t.set('retry')
    expect(job).toMatchObject({ retry_count: attempt - 1, error_message: `attempt ${attempt}` })
    const failed = attempt === 1 ? job?.failed_at : job?.retried_at
    expect((job?.score ?? 0) * 1000 - (failed ?? 0)).toBeCloseTo(wait * 1000, 0)
    clock.ahead += wait - 1
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(ran.all).toHaveLength(attempt)
    clock.ahead += 1
  }
  await ran.atLeast(3)
  await until(async () => (await hq.store.jobSets.size('dead')) === 1)
  expect(ran.all).toEqual([1, 2, 3])
  const [dead] = await t.set('dead')
  expect(dead).toMatchObject({ jid, retry_count: 2, error_message: 'attempt 3' })
  expect(exhausted).toMatchObject([[{ jid, retry_count: 2 }, { message: 'attempt 3' }]])
  expect(deaths).toEqual([[2, 'attempt 3']])
  expect(await figures(t)).toMatchObject({ processed: 3, failed: 3, retries: 0, dead: 1 })
})

test('members that Highkiq does not know survive a retry byte for byte, in their order', async () => {
  const t = bench()
  const ran = new Collector<number>()
  t.hq.job('J', async (ctx) => {
    ran.add(ctx.attempt)
    throw new Error('x')
  })
  const text =
    '{"class":"J", "retry":true,"args":[1.0,12345678901234567890,"\\u00e9\\/"],"9":{"b":1e2,"1":[ ]},"jid":"j","queue":"default","created_at":1700000000.0}'
  await t.raw(text)
  await t.work()
  await ran.atLeast(1)
  await until(async () => (await t.hq.store.jobSets.size('retry')) === 1)
  const [job] = await t.set('retry')
  expect(job?.text.startsWith(text.slice(0, -1))).toBe(true)
  expect(Object.keys(JSON.parse(job?.text ?? ''))).toEqual([
    ...['9', 'class', 'retry', 'args', 'jid', 'queue', 'created_at'],
    ...['error_message', 'error_class', 'failed_at', 'retry_count'],
  ])
})

test('retry: 0 goes to the dead set at once, retry: false is deleted; death handlers run for both', async () => {
  const zero = bench()
  const toDead = await failing(zero, new Error('x'), { retry: 0 })
  expect(toDead.dead).toMatchObject({ jid: toDead.jid, retry_count: 0 })
  expect(toDead.deaths).toHaveLength(1)
  const none = bench()
  const dropped = await failing(none, new Error('x'), { retry: false })
  expect(dropped.deaths).toHaveLength(1)
  expect(dropped.ran.all).toEqual([1])
  expect(await figures(none)).toMatchObject({ processed: 1, failed: 1, retries: 0, dead: 0 })
})

test.each(['', ',"retry":null'])('a job of another program %s gets the retries of its definition', async (retry) => {
  const t = bench()
  const ran = new Collector<number>()
  t.hq.job('J', { retry: 0 }, async () => {
    ran.add(1)
    throw new Error('x')
  })
  await t.raw(`{"class":"J","args":[],"jid":"j"${retry}}`)
  await t.work()
  await until(async () => (await t.hq.store.jobSets.size('dead')) === 1)
})

test('a job that was retried by hand (retry_count -1) counts as failed before', async () => {
  const t = bench({ clock: { now: () => 1_700_000_000_000 } })
  const { retry } = await failing(t, new Error('x'), {}, { retry_count: -1, failed_at: 1_600_000_000_000 })
  expect(retry).toMatchObject({
    retry_count: 0,
    retried_at: 1_700_000_000_000,
    failed_at: 1_600_000_000_000,
    score: 1_700_000_015,
  })
})

test('a retry goes to the queue from which the job was fetched, or to its retry_queue', async () => {
  const t = bench()
  t.hq.job('J', async () => {
    throw new Error('x')
  })
  await t.raw('{"class":"J","args":[],"jid":"a","queue":"elsewhere","retry":true}')
  await t.raw('{"class":"J","args":[],"jid":"b","queue":"default","retry":true,"retry_queue":"slow"}')
  await t.work()
  await until(async () => (await t.hq.store.jobSets.size('retry')) === 2)
  const queues = new Map((await t.set('retry')).map(({ jid, queue }) => [jid, queue]))
  expect(queues).toEqual(
    new Map([
      ['a', 'default'],
      ['b', 'slow'],
    ]),
  )
})

test('the app’s maxRetries applies to a job with retry: true', async () => {
  const t = bench({ maxRetries: 0 })
  expect((await failing(t, new Error('x'))).dead).toMatchObject({ retry: true })
})

test("jitter is added to Sidekiq's delay, up to ten seconds for each failure so far, and not to a custom delay", async () => {
  const clock = { now: () => 1_700_000_000_000 }
  const first = bench({ clock, random: () => 0.99 })
  expect((await failing(first, new Error('x'))).retry?.score).toBe(1_700_000_015 + 9)
  const third = bench({ clock, random: () => 0.99 })
  expect((await failing(third, new Error('x'), {}, { retry_count: 1 })).retry?.score).toBe(1_700_000_031 + 29)
  const own = bench({ clock, random: () => 0.99 })
  expect((await failing(own, new Error('x'), { retryIn: '100s' })).retry?.score).toBe(1_700_000_100)
})

test('with retryFor only the time since the first failure counts, in milliseconds or in seconds', async () => {
  const now = 1_700_000_000_000
  const about = { retry_count: 30, retry: 1 }
  for (const [failed_at, dies] of [
    [now - 59_000, false],
    [now - 61_000, true],
    [1_699_999_941.5, false],
    [1_699_999_939.5, true],
  ] as const) {
    const t = bench({ clock: { now: () => now } })
    const { dead } = await failing(t, new Error('x'), { retryFor: 60 }, { ...about, failed_at })
    expect(dead !== undefined).toBe(dies)
  }
})

test('retryIn gets the count, the error and the payload, and chooses the delay', async () => {
  const asked: unknown[] = []
  const t = bench({ clock: { now: () => 1_700_000_000_000 } })
  const error = new Error('x')
  const options: JobOptions = {
    retryIn: (count, thrown, payload) => {
      asked.push([count, thrown, payload.jid])
      return 7
    },
  }
  const { retry, jid } = await failing(t, error, options)
  expect(asked).toEqual([[0, error, jid]])
  expect(retry?.score).toBe(1_700_000_007)
})

test.each(['default', undefined, null])('retryIn that returns %o keeps the default delay', async (answer) => {
  const t = bench({ clock: { now: () => 1_700_000_000_000 } })
  const { retry } = await failing(t, new Error('x'), { retryIn: () => answer as never })
  expect(retry?.score).toBe(1_700_000_015)
  expect(t.errors).toHaveLength(1)
})

test.each([
  [-5, '-5'],
  [Number.NaN, 'NaN'],
  [Number.POSITIVE_INFINITY, 'Infinity'],
  ['7', '"7"'],
  ['soon', '"soon"'],
  [{}, 'an object'],
  [{ jitter: true }, 'an object'],
  [{ minutes: '5' }, 'an object'],
  [true, 'true'],
  [Promise.resolve(5), 'a promise'],
])(
  'retryIn that returns %o is reported once with class and value, and keeps the default delay',
  async (answer, got) => {
    const t = bench({ clock: { now: () => 1_700_000_000_000 } })
    const { retry } = await failing(t, new Error('x'), { retryIn: () => answer as never })
    expect(retry?.score).toBe(1_700_000_015)
    expect(t.errors.map(({ error, about }) => [error.message, about.during])).toEqual([
      [
        expect.stringMatching(
          /^J: retryIn must return a number of seconds.* \(got .*\); the job gets the default delay$/,
        ),
        'retryIn',
      ],
      ['x', undefined],
    ])
    expect(t.errors[0]?.error.message).toContain(`(got ${got})`)
  },
)

test('an invalid random number does not lose the job', async () => {
  for (const random of [() => Number.NaN, () => undefined as never]) {
    const t = bench({ clock: { now: () => 1_700_000_000_000 }, random })
    const { retry } = await failing(t, new Error('x'))
    expect(retry?.score).toBe(1_700_000_015)
  }
})

test('retryIn that throws is reported and keeps the default delay', async () => {
  const t = bench({ clock: { now: () => 1_700_000_000_000 } })
  const { retry } = await failing(t, new Error('x'), {
    retryIn: () => {
      throw new Error('in retryIn')
    },
  })
  expect(retry?.score).toBe(1_700_000_015)
  expect(t.errors.map(({ error, about }) => [error.message, about.during])).toEqual([
    ['in retryIn', 'retryIn'],
    ['x', undefined],
  ])
})

test("retryIn that returns 'kill' ends the job like its last retry; 'discard' deletes it and runs the death handlers", async () => {
  const exhausted: unknown[] = []
  const onExhausted = () => exhausted.push('exhausted')
  const killed = bench()
  const kill = await failing(killed, new Error('x'), { retryIn: () => 'kill', onExhausted })
  expect(kill.dead).toMatchObject({ retry_count: 0, error_message: 'x' })
  expect(kill.deaths).toHaveLength(1)
  expect(exhausted).toHaveLength(1)
  const discarded = bench()
  const discard = await failing(discarded, new Error('x'), { retryIn: () => 'discard', onExhausted })
  expect(discard.deaths).toMatchObject([[discard.jid, { message: 'x' }, { discarded_at: expect.any(Number) }]])
  expect(exhausted).toHaveLength(1)
  expect(await figures(discarded)).toMatchObject({ processed: 1, failed: 1, retries: 0, dead: 0 })
})

test('a job that wraps another uses the hooks of the wrapped class and its own retries', async () => {
  const t = bench()
  const asked: unknown[] = []
  t.hq.job(
    'Mine',
    {
      retry: 9,
      retryIn: (count, _error, payload) => void asked.push(['retryIn', count, payload.class]),
      onExhausted: (payload) => void asked.push(['onExhausted', payload.class, payload.wrapped]),
    },
    () => {},
  )
  const { dead } = await failing(
    t,
    new Error('x'),
    { retryIn: () => expect.unreachable() },
    {
      ...{ retry: 1, wrapped: 'Mine', retry_count: 0 },
    },
  )
  expect(dead).toMatchObject({ class: 'J', wrapped: 'Mine', retry_count: 1 })
  expect(asked).toEqual([['onExhausted', 'J', 'Mine']])
  const again = bench()
  again.hq.job('Mine', { retryIn: (count) => void asked.push(['retryIn', count]) }, () => {})
  const { retry } = await failing(again, new Error('x'), {}, { wrapped: 'Mine' })
  expect(retry).toMatchObject({ retry_count: 0 })
  expect(asked.at(-1)).toEqual(['retryIn', 0])
})

test('an error caused by a shutdown is not a failure: the job is requeued unchanged', async () => {
  const t = bench()
  const ran = new Collector<number>()
  const J = t.hq.job('J', async () => {
    ran.add(1)
    if (ran.all.length > 1) return
    const error = new Error('the request was aborted')
    error.cause = new Error('aborted', { cause: new HighkiqError('SHUTDOWN', 'stopping') })
    throw error
  })
  const jid = await J.performAsync()
  const [pushed] = await t.queue()
  const worker = await t.work()
  await ran.atLeast(1)
  await until(() => worker.busy === 0)
  await worker.stop()
  expect(await t.queue()).toEqual([pushed])
  expect(pushed).toMatchObject({ jid })
  expect(await figures(t)).toMatchObject({ processed: 0, failed: 0, retries: 0 })
  expect(t.errors).toEqual([])
})

test('the stack that is stored with a job is cleaned first', async () => {
  const t = bench({ backtraceCleaner: (lines) => lines.filter((line) => line.includes('failure.test')) })
  const { retry } = await failing(t, new Error('x'), { backtrace: true })
  const stack = JSON.parse(inflateSync(Buffer.from(String(retry?.error_backtrace), 'base64')).toString()) as string[]
  expect(stack.length).toBeGreaterThan(0)
  for (const line of stack) expect(line).toMatch(/failure\.test/)
})

test('dead: false keeps a job out of the dead set; onExhausted and the death handlers run', async () => {
  const t = bench()
  let exhausted = 0
  const { deaths } = await failing(t, new Error('x'), { retry: 0, dead: false, onExhausted: () => exhausted++ })
  expect([exhausted, deaths.length]).toEqual([1, 1])
  expect(deaths).toMatchObject([[expect.anything(), expect.anything(), { discarded_at: expect.any(Number) }]])
  expect(await figures(t)).toMatchObject({ processed: 1, failed: 1, dead: 0 })
})

test("onExhausted that answers 'discard', also later, keeps a job out of the dead set", async () => {
  const t = bench()
  const { deaths } = await failing(t, new Error('x'), { retry: 0, onExhausted: async () => 'discard' })
  expect(deaths).toHaveLength(1)
  expect(await figures(t)).toMatchObject({ dead: 0 })
})

test('onExhausted that throws is reported; the job is dead all the same and death handlers run', async () => {
  const t = bench()
  const { dead, deaths } = await failing(t, new Error('x'), {
    retry: 0,
    onExhausted: () => {
      throw new Error('in onExhausted')
    },
  })
  expect(dead).toBeDefined()
  expect(deaths).toHaveLength(1)
  expect(t.errors.map(({ error }) => error.message)).toEqual(['x', 'in onExhausted'])
})

test('a death handler that throws is logged and the next ones run', async () => {
  const t = bench()
  t.hq.onDeath(() => {
    throw new Error('in onDeath')
  })
  const { dead, deaths } = await failing(t, new Error('x'), { retry: 0 })
  expect(dead).toBeDefined()
  expect(deaths).toHaveLength(1)
  expect(t.log.lines).toContainEqual(expect.objectContaining({ level: 'error', message: 'in onDeath' }))
})

test('an error handler that throws is logged and the next ones run; without any, errors are logged', async () => {
  const t = bench()
  const heard: unknown[] = []
  t.hq.onError(() => Promise.reject(new Error('in onError')))
  t.hq.onError((error) => heard.push((error as Error).message))
  await failing(t, new Error('x'))
  await until(() => t.log.lines.length > 0)
  expect(heard).toEqual(['x'])
  expect(t.log.lines).toMatchObject([{ level: 'error', message: 'in onError', about: { during: 'onError' } }])
})

test('without an error handler errors are logged, but not what their jobs carry', async () => {
  const log = recorder()
  const hq = new Highkiq({ url: 'sqlite::memory:', logger: log })
  onTestFinished(() => hq.close())
  const J = hq.job('J', async (_ctx, _secret: string) => {
    throw new Error('x')
  })
  const jid = await J.performAsync('password')
  await hq.worker().start()
  await until(async () => (await hq.store.jobSets.size('retry')) === 1)
  const [line] = log.lines
  expect(line).toMatchObject({ level: 'error', message: 'x', about: { jid, context: 'Job raised exception' } })
  expect(JSON.stringify(line)).not.toContain('password')
})

test("an error whose code can't be read is reported, and its row fails all the same", async () => {
  const t = bench()
  const unreadable = Object.defineProperty(new Error('odd'), 'code', {
    get() {
      throw new Error('no code')
    },
  })
  const J = t.hq.job('J', { retry: false }, async (_ctx, _row: number) => {
    throw unreadable
  })
  const task = await t.hq.tasks.create(J, [[1]])
  await t.work()
  await t.settled()
  expect((await task.status())?.counts).toMatchObject({ error: 1 })
  expect(t.errors).toContainEqual(expect.objectContaining({ error: expect.objectContaining({ message: 'no code' }) }))
})

// ------------------------------------------------------------------------------------------------------ what is stored

test('an error’s message is cut at 10,000 characters, never inside one', async () => {
  const { retry } = await failing(bench(), new Error('🦙'.repeat(10_001)))
  expect(retry?.error_message).toBe('🦙'.repeat(10_000))
  const short = await failing(bench(), new Error('🦙'.repeat(9_000)))
  expect(short.retry?.error_message).toBe('🦙'.repeat(9_000))
})

test.each([
  ['a text', 'oops', 'string', 'oops'],
  ['undefined', undefined, 'undefined', 'undefined'],
  ['null', null, 'object', 'null'],
  ['a number', 5, 'number', '5'],
  ['an object without a text', Object.create(null), 'object', '!!! ERROR MESSAGE THREW AN ERROR !!!'],
  ['an error without a stack', Object.assign(new Error('bare'), { stack: undefined }), 'Error', 'bare'],
])('a handler that throws %s is retried', async (_, thrown, error_class, error_message) => {
  const { retry } = await failing(bench(), thrown, { backtrace: true })
  expect(retry).toMatchObject({ error_class, error_message })
})

test('a backtrace is stored as Sidekiq does it: base64 of deflated JSON, as many lines as asked', async () => {
  const decode = (text: unknown) => JSON.parse(inflateSync(Buffer.from(String(text), 'base64')).toString()) as string[]
  const error = new Error('first line\nsecond line')
  const all = await failing(bench(), error, { backtrace: true })
  const frames = decode(all.retry?.error_backtrace)
  expect(frames.length).toBeGreaterThan(2)
  expect(frames[0]).toMatch(/^at .*failure\.test\.ts:\d+:\d+/)
  const two = await failing(bench(), error, { backtrace: 2 })
  expect(decode(two.retry?.error_backtrace)).toEqual(
    frames.slice(0, 2).map((line) => expect.stringContaining(line.slice(0, 20))),
  )
  const none = await failing(bench(), error, { backtrace: false })
  expect(none.retry).not.toHaveProperty('error_backtrace')
})

// ------------------------------------------------------------------------------------------------------ errors to throw

test('BusinessFailure ends the job: no retry, no error, no death handler', async () => {
  const t = bench()
  const { deaths } = await failing(t, new BusinessFailure('the price is missing', { code: 'price' }))
  expect(deaths).toEqual([])
  expect(t.errors).toEqual([])
  expect(await figures(t)).toMatchObject({ processed: 1, failed: 0, retries: 0, dead: 0 })
})

test('any error class and its subclasses can be declared a business failure', async () => {
  class Refused extends Error {}
  class PriceRefused extends Refused {}
  for (const [error, failed] of [
    [new Refused('no'), 0],
    [new PriceRefused('no'), 0],
    [new Error('no'), 1],
  ] as const) {
    const t = bench()
    t.hq.businessErrors(Refused)
    await failing(t, error)
    expect(await figures(t)).toMatchObject({ processed: 1, failed, retries: failed })
  }
  const refused = expect.objectContaining({ code: 'INVALID_OPTION' })
  expect(() => bench().hq.businessErrors('Refused' as never)).toThrow(refused)
})

test('Discard deletes the job whatever retries are left; death handlers run', async () => {
  const t = bench()
  const { deaths } = await failing(t, new Discard('not needed'))
  expect(deaths).toMatchObject([[expect.any(String), { message: 'not needed' }, { class: 'J' }]])
  expect(await figures(t)).toMatchObject({ processed: 1, failed: 1, retries: 0, dead: 0 })
})

test('Kill moves a job to the dead set, whatever its retries', async () => {
  for (const retry of [true, false, 5]) {
    const t = bench()
    const { dead, deaths } = await failing(t, new Kill('hopeless'), { retry })
    expect(dead).toMatchObject({ error_class: 'Kill', error_message: 'hopeless', retry_count: 0 })
    expect(deaths).toHaveLength(1)
  }
})

test('errors of another copy of the package are recognised by their code', async () => {
  const t = bench()
  await failing(t, Object.assign(new Error('theirs'), { highkiq: 'business-failure' }))
  expect(await figures(t)).toMatchObject({ processed: 1, failed: 0, retries: 0 })
})

test('Snooze schedules the job again; it uses up no retry and counts nothing', async () => {
  const t = bench()
  const ran = new Collector<number>()
  const J = t.hq.job('J', { retry: 1 }, async (ctx) => {
    ran.add(ctx.attempt)
    if (ran.all.length <= 3) throw new Snooze(60)
  })
  const jid = await J.performAsync()
  const before = Date.now() / 1000
  await t.work()
  for (let n = 1; n <= 3; n++) {
    await ran.atLeast(n)
    await until(async () => (await t.hq.store.jobSets.size('schedule')) === 1)
    const [job] = await t.set('schedule')
    expect(job).toMatchObject({ jid })
    expect(job).not.toHaveProperty('retry_count')
    expect((job?.score ?? 0) - before - t.clock.ahead).toBeGreaterThan(59.9)
    expect(await figures(t)).toMatchObject({ processed: 0, failed: 0, retries: 0 })
    t.clock.ahead += 60
  }
  await ran.atLeast(4)
  await t.settled()
  expect(ran.all).toEqual([1, 1, 1, 1])
  expect(await figures(t)).toMatchObject({ processed: 1, failed: 0 })
})

test.each([Number.NaN, Number.POSITIVE_INFINITY, undefined, '5m'])(
  'a Snooze with %o fails the job',
  async (seconds) => {
    const t = bench()
    const { retry } = await failing(t, new Snooze(seconds as number))
    expect(retry).toMatchObject({ retry_count: 0, error_message: expect.stringMatching(/snooze/i) })
  },
)

test('Snooze(0) runs again at once', async () => {
  const t = bench()
  const ran = new Collector<number>()
  const J = t.hq.job('J', async () => {
    ran.add(1)
    if (ran.all.length === 1) throw new Snooze(0)
  })
  await J.performAsync()
  await t.work()
  await ran.atLeast(2)
})

test('Release keeps a job for a second without a slot, then it is first in its queue; nothing is counted', async () => {
  const t = bench()
  const ran = new Collector<string>()
  const times: number[] = []
  const J = t.hq.job('J', async (ctx, name: string) => {
    ran.add(name)
    times.push(performance.now())
    if (name === 'a' && ran.all.filter((other) => other === 'a').length === 1) throw new Release()
    expect(ctx.attempt).toBe(1)
  })
  await J.performBulk([['a'], ['b'], ['c']])
  await t.work({ concurrency: 1 })
  await ran.atLeast(3)
  expect(ran.all).toEqual(['a', 'b', 'c'])
  await until(async () => (await figures(t)).processed === 2)
  expect(await figures(t)).toMatchObject({ enqueued: 0, fetched: 1 })
  await ran.atLeast(4)
  await t.settled()
  expect(ran.all).toEqual(['a', 'b', 'c', 'a'])
  expect((times[3] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(950)
  expect(await figures(t)).toMatchObject({ processed: 3, failed: 0, retries: 0 })
})

test('a released job goes to the front of its queue', async () => {
  const t = bench()
  const ran = new Collector<string>()
  const J = t.hq.job('J', async (_ctx, name: string) => {
    ran.add(name)
    if (name === 'a') throw new Release()
  })
  await J.performAsync('a')
  const worker = await t.work({ concurrency: 1 })
  await ran.atLeast(1)
  const quiet = worker.quiet()
  await J.performAsync('b')
  await quiet
  await worker.stop()
  expect((await t.queue()).map(({ args }) => args[0])).toEqual(['a', 'b'])
})

// ------------------------------------------------------------------------------------------------------ foreign jobs

test('the error of an unknown class names the job that was probably meant', async () => {
  const t = bench()
  t.hq.job('Welcome', async () => {})
  await t.hq.push({ class: 'Welcom', args: [] })
  await t.work()
  await until(async () => (await t.hq.store.jobSets.size('retry')) === 1)
  expect(await t.set('retry')).toMatchObject([{ error_message: expect.stringContaining('(did you mean Welcome?)') }])
})

test('an unknown class is retried, and runs when a process knows it', async () => {
  const t = bench()
  const jid = await t.hq.push({ class: 'Later', args: [5] })
  await t.work()
  await until(async () => (await t.hq.store.jobSets.size('retry')) === 1)
  expect(await t.set('retry')).toMatchObject([{ jid, error_message: expect.stringMatching(/"Later"/), retry_count: 0 }])
  expect(t.errors).toMatchObject([{ error: { code: 'UNKNOWN_JOB' } }])
  const ran = new Collector<unknown>()
  t.hq.job('Later', async (ctx, n: number) => ran.add([ctx.attempt, n]))
  t.clock.ahead = 16
  expect(await ran.atLeast(1)).toEqual([[2, 5]])
})

test.each([
  ['no JSON', 'garbage'],
  ['half a job', '{"class":"J","args":[1'],
  ['no object', '[1,2]'],
  ['null', 'null'],
  ['no class', '{"args":[]}'],
  ['no arguments', '{"class":"J"}'],
  ['a jid that is an object', '{"class":"J","args":[],"jid":{"toString":1}}'],
])(
  'a text that is not a job (%s) goes to the dead set unchanged, is reported and counts nothing; other jobs run',
  async (_, text) => {
    const t = bench()
    const ran = new Collector<number>()
    let deaths = 0
    t.hq.onDeath(() => deaths++)
    t.hq.job('J', async () => ran.add(1))
    await t.raw(text)
    await t.hq.push({ class: 'J', args: [] })
    await t.work()
    await ran.atLeast(1)
    await t.settled()
    expect((await t.set('dead')).map((job) => job.text)).toEqual([text])
    expect(t.errors).toMatchObject([{ about: { context: 'Invalid JSON for job', jobstr: text } }])
    expect(deaths).toBe(0)
    expect(await figures(t)).toMatchObject({ processed: 1, failed: 0 })
  },
)

test('a due text that is not a job goes to the dead set, too', async () => {
  const t = bench()
  await t.hq.store.jobs.push([{ to: 'retry', text: 'garbage', score: 1 }], Date.now())
  await t.work()
  await until(async () => (await t.hq.store.jobSets.size('dead')) === 1)
  expect(await t.set('dead')).toMatchObject([{ text: 'garbage' }])
})

test('a scheduled job that keeps its at is moved once', async () => {
  const t = bench()
  const ran = new Collector<unknown>()
  t.hq.job('J', async (ctx) => ran.add(ctx.payload))
  await t.hq.store.jobs.push(
    [{ to: 'schedule', text: '{"class":"J","args":[],"jid":"g","at":5}', score: 5 }],
    Date.now(),
  )
  await t.work()
  const [payload] = await ran.atLeast(1)
  expect(payload).not.toHaveProperty('at')
})

test('the dead set is trimmed to its size and age', async () => {
  const t = bench({ dead: { max: 2, seconds: 100 } })
  const now = Date.now() / 1000
  const dead = (name: string, age: number) => ({ to: 'dead' as const, text: `{"jid":"${name}"}`, score: now - age })
  await t.hq.store.jobs.push([dead('a', 5), dead('b', 4), dead('c', 3), dead('old', 101)], Date.now())
  await t.work()
  await until(async () => (await t.hq.store.jobSets.size('dead')) === 2)
  expect((await t.set('dead')).map(({ jid }) => jid)).toEqual(['b', 'c'])
})

test.each([
  ['a delay that is meant for ever', { retryIn: () => Number.MAX_SAFE_INTEGER }, {}],
  ['a count that is far below zero', {}, { retry_count: -5000 }],
  ['a count that is no number', {}, { retry_count: 12345678901234567890n }],
  ['a backtrace cleaner that answers nothing', { backtrace: true }, {}],
])('%s does not take the worker with it: the job waits for its retry', async (_what, options, more) => {
  const t = bench({ backtraceCleaner: () => undefined as never })
  const { retry, jid } = await failing(t, new Error('x'), options, more)
  expect(retry?.jid).toBe(jid)
  expect(await figures(t)).toMatchObject({ processed: 1, failed: 1, retries: 1 })
})

test('a promise whose own then throws, or never calls back, is awaited like any other', async () => {
  const t = bench()
  const ran = new Collector<number>()
  const fail = () => {
    throw new Error('own then')
  }
  const handlers = [() => undefined, fail].map((then) => Object.assign(Promise.resolve(1), { then }))
  t.hq.job('Own', (ctx, i: number) => {
    ran.add(ctx.attempt)
    return handlers[i]
  })
  for (const i of handlers.keys()) await t.hq.push({ class: 'Own', args: [i] })
  await t.work()
  await ran.atLeast(2)
  await t.settled()
  expect(t.errors).toEqual([])
  expect(await figures(t)).toMatchObject({ processed: 2, failed: 0, retries: 0, dead: 0 })
})
