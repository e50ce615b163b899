import type { CronInfo, Highkiq, JobContext, Payload } from 'highkiq'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Bench, bench, Collector, gate, until } from './bench.ts'

const NOON = Date.UTC(2026, 4, 17, 12)
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Stands still until the test moves it. */
class Clock {
  at: number
  constructor(at = NOON) {
    this.at = at
  }
  now = (): number => this.at
}

interface CronBench extends Bench {
  clock: Bench['clock'] & Clock
  ran: Collector<{ tick: number; args: unknown[]; payload: Payload }>
  Tell: ReturnType<typeof tellJob>
}

function tellJob(hq: Highkiq, ran: CronBench['ran']) {
  return hq.job('Tell', { retry: 1 }, (ctx: JobContext, ...args: unknown[]) => {
    ran.add({ tick: Number(ctx.payload.hk_tick), args, payload: ctx.payload })
  })
}

/** An app whose clock stands still, with a job that tells when it ran and for which tick. */
function cronBench(on?: CronBench, clock: Clock = on?.clock ?? new Clock(), url?: string): CronBench {
  const made = on ? on.another({ clock }) : bench({ clock, ...(url ? { url } : {}) })
  const ran: CronBench['ran'] = on?.ran ?? new Collector()
  return Object.assign(made, { clock: clock as CronBench['clock'], ran, Tell: tellJob(made.hq, ran) })
}

async function infoOf({ hq }: Bench, name = 'c'): Promise<CronInfo> {
  const info = await hq.cron(name).info()
  if (!info) throw new Error(`there is no entry ${name}`)
  return info
}

const ticksOf = ({ ran }: CronBench) => ran.all.map(({ tick }) => tick)
/** The ticks of the entry up to here are decided, in whatever way. */
const decided = ({ hq }: Bench, tick: number, name = 'c') =>
  until(async () => ((await hq.store.crons.list([name]))[0]?.tick ?? 0) >= tick)
const entered = (t: Bench, name = 'c') => until(async () => (await t.hq.cron(name).info())?.defined)

/** Counts how often the entries are read. */
function readsOf(t: CronBench): Collector<number> {
  const reads = new Collector<number>()
  const list = t.hq.store.crons.list.bind(t.hq.store.crons)
  t.hq.store.crons.list = async (names) => {
    const records = await list(names)
    reads.add(t.clock.at)
    return records
  }
  return reads
}

