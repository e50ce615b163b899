import {
  type BatchPageOptions,
  BusinessFailure,
  Discard,
  type FlowOptions,
  type HighkiqError,
  type JobContext,
  Kill,
} from 'highkiq'
import { expect, test } from 'vitest'
import { type Bench, bench, Collector, gate, until } from './bench.ts'

const codeOf = (thrown: unknown) => (thrown as HighkiqError).code

/** Jobs that tell the test which of them ran. */
function jobs({ hq }: Bench) {
  const ran = new Collector<string>()
  const Work = hq.job('Work', { retry: 0 }, async (_ctx, name: string, how = 'ok') => {
    ran.add(name)
    if (how === 'fails') throw new Error('no')
    if (how === 'kills') throw new Kill('no')
    if (how === 'discards') throw new Discard('no')
    if (how === 'refuses') throw new BusinessFailure('no')
    return { did: name }
  })
  const callback = (name: string) => hq.job(name, (_ctx, bid: string) => ran.add(`${name} ${bid}`))
  const [Complete, Success, Death] = [callback('complete'), callback('success'), callback('death')]
  const all = { onComplete: Complete, onSuccess: Success, onDeath: Death }
  return { ran, Work, all, Complete, Success, Death }
}

test('a batch pushes its jobs together and its callbacks once, when the jobs have ended', async () => {
  const t = bench()
  const { ran, Work, all } = jobs(t)
  const options = { ...all, description: 'two', data: { a: [1] } }
  const bid = await t.hq.batch(options, async (batch) => {
    expect(await Work.performAsync('a')).toEqual(expect.any(String))
    expect(await t.queue()).toEqual([])
    await Work.performBulk([['b'], ['c']])
    await Work.performIn(1e6, batch.bid)
  })
  expect(await t.queue()).toMatchObject([{ bid }, { bid }, { bid }])
  expect(await t.hq.batches.get(bid)).toMatchObject({
    total: 4,
    pending: 4,
    state: 'running',
    description: 'two',
    data: { a: [1] },
  })
  await t.work()
  await until(async () => (await t.hq.batches.get(bid))?.succeeded === 3)
  expect(ran.all.sort()).toEqual(['a', 'b', 'c'])
  for await (const entry of t.hq.scheduled) await entry.addToQueue()
  const names = await ran.atLeast(6)
  expect(names.slice(4).sort()).toEqual([`complete ${bid}`, `success ${bid}`])
  expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'succeeded', completedAt: expect.any(Date), diedAt: null })
})

test('an error in the function, or in a push, pushes nothing, and pushes that are not awaited are in the batch', async () => {
  const t = bench()
  const { Work, all } = jobs(t)
  const failed = t.hq.batch(all, async () => {
    await Work.performAsync('a')
    await t.hq.batch(all, async () => void (await Work.performAsync('b')))
    throw new Error('changed my mind')
  })
  await expect(failed).rejects.toThrow('changed my mind')
  const wrong = t.hq.batch(all, async () => {
    await Work.performAsync('a')
    await Work.performAsync((() => {}) as never).catch(() => {})
  })
  await expect(wrong).rejects.toMatchObject({ code: 'INVALID_ARGS' })
  expect(await t.queue()).toEqual([])
  let late: Promise<unknown> | undefined
  t.hq.client.use(async (_job, next) => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    return next()
  })
  const { opened, open } = gate()
  const bid = await t.hq.batch(all, () => {
    void Work.performAsync('a')
    late = opened.then(() => Work.performAsync('late'))
  })
  open()
  await expect(late).rejects.toThrow(/await each push/)
  expect(await t.queue()).toMatchObject([{ bid, args: ['a'] }])
  await Work.performAsync('outside')
  expect((await t.queue())[1]).not.toHaveProperty('bid')
})

test.each([
  ['fails', 'dead', ['complete', 'death']],
  ['kills', 'dead', ['complete', 'death']],
  ['discards', 'failed', ['complete']],
  ['refuses', 'failed', ['complete']],
])('a job that %s: the batch is %s', async (how, state, callbacks) => {
  const t = bench()
  const { ran, Work, all } = jobs(t)
  const bid = await t.hq.batch(all, async () => {
    await Work.performAsync('a')
    await Work.performAsync('b', how)
  })
  await t.work()
  const names = await ran.atLeast(2 + callbacks.length)
  await t.settled()
  expect(names.slice(2).sort()).toEqual(callbacks.map((name) => `${name} ${bid}`))
  expect(await t.hq.batches.get(bid)).toMatchObject({ state, succeeded: 1, [state]: 1 })
})

