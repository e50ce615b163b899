import { BusinessFailure, type JobContext, type Middleware, type Payload } from 'highkiq'
import { expect, test } from 'vitest'
import { bench, Collector, until } from './bench.ts'

type ClientLink = Middleware<Payload, Payload | null>
type ServerLink = Middleware<JobContext, unknown>

const noop = async () => {}

// ---------------------------------------------------------------------------------------------------------- client

test('client middleware runs in its order, the first one outermost, and its result is pushed', async () => {
  const { hq, queue } = bench()
  const order: string[] = []
  const link =
    (name: string): ClientLink =>
    async (payload, next) => {
      order.push(`${name} in`)
      const after = await next()
      order.push(`${name} out`)
      return after && { ...after, [name]: true, args: [...payload.args, name] }
    }
  hq.client.use(link('a')).use(link('b')).prepend(link('c'))
  await hq.push({ class: 'X', args: [1] })
  expect(order).toEqual(['c in', 'a in', 'b in', 'b out', 'a out', 'c out'])
  expect(await queue()).toMatchObject([{ a: true, b: true, c: true, args: [1, 'c'] }])
})

test('client middleware can be put before or after another, moved, removed and cleared', async () => {
  const { hq } = bench()
  const order: string[] = []
  const link =
    (name: string): ClientLink =>
    (_payload, next) => {
      order.push(name)
      return next()
    }
  const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map(link) as [
    ClientLink,
    ClientLink,
    ClientLink,
    ClientLink,
    ClientLink,
  ]
  const push = async () => {
    order.length = 0
    await hq.push({ class: 'X', args: [] })
    return order.join('')
  }
  hq.client.use(a).use(b)
  expect(await push()).toBe('ab')
  hq.client.insertBefore(b, c)
  expect(await push()).toBe('acb')
  hq.client.insertAfter(a, d)
  expect(await push()).toBe('adcb')
  hq.client.use(a)
  expect(await push()).toBe('dcba')
  hq.client.insertBefore(e, b)
  expect(await push()).toBe('bdca')
  hq.client.insertAfter(e, d)
  expect(await push()).toBe('bcad')
  hq.client.remove(c)
  expect(await push()).toBe('bad')
  hq.client.clear()
  expect(await push()).toBe('')
})

test.each([null, false, undefined, 0])('client middleware that returns %o filters the push', async (answer) => {
  const { hq, queue } = bench()
  hq.client.use((() => answer) as unknown as ClientLink)
  expect(await hq.push({ class: 'X', args: [] })).toBeNull()
  expect(await queue()).toEqual([])
})

test('client middleware may choose another queue, another time and other arguments; these are checked after it', async () => {
  const { hq, queue, set } = bench()
  const link: ClientLink = async (payload, next) => {
    if (payload.class === 'Bad') payload.args.push(() => {})
    if (payload.class === 'Later') payload.at = Date.now() / 1000 + 100
    payload.queue = 'other'
    return next()
  }
  hq.client.use(link)
  await hq.push({ class: 'X', args: [] })
  await hq.push({ class: 'Later', args: [] })
  await expect(hq.push({ class: 'Bad', args: [] })).rejects.toMatchObject({ code: 'INVALID_ARGS' })
  expect(await queue('other')).toMatchObject([{ class: 'X', queue: 'other' }])
  expect(await set('schedule')).toMatchObject([{ class: 'Later', queue: 'other' }])
})

test('the push throws the error of client middleware; other pushes at the same moment are stored', async () => {
  const { hq, queue } = bench()
  const broken = new Error('no user')
  hq.client.use((payload, next) => {
    if (payload.args[0] === 'bad') throw broken
    return next()
  })
  const bad = hq.push({ class: 'X', args: ['bad'] })
  const good = hq.push({ class: 'X', args: ['good'] })
  await expect(bad).rejects.toBe(broken)
  await good
  expect(await queue()).toMatchObject([{ args: ['good'] }])
})

test('client middleware runs again when a job leaves a set, and the changed job runs', async () => {
  const { hq, work, clock } = bench()
  const passed: unknown[] = []
  const ran = new Collector<unknown>()
  hq.client.use((payload, next) => {
    passed.push([payload.class, payload.stamp])
    payload.stamp = passed.length
    return next()
  })
  const J = hq.job('J', async (ctx, n: number) => ran.add([n, ctx.payload.stamp]))
  await J.performIn(60, 7)
  await work()
  clock.ahead = 61
  expect(await ran.atLeast(1)).toEqual([[7, 2]])
  expect(passed).toEqual([
    ['J', undefined],
    ['J', 1],
  ])
})