describe('ticks', () => {
  test('the job runs at each tick, and carries its entry and its tick', async () => {
    const t = cronBench()
    t.hq.cron('c', '*/30 * * * *', t.Tell, { args: (tick) => [tick.toISOString()], queue: 'low' })
    await t.work({ queues: ['low'] })
    await entered(t)
    for (const [n, at] of [NOON + HOUR / 2, NOON + HOUR].entries()) {
      t.clock.at = at - 1
      await decided(t, NOON + (n * HOUR) / 2)
      t.clock.at = at + 5
      await t.ran.atLeast(n + 1)
    }
    expect(ticksOf(t)).toEqual([NOON + HOUR / 2, NOON + HOUR])
    const [{ args, payload } = { args: [], payload: {} }] = t.ran.all
    expect(args).toEqual(['2026-05-17T12:30:00.000Z'])
    expect(payload).toMatchObject({
      class: 'Tell',
      queue: 'low',
      hk_cron: 'c',
      retry: 1,
      created_at: NOON + HOUR / 2 + 5,
    })
    expect(payload).not.toHaveProperty('hk_lock')
    // The same for whoever pushes it.
    expect(t.ran.all.map((one) => one.payload.jid)).toEqual(['778f256638c0b4587c4592f3', 'ef3fe54e5cc7a67a3eede0a3'])
  })

  test('with seconds, by the clock of the machine', async () => {
    const t = bench()
    const late = new Collector<number>()
    const J = t.hq.job('J', (ctx) => late.add(Date.now() - Number(ctx.payload.hk_tick)))
    t.hq.cron('c', '* * * * * *', J)
    await t.work({ pollInterval: 1 })
    for (const ms of (await late.atLeast(3)).slice(1)) {
      expect(ms).toBeGreaterThanOrEqual(0)
      expect(ms).toBeLessThan(500)
    }
  })

  test('one of many workers pushes each tick, while workers start and stop', async () => {
    const first = cronBench()
    const apps = [first, cronBench(first), cronBench(first)]
    const workers = []
    for (const app of apps) {
      app.hq.cron('c', '* * * * *', app.Tell, { missed: 'all' })
      workers.push(await app.work(), await app.work())
    }
    await entered(first)
    for (let n = 1; n <= 30; n++) {
      first.clock.at = NOON + n * MINUTE
      await first.ran.atLeast(n)
      if (n % 10 === 0) await workers.pop()?.stop()
    }
    await decided(first, NOON + 30 * MINUTE)
    await first.settled()
    expect(ticksOf(first)).toEqual(Array.from({ length: 30 }, (_, n) => NOON + (n + 1) * MINUTE))
    expect(new Set(first.ran.all.map(({ payload }) => payload.jid)).size).toBe(30)
  })

  test('the job passes the client middleware, which may change or filter it', async () => {
    const t = cronBench()
    t.hq.client.use((payload, next) => {
      payload.tenant = 'acme'
      return payload.hk_tick === NOON + MINUTE ? null : next()
    })
    t.hq.cron('c', '* * * * *', t.Tell.set({ tags: ['nightly'] }))
    await t.work()
    await entered(t)
    t.clock.at = NOON + MINUTE
    await decided(t, NOON + MINUTE)
    t.clock.at = NOON + 2 * MINUTE
    const [{ tick, payload } = { tick: 0, payload: {} }] = await t.ran.atLeast(1)
    expect({ tick, payload }).toMatchObject({ tick: NOON + 2 * MINUTE, payload: { tenant: 'acme', tags: ['nightly'] } })
  })

  test('a tick whose arguments throw is reported, tried again, and not lost', async () => {
    const t = cronBench()
    let broken = true
    const args = (tick: Date) => {
      if (broken) throw new Error('no rates today')
      return [tick.getUTCHours()]
    }
    t.hq.cron('c', '0 * * * *', t.Tell, { args })
    t.hq.cron('other', '0 * * * *', t.Tell, { args: ['other'] })
    await t.work()
    await entered(t)
    t.clock.at = NOON + HOUR
    expect((await t.ran.atLeast(1)).map((one) => one.args)).toEqual([['other']])
    await until(() => t.errors.length > 0)
    expect(t.errors[0]).toMatchObject({ error: { message: 'no rates today' }, about: { during: 'cron c' } })
    broken = false
    expect((await t.ran.atLeast(2))[1]).toMatchObject({ tick: NOON + HOUR, args: [13] })
  })

  test('an app without entries sends no call, and an entry that is defined late runs, too', async () => {
    const t = cronBench()
    const asked: string[] = []
    const list = t.hq.store.crons.list.bind(t.hq.store.crons)
    t.hq.store.crons.list = (names) => {
      asked.push(...(names ?? ['all']))
      return list(names)
    }
    await t.work()
    await t.Tell.performAsync('sign')
    await t.ran.atLeast(1)
    expect(asked).toEqual([])
    t.hq.cron('c', '* * * * *', 'Tell')
    await entered(t)
    t.clock.at = NOON + MINUTE
    await t.ran.atLeast(2)
  })

  test('a quiet worker runs no tick', async () => {
    const t = cronBench()
    const other = cronBench(t)
    for (const { hq, Tell } of [t, other]) hq.cron('c', '* * * * *', Tell)
    const quiet = await t.work()
    await entered(t)
    await quiet.quiet()
    const tick = t.hq.store.crons.tick.bind(t.hq.store.crons)
    t.hq.store.crons.tick = (...args) => {
      t.ran.add({ tick: 0, args: [], payload: {} as Payload })
      return tick(...args)
    }
    await other.work()
    t.clock.at = NOON + MINUTE
    await t.ran.atLeast(1)
    expect(ticksOf(t)).toEqual([NOON + MINUTE])
  })
})