test('a dead job that is retried by hand lets the batch succeed, and one without the dead set does not', async () => {
  const t = bench()
  const { ran, all } = jobs(t)
  let isWell = false
  const Ill = t.hq.job('Ill', { retry: 0 }, () => {
    if (!isWell) throw new Error('no')
  })
  const bid = await t.hq.batch(all, async () => void (await Ill.performAsync()))
  await t.work()
  await ran.atLeast(2)
  isWell = true
  for await (const entry of t.hq.dead) await entry.retry()
  await ran.atLeast(3)
  expect(ran.all.sort()).toEqual([`complete ${bid}`, `death ${bid}`, `success ${bid}`])
  isWell = false
  const gone = await t.hq.batch(all, async () => void (await Ill.set({ dead: false }).performAsync()))
  await ran.atLeast(5)
  expect(await t.hq.batches.get(gone)).toMatchObject({ state: 'failed', failed: 1, diedAt: expect.any(Date) })
})

test('a job that will be retried is retrying, and its batch waits', async () => {
  const t = bench()
  const { ran, all } = jobs(t)
  let attempts = 0
  const Twice = t.hq.job('Twice', { retryIn: 1e6 }, () => {
    if (++attempts < 2) throw new Error('no')
  })
  const bid = await t.hq.batch(all, async () => void (await Twice.performAsync()))
  await t.work()
  await until(async () => (await t.hq.batches.get(bid))?.retrying === 1)
  const members = []
  for await (const member of t.hq.batches.members(bid)) members.push(member)
  expect(members).toMatchObject([{ state: 'retrying' }])
  await t.hq.retries.retryAll()
  await ran.atLeast(2)
  expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'succeeded', retrying: 0, total: 1 })
})

test.each([
  ['deleted', async ({ hq }: Bench) => void (await (await hq.queue('default').page()).items[0]?.delete())],
  ['cleared', async ({ hq }: Bench) => void (await hq.queue('default').clear())],
  ['cancelled', async ({ hq }: Bench, jid: string) => void (await hq.cancel(jid))],
  [
    'cancelled with its batch',
    async (t: Bench, _: string, bid: string) => {
      expect(await t.hq.batches.cancel(bid)).toBe(1)
      await t.work()
    },
  ],
])('a job that was %s has failed, and its batch is complete', async (_how, end) => {
  const t = bench()
  const { Work, all } = jobs(t)
  let jid = ''
  const bid = await t.hq.batch(all, async () => {
    jid = (await Work.performAsync('a')) as string
  })
  await end(t, jid, bid)
  await until(async () => (await t.hq.batches.get(bid))?.state === 'failed')
  expect(await t.hq.batches.get(bid)).toMatchObject({ failed: 1, pending: 0, completedAt: expect.any(Date) })
})

test('a cancelled batch ends at once: waiting jobs are removed wherever they are, also from batches in it', async () => {
  const t = bench()
  const { Work, all } = jobs(t)
  let inner = ''
  let flow = ''
  const bid = await t.hq.batch(all, async () => {
    await Work.performAsync('queued')
    await Work.set({ queue: 'other' }).performAsync('elsewhere')
    await Work.performIn(1e6, 'scheduled')
    inner = await t.hq.batch(all, () => Work.performIn(1e6, 'nested'))
    flow = (await t.hq.flow({ job: Work, args: ['parent'], children: [{ job: Work, args: ['child'] }] }))?.bid ?? ''
  })
  await Work.performAsync('outside')
  await Work.performAsync('outside, too')
  expect(await t.hq.batches.cancel(bid)).toBe(6)
  for (const one of [bid, inner, flow]) {
    expect(await t.hq.batches.get(one)).toMatchObject({ state: 'failed', pending: 0, cancelling: false, waiting: null })
  }
  expect(await t.set('schedule')).toEqual([])
  expect(await t.set('dead')).toEqual([])
  expect((await t.queue()).map(({ args }) => args)).toEqual([['outside'], ['outside, too'], [bid]])
  expect(await t.hq.store.cancellations.since(0)).toMatchObject({ jids: [] })
})

test.each([
  [
    'a batch',
    async (t: Bench, { Work }: ReturnType<typeof jobs>) => {
      const bid = await t.hq.batch({}, () => Work.performAsync('other'))
      return { bid, jid: bid }
    },
  ],
  [
    'the parent of a flow',
    async (t: Bench, { Work }: ReturnType<typeof jobs>) => {
      const flow = await t.hq.flow({ job: Work, args: ['parent'], children: [{ job: Work, args: ['other'] }] })
      return flow as { bid: string; jid: string }
    },
  ],
])('cancelling a batch leaves %s alone whose id is the jid of one of its jobs', async (_name, pushOther) => {
  const t = bench()
  const all = jobs(t)
  const other = await pushOther(t, all)
  const bid = await t.hq.batch({}, () => t.hq.push({ class: 'Work', args: ['mine'], jid: other.jid }))
  expect((await t.hq.batches.memberPage(bid)).items).toMatchObject([{ id: other.jid, batch: null }])
  expect(await t.hq.batches.cancel(bid)).toBe(1)
  expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'failed', pending: 0 })
  expect(await t.hq.batches.get(other.bid)).toMatchObject({ state: 'running', pending: 1, cancelling: false })
  expect(await t.queue()).toMatchObject([{ args: ['other'] }])
})

