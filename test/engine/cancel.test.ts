import { BusinessFailure, Highkiq, type Payload, Snooze } from 'highkiq'
import { expect, test, vi } from 'vitest'
import type { FetchedJob } from '#dist/store/contract.js'
import { withReplaced } from '../replaced-store.ts'
import { type Bench, bench, Child, Collector, gate, jobsOfQueues, promptly, until } from './bench.ts'
import { Blocker } from './blocker.ts'

/** A job that runs until it is told to end. */
function patient({ hq }: Bench, how: (reason: Error) => unknown = (reason) => Promise.reject(reason), options = {}) {
  const began = new Collector<string>()
  const told = new Collector<string>()
  const J = hq.job('J', options, async (ctx, name: string) => {
    began.add(name)
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    told.add(ctx.signal.reason.code)
    return how(ctx.signal.reason)
  })
  return { J, began, told }
}

const nothing = { processed: 0, failed: 0, enqueued: 0, backlog: 0, fetched: 0, scheduled: 0, retries: 0, dead: 0 }

/** No mark is left behind: what the store says of a job that nobody looks for any more. */
async function cancellationsGone({ hq }: Bench, ...jids: string[]): Promise<void> {
  expect(await hq.store.cancellations.among(jids)).toEqual([])
}

test('a job that waits in its queue is removed, and never runs', async () => {
  const t = bench()
  const ran = new Collector<number>()
  const J = t.hq.job('J', async (_ctx, n: number) => ran.add(n))
  const jids = (await J.performBulk([[1], [2], [3]])) as string[]
  expect(await t.hq.cancel(jids[1] as string)).toBe('removed')
  expect((await t.queue()).map(({ args }) => args[0])).toEqual([1, 3])
  await t.work()
  await ran.atLeast(2)
  await t.settled()
  expect(ran.all).toEqual([1, 3])
  expect(await t.hq.store.metrics.totals()).toMatchObject({ ...nothing, processed: 2 })
  await cancellationsGone(t, ...jids)
})

test('a job is found at position 500,000 within seconds', { timeout: 240_000 }, async () => {
  const t = bench()
  await t.hq.store.open()
  const jid = (n: number) => n.toString(16).padStart(24, '0')
  for (let from = 0; from < 500_000; from += 1000) {
    const items = Array.from({ length: 1000 }, (_, i) => ({
      to: 'queue' as const,
      queue: 'default',
      text: `{"class":"J","args":[${from + i}],"queue":"default","jid":"${jid(from + i)}"}`,
      end: 'back' as const,
    }))
    await t.hq.store.jobs.push(items, Date.now())
  }
  for (const n of [0, 499_999, 250_000]) {
    expect(await t.hq.cancel(jid(n), { budget: 60 })).toBe('removed')
  }
  expect(await t.hq.store.metrics.totals()).toMatchObject({ enqueued: 499_997 })
  expect((await t.hq.store.jobs.peek('default', 0, 1)).map((text) => JSON.parse(text).jid)).toEqual([jid(1)])
  // Without time to search the queue, the call leaves a cancellation, by which a worker drops the job later.
  expect(await t.hq.cancel(jid(1), { budget: 0 })).toBe('requested')
})

test('a scheduled job and a job that waits for a retry are removed, whatever their queue', async () => {
  const t = bench()
  const J = t.hq.job('J', { queue: 'far' }, async () => {
    throw new Error('no')
  })
  const later = (await J.performIn(3600)) as string
  const failing = (await J.performAsync()) as string
  await t.work({ queues: ['far'] })
  await until(async () => (await t.hq.store.jobSets.size('retry')) === 1)
  expect(await t.hq.cancel(later)).toBe('removed')
  expect(await t.hq.cancel(failing, { queue: 'other' })).toBe('removed')
  expect(await t.hq.store.metrics.totals()).toMatchObject({ ...nothing, processed: 1, failed: 1 })
  await cancellationsGone(t, later, failing)
})

