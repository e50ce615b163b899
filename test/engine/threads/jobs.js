// The jobs of threads.test.ts: defined on its app, and again on one of its own in each thread.
import { AsyncLocalStorage } from 'node:async_hooks'
import { isMainThread, threadId } from 'node:worker_threads'
import { BatchFailure, BusinessFailure, Discard, Highkiq, Kill, Snooze } from 'highkiq'

const thread = import.meta.url

class Refused extends Error {}

/** The context of the app, in each thread another one. */
export const current = new AsyncLocalStorage()

class Mine extends Error {
  code = 'mine'
  details = { a: [1n] }
}

const thrown = {
  business: () => new BusinessFailure('no price', { code: 'price', field: 'price' }),
  declared: () => new Refused('declared'),
  discard: () => new Discard('old'),
  kill: () => new Kill('hopeless'),
  snooze: () => new Snooze(60),
  mine: () => new Mine('of my own', { cause: new TypeError('below', { cause: 'the bottom' }) }),
  text: () => 'a text',
  uncloneable: () => Object.assign(new Error('odd'), { how: () => {} }),
}

let left

export function define(hq) {
  hq.businessErrors(Refused)
  hq.context('request', current)
  hq.job('Context', { thread, keepResult: 60 }, async () => ({ value: current.getStore() ?? null, isMainThread }))
  hq.job('Add', { thread, keepResult: 60 }, (ctx, a, b) => {
    const { jid, queue, attempt, payload, args } = ctx
    return { sum: a + b, isMainThread, threadId, jid, queue, attempt, payload, args }
  })
  hq.job('Grow', { thread }, async (ctx) => {
    await ctx.batch.add(() => hq.push({ class: 'Add', args: [1, 2] }))
    return 'grown'
  })
  hq.job('Join', { thread }, async (ctx) => {
    const results = (await ctx.children()).map(({ result }) => result)
    ctx.log.info({ results }, 'children')
  })
  hq.job('Lists', { thread, retry: 0 }, (ctx, rows) => {
    ctx.message('of the last one', rows.length - 1)
    const failures = [new BusinessFailure('no price', { code: 'price' }), new Refused('declared'), new Error('broken')]
    throw new BatchFailure(new Map(failures.map((failure, i) => [i, failure])))
  })
  hq.job('Talk', { thread }, (ctx) => {
    ctx.log.child({ deep: 1 }).info({ n: 2 }, 'hello')
    ctx.log.error('without fields')
    ctx.log.warn({ f: () => {} }, 'odd')
    ctx.message('a message')
    for (let n = 0; n <= 1000; n++) ctx.progress(n, 1000, 'counting')
    return ctx.progressed
  })
  hq.job('Burst', { thread, keepFinished: true }, async (ctx, waits) => {
    for (let n = 0; n <= 7; n++) ctx.progress(n)
    if (waits) await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
  })
  hq.job('Throw', { thread, retry: 3, backtrace: true }, (_ctx, what) => {
    throw thrown[what]()
  })
  /** Lets nothing in, and ends only by itself. */
  hq.job('Deaf', { thread, timeout: 0.2, keepResult: 60 }, spin)
  hq.job('Endless', { thread, keepResult: 60 }, spin)
  /** The same, but asks now and then whether it should break off. */
  hq.job('Polite', { thread, keepResult: 60 }, (ctx) => {
    ctx.log.info({ threadId }, 'began')
    while (!ctx.interrupted);
    return 'broke off'
  })
  hq.job('Listens', { thread, timeout: 0.2 }, async (ctx) => {
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    ctx.log.info({ threadId, code: ctx.signal.reason.code }, 'told')
    throw ctx.signal.reason
  })
  hq.job('Exit', { thread, retry: 1 }, () => process.exit(3))
  hq.job('Crash', { thread, retry: 1 }, async () => {
    setTimeout(() => {
      throw new RangeError('uncaught')
    })
    await new Promise(() => {})
  })
  hq.job('Greedy', { thread: { file: thread, resourceLimits: { maxOldGenerationSizeMb: 20 } }, retry: 1 }, () => {
    const all = []
    for (;;) all.push(new Array(10_000).fill(all.length))
  })
  hq.job('Careless', { thread }, (_ctx, ms = 50) => {
    setTimeout(() => {
      throw new Error('left behind')
    }, ms)
  })
  /** Lets the next job of its thread use its context. */
  hq.job('Leaves', { thread }, (ctx, rows) => {
    left = () => {
      ctx.message('left behind')
      ctx.message('left behind, of the last row', rows.length - 1)
      ctx.progress(1)
    }
  })
  hq.job('Finds', { thread }, () => left())
  hq.job('Odd', { thread }, () => () => 'a function')
  hq.job('Pushes', { thread, retry: false }, () => hq.push({ class: 'Other', args: [isMainThread], queue: 'other' }))
  /** Never stops writing, nor listens. */
  hq.job('Floods', { thread }, async () => {
    for (let n = 0; ; n++) await hq.push({ class: 'Never', args: [n], at: Date.now() / 1000 + 9999 })
  })
  hq.process('bound', { thread }, (ctx, ...args) => ctx.log.info({ args, class: ctx.payload.class }, 'bound'))
}

function spin(ctx, ms = 60_000) {
  ctx.log.info({ threadId }, 'began')
  for (const end = performance.now() + ms; performance.now() < end; );
  return threadId
}

if (!isMainThread) define(new Highkiq({ url: process.env.HIGHKIQ_TEST_THREADS }))