test('a cancelled batch stops the jobs that run, accepts no more, and removes those that wait for a retry', async () => {
  const t = bench()
  const { all } = jobs(t)
  const began = new Collector<string>()
  const Ill = t.hq.job('Ill', { retryIn: 1e6 }, () => {
    throw new Error('no')
  })
  const late = new Collector<unknown>()
  const Long = t.hq.job('Long', async (ctx: JobContext) => {
    began.add('')
    await until(() => ctx.signal.aborted)
    late.add(await ctx.batch?.add(() => Ill.performAsync()).catch(codeOf))
    ctx.signal.throwIfAborted()
  })
  const bid = await t.hq.batch(all, async () => {
    await Ill.performAsync()
    await Long.performAsync()
  })
  await t.work()
  await began.atLeast(1)
  await until(async () => (await t.set('retry')).length === 1)
  expect(await t.hq.batches.cancel(bid)).toBe(2)
  expect(await t.set('retry')).toEqual([])
  expect(await late.atLeast(1)).toEqual(['BATCH_ENDED'])
  await until(async () => (await t.hq.batches.get(bid))?.state === 'failed')
})

test('a parent in a flow that was pushed while its batch is being cancelled is stopped', async () => {
  const t = bench()
  const { ran, Work } = jobs(t)
  const held = gate()
  const Parent = t.hq.job('Parent', async (ctx: JobContext) => {
    ran.add('parent')
    await held.opened
    await until(() => ctx.signal.aborted)
    ctx.signal.throwIfAborted()
  })
  let flow: { jid: string; bid: string | null } | null = null
  const bid = await t.hq.batch({}, async () => {
    flow = await t.hq.flow({ job: Parent, children: [{ job: Work, args: ['child'] }] })
  })
  const { jid, bid: inner } = flow as unknown as { jid: string; bid: string }
  const { batches, cancellations } = t.hq.store
  const cancel = batches.cancel.bind(batches)
  const reached = gate()
  const paused = gate()
  batches.cancel = async (...args) => {
    if (args[0] === inner) {
      reached.open()
      await paused.opened
    }
    return cancel(...args)
  }
  const cancelled = t.hq.batches.cancel(bid)
  await reached.opened
  await t.work()
  expect(await ran.atLeast(2)).toEqual(['child', 'parent'])
  paused.open()
  expect(await cancelled).toBe(1)
  expect(await cancellations.among([jid])).toEqual([jid])
  held.open()
  await until(async () => (await t.hq.batches.get(bid))?.state === 'failed')
  expect(await cancellations.since(0)).toMatchObject({ jids: [] })
})

test('a batch counts the job that is added to it just before it is cancelled', async () => {
  const t = bench()
  const { Work } = jobs(t)
  const bid = await t.hq.batch({}, () => Work.performAsync('a'))
  const { batches } = t.hq.store
  const cancel = batches.cancel.bind(batches)
  batches.cancel = async (...args) => {
    await t.hq.batches.add(bid, () => Work.performAsync('b'))
    return cancel(...args)
  }
  expect(await t.hq.batches.cancel(bid)).toBe(2)
  expect(await t.queue()).toEqual([])
})

test('a worker continues to cancel a batch whose cancellation was interrupted', async () => {
  const t = bench()
  const { ran, Work, all } = jobs(t)
  const bid = await t.hq.batch(all, () => Work.performIn(1e6, 'a'))
  await t.hq.store.batches.cancel(bid, t.clock.now())
  expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'running', cancelling: true })
  await t.work()
  expect(await ran.atLeast(1)).toEqual([`complete ${bid}`])
  expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'failed', failed: 1, cancelling: false })
})

test.each(['deleted', 'cleared'])('a dead job that is %s by hand has failed in its batch', async (how) => {
  const t = bench()
  const { Work, all } = jobs(t)
  const bid = await t.hq.batch(all, () => Work.performAsync('a', 'fails'))
  await t.work()
  await until(async () => (await t.hq.batches.get(bid))?.state === 'dead')
  if (how === 'cleared') await t.hq.dead.clear()
  else for await (const entry of t.hq.dead) await entry.delete()
  expect(await t.set('dead')).toEqual([])
  expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'failed', dead: 0, failed: 1 })
})