test('a running job is cancelled beside 600 queues with a few calls of the store', async () => {
  const t = bench()
  const { J, began } = patient(t)
  const running = (await J.performAsync('a')) as string
  await t.work()
  await began.atLeast(1)
  await t.hq.store.jobs.push(jobsOfQueues(600), t.clock.now())
  const { search } = t.hq.store
  const [short, long] = [vi.spyOn(search, 'scanQueues'), vi.spyOn(search, 'scanQueue')]
  expect(await t.hq.cancel(running)).toBe('signalled')
  expect([short.mock.calls.map(([, needle]) => needle), long.mock.calls.length]).toEqual([[running, running], 0])
  expect(await t.hq.cancel('jid-of-599')).toBe('removed')
  expect(long).not.toHaveBeenCalled()
  await until(async () => (await t.hq.store.metrics.totals()).processed === 1)
  expect(await t.hq.store.metrics.totals()).toMatchObject({ ...nothing, processed: 1, enqueued: 599 })
})

test('with the option queue only that queue is searched', async () => {
  const t = bench()
  const jid = (await t.hq.push({ class: 'J', args: [], queue: 'a' })) as string
  expect(await t.hq.cancel(jid, { queue: 'b' })).toBe('not-found')
  expect(await t.hq.cancel(jid, { queue: 'a' })).toBe('removed')
})

test('cancelling an unknown or ended job returns not-found, and its id can be used again', async () => {
  const t = bench()
  const ran = new Collector<string>()
  const J = t.hq.job('J', async (ctx) => ran.add(ctx.jid))
  const jid = (await J.performAsync()) as string
  await t.work()
  await ran.atLeast(1)
  await t.settled()
  const dead = { class: 'J', args: [jid], jid: 'dead' }
  await t.hq.store.jobs.push([{ to: 'dead', text: JSON.stringify(dead), score: Date.now() / 1000 }], Date.now())
  for (const none of [jid, 'nothing', 'a "strange" {one}\n', 'dead', 'f'.repeat(24)]) {
    expect(await t.hq.cancel(none)).toBe('not-found')
    await cancellationsGone(t, none)
  }
  expect(await t.hq.store.jobSets.size('dead')).toBe(1)
  await t.hq.push({ class: 'J', args: [], jid })
  await ran.atLeast(2)
})

test('a cancel that finds no job leaves the request of another caller, and the job does not run', async () => {
  const t = bench()
  const ran = new Collector<string>()
  const J = t.hq.job('J', async (_ctx, name: string) => ran.add(name))
  const ids = ['one', 'two'].map((name) => `own-${name}`)
  const [one = '', two = ''] = ids
  expect(await t.hq.cancel(one, { budget: 0 })).toBe('requested')
  expect(await t.hq.cancel(one)).toBe('not-found')
  expect(await Promise.all([t.hq.cancel(two), t.another().hq.cancel(two)])).toEqual(['not-found', 'not-found'])
  expect(await t.hq.store.cancellations.among(ids)).toEqual([one])
  for (const jid of ids) await J.set({ jid }).performAsync(jid)
  await t.work()
  await t.settled()
  expect(ran.all).toEqual([two])
})

test('another job that has the id among its arguments is left alone; one with a strange id is found', async () => {
  const t = bench()
  const strange = 'ü "1"\\n'
  await t.hq.push({ class: 'J', args: [strange], jid: 'other' })
  await t.hq.push({ class: 'J', args: [], jid: strange })
  expect(await t.hq.cancel(strange)).toBe('removed')
  expect(await t.hq.cancel(strange)).toBe('not-found')
  expect((await t.queue()).map(({ jid }) => jid)).toEqual(['other'])
})

test('an invalid id and unknown options are refused with a hint', async () => {
  const t = bench({ url: 'sqlite::memory:' })
  const refused = (message: string) => ({ code: 'INVALID_OPTION', message: expect.stringContaining(message) })
  await expect(t.hq.cancel('')).rejects.toMatchObject(refused('the jid must be the one that the push returned'))
  await expect(t.hq.cancel(7 as never)).rejects.toMatchObject(refused('the jid must be a string (got 7)'))
  await expect(t.hq.cancel(null as never)).rejects.toMatchObject(refused('the jid must be a string (got null)'))
  await expect(t.hq.cancel('a', { budget: -1 })).rejects.toMatchObject(refused('budget'))
  await expect(t.hq.cancel('a', { bugdet: 1 } as never)).rejects.toMatchObject(refused('bugdet'))
})