describe('missed ticks', () => {
  /** Down from noon until `for` later. */
  async function down(ms: number, options: object, spec = '0 * * * *'): Promise<CronBench> {
    const before = cronBench()
    before.hq.cron('c', spec, before.Tell, options)
    await (await before.work()).stop()
    expect(await infoOf(before)).toMatchObject({ name: 'c' })
    before.clock.at = NOON + ms
    const after = cronBench(before)
    after.hq.cron('c', spec, after.Tell, options)
    await after.work()
    return after
  }

  test('by default one run replaces all missed ticks', async () => {
    const t = await down(5 * HOUR + 20 * MINUTE, {})
    await t.ran.atLeast(1)
    t.clock.at = NOON + 6 * HOUR
    await t.ran.atLeast(2)
    expect(ticksOf(t)).toEqual([NOON + 5 * HOUR, NOON + 6 * HOUR])
    expect(t.log.lines).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        message: 'cron c: ticks before this one were missed, and this run replaces them',
        about: { cron: 'c', tick: new Date(NOON + 5 * HOUR), since: new Date(NOON + HOUR) },
      }),
    )
  })

  test("'all': each missed tick has its run, in order", async () => {
    const t = await down(5 * HOUR + 20 * MINUTE, { missed: 'all' })
    await t.ran.atLeast(5)
    t.clock.at = NOON + 6 * HOUR
    await t.ran.atLeast(6)
    expect(ticksOf(t).sort()).toEqual([1, 2, 3, 4, 5, 6].map((n) => NOON + n * HOUR))
  })

  test("with missed: 'all' a tick whose arguments can't be made is skipped after ten minutes, and the newer ones run", async () => {
    const t = cronBench()
    const poison = NOON + MINUTE
    const failures = new Collector<string>()
    t.hq.onError((error) => failures.add((error as Error).message))
    const args = (tick: Date) => {
      if (Number(tick) === poison) throw new Error('no rates for this tick')
      return []
    }
    t.hq.cron('c', '* * * * *', t.Tell, { missed: 'all', args })
    await t.work()
    await entered(t)
    t.clock.at = NOON + 2 * MINUTE
    await failures.atLeast(1)
    t.clock.at = NOON + 12 * MINUTE
    await t.ran.atLeast(11)
    expect(ticksOf(t)).toEqual(Array.from({ length: 11 }, (_, i) => NOON + (i + 2) * MINUTE))
    expect(failures.all).toContain('no rates for this tick')
  })

  test("'all': at most the last thousand ticks run", async () => {
    // Where a thousand commits cost little.
    const t = cronBench(undefined, undefined, 'sqlite::memory:')
    t.hq.cron('c', '* * * * *', t.Tell, { missed: 'all', queue: 'nobody' })
    await t.work()
    await entered(t)
    t.clock.at = NOON + 20 * HOUR
    await decided(t, NOON + 20 * HOUR)
    const jobs = await t.queue('nobody')
    expect(jobs.map(({ hk_tick }) => hk_tick)).toEqual(
      Array.from({ length: 1000 }, (_, n) => NOON + (201 + n) * MINUTE),
    )
    const told = t.log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message)
    expect(told).toEqual(['cron c: ticks before this one were missed, and are skipped'])
  })

  test("'skip': no missed tick runs, but a tick that is hardly late is not missed", async () => {
    const t = await down(5 * HOUR + 61_000, { missed: 'skip' })
    await decided(t, NOON + 5 * HOUR)
    t.clock.at = NOON + 7 * HOUR + 59_000
    await t.ran.atLeast(1)
    expect(ticksOf(t)).toEqual([NOON + 7 * HOUR])
    const warned = () => t.log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message)
    // The job may run before its push is told.
    await until(() => warned().length >= 2)
    expect(warned()).toEqual([
      'cron c: this tick was missed, and is skipped',
      'cron c: ticks before this one were missed, and are skipped',
    ])
  })

  test('an entry has no missed ticks from before its first definition', async () => {
    const t = cronBench()
    t.hq.cron('c', '@hourly', t.Tell, { missed: 'all' })
    await t.work()
    await entered(t)
    expect(await infoOf(t)).toMatchObject({ lastAt: null, nextAt: new Date(NOON + HOUR) })
    t.clock.at = NOON + HOUR
    await t.ran.atLeast(1)
    expect(ticksOf(t)).toEqual([NOON + HOUR])
  })
})