test('middleware at promotion may choose another queue; unchanged members keep every byte', async () => {
  const { hq, work, clock, queue } = bench()
  const text =
    '{ "class":"Ruby" ,"args":[1.0, 12345678901234567890,{"b":1,"1":1e3}],"queue":"old","jid":"j1","x":1.50,"at":1}'
  await hq.store.jobs.push([{ to: 'schedule', text, score: Date.now() / 1000 + 5 }], Date.now())
  hq.client.use(async (payload, next) => {
    payload.queue = 'new'
    return next()
  })
  await work({ queues: ['unused'] })
  clock.ahead = 6
  await until(async () => (await hq.store.jobSets.size('schedule')) === 0)
  expect(await queue('new')).toHaveLength(1)
  const [promoted = ''] = await hq.store.jobs.peek('new', 0, 1)
  expect(promoted.replace(/,"enqueued_at":\d+/, '')).toBe(text.replace('"old"', '"new"').replace(',"at":1', ''))
})

test('middleware that filters a due job drops it', async () => {
  const { hq, work, clock } = bench()
  await hq.push({ class: 'X', args: [], at: Date.now() / 1000 + 5 })
  hq.client.use(() => null)
  await work()
  clock.ahead = 6
  await until(async () => (await hq.store.jobSets.size('schedule')) === 0)
  expect(await hq.store.metrics.totals()).toMatchObject({ enqueued: 0, fetched: 0, dead: 0, retries: 0, processed: 0 })
})

test('a job whose middleware throws at promotion is postponed a minute, then two; other jobs pass', async () => {
  const { hq, work, clock, set, errors } = bench()
  const ran = new Collector<string>()
  const J = hq.job('J', async (_ctx, name: string) => ran.add(name))
  const start = Date.now() / 1000
  await J.performAt(start + 5, 'bad')
  await J.performAt(start + 5.001, 'good')
  let broken = true
  hq.client.use((payload, next) => {
    if (broken && payload.args[0] === 'bad') throw new Error('no tenant')
    return next()
  })
  await work()
  clock.ahead = 6
  await ran.atLeast(1)
  await until(async () => ((await set('schedule'))[0]?.score ?? 0) > start + 60)
  expect(ran.all).toEqual(['good'])
  expect(errors).toMatchObject([{ error: { message: 'no tenant' }, about: { during: 'promoting a due job' } }])
  clock.ahead = 80
  await until(async () => ((await set('schedule'))[0]?.score ?? 0) > start + 80 + 110)
  broken = false
  clock.ahead = 300
  expect(await ran.atLeast(2)).toEqual(['good', 'bad'])
})

// ---------------------------------------------------------------------------------------------------------- server

test('server middleware runs around the handler in its order and may change its arguments', async () => {
  const { hq, work, settled } = bench()
  const order: string[] = []
  const link =
    (name: string): ServerLink =>
    async (ctx, next) => {
      order.push(`${name} in`)
      ctx.args = [...ctx.args, name]
      const result = await next()
      order.push(`${name} out ${result}`)
      return result
    }
  hq.server.use(link('a')).use(link('b'))
  const J = hq.job('J', async (_ctx, ...args: unknown[]) => {
    order.push(`handler ${args}`)
    return 'done'
  })
  await J.performAsync(1)
  await work()
  await settled()
  expect(order).toEqual(['a in', 'b in', 'handler 1,a,b', 'b out done', 'a out done'])
})

test('a retry does not store arguments that server middleware changed', async () => {
  const { hq, work, set } = bench()
  hq.server.use((ctx, next) => {
    ctx.args = ['changed']
    return next()
  })
  const J = hq.job('J', async (_ctx, _a: string) => {
    throw new Error('again')
  })
  await J.performAsync('as pushed')
  await work()
  await until(async () => (await hq.store.jobSets.size('retry')) === 1)
  expect(await set('retry')).toMatchObject([{ args: ['as pushed'] }])
})

test('a job whose middleware does not call next is done, and its handler does not run', async () => {
  const { hq, work, settled } = bench()
  let ran = false
  hq.server.use(() => undefined)
  await hq
    .job('J', async () => {
      ran = true
    })
    .performAsync()
  await work()
  await settled()
  expect(ran).toBe(false)
  expect(await hq.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0, retries: 0 })
})

test("an error of server middleware is the job's: it is retried", async () => {
  const { hq, work, set, errors } = bench()
  hq.server.use(() => {
    throw new RangeError('no database')
  })
  await hq.job('J', noop).performAsync()
  await work()
  await until(async () => (await hq.store.jobSets.size('retry')) === 1)
  expect(await set('retry')).toMatchObject([
    { error_class: 'RangeError', error_message: 'no database', retry_count: 0 },
  ])
  expect(errors).toMatchObject([{ error: { message: 'no database' }, about: { class: 'J', queue: 'default' } }])
})