test('a job that runs in another process is aborted, and counts as neither failed, retried nor dead', async () => {
  const t = bench()
  const child = new Child(t.url)
  const jid = (await t.hq.push({ class: 'Long', args: [1] })) as string
  await child.waitFor('began')
  expect(await t.hq.cancel(jid)).toBe('signalled')
  expect(await promptly(1, child.waitFor('aborted'))).toMatchObject([{ n: 1, code: 'JOB_CANCELLED' }])
  await t.settled()
  expect(await t.hq.store.metrics.totals()).toMatchObject({ ...nothing, processed: 1 })
  expect([...child.all('error'), ...child.all('death')]).toEqual([])
  await cancellationsGone(t, jid)
  expect(await t.hq.cancel(jid)).toBe('not-found')
})

test.each([
  ['an error', () => Promise.reject(new Error('broken off'))],
  ['a business failure', () => Promise.reject(new BusinessFailure('no'))],
  ['a snooze', () => Promise.reject(new Snooze(0))],
])('whatever a cancelled handler throws (%s), its job is cancelled', async (_, how) => {
  const t = bench()
  const { J, began, told } = patient(t, how, { retry: 0 })
  const deaths = new Collector<Payload>()
  t.hq.onDeath((payload) => deaths.add(payload))
  const jid = (await J.performAsync('a')) as string
  await t.work()
  await began.atLeast(1)
  expect(await t.hq.cancel(jid)).toBe('signalled')
  expect(await told.atLeast(1)).toEqual(['JOB_CANCELLED'])
  await t.settled()
  expect(await t.hq.store.metrics.totals()).toMatchObject({ ...nothing, processed: 1 })
  expect([...t.errors, ...deaths.all]).toEqual([])
  await cancellationsGone(t, jid)
})

test('a running job that has ended before the search finds it is signalled, and not removed', async () => {
  const t = bench()
  const { J, began, told } = patient(t)
  const jid = (await J.performAsync('a')) as string
  await t.work()
  await began.atLeast(1)
  const { workers } = t.hq.store
  const { fetched } = workers
  workers.fetched = async (...page) => {
    // The search is slower than the worker.
    await told.atLeast(1)
    await t.settled()
    return fetched.apply(workers, page)
  }
  expect(await t.hq.cancel(jid)).toBe('signalled')
})

test('a handler that ignores the signal and returns is done', async () => {
  const t = bench()
  const { J, began } = patient(t, () => 'the result')
  const task = await t.hq.tasks.create(J, [['a']])
  await t.work()
  await began.atLeast(1)
  const [event] = await events(t, task.id)
  expect(await t.hq.cancel(event?.jid as string)).toBe('signalled')
  const { counts } = await task.wait({ every: 10 })
  expect(counts).toMatchObject({ finished: 1, cancelled: 0 })
  expect(await t.hq.store.metrics.totals()).toMatchObject({ ...nothing, processed: 1 })
  await until(async () => (await t.hq.store.cancellations.among([event?.jid as string])).length === 0)
})

test('the end of a job whose handler ignored its signal removes the cancellation: a later push with its jid runs', async () => {
  const t = bench()
  const { J, began, told } = patient(t, () => 'the result')
  const jid = 'order-7'
  // The worker dies before any further call.
  t.hq.store.cancellations.withdraw = () => Promise.reject(new Error('dead'))
  await J.set({ jid }).performAsync('first')
  await t.work()
  await began.atLeast(1)
  expect(await t.hq.cancel(jid)).toBe('signalled')
  await told.atLeast(1)
  await t.settled()
  await cancellationsGone(t, jid)
  expect(await J.set({ jid }).performAsync('second')).toBe(jid)
  await began.atLeast(2)
  expect(await t.hq.cancel(jid)).toBe('signalled')
  await told.atLeast(2)
})

test('a cancellation of a job that ended at the same moment is withdrawn later if the store does not answer', async () => {
  const t = bench()
  const { cancellations, workers } = t.hq.store
  const { withdraw } = cancellations
  const { settleAndFetch } = workers
  const failed = new Collector<string>()
  cancellations.withdraw = async (jid) => {
    cancellations.withdraw = withdraw
    failed.add(jid)
    throw new Error('no answer')
  }
  // The worker does not know of it when it sends the end of the job.
  workers.settleAndFetch = async (...call) => {
    if (call[1].settlements.length > 0) {
      workers.settleAndFetch = settleAndFetch
      await cancellations.request('order-7', Date.now())
    }
    return settleAndFetch.apply(workers, call)
  }
  const J = t.hq.job('J', () => {})
  await J.set({ jid: 'order-7' }).performAsync()
  await t.work()
  await failed.atLeast(1)
  await cancellations.among(['order-7']).then((still) => expect(still).toEqual(['order-7']))
  await J.performAsync()
  await until(async () => (await cancellations.among(['order-7'])).length === 0)
  expect(t.errors).toMatchObject([{ about: { during: 'withdrawing a cancellation' } }])
})