describe('changes of an entry', () => {
  test('any process pauses and resumes an entry; ticks of the pause are not made up', async () => {
    const t = cronBench()
    const far = t.another({ clock: t.clock })
    t.hq.cron('c', '* * * * *', t.Tell, { missed: 'all' })
    await t.work()
    await entered(t)
    await far.hq.cron('c').pause()
    t.clock.at = NOON + 5 * MINUTE
    expect(await infoOf(far)).toMatchObject({ paused: true, nextAt: null })
    await far.hq.cron('c').resume()
    expect(await infoOf(far)).toMatchObject({ paused: false, nextAt: new Date(NOON + 6 * MINUTE) })
    t.clock.at = NOON + 6 * MINUTE
    await t.ran.atLeast(1)
    expect(ticksOf(t)).toEqual([NOON + 6 * MINUTE])
  })

  test('a pause survives the process that made it', async () => {
    const t = cronBench()
    const entry = t.hq.cron('c', '* * * * *', t.Tell)
    const worker = await t.work()
    await entry.pause()
    await worker.stop()
    const next = cronBench(t)
    next.hq.cron('c', '* * * * *', next.Tell)
    next.hq.cron('sign', '* * * * *', next.Tell)
    await next.work()
    await entered(next, 'sign')
    t.clock.at = NOON + MINUTE
    await t.ran.atLeast(1)
    expect(await infoOf(next)).toMatchObject({ paused: true, lastJid: null })
    expect(t.ran.all[0]?.payload.hk_cron).toBe('sign')
  })

  test('an entry can be paused before any worker has stored it', async () => {
    const t = cronBench()
    const entry = t.hq.cron('c', '* * * * *', t.Tell)
    expect(await entry.info()).toBe(null)
    await entry.pause()
    expect(await entry.info()).toMatchObject({ paused: true, defined: true })
  })

  test('an entry is run now, also in a pause and from an app that does not define it, and shows that run', async () => {
    const t = cronBench()
    const far = t.another({ clock: t.clock })
    t.hq.cron('c', '0 * * * *', t.Tell, { args: ['a', 1n << 60n] })
    await t.work()
    await entered(t)
    t.clock.at = NOON + 5
    await t.hq.cron('c').pause()
    const jid = await far.hq.cron('c').runNow()
    await t.ran.atLeast(1)
    expect(t.ran.all[0]).toMatchObject({ tick: NOON + 5, args: ['a', 1n << 60n], payload: { jid, hk_cron: 'c' } })
    expect(await infoOf(t)).toMatchObject({ lastAt: new Date(NOON + 5), lastJid: jid, paused: true })
    await t.hq.cron('c').resume()
    t.clock.at = NOON + HOUR
    await t.ran.atLeast(2)
    expect(ticksOf(t)).toEqual([NOON + 5, NOON + HOUR])
  })

  test('only the app with the function computes the arguments', async () => {
    const t = cronBench()
    const entry = t.hq.cron('c', '0 * * * *', t.Tell, { args: (tick) => [tick.getTime()] })
    await entry.pause()
    const far = t.another()
    await expect(far.hq.cron('c').runNow()).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('cron c: its arguments are made by the app that defines it'),
      details: { problem: 'made-arguments' },
    })
    await t.work()
    await entry.runNow()
    expect((await t.ran.atLeast(1))[0]?.args).toEqual([NOON])
  })

  test('a removed entry is gone; a worker whose app defines it stores it again as new', async () => {
    const t = cronBench()
    const other = cronBench(t)
    t.hq.cron('c', '* * * * *', t.Tell)
    other.hq.cron('d', '* * * * *', other.Tell)
    await t.work()
    await other.work()
    await entered(t)
    await entered(t, 'd')
    await t.hq.cron('c').pause()
    await t.hq.cron('c').remove()
    await t.hq.cron('d').pause()
    await t.hq.cron('d').remove()
    t.clock.at = NOON + MINUTE
    await until(async () => (await other.hq.cron('d').info())?.nextAt?.getTime() === NOON + 2 * MINUTE)
    t.clock.at = NOON + 2 * MINUTE
    await t.ran.atLeast(1)
    expect(t.ran.all[0]?.payload.hk_cron).toBe('d')
    expect(await t.hq.cron('c').info()).toBe(null)
    for (const act of ['pause', 'resume', 'runNow'] as const) {
      await expect(t.hq.cron('c')[act]()).rejects.toMatchObject({ code: 'UNKNOWN_CRON' })
    }
  })

  test('all entries are listed with their next ticks', async () => {
    const t = cronBench()
    t.hq.cron('b', '30 2 * * *', t.Tell, { timeZone: 'Europe/Berlin', args: [1], queue: 'low', overlap: 'skip' })
    t.hq.cron('a', '@daily', t.Tell, { args: () => [], missed: 'all' })
    await t.work()
    await entered(t, 'b')
    await entered(t, 'a')
    const all: CronInfo[] = []
    for await (const one of t.hq.crons()) all.push(one)
    const none = { paused: false, defined: true, lastAt: null, lastJid: null, runs: [], next: expect.any(Function) }
    expect(all).toEqual([
      {
        ...none,
        ...{ name: 'a', spec: '@daily', timeZone: 'UTC', job: 'Tell', queue: null, args: null },
        ...{ missed: 'all', overlap: 'allow', nextAt: new Date('2026-05-18T00:00:00Z') },
      },
      {
        ...none,
        ...{ name: 'b', spec: '30 2 * * *', timeZone: 'Europe/Berlin', job: 'Tell', queue: 'low', args: [1] },
        ...{ missed: 'once', overlap: 'skip', nextAt: new Date('2026-05-18T00:30:00Z') },
      },
    ])
    expect(all[1]?.next(3)).toEqual([18, 19, 20].map((day) => new Date(`2026-05-${day}T00:30:00Z`)))
    expect(JSON.parse(JSON.stringify(all[1]))).toMatchObject({ nextAt: '2026-05-18T00:30:00.000Z' })
  })
})

