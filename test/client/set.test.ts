import { expect, test } from 'vitest'
import { bench, Collector } from '../engine/bench.ts'

const NOW = 1_700_000_000_000
const frozen = { clock: { now: () => NOW } }

test('the last value of each option in set() applies; the time options replace each other', async () => {
  const { hq, set, queue } = bench(frozen)
  const J = hq.job('J', async () => {})
  const later = J.set({ wait: 10, tags: ['a'] }).set({ waitUntil: new Date(NOW + 20_000) })
  await later.performAsync()
  await later
    .set({ wait: '30s' })
    .set({ extra: { foo: 1 } })
    .performAsync()
  await later.performIn(40)
  await later.performAt(NOW / 1000 + 50)
  await later.set({ at: NOW / 1000 + 60 }).performAsync()
  const scheduled = await set('schedule')
  expect(scheduled.map(({ score }) => score - NOW / 1000)).toEqual([20, 30, 40, 50, 60])
  expect(scheduled[1]).toMatchObject({ tags: ['a'], foo: 1 })
  for (const field of ['wait', 'waitUntil', 'at']) expect(scheduled[0]).not.toHaveProperty(field)
  await later.set({ wait: undefined }).performAsync()
  await J.performAsync()
  expect(await queue()).toHaveLength(2)
})

test('a repeated idempotent push with the same jid is stored once, even to another queue or time', async () => {
  const { hq, set, queue, clock } = bench()
  const J = hq.job('J', async (_ctx, _n: number) => {}).set({ idempotent: true })
  const jid = (await J.performAsync(1)) as string
  clock.ahead = 10
  expect(await J.set({ jid }).performAsync(1)).toBe(jid)
  expect(await J.set({ jid }).performIn(60, 1)).toBe(jid)
  const jids = await J.performBulk([[2], [3]])
  expect((await queue()).map((job) => job.jid)).toEqual([jid, ...jids])
  expect((await queue())[0]).not.toHaveProperty('idempotent')
  expect(await set('schedule')).toEqual([])
  await J.set({ jid, idempotent: false }).performAsync(1)
  expect(await queue()).toHaveLength(4)
})

test('options get their payload names; options of definitions only are refused', async () => {
  const { hq, queue } = bench(frozen)
  const J = hq.job('J', { retryQueue: 'slow' }, async () => {})
  await J.performAsync()
  await J.set({ retryQueue: 'slower', logLevel: 'debug', retryFor: 60, expiresIn: 5 }).performAsync()
  await hq.push({ class: 'Ruby', args: [], timeout: 5 })
  const [plain, said, ruby] = await queue()
  expect(plain).toMatchObject({ retry_queue: 'slow' })
  expect(said).toMatchObject({ retry_queue: 'slower', log_level: 'debug', retry_for: 60, expires_in: 5 })
  for (const field of ['retryQueue', 'logLevel', 'retryFor', 'expiresIn']) expect(said).not.toHaveProperty(field)
  expect(ruby).toMatchObject({ timeout: 5 })
  for (const name of ['retryIn', 'onExhausted', 'timeout', 'maxCrashes', 'thread', 'keepResult', 'use']) {
    const words = { code: 'INVALID_OPTION', message: expect.stringContaining(`hq.job('J', { ${name}: … }, handler)`) }
    expect(() => J.set({ [name]: 5 })).toThrow(expect.objectContaining(words))
  }
  await expect(J.set({ retryQueue: 'a b' }).performAsync()).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  expect(() => hq.job('K', { retryQueue: '' }, () => {})).toThrow(/not a queue name/)
})