test('a dead job that is retried by hand runs, although its killed worker has left a cancellation behind', async () => {
  const t = bench()
  const { cancellations, workers } = t.hq.store
  const { settleAndFetch } = workers
  // The cancellation comes as the job ends, and its worker does not live to withdraw it.
  cancellations.withdraw = () => Promise.reject(new Error('killed'))
  workers.settleAndFetch = async (...call) => {
    if (call[1].settlements.length > 0) {
      workers.settleAndFetch = settleAndFetch
      await cancellations.request('order-7', Date.now())
    }
    return settleAndFetch.apply(workers, call)
  }
  const runs = new Collector<number>()
  const J = t.hq.job('J', { retry: 0 }, () => {
    runs.add(1)
    if (runs.all.length === 1) throw new Error('by itself')
  })
  await J.set({ jid: 'order-7' }).performAsync()
  await t.work()
  await until(async () => (await t.hq.store.jobSets.size('dead')) === 1)
  expect(await cancellations.among(['order-7'])).toEqual(['order-7'])
  expect(await t.hq.dead.retryAll()).toMatchObject({ done: 1 })
  await runs.atLeast(2)
  await cancellationsGone(t, 'order-7')
})

test('a job that goes to the dead set by its last crash leaves no cancellation', async () => {
  const t = bench()
  const { workers, cancellations } = t.hq.store
  await t.raw(JSON.stringify({ class: 'Deaf', args: [1, 60_000], jid: 'order-7', retry: true, hk_crashes: 2 }))
  const child = new Child(t.url)
  await child.waitFor('began')
  child.kill('SIGKILL')
  await child.exited
  // The cancel comes after the rescuer has looked for one.
  const { rescue } = workers
  workers.rescue = async (...call) => {
    if (call[0].length > 0) await cancellations.request('order-7', Date.now())
    return rescue.apply(workers, call)
  }
  await t.work({ leaseSeconds: 1, queues: ['other'] })
  await until(async () => (await t.hq.store.jobSets.size('dead')) === 1)
  await cancellationsGone(t, 'order-7')
})

test.each([
  ['knows of the cancellation: it is dropped at once', true],
  ['does not: it is dropped when it is due', false],
])('a job that fails by itself is not run again; its worker %s', async (_, known) => {
  const t = bench()
  const { opened, open } = gate()
  const runs = new Collector<number>()
  const quick = new Collector<string>()
  const J = t.hq.job('J', { retryIn: () => 0.01 }, async (ctx) => {
    runs.add(ctx.attempt)
    await opened
    throw new Error('by itself')
  })
  const Quick = t.hq.job('Quick', async (ctx) => quick.add(ctx.jid))
  const jid = (await J.performAsync()) as string
  await t.work({ concurrency: 2 })
  await runs.atLeast(1)
  await t.hq.store.cancellations.request(jid, Date.now())
  if (known) {
    await Quick.performAsync()
    await quick.atLeast(1)
  }
  open()
  await until(async () => (await t.hq.store.cancellations.among([jid])).length === 0)
  await t.settled()
  expect(runs.all).toEqual([1])
  expect(await t.hq.store.metrics.totals()).toMatchObject({
    ...nothing,
    processed: known ? 2 : 1,
    failed: known ? 0 : 1,
  })
})

test('a job whose event loop is blocked is signalled: it runs to its end', async () => {
  const t = bench()
  const blocker = new Blocker(t.url)
  const jid = (await t.hq.push({ class: 'Stuck', args: [blocker.file, 0] })) as string
  await blocker.waitFor('began')
  expect(await t.hq.cancel(jid)).toBe('signalled')
  blocker.release()
  await blocker.waitFor('ended')
  await t.settled()
  expect(await t.hq.store.metrics.totals()).toMatchObject({ ...nothing, processed: 1 })
  await until(async () => (await t.hq.store.cancellations.among([jid])).length === 0)
})