describe("overlap: 'skip'", () => {
  async function busy(more: object = {}) {
    const t = cronBench()
    const began = new Collector<{ open: () => void; jid: string }>()
    const Slow = t.hq.job('Slow', { retry: 1, retryIn: () => 0.001, ...more }, async (ctx) => {
      const { opened, open } = gate()
      began.add({ open, jid: ctx.jid })
      await opened
    })
    t.hq.cron('c', '* * * * *', Slow, { overlap: 'skip' })
    await t.work({ leaseSeconds: 1 })
    await entered(t)
    onTestFinished(() => {
      for (const { open } of began.all) open()
    })
    let minute = 0
    const next = () => {
      t.clock.at = NOON + ++minute * MINUTE
      return t.clock.at
    }
    return { ...t, t, began, next }
  }

  test('no run starts while the last one continues; the next tick after it runs', async () => {
    const { t, began, next } = await busy()
    next()
    const [first] = await began.atLeast(1)
    await decided(t, next())
    await decided(t, next())
    expect(began.all).toHaveLength(1)
    await expect(t.hq.cron('c').runNow()).rejects.toMatchObject({
      code: 'CRON_BUSY',
      message: `cron c: its last run has not ended (job ${first?.jid})`,
    })
    first?.open()
    await t.settled()
    expect(began.all).toHaveLength(1)
    next()
    await began.atLeast(2)
    began.all[1]?.open()
    await t.settled()
    await t.hq.cron('c').runNow()
    await began.atLeast(3)
  })

  test('no run starts while the last job waits in its queue', async () => {
    const t = cronBench()
    t.hq.cron('c', '* * * * *', t.Tell, { overlap: 'skip', queue: 'nobody' })
    await t.work()
    await entered(t)
    for (let n = 1; n <= 3; n++) {
      t.clock.at = NOON + n * MINUTE
      await decided(t, t.clock.at)
    }
    expect(await t.queue('nobody')).toHaveLength(1)
  })

  test('no run starts while the last job waits for a retry; when it is dead the next tick runs', async () => {
    const t = cronBench()
    const tried = new Collector<number>()
    const Fails = t.hq.job('Fails', { retry: 1, retryIn: () => 90 }, (ctx) => {
      tried.add(Number(ctx.payload.hk_tick))
      throw new Error('no')
    })
    t.hq.cron('c', '* * * * *', Fails, { overlap: 'skip' })
    await t.work()
    await entered(t)
    t.clock.at = NOON + MINUTE
    await until(async () => (await t.set('retry')).length === 1)
    t.clock.at = NOON + 2 * MINUTE
    await decided(t, t.clock.at)
    expect(tried.all).toEqual([NOON + MINUTE])
    t.clock.at = NOON + 3 * MINUTE
    await until(async () => (await t.set('dead')).length === 1)
    t.clock.at = NOON + 4 * MINUTE
    await tried.atLeast(3)
    expect(tried.all.slice(0, 2)).toEqual([NOON + MINUTE, NOON + MINUTE])
    // At the next tick that is decided: that may be the one of the minute in which it died.
    expect([NOON + 3 * MINUTE, NOON + 4 * MINUTE]).toContain(tried.all[2])
  })

  test('a job that was deleted, or ended in a program without locks, delays the next run only briefly', async () => {
    const { t, began, next } = await busy()
    t.hq.cron('sign', '* * * * *', t.Tell)
    await entered(t, 'sign')
    next()
    const [first] = await began.atLeast(1)
    // As if the job had ended elsewhere: its lock stays.
    await t.hq.store.crons.releaseLock('cron:c', first?.jid ?? '')
    first?.open()
    await t.settled()
    next()
    const [, second] = await began.atLeast(2)
    second?.open()
    await t.settled()
    const { tick, text } = (await t.hq.store.crons.list(['c']))[0] as { tick: number; text: string }
    const item = { to: 'dead', text: '{"jid":"lost"}', score: 1 } as const
    const push = { jid: 'lost', item, lock: 'cron:c' }
    await t.hq.store.crons.tick('c', { text, from: tick, to: tick, push }, t.clock.at)
    next()
    await began.atLeast(3)
    expect(t.log.lines.map(({ message }) => message)).toContain(
      'cron c: the job of its last run has ended or was deleted and kept its lock: the lock is released',
    )
  })

  test('run now starts a job of a paused entry although the job of its last run was deleted by another program', async () => {
    const { t, began } = await busy()
    await t.hq.cron('c').pause()
    const { tick, text } = (await t.hq.store.crons.list(['c']))[0] as { tick: number; text: string }
    const item = { to: 'dead', text: '{"jid":"lost"}', score: 1 } as const
    await t.hq.store.crons.tick('c', { text, from: tick, to: tick, push: { jid: 'lost', item, lock: 'cron:c' } }, NOON)
    await expect(t.hq.cron('c').runNow()).rejects.toMatchObject({ code: 'CRON_BUSY' })
    t.clock.at += 2 * MINUTE
    await t.hq.cron('c').runNow()
    await began.atLeast(1)
    began.all[0]?.open()
    await t.settled()
  })
})

describe('a unique job', () => {
  test('a tick is skipped while another job has its lock; run now answers that job, or throws with raise', async () => {
    const t = cronBench()
    const began = new Collector<() => void>()
    const Slow = t.hq.job('Slow', { unique: true }, async () => {
      const { opened, open } = gate()
      began.add(open)
      await opened
    })
    onTestFinished(() => {
      for (const open of began.all) open()
    })
    const jid = await Slow.performAsync()
    t.hq.cron('c', '* * * * *', Slow)
    t.hq.cron('raising', '@daily', Slow.set({ unique: { onConflict: 'raise' } }))
    t.hq.cron('free', '* * * * *', t.Tell.set({ unique: false }))
    await t.work({ concurrency: 3 })
    await began.atLeast(1)
    await entered(t)
    await entered(t, 'raising')
    t.clock.at = NOON + MINUTE
    await decided(t, NOON + MINUTE)
    await t.ran.atLeast(1)
    expect(t.log.lines.map(({ message }) => message)).toContain(
      `cron c: skipped, because job ${jid} has the lock of its unique job`,
    )
    expect(await t.hq.cron('c').runNow()).toBe(jid)
    // Without the definition its lock is unknown.
    await expect(t.another().hq.cron('c').runNow()).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('cron c: Slow is unique, and only the app that defines it knows its lock'),
      details: { problem: 'unknown-lock', job: 'Slow' },
    })
    await expect(t.hq.cron('raising').runNow()).rejects.toMatchObject({ code: 'UNIQUE_CONFLICT', details: { jid } })
    expect(began.all).toHaveLength(1)
    began.all[0]?.()
    await t.settled()
    t.clock.at = NOON + 2 * MINUTE
    await began.atLeast(2)
    expect((await infoOf(t)).lastJid).toBe((await t.hq.uniqueLocks.of(Slow))?.jid)
    began.all[1]?.()
    await t.settled()
    expect(await t.hq.uniqueLocks.of(Slow)).toBe(null)
  })
})

