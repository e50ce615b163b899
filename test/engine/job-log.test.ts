import { BusinessFailure, Highkiq, type Logger, Snooze } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import { bench, type LogLine, recorder, until } from './bench.ts'

/** Of jobs alone, without what the worker says of itself. */
const ofJobs = (lines: readonly LogLine[]) => lines.filter(({ about }) => about.jid && !about.next)

test('with logJobs each job logs its start, and done or fail with its seconds', async () => {
  const t = bench()
  t.hq.job('Good', { tags: ['vip'] }, async () => {})
  t.hq.job('Bad', { retry: false }, async () => {
    throw new Error('no')
  })
  t.hq.job('Later', async () => {
    throw new Snooze(60)
  })
  const good = await t.hq.push({ class: 'Good', args: [], bid: 'b1' })
  const wrapped = await t.hq.push({ class: 'Bad', wrapped: 'Inner', args: [] })
  const later = await t.hq.push({ class: 'Later', args: [] })
  await t.work({ logJobs: true, concurrency: 1 })
  await t.settled()
  const elapsed = expect.any(Number)
  const lines = (about: object, end: string) => [
    { level: 'info', about: { ...about, queue: 'default' }, message: 'start' },
    { level: 'info', about: { ...about, queue: 'default', elapsed }, message: end },
  ]
  expect(ofJobs(t.log.lines)).toEqual([
    ...lines({ jid: good, class: 'Good', tags: ['vip'], bid: 'b1' }, 'done'),
    ...lines({ jid: wrapped, class: 'Inner' }, 'fail'),
    ...lines({ jid: later, class: 'Later' }, 'snooze'),
  ])
})

test('the line of a business failure has its code and message; another error is logged in a line of its own', async () => {
  class PriceError extends Error {}
  const t = bench()
  t.hq.businessErrors(PriceError)
  const failures = [
    new BusinessFailure('no such price', { code: 'bad_price' }),
    new PriceError('below 0'),
    new Error('no'),
  ]
  t.hq.job('Price', { retry: false }, async (_ctx, n: number) => {
    throw failures[n]
  })
  for (const n of failures.keys()) await t.hq.push({ class: 'Price', args: [n] })
  await t.work({ logJobs: true, concurrency: 1 })
  await t.settled()
  const ends = ofJobs(t.log.lines).filter(({ message }) => message === 'fail')
  expect(ends.map(({ about: { code, message } }) => ({ code, message }))).toEqual([
    { code: 'bad_price', message: 'no such price' },
    { code: undefined, message: 'below 0' },
    { code: undefined, message: undefined },
  ])
})

test('by default jobs are logged only at debug level', async () => {
  const t = bench()
  t.hq.job('Good', async () => {})
  await t.hq.push({ class: 'Good', args: [] })
  await t.work()
  await t.settled()
  expect(ofJobs(t.log.lines)).toEqual([])
  const log = { ...recorder(t.log.lines), isLevelEnabled: () => true }
  const debugging = t.another({ logger: log })
  debugging.hq.job('Good', async () => {})
  await t.hq.close()
  await debugging.hq.push({ class: 'Good', args: [] })
  await debugging.work()
  await debugging.settled()
  expect(ofJobs(t.log.lines)).toMatchObject([
    { level: 'debug', message: 'start' },
    { level: 'debug', message: 'done' },
  ])
})

test('a job may have its own log level; an invalid level has no effect', async () => {
  const levels: unknown[] = []
  const log: Logger = {
    ...recorder(),
    child: (_fields, options) => {
      levels.push(options?.level)
      return recorder()
    },
  }
  const t = bench({ logger: log })
  t.hq.job('J', { logLevel: 'debug' }, async (ctx) => ctx.log.info({}, 'here'))
  await t.hq.push({ class: 'J', args: [] })
  await t.hq.push({ class: 'J', args: [], log_level: 'unknown' })
  await t.hq.push({ class: 'J', args: [], log_level: 'constructor' })
  expect((await t.queue()).map(({ log_level }) => log_level)).toEqual(['debug', 'unknown', 'constructor'])
  await t.work({ concurrency: 1 })
  await t.settled()
  expect(levels).toEqual(['debug', 'fatal', undefined])
})

test('loggedJobAttributes selects the members of a job that its lines show', async () => {
  const t = bench({ loggedJobAttributes: ['tenant'] })
  t.hq.job('J', async (ctx) => ctx.log.info({}, 'here'))
  await t.hq.push({ class: 'J', args: [], tags: ['a'], tenant: 7 })
  await t.work()
  await t.settled()
  expect(ofJobs(t.log.lines)).toMatchObject([{ about: { tenant: 7 } }])
  expect(ofJobs(t.log.lines)[0]?.about).not.toHaveProperty('tags')
})