test('a job that was cancelled in a process that was killed does not run again', async () => {
  const t = bench()
  const child = new Child(t.url, { leaseSeconds: 30 })
  const [jid] = (await Promise.all([1, 2].map((n) => t.hq.push({ class: 'Deaf', args: [n, 60_000] })))) as [string]
  const ran = new Collector<number>()
  t.hq.job('Deaf', async (_ctx, n: number) => ran.add(n))
  await child.waitFor('began', 2)
  expect(await t.hq.cancel(jid)).toBe('signalled')
  child.kill('SIGKILL')
  await child.exited
  // Who gives the jobs back drops it, whoever would take it then.
  await t.work({ leaseSeconds: 1, queues: ['other'] })
  await until(async () => (await t.hq.store.metrics.totals()).fetched === 0)
  expect((await t.queue()).map(({ args }) => args[0])).toEqual([2])
  await t.work()
  await ran.atLeast(1)
  await t.settled()
  expect(ran.all).toEqual([2])
  expect(await t.hq.store.metrics.totals()).toMatchObject({ ...nothing, processed: 1 })
  await cancellationsGone(t, jid)
})

test('a cancelled job that its stopping worker requeued is dropped at the next fetch', async () => {
  const t = bench()
  const child = new Child(t.url, { timeout: 0.001 })
  const jid = (await t.hq.push({ class: 'Deaf', args: [1, 60_000] })) as string
  await child.waitFor('began')
  expect(await t.hq.cancel(jid)).toBe('signalled')
  child.kill('SIGTERM')
  await until(async () => (await t.hq.store.metrics.totals()).enqueued === 1)
  const ran = new Collector<number>()
  t.hq.job('Deaf', async () => ran.add(1))
  await t.work()
  await t.settled()
  expect(ran.all).toEqual([])
  expect(await t.hq.store.metrics.totals()).toMatchObject(nothing)
})

test('a job with a cancellation never runs: not from a queue, not on a waiting worker, not when it is due', async () => {
  const t = bench()
  const ran = new Collector<string>()
  const J = t.hq.job('J', async (_ctx, name: string) => ran.add(name))
  const jids = ['queued', 'scheduled', 'pushed'].map((name) => Buffer.from(name.padStart(12)).toString('hex'))
  for (const jid of jids) await t.hq.store.cancellations.request(jid, Date.now())
  await J.set({ jid: jids[0] as string }).performAsync('queued')
  await J.set({ jid: jids[1] as string, queue: 'unserved' }).performIn(0.05, 'scheduled')
  await t.work()
  await until(async () => (await t.hq.store.cancellations.among(jids)).length === 1)
  await t.settled()
  await J.set({ jid: jids[2] as string }).performAsync('pushed')
  await J.performAsync('other')
  await ran.atLeast(1)
  await until(async () => (await t.hq.store.cancellations.among(jids)).length === 0)
  await t.settled()
  expect(ran.all).toEqual(['other'])
  expect(await t.hq.store.metrics.totals()).toMatchObject({ ...nothing, processed: 1 })
  expect(t.log.lines.filter(({ message }) => message === 'dropped: cancelled')).toHaveLength(3)
})

test('an idle worker never starts a job that was cancelled before its push', async () => {
  const t = bench()
  const other = t.another()
  const ran = new Collector<number>()
  const J = t.hq.job('J', async (_ctx, n: number) => ran.add(n))
  await t.work()
  await J.performAsync(0)
  await ran.atLeast(1)
  for (let n = 1; n <= 15; n++) {
    // It waits again.
    await t.settled()
    const jid = Buffer.from(`job ${n}`.padStart(12)).toString('hex')
    await other.hq.store.cancellations.request(jid, Date.now())
    await other.hq.push({ class: 'J', args: [n], jid })
    await until(async () => (await other.hq.store.cancellations.among([jid])).length === 0)
  }
  await t.settled()
  expect(ran.all).toEqual([0])
})