test.each([
  ['delay', 'Did you mean performIn(seconds, …) or set({ wait: seconds })?'],
  ['in', 'Did you mean performIn(seconds, …) or set({ wait: seconds })?'],
  ['performIn', 'Did you mean performIn(seconds, …) or set({ wait: seconds })?'],
  ['performAt', 'Did you mean performAt(time, …) or set({ waitUntil: time })?'],
  ['attempts', 'Did you mean retry: '],
  ['backoff', 'Did you mean retryIn, '],
  ['wait_until', 'Did you mean set({ waitUntil })?'],
  ['jobId', 'Did you mean set({ jid })?'],
  ['removeOnComplete', 'Did you mean keepFinished, '],
  ['lifo', 'Did you mean priority?'],
  ['repeat', 'Did you mean hq.cron?'],
  ['qeue', 'Did you mean queue?'],
  ['retyr', 'Did you mean retry?'],
  ['expireIn', 'Did you mean expiresIn?'],
  ['retryfor', 'Did you mean retryFor?'],
  ['tenant', 'tenant. A member of your own goes under extra: set({ extra: { tenant: … } })'],
])('set() refuses the unknown member %s and says what to do', (name, words) => {
  const J = bench().hq.job('J', async () => {})
  expect(() => J.set({ [name]: 5 })).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(words) }),
  )
})

test('set() refuses unknown members in its types, too', () => {
  const { hq } = bench()
  const J = hq.job('J', async () => {})
  // @ts-expect-error: set() does not know this member
  expect(() => J.set({ delay: 5 })).toThrow(/performIn/)
  expect(() => J.set(null as never)).toThrow(/takes an object/)
})

test('your own members go under extra, and the last value of each counts', async () => {
  const { hq, queue } = bench()
  const J = hq.job('J', async () => {}).set({ extra: { tenant: 'acme', delay: 5, timeout: 9 } })
  await J.set({ extra: { tenant: 'other', trace: { id: 1 } }, queue: 'default' }).performAsync()
  await J.performBulk([[]])
  expect(await queue()).toMatchObject([
    { tenant: 'other', delay: 5, timeout: 9, trace: { id: 1 }, queue: 'default' },
    { tenant: 'acme', delay: 5 },
  ])
  expect((await queue())[0]).not.toHaveProperty('extra')
  expect(() => J.set({ extra: { queue: 'x' } })).toThrow(/queue is not a member of your own: set it outside extra/)
  expect(() => J.set({ extra: [1] as never })).toThrow(/extra must be an object/)
  for (const name of ['hk_task', 'hk_lock', 'hk_of_tomorrow']) {
    expect(() => J.set({ extra: { [name]: '0123456789abcdef' } })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(`${name} begins with hk_`) }),
    )
  }
})

test('every way to set a retry queue checks its name', async () => {
  const { hq, queue } = bench()
  const J = hq.job('J', async () => {})
  const pushes = (name: string) => [
    () => J.set({ retryQueue: name }).performAsync(),
    () => J.set({ retry_queue: name }).performAsync(),
    () => J.set({ extra: { retry_queue: name } }).performAsync(),
    () => hq.push({ class: 'J', args: [], retry_queue: name }),
    () => hq.pushBulk({ class: 'J', args: [[]], retry_queue: name }),
  ]
  for (const name of ['..', '.', '', 'a b', '\u0001']) {
    for (const push of pushes(name)) await expect(push()).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  }
  expect(await queue()).toEqual([])
  for (const push of pushes('slow')) await push()
  // Other programs write null when the job has no retry queue.
  await hq.push({ class: 'J', args: [], retry_queue: null })
  expect((await queue()).map((job) => job.retry_queue ?? null).sort()).toEqual([null, ...Array(5).fill('slow')].sort())
})

test('set() accepts the members of Sidekiq, Pro and Enterprise under their own names', async () => {
  const { hq, queue } = bench({ encryption: { keys: { 1: Buffer.alloc(32) }, active: 1 } })
  const members = {
    retry_for: 60,
    retry_queue: 'slow',
    log_level: 'debug',
    display_class: 'Shown',
    locale: 'cs',
    cattr: { a: 1 },
    cattr_1: { b: 2 },
    profile: 'p',
    bid: 'b1',
    expires_in: 5,
    unique_for: 600,
    unique_until: 'start',
    encrypt: true,
    overrated: 1,
  }
  await hq
    .job('J', async (_ctx, _a: number, _b: number) => {})
    .set(members)
    .performAsync(1, 2)
  expect(await queue()).toMatchObject([members])
})