describe('another definition', () => {
  test('another schedule counts from the deploy; missed ticks of the old one are made up', async () => {
    const before = cronBench()
    before.hq.cron('c', '0 3 * * *', before.Tell, { args: ['old'] })
    await (await before.work()).stop()
    // At 6 in the morning: 3 was missed. The new one's 5 is not its affair.
    const at = NOON + 18 * HOUR
    before.clock.at = at
    const after = cronBench(before)
    after.hq.cron('c', '0 5 * * *', after.Tell, { args: ['new'] })
    await after.work()
    await after.ran.atLeast(1)
    await until(async () => (await infoOf(after)).spec === '0 5 * * *')
    after.clock.at = at + 23 * HOUR
    await after.ran.atLeast(2)
    expect(after.ran.all.map(({ tick, args }) => [tick, args])).toEqual([
      [NOON + 15 * HOUR, ['new']],
      [NOON + 41 * HOUR, ['new']],
    ])
  })

  test('a new definition from a process whose clock is behind repeats no tick', async () => {
    const ahead = cronBench()
    const behind = cronBench(ahead, new Clock(NOON))
    ahead.hq.cron('c', '* * * * *', ahead.Tell)
    await ahead.work()
    await entered(ahead)
    for (const n of [1, 2]) {
      ahead.clock.at = NOON + n * MINUTE
      await ahead.ran.atLeast(n)
    }
    behind.hq.cron('c', '*/1 * * * *', behind.Tell, { missed: 'all' })
    await behind.work()
    await until(async () => (await infoOf(ahead)).spec === '*/1 * * * *')
    behind.clock.at = NOON + 3 * MINUTE
    await ahead.ran.atLeast(3)
    expect(ticksOf(ahead)).toEqual([NOON + MINUTE, NOON + 2 * MINUTE, NOON + 3 * MINUTE])
  })

  test('ticks that become due during a change of the definition run with the new one', async () => {
    const before = cronBench()
    before.hq.cron('c', '* * * * *', before.Tell)
    await (await before.work()).stop()
    const after = cronBench(before)
    before.clock.at = NOON + MINUTE
    // Making good takes until the next tick has come.
    const tick = after.hq.store.crons.tick.bind(after.hq.store.crons)
    after.hq.store.crons.tick = async (...about) => {
      const answer = await tick(...about)
      if (about[1].to === NOON + MINUTE) after.clock.at = NOON + 2 * MINUTE
      return answer
    }
    after.hq.cron('c', '*/1 * * * *', after.Tell)
    await after.work()
    await after.ran.atLeast(2)
    expect(ticksOf(after)).toEqual([NOON + MINUTE, NOON + 2 * MINUTE])
  })

  test('with two versions at once the definition of the last one to start applies, and the other one’s when it is gone', async () => {
    const old = cronBench()
    const fresh = cronBench(old)
    old.hq.cron('c', '* * * * *', old.Tell, { args: ['old'] })
    fresh.hq.cron('c', '*/2 * * * *', fresh.Tell, { args: ['fresh'] })
    await old.work({ leaseSeconds: 1 })
    await entered(old)
    const worker = await fresh.work({ leaseSeconds: 1, queues: ['nobody'] })
    await until(async () => (await infoOf(old)).spec === '*/2 * * * *')
    // The old one says what it says, again and again.
    const reads = readsOf(old)
    await reads.atLeast(4)
    expect((await infoOf(old)).spec).toBe('*/2 * * * *')
    for (let n = 1; n <= 4; n++) {
      old.clock.at = NOON + n * MINUTE
      if (n % 2 === 0) await old.ran.atLeast(n / 2)
    }
    await worker.stop()
    await until(async () => (await infoOf(old)).spec === '* * * * *')
    old.clock.at = NOON + 5 * MINUTE
    await old.ran.atLeast(3)
    expect(old.ran.all.map(({ tick, args }) => [(tick - NOON) / MINUTE, args[0]])).toEqual([
      [2, 'fresh'],
      [4, 'fresh'],
      [5, 'old'],
    ])
    const told = 'cron c: another process has defined it differently, and that definition is used'
    expect(old.log.lines.filter(({ message }) => message === told).length).toBeLessThan(2)
  })

  test('an entry that no process defines is shown, and never runs', async () => {
    const before = cronBench()
    before.hq.cron('c', '* * * * *', before.Tell)
    await (await before.work({ leaseSeconds: 0.2 })).stop()
    const after = cronBench(before)
    after.hq.cron('other', '* * * * *', after.Tell)
    await after.work()
    await entered(after, 'other')
    await until(async () => !(await infoOf(after)).defined)
    after.clock.at = NOON + MINUTE
    await after.ran.atLeast(1)
    expect(after.ran.all[0]?.payload.hk_cron).toBe('other')
    expect(await infoOf(after)).toMatchObject({ spec: '* * * * *', lastJid: null, nextAt: null })
    expect((await infoOf(after)).next()).toEqual([new Date(NOON + 2 * MINUTE)])
  })

  test('an entry of a newer version does not run here, and is shown as far as possible', async () => {
    const t = cronBench()
    for (const text of ['not JSON', '{"every":"full moon"}', '{"spec":"* * * *","timeZone":"Moon/Tycho"}']) {
      await t.hq.store.crons.define(text, { old: null, text, tick: NOON }, 60)
      expect(await infoOf(t, text)).toMatchObject({ name: text, nextAt: null })
      expect((await infoOf(t, text)).next(3)).toEqual([])
    }
    t.hq.cron('not JSON', '* * * * *', t.Tell)
    await t.work()
    await until(async () => (await infoOf(t, 'not JSON')).spec === '* * * * *')
    t.clock.at = NOON + MINUTE
    await t.ran.atLeast(1)
  })
})