test('a row of a task is cancelled wherever it is, and its task ends with exact counts', async () => {
  const t = bench()
  const { J, began } = patient(t, undefined, { queue: 'rows' })
  const task = await t.hq.tasks.create(J, [['running'], ['queued'], ['held'], ['held too'], ['last']], { window: 2 })
  const rows = await events(t, task.id)
  const [running, queued, held] = rows.map(({ jid }) => jid) as [string, string, string]
  await t.work({ queues: ['rows'], concurrency: 1 })
  await began.atLeast(1)
  expect(await t.hq.cancel(held)).toBe('requested')
  expect(await t.hq.cancel(queued)).toBe('removed')
  expect(await t.hq.cancel(running)).toBe('signalled')
  await began.atLeast(2)
  expect(began.all).toEqual(['running', 'held too'])
  for (const { jid } of rows.slice(3)) await t.hq.cancel(jid)
  const { counts, state } = await task.wait({ every: 10 })
  expect(state).toBe('done')
  expect(counts).toMatchObject({ cancelled: 5, finished: 0, failed: 0, error: 0 })
  for (const { status, code, messages, attempts, jid } of await events(t, task.id)) {
    expect({ status, code }).toEqual({ status: 'cancelled', code: 'cancelled' })
    expect(messages.at(-1)?.text).toBe('cancelled')
    expect(attempts).toBe(began.all.includes(rows.find((row) => row.jid === jid)?.args?.[0] as string) ? 1 : 0)
    expect(await t.hq.cancel(jid)).toBe('not-found')
  }
})

// -------------------------------------------------------------------------------------------------- races

/** Each job is cancelled at some moment of its life: what was answered is what happened. */
async function race(
  t: Bench,
  jids: string[],
  moment: () => Promise<unknown>,
  ran: Collector<string>,
  ended: Collector<string>,
) {
  const answers = new Map<string, string>()
  await Promise.all(
    jids.map(async (jid) => {
      await moment()
      const before = ended.all.includes(jid)
      const answer = await t.hq.cancel(jid)
      answers.set(jid, before ? `${answer} after its end` : answer)
    }),
  )
  await t.settled()
  for (const [jid, answer] of answers) {
    // One that was removed never ran; one that is not found had run.
    if (answer === 'removed') expect(ran.all).not.toContain(jid)
    else if (answer.startsWith('not-found')) expect(ended.all).toContain(jid)
    else expect(answer).toBe('signalled')
  }
  for (const jid of jids) expect(ran.all.filter((one) => one === jid).length).toBeLessThan(2)
  await until(async () => (await t.hq.store.cancellations.among(jids)).length === 0)
  return answers
}

const soon = (ms: number) => () => new Promise((resolve) => setTimeout(resolve, Math.random() * ms))

test('cancelling while jobs are fetched: each job is removed before it runs, or runs, or has run', async () => {
  const t = bench()
  const ran = new Collector<string>()
  const ended = new Collector<string>()
  const J = t.hq.job('J', async (ctx) => {
    ran.add(ctx.jid)
    await soon(5)()
    ended.add(ctx.jid)
  })
  const jids = (await J.performBulk(Array.from({ length: 150 }, () => []))) as string[]
  await t.work({ concurrency: 3 })
  const answers = await race(t, jids, soon(150), ran, ended)
  expect(new Set(answers.values())).toContain('removed')
})

test('cancelling while jobs are promoted misses no job', async () => {
  const t = bench()
  const ran = new Collector<string>()
  const ended = new Collector<string>()
  const J = t.hq.job('J', async (ctx) => {
    ran.add(ctx.jid)
    ended.add(ctx.jid)
  })
  t.hq.client.use(async (payload, next) => {
    await soon(3)()
    return next() ?? payload
  })
  await t.work({ concurrency: 3 })
  const jids = (await Promise.all(Array.from({ length: 60 }, () => J.performIn(0.1 + Math.random() / 5)))) as string[]
  await race(t, jids, soon(350), ran, ended)
  await until(async () => (await t.hq.store.jobSets.size('schedule')) === 0)
})

test('cancelling while jobs fail and are retried: no job starts again after the answer', async () => {
  const t = bench()
  const begun = new Collector<string>()
  const J = t.hq.job('J', { retryIn: () => 0.02 }, async (ctx) => {
    begun.add(ctx.jid)
    await soon(5)()
    throw new Error('again')
  })
  const jids = (await J.performBulk(Array.from({ length: 30 }, () => []))) as string[]
  await t.work({ concurrency: 4 })
  const answers = await Promise.all(
    jids.map(async (jid) => {
      await soon(400)()
      const answer = await t.hq.cancel(jid)
      return [answer, jid, begun.all.filter((one) => one === jid).length] as const
    }),
  )
  await until(async () => {
    const { enqueued, retries, fetched: taken } = await t.hq.store.metrics.totals()
    return enqueued + retries + taken === 0
  })
  for (const [answer, jid, runs] of answers) {
    expect(['removed', 'signalled']).toContain(answer)
    // A job that was fetched before the request may still have to begin.
    const more = begun.all.filter((one) => one === jid).length - runs
    expect(more).toBeLessThanOrEqual(answer === 'signalled' ? 1 : 0)
  }
  expect(await t.hq.store.jobSets.size('dead')).toBe(0)
})