test('a payload and client middleware keep any member unchanged', async () => {
  const { hq, queue } = bench()
  hq.job('J', async () => {})
  const members = { delay: 5, attempts: 3, timeout: 9, qeue: 'x', keepResult: 5 }
  await hq.push({ class: 'J', args: [], ...members })
  await hq.pushBulk({ class: 'J', args: [[]], ...members })
  hq.client.use((payload, next) => {
    Object.assign(payload, members)
    return next()
  })
  await hq.push({ class: 'J', args: [] })
  expect(await queue()).toMatchObject([members, members, members])
})

test('a bulk refuses unknown options', async () => {
  const { hq, queue } = bench()
  const J = hq.job('J', async () => {})
  await expect(J.performBulk([[]], { delay: 5 } as never)).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringContaining('there is no option delay'),
  })
  expect(await queue()).toEqual([])
})

test('a job that failed goes to its retryQueue', async () => {
  const { hq, work, settled } = bench()
  const runs = new Collector<string>()
  const J = hq.job('J', { retryIn: () => 0.01, retryQueue: 'slow' }, async (ctx) => {
    runs.add(ctx.queue)
    if (ctx.attempt === 1) throw new Error('once')
  })
  await J.performAsync()
  await work({ queues: ['default', 'slow'] })
  expect(await runs.atLeast(2)).toEqual(['default', 'slow'])
  await settled()
})

test('performInline passes the middleware of with()', async () => {
  const { hq } = bench()
  const order: string[] = []
  hq.client.use((_payload, next) => {
    order.push('chain')
    return next()
  })
  const doubled = hq.client.with(async (payload, next) => {
    order.push('inner')
    const after = await next()
    return after && { ...after, args: [(payload.args[0] as number) * 2] }
  })
  const J = hq.job('J', async (_ctx, n: number) => n)
  expect(await J.via(doubled).performInline(3)).toBe(6)
  expect(order).toEqual(['chain', 'inner'])
  expect(await J.via(hq.client.with(() => null)).performInline(3)).toBeNull()
  expect(await J.performInline(3)).toBe(3)
})

test('middleware for a single push runs inside the chain; at promotion only the chain runs', async () => {
  const { hq, queue, work, clock } = bench()
  const order: string[] = []
  hq.client.use((payload, next) => {
    order.push(`chain ${payload.args[0]}`)
    return next()
  })
  const signed = hq.client.with(
    (_payload, next) => {
      order.push('first')
      return next()
    },
    async (_payload, next) => {
      order.push('second')
      const after = await next()
      return after && { ...after, signed: true }
    },
  )
  const J = hq.job('J', { queue: 'q' }, async (_ctx, _n: number) => {})
  await signed.push({ class: 'J', args: [1] })
  await signed.pushBulk({ class: 'J', args: [[2]] })
  await J.via(signed).performAsync(3)
  await J.via(signed).performBulk([[4]])
  await J.performAsync(5)
  expect(order).toEqual([1, 2, 3, 4].flatMap((n) => [`chain ${n}`, 'first', 'second']).concat('chain 5'))
  expect((await queue('q')).map(({ args, signed }) => [args[0], signed])).toEqual([
    ...[1, 2, 3, 4].map((n) => [n, true]),
    [5, undefined],
  ])
  order.length = 0
  await J.via(signed).performIn(60, 6)
  await work({ queues: ['idle'] })
  clock.ahead = 61
  await expect.poll(async () => (await queue('q')).length).toBe(6)
  expect(order).toEqual(['chain 6', 'first', 'second', 'chain 6'])
  const stopped = hq.client.with(() => null)
  expect(await stopped.push({ class: 'J', args: [7] })).toBeNull()
  expect(await stopped.pushBulk({ class: 'J', args: [[8], [9]] })).toEqual([null, null])
})