describe('clocks', () => {
  test('no tick of a pause runs, even if the process that resumes has a slow clock', async () => {
    const t = cronBench()
    const behind = t.another({ clock: new Clock(NOON - HOUR) })
    t.hq.cron('c', '* * * * *', t.Tell, { missed: 'all' })
    await t.work()
    await entered(t)
    await behind.hq.cron('c').pause()
    t.clock.at = NOON + 5 * MINUTE
    await decided(t, NOON + 5 * MINUTE)
    await behind.hq.cron('c').resume()
    t.clock.at = NOON + 6 * MINUTE
    await t.ran.atLeast(1)
    expect(ticksOf(t)).toEqual([NOON + 6 * MINUTE])
  })

  test('a process whose clock is ahead runs a tick early, and no other process runs it again', async () => {
    const right = cronBench()
    const ahead = cronBench(right, new Clock(NOON + 40 * MINUTE))
    for (const { hq, Tell } of [right, ahead]) hq.cron('c', '0 * * * *', Tell, { missed: 'all' })
    await right.work()
    await entered(right)
    await ahead.work()
    for (let n = 1; n <= 3; n++) {
      ahead.clock.at = NOON + n * HOUR + 10 * MINUTE
      right.clock.at = ahead.clock.at - 40 * MINUTE
      await right.ran.atLeast(n)
      right.clock.at += 35 * MINUTE
      await right.settled()
    }
    expect(ticksOf(right)).toEqual([1, 2, 3].map((n) => NOON + n * HOUR))
  })

  test('after a clock is set back no tick runs again, and the entry continues where it was', async () => {
    const t = cronBench()
    const reads = readsOf(t)
    t.hq.cron('c', '0 * * * *', t.Tell, { missed: 'all' })
    await t.work({ leaseSeconds: 0.2 })
    await entered(t)
    t.clock.at = NOON + 5 * HOUR
    await t.ran.atLeast(5)
    for (let hour = 2; hour < 6; hour += 1.5) {
      t.clock.at = NOON + hour * HOUR
      await reads.atLeast(reads.all.length + 6)
    }
    t.clock.at = NOON + 6 * HOUR
    await t.ran.atLeast(6)
    expect(ticksOf(t).sort()).toEqual([1, 2, 3, 4, 5, 6].map((n) => NOON + n * HOUR))
  })

  test('after a clock that was years ahead the entry starts over, once no process has such a clock', async () => {
    const wild = cronBench()
    const right = cronBench(wild, new Clock(NOON))
    wild.hq.cron('c', '0 * * * *', wild.Tell)
    right.hq.cron('c', '0 * * * *', right.Tell)
    const worker = await wild.work({ leaseSeconds: 0.3 })
    await entered(wild)
    wild.clock.at = NOON + 5000 * DAY
    await wild.ran.atLeast(1)
    // Its process shows the time that it believes in.
    await wild.hq.store.workers.heartbeat(
      { identity: 'wild', info: '{}', concurrency: 1, busy: 0, beat: wild.clock.at, quiet: false, rss: 1 },
      60,
    )
    await worker.stop()
    await right.work({ leaseSeconds: 0.3 })
    const differ = 'cron c: the clocks of two processes differ by more than a day: correct the wrong one'
    await until(() => right.log.lines.some(({ message }) => message === differ))
    right.clock.at = NOON + HOUR
    await until(() => right.log.lines.filter(({ message }) => message === differ).length > 1)
    expect(ticksOf(wild)).toEqual([NOON + 5000 * DAY])

    await wild.hq.store.workers.removeProcess('wild')
    await until(async () => (await infoOf(right)).nextAt?.getTime() === NOON + 2 * HOUR)
    right.clock.at = NOON + 2 * HOUR
    await right.ran.atLeast(2)
    expect(ticksOf(right)).toEqual([NOON + 5000 * DAY, NOON + 2 * HOUR])
  })
})