test.each(['retry', 'queue'] as const)(
  'a job that moves during the search to where the search has been (%s) is found',
  async (to) => {
    const t = bench()
    const { store } = t.hq
    await store.workers.join('o', { queues: ['default'], seconds: 60, host: 'here' })
    const turn = { now: Date.now(), started: [], settlements: [], fetch: { queues: [], n: 0 } }
    const jid = (await t.hq.push({ class: 'J', args: [] })) as string
    const { fetched: taken } = await store.workers.settleAndFetch('o', {
      ...turn,
      fetch: { queues: ['default'], n: 1 },
    })
    const [job] = taken as [FetchedJob]
    const place =
      to === 'queue'
        ? { to, queue: 'default', text: job.text, end: 'front' as const }
        : { to, text: job.text, score: 1 }
    const settlements = [{ ...job, move: place, processed: 0 as const, failed: 0 as const }]
    // The store of the one who cancels: just before it asks what is taken, the job is put back.
    const slow = withReplaced(store, {
      workers: {
        fetched: async (page) => {
          expect((await store.workers.settleAndFetch('o', { ...turn, settlements })).settled).toEqual(['ok'])
          return store.workers.fetched(page)
        },
      },
    })
    const other = new Highkiq({ store: slow, logger: t.log })
    expect(await other.cancel(jid)).toBe('removed')
    expect(await store.metrics.totals()).toMatchObject(nothing)
  },
)

test('a job that fails during the search, and is due again before the search comes to the retries, is found', async () => {
  const t = bench()
  const { store } = t.hq
  await store.workers.join('o', { queues: ['default'], seconds: 60, host: 'here' })
  const call = { now: Date.now(), started: [], settlements: [], fetch: { queues: [], n: 0 } }
  const jid = (await t.hq.push({ class: 'J', args: [] })) as string
  const { fetched } = await store.workers.settleAndFetch('o', { ...call, fetch: { queues: ['default'], n: 1 } })
  const [{ text, ...job }] = fetched as [FetchedJob]
  const failed = { text, score: 1 }
  const again = { to: 'queue', queue: 'default', text, end: 'back' } as const
  let hasFailed = false
  const slow = withReplaced(store, {
    workers: {
      fetched: async (page) => {
        const settlements = [
          { ...job, move: { to: 'retry' as const, ...failed }, processed: 1 as const, failed: 1 as const },
        ]
        if (!hasFailed)
          expect((await store.workers.settleAndFetch('o', { ...call, settlements })).settled).toEqual(['ok'])
        hasFailed = true
        return store.workers.fetched(page)
      },
    },
    search: {
      scanSet: async (set, needle, page) => {
        if (hasFailed) await store.jobSets.swap('retry', [{ ...failed, to: again }], Date.now())
        return store.search.scanSet(set, needle, page)
      },
    },
  })
  const other = new Highkiq({ store: slow, logger: t.log })
  expect(await other.cancel(jid)).toBe('removed')
  expect(await store.metrics.totals()).toMatchObject({ ...nothing, processed: 1, failed: 1 })
})

test('two callers that cancel the same job at once both get the answer', async () => {
  const t = bench()
  const other = t.another()
  const { J, began } = patient(t)
  for (let n = 0; n < 10; n++) {
    const jid = (await J.performAsync('a')) as string
    const answers = await Promise.all([t.hq.cancel(jid), other.hq.cancel(jid)])
    expect(answers).toEqual(['removed', 'removed'])
  }
  expect(await Promise.all([t.hq.cancel('none'), other.hq.cancel('none')])).toEqual(['not-found', 'not-found'])
  const running = (await J.performAsync('b')) as string
  await t.work()
  await began.atLeast(1)
  expect(await Promise.all([t.hq.cancel(running), other.hq.cancel(running)])).toEqual(['signalled', 'signalled'])
  await t.settled()
  expect(await t.hq.store.metrics.totals()).toMatchObject({ ...nothing, processed: 1 })
})

async function events({ hq }: Bench, task: string) {
  const all = []
  for await (const event of hq.tasks.get(task).events()) all.push(event)
  return all
}