test('server middleware may turn an error into a business failure, and swallow one', async () => {
  const { hq, work, settled } = bench()
  hq.server.use(async (ctx, next) => {
    try {
      return await next()
    } catch (thrown) {
      if (ctx.payload.class === 'Swallow') return undefined
      throw new BusinessFailure('no', { cause: thrown })
    }
  })
  const broken = async () => {
    throw new Error('broken')
  }
  await hq.job('Swallow', broken).performAsync()
  await hq.job('Turn', broken).performAsync()
  await work()
  await settled()
  expect(await hq.store.metrics.totals()).toMatchObject({ processed: 2, failed: 0, retries: 0, dead: 0 })
})

test('server middleware sees an unknown class too', async () => {
  const { hq, work, settled } = bench()
  const seen: unknown[] = []
  hq.server.use((ctx) => {
    seen.push(ctx.payload.class)
  })
  await hq.push({ class: 'Unknown', args: [] })
  await work()
  await settled()
  expect(seen).toEqual(['Unknown'])
})

test('middleware of a capsule and of a job runs inside the app’s, in this order', async () => {
  const { hq, work, settled } = bench()
  const order: string[] = []
  const link =
    (name: string): ServerLink =>
    async (ctx, next) => {
      order.push(name)
      ctx.args = [...ctx.args, name]
      return `${await next()} ${name}`
    }
  hq.server.use(async (ctx, next) => {
    order.push('app')
    ctx.args = [...ctx.args, 'app']
    order.push(`answer ${await next()}`)
  })
  const J = hq.job('J', { use: [link('job 1'), link('job 2')] }, async (_ctx, ...args: unknown[]) => `handler(${args})`)
  const Plain = hq.job('Plain', () => 'plain')
  await J.performAsync(0)
  await work({ concurrency: 1, use: [link('capsule')], capsules: { other: { concurrency: 1, queues: ['other'] } } })
  await settled()
  expect(order).toEqual([
    ...['app', 'capsule', 'job 1', 'job 2'],
    'answer handler(0,app,capsule,job 1,job 2) job 2 job 1 capsule',
  ])
  order.length = 0
  await Plain.set({ queue: 'other' }).performAsync()
  await J.set({ queue: 'other' }).performAsync(0)
  await settled()
  expect(order).toEqual([
    ...['app', 'answer plain'],
    ...['app', 'job 1', 'job 2', 'answer handler(0,app,job 1,job 2) job 2 job 1'],
  ])
})

test('middleware of a job that does not call next keeps its handler from running; also inline', async () => {
  const { hq, work, settled } = bench()
  const J = hq.job('J', { use: [() => 'stopped'] }, () => {
    throw new Error('ran')
  })
  expect(await J.performInline()).toBe('stopped')
  await J.performAsync()
  await work()
  await settled()
  expect(await hq.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0 })
})

test('middleware may be an object with a method call, in the app, a capsule and a job', async () => {
  const { hq, work, settled } = bench()
  class Named {
    readonly name: string
    readonly order: string[]
    constructor(name: string, order: string[]) {
      this.name = name
      this.order = order
    }
    call<Answer>(_subject: unknown, next: () => Promise<Answer>): Promise<Answer> {
      this.order.push(this.name)
      return next()
    }
  }
  const order: string[] = []
  const [client, server, capsule, own] = ['client', 'server', 'capsule', 'job'].map((name) => new Named(name, order))
  hq.client.use(client as Named)
  hq.server.use(server as Named)
  hq.client.use(client as Named)
  expect(hq.client.size).toBe(1)
  const J = hq.job('J', { use: [own as Named] }, async () => {})
  await J.performAsync()
  await work({ use: [capsule as Named] })
  await settled()
  expect(order).toEqual(['client', 'server', 'capsule', 'job'])
  hq.server.remove(server as Named)
  expect(hq.server.size).toBe(0)
})

test('what is no middleware is refused, and of a class its instance is asked for', () => {
  const { hq } = bench({ url: 'sqlite::memory:' })
  class Timer {
    call(_ctx: JobContext, next: () => Promise<unknown>): Promise<unknown> {
      return next()
    }
  }
  const refused = (message: string) => expect.objectContaining({ code: 'INVALID_OPTION', message })
  const is = 'a function of (subject, next), or an object with a method call(subject, next)'
  expect(() => hq.job('J', { use: ['log'] as never }, noop)).toThrow(
    refused(`J: use must be an array of middleware, each ${is} (got "log")`),
  )
  expect(() => hq.job('J', { use: {} as never }, noop)).toThrow(
    refused(`J: use must be an array of middleware, each ${is} (got an object)`),
  )
  expect(() => hq.server.use(Timer as never)).toThrow(
    refused(`middleware must be ${is} (got the class Timer: pass new Timer())`),
  )
  expect(() => hq.client.use(null as never)).toThrow(refused(`middleware must be ${is} (got null)`))
  expect(() => hq.client.use({} as never)).toThrow(refused(`middleware must be ${is} (got an object)`))
})