describe('a wrong definition is refused with the fault', () => {
  const define = (spec: string, options: object = {}, name = 'c') => {
    const t = cronBench()
    return () => t.hq.cron(name, spec, t.Tell, options)
  }

  test.for<[spec: string, says: RegExp]>([
    ['CRON_TZ=Europe/Berlin 30 3 * * *', /it names a time zone: that is an option of its own, \{ timeZone: /],
    ['30 3 * * * America/Argentina/Salta', /it names a time zone/],
    ['* * * *', /^cron c: "\* \* \* \*" is not a cron spec \(it has 4 fields\): it has five fields, minute hour day/],
    ['* * * * * * *', /it has 7 fields/],
    ['61 * * * *', /Invalid value for minute/],
    ['0 0 32 * *', /Invalid value for day\)/],
    ['a b c d e', /illegal characters/],
    ...['@every 0s', '@every 1.5s', '@every day', '@every '].map((spec): [string, RegExp] => [
      spec,
      /its interval must be whole seconds, at least one, as in "@every 90s"|there is no such name/,
    ]),
    ['@fortnightly', /there is no such name.*@hourly, @daily/],
    ['2026-01-01T00:00:00', /it has 1 field\)/],
    ['0 0 30 2 *', /^cron c: "0 0 30 2 \*" never occurs: write a cron expression with a date that exists$/],
  ])('%s', ([spec, says]) => {
    expect(define(spec)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(says) }),
    )
  })

  test.for<[name: string, options: object, says: RegExp]>([
    [
      'a zone that is not there',
      { timeZone: 'Berlin' },
      /"Berlin" is not a time zone: use a name such as "Europe\/Berlin"/,
    ],
    [
      'an option that is not there',
      { timezone: 'UTC' },
      /cron c: there is no option timezone; did you mean timeZone\? There are args, timeZone/,
    ],
    ['the zone as other queues name it', { tz: 'Europe/Berlin' }, /no option tz; did you mean timeZone\? There are/],
    ['an interval as an option', { every: 90_000 }, /no option every; did you mean the spec, as in .*'@every 90s'/],
    ['a pattern as an option', { pattern: '0 3 * * *' }, /no option pattern; did you mean the spec, as in .*'30 3/],
    ['another way with missed ticks', { missed: 'never' }, /missed must be one of 'skip', 'once', 'all'/],
    ['another way with overlaps', { overlap: 'queue' }, /overlap must be one of 'allow', 'skip'/],
    ['arguments that are no list', { args: 'bob' }, /args must be an array, or a function of the tick/],
  ])('%s', ([_, options, says]) => {
    expect(define('* * * * *', options)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(says) }),
    )
  })

  test('arguments that are not JSON', () => {
    expect(define('* * * * *', { args: [new Date()] })).toThrow(expect.objectContaining({ code: 'INVALID_ARGS' }))
  })

  test('names', () => {
    for (const name of ['', 'a\nb', 'x'.repeat(201)]) {
      expect(define('* * * * *', {}, name)).toThrow(/is not a name for a cron entry/)
    }
    const t = cronBench()
    t.hq.cron('c', '* * * * *', t.Tell)
    expect(() => t.hq.cron('c', '0 * * * *', t.Tell)).toThrow(/a cron entry named c is defined already/)
  })

  test("the compiler refuses arguments that are not the job's", () => {
    const t = cronBench()
    const Greet = t.hq.job('Greet', (_ctx, name: string) => name)
    t.hq.cron('a', '@daily', Greet, { args: ['bob'] })
    t.hq.cron('b', '@daily', Greet, { args: async (tick) => [tick.toISOString()], timeZone: 'Asia/Kolkata' })
    t.hq.cron('c', '@daily', 'Greet')
    // @ts-expect-error: it wants a name
    t.hq.cron('d', '@daily', Greet)
    // @ts-expect-error: a number is none
    t.hq.cron('e', '@daily', Greet, { args: [5] })
  })

  test('jobs', () => {
    const t = cronBench()
    expect(() => t.hq.cron('c', '* * * * *', 'Nobody')).toThrow(/no job is named "Nobody"; defined here: Tell/)
    expect(() => t.hq.cron('c', '* * * * *', cronBench().Tell)).toThrow(/Tell is one of another app/)
    expect(() => t.hq.cron('c', '* * * * *', undefined as never)).toThrow(/no job is named/)
    expect(() => t.hq.cron('c', '* * * * *', t.Tell.set({ track: true }))).toThrow(
      /cron c: Tell is tracked, and a job of a cron entry can't be: give Tell.set\({ track: false }\)/,
    )
    const Replacing = t.hq.job('Replacing', { unique: { onConflict: 'replace' } }, () => {})
    expect(() => t.hq.cron('c', '* * * * *', Replacing)).toThrow(
      /onConflict of Replacing must be 'drop' or 'raise' \(got 'replace'\)/,
    )
  })
})