test('a dead job that exceeds the limit of the dead set has failed in its batch', async () => {
  const t = bench()
  const { Work, all } = jobs(t)
  const bid = await t.hq.batch(all, () => Work.performAsync('a', 'fails'))
  const worker = await t.work()
  await until(async () => (await t.hq.batches.get(bid))?.state === 'dead')
  await worker.stop()
  await t.hq.dead.schedule(60, { class: 'Newer', args: [] })
  await t.another({ dead: { max: 1 } }).work({ queues: ['nothing'] })
  await until(async () => (await t.hq.batches.get(bid))?.state === 'failed')
  expect(await t.hq.batches.get(bid)).toMatchObject({ dead: 0, failed: 1 })
  expect(await t.set('dead')).toMatchObject([{ class: 'Newer' }])
})

test('a killed job is dead in its batch', async () => {
  const t = bench()
  const { Work, all } = jobs(t)
  const bid = await t.hq.batch(all, async () => void (await Work.performIn(1e6, 'a')))
  await t.hq.scheduled.killAll()
  expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'dead', dead: 1 })
})

test('a job adds jobs to its batch, and a batch that has ended accepts none', async () => {
  const t = bench()
  const { ran, Work, all } = jobs(t)
  const Grow = t.hq.job('Grow', async (ctx: JobContext) => {
    await ctx.batch?.add(() => Work.performBulk([['x'], ['y']]))
    await Work.performAsync('not in it')
  })
  const bid = await t.hq.batch(all, async () => void (await Grow.performAsync()))
  await t.work()
  await ran.atLeast(5)
  expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'succeeded', total: 3, succeeded: 3 })
  const late = t.hq.batches.add(bid, () => Work.performAsync('z'))
  await expect(late).rejects.toMatchObject({ code: 'BATCH_ENDED', details: { bid } })
  const unknown = t.hq.batches.add('0'.repeat(16), () => Work.performAsync('z'))
  await expect(unknown).rejects.toMatchObject({ code: 'UNKNOWN_BATCH', details: { bid: '0'.repeat(16) } })
})

test('a jid that comes twice in a batch is refused, and so is a push that names a batch itself', async () => {
  const t = bench()
  const { Work, all } = jobs(t)
  const own = Work.set({ jid: 'mine', unique: false })
  const twice = t.hq.batch(all, async () => {
    await own.performAsync('a')
    await own.performAsync('b')
  })
  await expect(twice).rejects.toThrow(/^job mine would be in batch [0-9a-f]{16} twice/)
  expect(await t.queue()).toEqual([])
  const bid = await t.hq.batch(all, () => own.performAsync('a'))
  await expect(t.hq.batches.add(bid, () => own.performAsync('b'))).rejects.toThrow(/mine would be in batch/)
  const forged = { class: 'Work', args: ['b'], jid: 'mine', bid }
  const refused = { code: 'INVALID_JOB', message: expect.stringMatching(/hq\.batches\.add/) }
  await expect(t.hq.push(forged)).rejects.toMatchObject(refused)
  await expect(Work.set({ bid }).performAsync('b')).rejects.toMatchObject(refused)
  expect(await t.queue()).toHaveLength(1)
})

test('batches and flows can be nested 500 levels deep', async () => {
  const t = bench()
  const { Work } = jobs(t)
  const levels = (depth: number): { job: typeof Work; args: [string]; children?: never[] } => {
    let node: object = { job: Work, args: ['leaf'] }
    for (let n = 0; n < depth; n++) node = { job: Work, args: [`${n}`], children: [node] }
    return node as never
  }
  const tooDeep = { code: 'INVALID_OPTION', message: expect.stringMatching(/at most 500 levels deep/) }
  await expect(t.hq.flow(levels(501))).rejects.toMatchObject(tooDeep)
  await expect(t.hq.batch({}, () => t.hq.flow(levels(500)))).rejects.toMatchObject(tooDeep)
  expect(await t.queue()).toEqual([])
  await t.hq.batch({}, () => t.hq.flow(levels(499)))
  expect(await t.queue()).toMatchObject([{ args: ['leaf'] }])
})

test('the callbacks of a nested batch belong to the batch around it, and add the next step to it', async () => {
  const t = bench()
  const { ran, Work, Complete, Success } = jobs(t)
  const Next = t.hq.job('Next', async (ctx: JobContext, inner: string) => {
    ran.add(`next of ${inner}`)
    await ctx.batch?.add(() => t.hq.batch({ onSuccess: Complete }, () => Work.performAsync('second')))
  })
  let inner = ''
  const outer = await t.hq.batch({ onSuccess: Success }, async () => {
    inner = await t.hq.batch({ onSuccess: Next }, () => Work.performAsync('first'))
  })
  expect(await t.hq.batches.get(inner)).toMatchObject({ parent: outer })
  await t.work({ concurrency: 1 })
  const names = await ran.atLeast(5)
  expect(names).toEqual(['first', `next of ${inner}`, 'second', expect.stringMatching(/^complete/), `success ${outer}`])
})