test('console works as a logger, for the app and in ctx.log', async () => {
  const lines: unknown[][] = []
  // This logger is like console: it takes many parts for a line, and has no child.
  const line =
    (level: string) =>
    (...parts: unknown[]) =>
      void lines.push([level, ...parts])
  const console = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
  const t = bench({ logger: console })
  t.hq.job('J', async (ctx) => {
    ctx.log.info({ n: 5 }, 'from the handler')
    ctx.log.warn('a text alone')
  })
  const jid = await t.hq.push({ class: 'J', args: [] })
  await t.work({ logJobs: true })
  await t.settled()
  const about = { jid, class: 'J', queue: 'default' }
  expect(lines.filter(([, , fields]) => (fields as { jid?: string } | undefined)?.jid)).toEqual([
    ['info', 'start', about],
    ['info', 'from the handler', { ...about, n: 5 }],
    ['warn', 'a text alone', about],
    ['info', 'done', { ...about, elapsed: expect.any(Number) }],
  ])
})

test.each(['start', 'done', 'fail', 'all'])('a logger that throws at %s changes no job', async (broken) => {
  const lines: LogLine[] = []
  const breaking = (fields: object): Logger => {
    const log = recorder(lines, fields)
    const info: Logger['info'] = (what: object | string, text?: string) => {
      if (text === broken || broken === 'all') throw new Error(`no ${text}`)
      log.info(what as object, text)
    }
    const error: Logger['error'] = (what: object | string, text?: string) => {
      if (broken === 'all') throw new Error('no error')
      log.error(what as object, text)
    }
    return { ...log, info, error, child: (more) => breaking({ ...fields, ...more }) }
  }
  const t = bench({ logger: breaking({}) })
  const ran: string[] = []
  t.hq.job('Good', async () => void ran.push('good'))
  t.hq.job('Bad', { retry: 2 }, async () => {
    ran.push('bad')
    throw new Error('no')
  })
  await t.hq.pushBulk({ class: 'Good', args: [[]] })
  const bad = await t.hq.push({ class: 'Bad', args: [] })
  await t.work({ logJobs: true, concurrency: 1 })
  await t.settled()
  expect(ran).toEqual(['good', 'bad'])
  expect(await t.set('dead')).toEqual([])
  expect(await t.set('retry')).toMatchObject([{ jid: bad, error_class: 'Error', error_message: 'no' }])
  const logging = t.errors.filter(({ about }) => about.during === 'logging a job')
  expect(logging.length).toBe({ start: 2, done: 1, fail: 1, all: 4 }[broken])
})

test('without an error handler, too, a logger that throws changes no job', async () => {
  const broken = () => {
    throw new Error('no log')
  }
  const log: Logger = { debug: broken, info: broken, warn: broken, error: broken, child: () => log }
  const hq = new Highkiq({ url: 'sqlite::memory:', logger: log })
  onTestFinished(() => hq.close())
  const Bad = hq.job('Bad', async () => {
    throw new Error('no')
  })
  await Bad.performAsync()
  await hq.worker({ logJobs: true }).start()
  await until(async () => (await hq.store.jobSets.size('retry')) === 1)
  expect(await hq.store.jobSets.size('dead')).toBe(0)
})

test.each(['throws', 'rejects'])('a logger that %s harms neither a job, a worker nor the process', async (how) => {
  const unhandled: unknown[] = []
  const hear = (error: unknown) => unhandled.push(error)
  process.on('unhandledRejection', hear)
  onTestFinished(() => void process.off('unhandledRejection', hear))
  const broken = () => {
    if (how === 'throws') throw new Error('no log')
    return Promise.reject(new Error('no log'))
  }
  const bare = { debug: broken, info: broken, warn: broken, error: broken }
  const withChild: Logger = { ...bare, child: () => withChild }
  for (const logger of [bare, withChild]) {
    const t = bench({ logger })
    const ran: string[] = []
    t.hq.job('Good', async (ctx) => {
      ctx.log.info('from the handler')
      ran.push('good')
    })
    t.hq.job('Bad', { retry: false }, async () => {
      throw new Error('no')
    })
    t.hq.log.warn('from the app')
    await t.hq.push({ class: 'Good', args: [] })
    await t.hq.push({ class: 'Bad', args: [] })
    await t.work({ logJobs: true, concurrency: 1 })
    await t.settled()
    expect(ran).toEqual(['good'])
    expect(await t.set('retry')).toEqual([])
    await t.hq.close()
    const logging = t.errors.filter(({ about }) => about.during === 'logging a job')
    expect(logging.map(({ error }) => error.message)).toEqual(Array(5).fill('no log'))
  }
  expect(unhandled).toEqual([])
})

test('an app keeps the other members of its logger, also of a frozen one', () => {
  class Levels {
    #level = 'info'
    get level() {
      return this.#level
    }
    set level(level) {
      this.#level = level
    }
    fatal = (text: string) => `fatal: ${text}`
    debug() {}
    info() {}
    warn() {}
    error() {}
    child() {
      return this
    }
  }
  const given = Object.freeze(new Levels())
  const log = new Highkiq({ url: 'sqlite::memory:', logger: given }).log as unknown as Levels
  log.level = 'debug'
  expect([given.level, log.level, log.fatal('x')]).toEqual(['debug', 'debug', 'fatal: x'])
})