test('a callback that client middleware stops is not among the callbacks of its batch', async () => {
  const t = bench()
  const { Work, all, Death } = jobs(t)
  t.hq.client.use(async (job, next) => (job.class === 'complete' ? null : next()))
  const bid = await t.hq.batch({ ...all, data: [1] }, () => Work.performAsync('a'))
  const { callbacks = [], data } = (await t.hq.batches.get(bid)) ?? {}
  expect(callbacks.map(({ when }) => when)).toEqual(['onSuccess', 'onDeath'])
  expect([callbacks[1]?.job, data]).toEqual([Death.name, [1]])
})

test('an empty batch succeeds at once', async () => {
  const t = bench()
  const { ran, all } = jobs(t)
  const bid = await t.hq.batch(all, () => {})
  await t.work()
  expect((await ran.atLeast(2)).sort()).toEqual([`complete ${bid}`, `success ${bid}`])
})

test('a crash between the end of the last job and its settlement runs the job again, and the callbacks once', async () => {
  const t = bench()
  const { ran, Work, all } = jobs(t)
  const bid = await t.hq.batch(all, () => Work.performAsync('a'))
  const { store } = t.hq
  await store.workers.join('gone', { queues: ['default'], seconds: 30, host: 'elsewhere' })
  const fetch = { queues: ['default'], n: 1 }
  const { fetched } = await store.workers.settleAndFetch('gone', {
    now: Date.now(),
    started: [],
    settlements: [],
    fetch,
  })
  expect(fetched).toHaveLength(1)
  await store.workers.claim('gone')
  await t.work()
  expect((await ran.atLeast(3)).slice(1).sort()).toEqual([`complete ${bid}`, `success ${bid}`])
})

test('ordered items, tasks, transactions and tracked jobs, and wrong options are refused', async () => {
  const t = bench()
  const { Work, all } = jobs(t)
  const Ordered = t.hq.ordered('Ordered', () => {})
  const refused = async (work: () => unknown, what: RegExp) => expect(t.hq.batch(all, work)).rejects.toThrow(what)
  await refused(() => Ordered.performAsync([{ id: 1, payload: 1 }]), /Ordered is an ordered queue/)
  await refused(() => t.hq.tasks.create(Work, [['a']]), /tasks.create can't be part of a batch/)
  const replaced = Work.set({ unique: { onConflict: 'replace' } })
  await refused(() => replaced.performAsync('a'), /onConflict: 'replace' does not work in a batch/)
  await refused(() => Work.set({ track: true }).performAsync('a'), /tracked job/)
  const wrong = async (options: unknown, what: RegExp) =>
    expect(t.hq.batch(options as object, () => {})).rejects.toThrow(what)
  await wrong({ onDone: Work }, /no option onDone/)
  await wrong({ onSuccess: 'Work' }, /onSuccess must be a job, as returned by hq.job/)
  await wrong({ keep: 0 }, /keep must be a time above 0/)
  await wrong({ keep: 1e308 }, /keep must be a time above 0 and at most 365,000 days.*got 1e\+308/)
  await wrong({ data: () => {} }, /data must be JSON/)
  await wrong({ onSuccess: Work.set({ wait: 5 }) }, /can't be scheduled/)
  await expect(t.hq.batch({}, undefined as never)).rejects.toThrow(/second argument must be a function/)
  expect(await t.queue()).toEqual([])
})

test('a unique job whose lock is held is dropped from its batch, which ends without it', async () => {
  const t = bench()
  const { ran, Work, all } = jobs(t)
  const Once = Work.set({ unique: true })
  const held = await Once.set({ queue: 'other' }).performAsync('held')
  const bid = await t.hq.batch(all, async () => {
    await Once.performBulk([['a'], ['held'], ['a']])
    await Work.set({ jid: 'own' }).performAsync('b')
    await Work.set({ jid: 'own' }).performAsync('c')
  })
  expect(await t.hq.batches.get(bid)).toMatchObject({ total: 2, pending: 2 })
  await t.hq.batches.add(bid, () => Once.performAsync('a'))
  expect((await t.queue()).map(({ args }) => args[0])).toEqual(['a', 'b'])
  const none = await t.hq.batch(all, () => Once.performAsync('held'))
  expect(await t.hq.batches.get(none)).toMatchObject({ total: 0, state: 'succeeded' })
  await t.work()
  const names = await ran.atLeast(6)
  expect(names.sort()).toEqual(
    ['a', 'b', ...[bid, none].flatMap((one) => [`complete ${one}`, `success ${one}`])].sort(),
  )
  // The batch has ended, and so has the lock of its job.
  const again = await t.hq.batch({}, () => Once.performAsync('a'))
  expect(await t.hq.batches.get(again)).toMatchObject({ total: 1 })
  expect((await t.queue('other')).map(({ jid }) => jid)).toEqual([held])
})

test('with raise, a lock that is held keeps a whole batch or flow from being stored', async () => {
  const t = bench()
  const { ran, Work, all } = jobs(t)
  const Strict = Work.set({ unique: { onConflict: 'raise' } })
  const jid = await Strict.performAsync('a')
  const conflict = { code: 'UNIQUE_CONFLICT', details: { jid }, message: expect.stringMatching(/^Work: /) }
  const failed = t.hq.batch(all, async () => {
    await Strict.performAsync('b')
    await Strict.performAsync('a')
  })
  await expect(failed).rejects.toMatchObject(conflict)
  const flow = (args: string[]) => t.hq.flow({ job: Work, args: ['root'], children: [{ job: Strict, args }] })
  await expect(flow(['a'])).rejects.toMatchObject(conflict)
  expect(await t.queue()).toHaveLength(1)
  await flow(['b'])
  await t.work()
  expect(await ran.atLeast(3)).toEqual(['a', 'b', 'root'])
})

test('a flow refuses a job that could be dropped, and a callback has no lock', async () => {
  const t = bench()
  const { ran, Work, all } = jobs(t)
  const Once = Work.set({ unique: true })
  const child = t.hq.flow({ job: Work, args: ['root'], children: [{ job: Once, args: ['a'] }] })
  await expect(child).rejects.toThrow(/parent would get no result of a job that is dropped.*unique: false/)
  const parent = t.hq.flow({ job: Once, args: ['root'], children: [{ job: Work, args: ['a'] }] })
  await expect(parent).rejects.toThrow(/a job with children can't be unique/)
  const by = { onSuccess: all.onSuccess.set({ unique: { by: () => 'x' } }) }
  await expect(t.hq.batch(by, () => {})).rejects.toThrow(/a callback of a batch can't be unique/)
  const own = { onSuccess: all.onSuccess.set({ jid: 'mine' }) }
  await expect(t.hq.batch(own, () => {})).rejects.toThrow('success: a callback of a batch gets a jid of its own')
  expect(await t.queue()).toEqual([])
  const Ended = all.onSuccess.set({ unique: true })
  const bid = await t.hq.batch({ onSuccess: Ended, onComplete: Ended }, () => {})
  await t.work()
  expect(await ran.atLeast(2)).toEqual([`success ${bid}`, `success ${bid}`])
})

test('a job of Sidekiq Pro keeps its bid, and runs as usual', async () => {
  const t = bench()
  const { ran, Work } = jobs(t)
  await Work.set({ bid: 'Zm9vYmFyMTIzNA' }).performAsync('a')
  await t.work()
  await ran.atLeast(1)
  await t.settled()
  expect(t.errors).toEqual([])
})

test('a search finds batches and flows by a part of their description in any case, also page by page', async () => {
  const t = bench()
  const { Work } = jobs(t)
  const made = async (description: string) => t.hq.batch({ description }, () => Work.performIn(3600, description))
  const all = []
  for (const description of ['Nightly Import', 'letters', 'nightly report', 'Цены весны'])
    all.push(await made(description))
  const ended = await t.hq.batch({ description: 'nightly, without jobs' }, () => {})
  await t.hq.batch({}, () => Work.performIn(3600, 'without a description'))
  const flow = await t.hq.flow({ job: Work, args: ['root'], children: [{ job: Work, args: ['child'] }] })
  const found = async (options: BatchPageOptions) => {
    const { items, next } = await t.hq.batches.page(options)
    return { bids: items.map(({ bid }) => bid).sort(), next }
  }
  const nightly = [all[0], all[2], ended].sort()
  expect(await found({ search: 'NIGHTLY' })).toEqual({ bids: nightly, next: null })
  expect(await found({ search: 'nightly', state: 'succeeded' })).toEqual({ bids: [ended], next: null })
  expect(await found({ search: 'цены' })).toEqual({ bids: [all[3]], next: null })
  expect(await found({ search: 'work' })).toEqual({ bids: [flow?.bid], next: null })
  const first = await found({ search: 'nightly', limit: 2 })
  const rest = await found({ search: 'nightly', limit: 2, cursor: first.next ?? '' })
  expect([[...first.bids, ...rest.bids].sort(), rest.next]).toEqual([nightly, null])
  expect(await found({ search: 'weekly' })).toEqual({ bids: [], next: null })
  await expect(found({ search: 5 as never })).rejects.toThrow(/search must be a string/)
})

test('the batches of a flow are kept as long as its option keep says, by default for 30 days', async () => {
  const t = bench()
  const { Work } = jobs(t)
  const inner = { job: Work, args: ['inner'], children: [{ job: Work, args: ['leaf'] }] } as const
  const keeps = async (options?: FlowOptions) => {
    await t.hq.flow({ job: Work, args: ['root'], children: [inner] }, options)
    return (await t.hq.store.batches.page({ limit: 2 })).items.map(({ keep }) => keep)
  }
  expect(await keeps()).toEqual([30 * 86_400_000, 30 * 86_400_000])
  expect(await keeps({ keep: '5m' })).toEqual([300_000, 300_000])
  await expect(keeps({ keep: 'soon' as '5m' })).rejects.toThrow(/hq.flow: keep must be a time above 0.*'30d'/)
})

test('a flow runs the children first, and their parent reads the results', async () => {
  const t = bench()
  const { ran, Work } = jobs(t)
  const results = new Collector<unknown>()
  const Join = t.hq.job('Join', async (ctx: JobContext, name: string) => {
    results.add((await ctx.children()).map(({ job, status, result }) => ({ job, status, result })))
    return { joined: name }
  })
  const pushed = await t.hq.flow({
    job: Join,
    args: ['root'],
    children: [
      { job: Work, args: ['a'] },
      {
        job: Join,
        args: ['inner'],
        children: [
          { job: Work, args: ['b'] },
          { job: Work, args: ['c'] },
        ],
      },
    ],
  })
  expect(await t.queue()).toHaveLength(3)
  expect(await t.hq.batches.get(pushed?.bid as string)).toMatchObject({
    waiting: { jid: pushed?.jid, onChildFailure: 'fail' },
  })
  await t.work()
  const [inner, root] = await results.atLeast(2)
  expect(inner).toEqual(['b', 'c'].map((did) => ({ job: 'Work', status: 'succeeded', result: { did } })))
  expect(root).toEqual([
    { job: 'Work', status: 'succeeded', result: { did: 'a' } },
    { job: 'Join', status: 'succeeded', result: { joined: 'inner' } },
  ])
  expect(ran.all.sort()).toEqual(['a', 'b', 'c'])
})

test('a child that failed: its parent fails, runs all the same, or waits for the retry by hand', async () => {
  const t = bench()
  const seen = new Collector<unknown>()
  let isWell = false
  const Ill = t.hq.job('Ill', { retry: 0 }, () => {
    if (!isWell) throw Object.assign(new Error('ill'), { code: 'ILL' })
    return 1
  })
  const Join = t.hq.job('Join', async (ctx: JobContext) => seen.add(await ctx.children()))
  const of = (onChildFailure: 'fail' | 'ignore' | 'wait') =>
    t.hq.flow({ job: Join, onChildFailure, children: [{ job: Ill }] })
  await of('ignore')
  await t.work()
  const failed = { job: 'Ill', jid: expect.any(String), status: 'failed', error: { message: 'ill', code: 'ILL' } }
  expect(await seen.atLeast(1)).toEqual([[failed]])
  const flow = await of('fail')
  await until(async () => (await t.set('dead')).some(({ jid }) => jid === flow?.jid))
  const dead = (await t.set('dead')).find(({ jid }) => jid === flow?.jid)
  expect(dead).toMatchObject({ error_class: 'ChildFailed', error_message: expect.stringMatching(/child/) })
  const waiting = await of('wait')
  await until(async () => (await t.hq.batches.get(waiting?.bid as string))?.state === 'dead')
  isWell = true
  for await (const entry of t.hq.dead) await entry.retry()
  const all = await seen.atLeast(3)
  const well = { job: 'Ill', jid: expect.any(String), status: 'succeeded', result: 1 }
  expect(all).toContainEqual([well])
  expect((await t.hq.batches.get(waiting?.bid as string))?.waiting).toBe(null)
})

test('a parent in a flow that waits for its children is found, and is cancelled with them', async () => {
  const t = bench()
  const { ran, Work } = jobs(t)
  const child = { job: Work.set({ queue: 'low' }), args: ['child'] as [string] }
  const flow = await t.hq.flow({ job: Work, args: ['root'], children: [child] })
  const jid = flow?.jid as string
  const { state, queue, job } = await t.hq.find(jid)
  expect([state, queue, job?.jid, job?.displayClass, job?.args]).toEqual([
    'waiting-children',
    'default',
    jid,
    'Work',
    ['root'],
  ])
  await expect(t.hq.duplicate(jid)).rejects.toMatchObject({ code: 'UNKNOWN_JID' })
  expect(await t.hq.cancel(jid)).toBe('removed')
  expect(await t.queue('low')).toEqual([])
  expect(await t.hq.batches.get(flow?.bid as string)).toMatchObject({ state: 'failed', failed: 1, waiting: null })
  expect((await t.hq.find(jid)).state).toBe('unknown')
  expect(await t.hq.cancel(jid)).toBe('not-found')
  expect(await t.hq.store.cancellations.among([jid])).toEqual([])
  const inner = { job: Work, args: ['inner'] as [string], children: [child] }
  const outer = await t.hq.flow({ job: Work, args: ['outer'], onChildFailure: 'ignore', children: [inner] })
  const [member] = (await t.hq.batches.memberPage(outer?.bid as string)).items
  expect(await t.hq.cancel(member?.id as string)).toBe('removed')
  expect((await t.hq.find(outer?.jid as string)).state).toBe('queued')
  await t.work({ queues: ['default', 'low'] })
  expect(await ran.atLeast(1)).toEqual(['outer'])
})

test('a flow in a batch is a member of it, and a job without children is only pushed', async () => {
  const t = bench()
  const { ran, Work, Success } = jobs(t)
  const bid = await t.hq.batch({ onSuccess: Success }, async () => {
    await t.hq.flow({ job: Work, args: ['root'], children: [{ job: Work, args: ['child'] }] })
    await t.hq.flow({ job: Work, args: ['alone'] })
  })
  expect(await t.hq.batches.get(bid)).toMatchObject({ total: 2 })
  const alone = await t.hq.flow({ job: Work, args: ['outside'] })
  expect(alone).toEqual({ jid: expect.any(String), bid: null })
  await t.work({ concurrency: 1 })
  const names = await ran.atLeast(5)
  expect(names.indexOf('root')).toBeGreaterThan(names.indexOf('child'))
  expect(names.at(-1)).toBe(`success ${bid}`)
  const wrong = (node: unknown) => t.hq.flow(node as never).catch((thrown) => `${codeOf(thrown)}: ${thrown.message}`)
  expect(await wrong({ job: 'Work' })).toMatch(/INVALID_OPTION: hq.flow: job must be a job/)
  expect(await wrong({ job: Work, children: [{ job: Work, onChildFailure: 'retry' }] })).toMatch(
    /children\[0\]: onChildFailure must be one of/,
  )
  expect(await wrong({ job: Work, childs: [] })).toMatch(/no option childs/)
  expect(await wrong({ name: 'paint', queueName: 'q', data: {} })).toMatch(
    /no option name; did you mean job, a job that hq\.job returned\? There are/,
  )
  expect(await wrong({ job: Work, children: [{ job: Work, opts: {} }] })).toMatch(
    /children\[0\]: there is no option opts; did you mean job: Job\.set\(\{ … \}\)\?/,
  )
  expect(await wrong({ job: Work.set({ wait: 9 }), children: [{ job: Work }] })).toMatch(/can't be scheduled/)
})

test.each([true, 5, ['a'], null])('a job with the jid %o, a lock and a batch runs, and harms no other', async (jid) => {
  const t = bench()
  const { ran, Work, all } = jobs(t)
  const bid = await t.hq.batch(all, () => Work.performAsync('good'))
  const text = JSON.stringify({ class: 'Work', args: ['odd'], jid, bid, hk_unique: 'success:k,jid', queue: 'default' })
  await t.hq.store.jobs.push([{ to: 'queue', queue: 'default', text, end: 'front' }], 0)
  await t.work()
  await until(async () => (await t.hq.batches.get(bid))?.state === 'succeeded')
  await ran.atLeast(2)
  expect(ran.all).toContain('good')
})

test('a page of members goes on where the one before ended, and a cursor that is not its `next` is refused', async () => {
  const t = bench()
  const { Work } = jobs(t)
  const rows = Array.from({ length: 1000 }, (_, n): [string] => [`${n}`])
  const [bid, other] = [
    await t.hq.batch({}, () => Work.performBulk(rows)),
    await t.hq.batch({}, () => Work.performAsync('a')),
  ]
  const seen = new Set<string>()
  let cursor: string | undefined
  do {
    const { items, next } = await t.hq.batches.memberPage(bid, { cursor, limit: 100 })
    for (const { id } of items) seen.add(id)
    cursor = next ?? undefined
    if (cursor)
      await expect(t.hq.batches.memberPage(other, { cursor })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  } while (cursor)
  expect(seen.size).toBe(1000)
  for (const made of ['', '0', 'abc', '5f9c3b0a7d2e41c68b1a90ff']) {
    await expect(t.hq.batches.memberPage(bid, { cursor: made })).rejects.toThrow(
      /cursor must be the `next` of the page before/,
    )
  }
})

test('a callback that was dropped, because the batch around its batch was cancelled, was not pushed', async () => {
  const t = bench()
  const { Work, Complete, all } = jobs(t)
  let inner = ''
  const outer = await t.hq.batch(all, async () => {
    inner = await t.hq.batch({ onComplete: Complete }, () => Work.performIn(1e6, 'a'))
  })
  await t.hq.batches.cancel(outer)
  const pushedOf = async (bid: string) =>
    (await t.hq.batches.get(bid))?.callbacks.map(({ when, pushedAt }) => [when, pushedAt])
  expect(await pushedOf(inner)).toEqual([['onComplete', null]])
  expect(await pushedOf(outer)).toEqual([
    ['onSuccess', null],
    ['onComplete', expect.any(Date)],
    ['onDeath', null],
  ])
})
