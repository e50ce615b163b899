import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkerOptions } from 'highkiq'
import { expect, test } from 'vitest'
import { type Bench, bench, Collector, gate, storeOfSuite, until } from './bench.ts'

const QUICK = 3000
const CONCURRENCY = 2

/**
 * Starts a worker on many quick jobs, then two that block until `open` is called, then more quick ones, which have the jids
 * `held`. Resolves when both slots are blocked. `most` is the largest number of jobs that one call asked for.
 */
async function blocked(t: Bench, options: WorkerOptions = {}, more = 300) {
  const ran = new Collector<number>()
  const began = new Collector<number>()
  const { opened, open } = gate()
  const Quick = t.hq.job('Quick', { queue: 'a' }, async (_ctx, n: number) => ran.add(n))
  const Stuck = t.hq.job('Stuck', { queue: 'a' }, async (_ctx, n: number) => {
    began.add(n)
    await opened
  })
  const { workers } = t.hq.store
  const settleAndFetch = workers.settleAndFetch.bind(workers)
  const asked = { most: 0 }
  workers.settleAndFetch = (owner, step) => {
    asked.most = Math.max(asked.most, step.fetch.n)
    return settleAndFetch(owner, step)
  }
  await Quick.performBulk(Array.from({ length: QUICK }, (_, n) => [n]))
  await Stuck.performBulk([[1], [2]])
  const held = (await Quick.performBulk(Array.from({ length: more }, (_, n) => [QUICK + n]))).map(String)
  const worker = await t.work({ queues: ['a'], concurrency: CONCURRENCY, ...options })
  await began.atLeast(2)
  return { worker, ran, open, asked, held }
}

test("a worker fetches ahead while its jobs end quickly, and requeues jobs that can't start soon", async () => {
  const t = bench()
  const { worker, ran, open, asked } = await blocked(t)
  expect(asked.most).toBeGreaterThan(CONCURRENCY)
  const other = t.another()
  other.hq.job('Quick', { queue: 'a' }, async (_ctx, n: number) => ran.add(n))
  await other.work({ queues: ['a'] })
  // The jobs are not with the blocked worker any more, although both of its slots are still busy.
  await ran.atLeast(QUICK + 300)
  expect(worker.busy).toBe(2)
  open()
  await t.settled()
  expect(ran.all.toSorted((a, b) => a - b)).toEqual(Array.from({ length: QUICK + 300 }, (_, n) => n))
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: QUICK + 302, failed: 0 })
})

test('a quiet worker requeues the jobs that it fetched ahead, in their order', async () => {
  const t = bench()
  const { worker, open } = await blocked(t)
  const quiet = worker.quiet()
  open()
  await quiet
  await worker.stop()
  const left = (await t.queue('a')).map(({ args }) => args[0] as number)
  expect(left).toEqual(Array.from({ length: left.length }, (_, i) => QUICK + 300 - left.length + i))
  expect(await t.hq.store.metrics.totals()).toMatchObject({ fetched: 0, processed: QUICK + 302 - left.length })
})

test('a worker that serves queues in strict order, or in an order of the app, never fetches ahead', async () => {
  for (const options of [
    { queues: ['b', 'a'] },
    { fetchOrder: (names: readonly string[]) => names, queues: ['a', 'b,2'] },
  ]) {
    const t = bench()
    const { open, asked } = await blocked(t, options)
    expect(asked.most).toBe(CONCURRENCY)
    open()
    await t.settled()
  }
})

test('one slot runs quick and slow jobs in the order of the queue, also across stops', async () => {
  const t = bench()
  const ran: number[] = []
  const J = t.hq.job('J', { queue: 'a' }, async (_ctx, n: number) => {
    ran.push(n)
    if (n % 307 === 306) await sleep(130)
  })
  await J.performBulk(Array.from({ length: 3000 }, (_, n) => [n]))
  for (let stops = 0; stops < 4; stops++) {
    const worker = await t.work({ queues: ['a'], concurrency: 1 })
    const enough = 600 * (stops + 1)
    await until(() => ran.length >= enough)
    await worker.stop()
    expect(await t.hq.store.metrics.totals()).toMatchObject({ fetched: 0, processed: ran.length })
  }
  await t.work({ queues: ['a'], concurrency: 1 })
  await t.settled()
  expect(ran).toEqual(Array.from({ length: 3000 }, (_, n) => n))
})

test('one slot runs jobs in the order of the queue even if two calls are answered in another order', async () => {
  const t = bench()
  const ran = new Collector<number>()
  const J = t.hq.job('J', { queue: 'a' }, async (_ctx, n: number) => ran.add(n))
  await J.performBulk(Array.from({ length: QUICK }, (_, n) => [n]))
  Object.defineProperty(t.hq.store, 'maxConcurrentCalls', { value: 2 })
  const { workers } = t.hq.store
  const settleAndFetch = workers.settleAndFetch.bind(workers)
  let before: Promise<unknown> = Promise.resolve()
  let fetches = 0
  workers.settleAndFetch = async (owner, step) => {
    const answered = before.then(() => settleAndFetch(owner, step))
    before = answered
    const answer = await answered
    if (step.fetch.n > 0 && fetches++ % 2 === 0) await sleep(3)
    return answer
  }
  await t.work({ queues: ['a'], concurrency: 1 })
  await ran.atLeast(QUICK)
  expect(ran.all).toEqual(Array.from({ length: QUICK }, (_, n) => n))
})

/** With several calls at the same time. PostgreSQL takes one, because its connections keep no order. */
const inOrder = test.runIf(storeOfSuite() !== 'PostgreSQL')

inOrder('jobs of a call start after those of an earlier one although a call between them failed', async () => {
  const t = bench()
  const CALL = 20
  const ran = new Collector<number>()
  const J = t.hq.job('J', { queue: 'a' }, async (_ctx, n: number) => ran.add(n))
  await J.performBulk(Array.from({ length: 3 * CALL }, (_, n) => [n]))
  Object.defineProperty(t.hq.store, 'maxConcurrentCalls', { value: 3 })
  const { workers } = t.hq.store
  const settleAndFetch = workers.settleAndFetch.bind(workers)
  const { opened, open } = gate()
  let fetches = 0
  workers.settleAndFetch = async (owner, step) => {
    const number = step.fetch.n > 0 ? ++fetches : 0
    if (number === 2) throw new Error('no answer')
    const answer = await settleAndFetch(owner, step)
    if (number === 1) await opened
    // The worker reads this answer before the first one.
    if (number === 3) setImmediate(open)
    return answer
  }
  await t.work({ queues: ['a'], concurrency: 3 * CALL })
  await ran.atLeast(3 * CALL)
  expect(ran.all).toEqual(Array.from({ length: 3 * CALL }, (_, n) => n))
})

const NUMBERS = Array.from({ length: 40 }, (_, n) => n)

/**
 * Pushes the jobs of two calls at the same time. With the second call there is a new cancellation, and the first reading of it
 * fails. `answered` runs before the worker gets the answer of a call with this number.
 */
async function twoCalls(
  t: ReturnType<typeof bench>,
  run: (n: number) => void,
  answered: (number: number) => Promise<void>,
) {
  const J = t.hq.job('J', { queue: 'a' }, async (_ctx, n: number) => run(n))
  await J.performBulk(NUMBERS.map((n) => [n]))
  Object.defineProperty(t.hq.store, 'maxConcurrentCalls', { value: 2 })
  const { workers, cancellations } = t.hq.store
  const settleAndFetch = workers.settleAndFetch.bind(workers)
  const since = cancellations.since.bind(cancellations)
  const calls = { fetches: 0, failures: 0 }
  cancellations.since = async (version) => {
    if (calls.fetches < 2 || calls.failures++ > 0) return since(version)
    throw new Error('no answer')
  }
  workers.settleAndFetch = async (owner, step) => {
    const number = step.fetch.n > 0 ? ++calls.fetches : 0
    if (number === 2) await cancellations.request('another', Date.now())
    const answer = await settleAndFetch(owner, step)
    await answered(number)
    return answer
  }
  return calls
}

inOrder(
  'jobs start in the order of their calls also when cancellations could not be read after the first call',
  async () => {
    const t = bench()
    const ran = new Collector<number>()
    const { opened, open } = gate()
    const calls = await twoCalls(
      t,
      (n) => ran.add(n),
      async (number) => {
        if (number === 1) await opened
        // The worker reads this answer, with the new version, before the first one.
        if (number === 2) setImmediate(open)
      },
    )
    await t.work({ queues: ['a'], concurrency: NUMBERS.length })
    await ran.atLeast(NUMBERS.length)
    expect(calls.failures).toBeGreaterThan(0)
    expect(ran.all).toEqual(NUMBERS)
  },
)

inOrder(
  'a quiet worker requeues jobs in the order of their calls also when it could not read cancellations after the first call',
  async () => {
    const t = bench()
    const [first, second] = [gate(), gate()]
    const calls = await twoCalls(
      t,
      () => {},
      async (number) => {
        if (number === 1) await first.opened
        if (number !== 2) return
        second.open()
        // The worker reads this answer, with the new version, before the first one.
        await worker.quiet()
        setImmediate(first.open)
      },
    )
    const worker = await t.work({ queues: ['a'], concurrency: NUMBERS.length })
    await second.opened
    await worker.stop()
    expect(calls.failures).toBeGreaterThan(0)
    expect((await t.queue('a')).map(({ args }) => args[0])).toEqual(NUMBERS)
  },
)

test('one slot runs large jobs in the order of the queue, although an answer has room for only some of them', async () => {
  const t = bench()
  const ran = new Collector<number>()
  const J = t.hq.job('J', { queue: 'a' }, async (_ctx, n: number, _text: string) => ran.add(n))
  const jobs = Array.from({ length: 600 }, (_, n): [number, string] => [n, 'x'.repeat(30_000)])
  await J.performBulk(jobs)
  await t.work({ queues: ['a'], concurrency: 1 })
  await ran.atLeast(jobs.length)
  expect(ran.all).toEqual(jobs.map(([n]) => n))
})

test('the jobs of a call start while an earlier call still withdraws a cancellation', async () => {
  const t = bench()
  const ran = new Collector<number>()
  const J = t.hq.job('J', { queue: 'a' }, async (_ctx, n: number) => ran.add(n))
  const [jid] = await J.performBulk(Array.from({ length: QUICK }, (_, n) => [n]))
  Object.defineProperty(t.hq.store, 'maxConcurrentCalls', { value: 2 })
  const { workers, cancellations } = t.hq.store
  const { opened, open } = gate()
  const withdrawn = gate()
  const { withdraw } = cancellations
  cancellations.withdraw = async (...one) => {
    cancellations.withdraw = withdraw
    withdrawn.open()
    await opened
    return cancellations.withdraw(...one)
  }
  const settleAndFetch = workers.settleAndFetch.bind(workers)
  let hasSettled = false
  workers.settleAndFetch = async (owner, step) => {
    // The job has ended, and the worker does not know yet that it is cancelled.
    if (step.settlements.length > 0 && !hasSettled) {
      hasSettled = true
      await cancellations.request(String(jid), Date.now())
    }
    return settleAndFetch(owner, step)
  }
  await t.work({ queues: ['a'], concurrency: 1 })
  await withdrawn.opened
  await ran.atLeast(QUICK)
  open()
})

test('a job that waits for a slow job does not start after it was cancelled, or after its queue was paused', async () => {
  const t = bench()
  const { worker, open, ran } = await blocked(t, { concurrency: CONCURRENCY })
  const [next] = await t.queue('a')
  await t.hq.queue('a').pause()
  if (next) await t.hq.cancel(next.jid)
  const before = ran.all.length
  await sleep(30)
  open()
  await until(async () => worker.busy === 0 && (await t.hq.store.metrics.totals()).fetched === 0)
  expect(ran.all).toHaveLength(before)
})

test('a job that was cancelled after it was fetched ahead does not start when a wait ends without a new job', async () => {
  const t = bench()
  const { opened: cancelled, open: endWait } = gate()
  let openSlots = () => {}
  let isCancelled = false
  let hasEnded = false
  const { workers } = t.hq.store
  const waitForJobs = workers.waitForJobs.bind(workers)
  workers.waitForJobs = async (owner, queues, n, ms, signal) => {
    if (hasEnded) return waitForJobs(owner, queues, n, ms, signal)
    const either = new AbortController()
    signal.addEventListener('abort', () => either.abort())
    void cancelled.then(() => either.abort())
    const arrived = await waitForJobs(owner, queues, n, ms, either.signal)
    if (!isCancelled) return arrived
    // The slow jobs end before the call that follows the wait.
    hasEnded = true
    setImmediate(openSlots)
    return arrived
  }
  const { ran, open, held } = await blocked(t, {}, 20)
  for (const jid of held) await t.hq.cancel(jid)
  await sleep(30)
  openSlots = open
  isCancelled = true
  endWait()
  // On a slow machine the worker may have fetched none ahead, and then it does not wait.
  await sleep(100)
  open()
  await t.settled()
  expect(ran.all).toHaveLength(QUICK)
})

test('jobs that have a free slot start at once and are not requeued when a job with a priority was fetched, too', async () => {
  const t = bench()
  const JOBS = 60
  const ran = new Collector<number>()
  const J = t.hq.job('J', { queue: 'a' }, async (_ctx, n: number) => ran.add(n))
  await J.set({ priority: 5 }).performAsync(0)
  await J.performBulk(Array.from({ length: JOBS - 1 }, (_, n) => [n + 1]))
  // Two calls fetch, and both are answered before a job starts.
  Object.defineProperty(t.hq.store, 'maxConcurrentCalls', { value: 2 })
  const { workers } = t.hq.store
  const settleAndFetch = workers.settleAndFetch.bind(workers)
  const { opened, open } = gate()
  let fetches = 0
  let requeued = 0
  workers.settleAndFetch = async (owner, step) => {
    requeued += step.settlements.filter(({ move }) => move?.to === 'queue').length
    const answer = await settleAndFetch(owner, step)
    if (step.fetch.n === 0 || ++fetches > 2) return answer
    if (fetches === 2) open()
    await opened
    return answer
  }
  await t.work({ queues: ['a,1'], concurrency: JOBS })
  await ran.atLeast(JOBS)
  await t.settled()
  expect(requeued).toBe(0)
})

test('a job that has crashed its process starts when the worker holds no more jobs than it has slots', async () => {
  const t = bench()
  const CRASHED = 200
  const ran = new Collector<number>()
  const held = new Set<string>()
  let most = 0
  const Quick = t.hq.job('Quick', { queue: 'a' }, async (_ctx, n: number) => ran.add(n))
  t.hq.job('Crashed', { queue: 'a' }, async (_ctx, n: number) => {
    most = Math.max(most, held.size)
    ran.add(n)
  })
  const crashed = Array.from({ length: CRASHED }, (_, n) => ({
    to: 'queue' as const,
    queue: 'a',
    text: JSON.stringify({ class: 'Crashed', args: [QUICK + n], jid: `crashed-${n}`, retry: true, hk_crashes: 1 }),
    end: 'front' as const,
  }))
  const { workers, jobs } = t.hq.store
  const settleAndFetch = workers.settleAndFetch.bind(workers)
  let isRescued = false
  workers.settleAndFetch = async (owner, step) => {
    // Another worker rescues them while this one fetches ahead.
    if (step.fetch.n > CONCURRENCY && !isRescued) {
      isRescued = true
      await jobs.push(crashed, Date.now())
    }
    const answer = await settleAndFetch(owner, step)
    for (const { ticket } of step.settlements) held.delete(ticket)
    for (const { ticket, text } of answer.fetched) if (text.includes('hk_crashes')) held.add(ticket)
    return answer
  }
  await Quick.performBulk(Array.from({ length: QUICK }, (_, n) => [n]))
  await t.work({ queues: ['a'], concurrency: CONCURRENCY })
  await ran.atLeast(QUICK + CRASHED)
  await t.settled()
  expect(isRescued).toBe(true)
  expect(most).toBeLessThanOrEqual(CONCURRENCY)
  expect(ran.all.toSorted((a, b) => a - b)).toEqual(Array.from({ length: QUICK + CRASHED }, (_, n) => n))
})

test('a job that has crashed its process waits for the requeue of other jobs that was planned before it came', async () => {
  const t = bench()
  const JOBS = 60
  const MORE = JOBS * 2
  const ran = new Collector<number>()
  const slow = gate()
  const second = gate()
  const began = gate()
  let held = 0
  let most = 0
  const J = t.hq.job('J', { queue: 'a' }, async (_ctx, n: number) => ran.add(n))
  t.hq.job('Slow', { queue: 'a' }, () => {
    began.open()
    return slow.opened
  })
  t.hq.job('Crashed', { queue: 'a' }, () => {
    most = held
  })
  await t.hq.jobNamed('Slow').performAsync()
  const { workers, jobs } = t.hq.store
  const crashed = JSON.stringify({ class: 'Crashed', args: [], jid: 'crashed-1', retry: true, hk_crashes: 1 })
  await jobs.push([{ to: 'queue', queue: 'a', text: crashed, end: 'back' }], Date.now())
  await J.performBulk(Array.from({ length: MORE }, (_, n) => [n]))
  // The first call brings the slow job only. Two more are under way when the worker gets fewer slots.
  Object.defineProperty(t.hq.store, 'maxConcurrentCalls', { value: 2 })
  const settleAndFetch = workers.settleAndFetch.bind(workers)
  const setSlots = gate()
  let fetches = 0
  workers.settleAndFetch = async (owner, step) => {
    const number = step.fetch.n > 0 ? ++fetches : 0
    const fetch = number === 1 ? { ...step.fetch, n: 1 } : number === 2 ? { ...step.fetch, n: 0 } : step.fetch
    const answer = await settleAndFetch(owner, { ...step, fetch })
    held += answer.fetched.length - step.settlements.length
    if (number === 3) await setSlots.opened
    if (number === 4) await second.opened
    return answer
  }
  const worker = await t.work({ queues: ['a'], concurrency: JOBS })
  await began.opened
  await until(() => fetches >= 4)
  worker.set({ concurrency: 2 })
  setSlots.open()
  await sleep(20)
  slow.open()
  await sleep(20)
  second.open()
  await ran.atLeast(MORE)
  await t.settled()
  expect(most).toBeLessThanOrEqual(2)
})

test('a job that arrives while older jobs are requeued runs after these', async () => {
  const t = bench()
  const BEHIND = 20
  const ran = new Collector<number>()
  const { opened: pushed, open: notePushed } = gate()
  let isStuck = false
  let next = 0
  const J = t.hq.job('J', { queue: 'a' }, async (_ctx, n: number, isSlow?: boolean) => {
    ran.add(n)
    if (!isSlow) return
    isStuck = true
    // When the machine is slow, the worker may have fetched none ahead: then this is tried again.
    await Promise.race([pushed, sleep(300)])
    isStuck = false
  })
  const { workers } = t.hq.store
  const waitForJobs = workers.waitForJobs.bind(workers)
  let isPushed = false
  workers.waitForJobs = async (owner, queues, n, ms, signal) => {
    const arrived = await waitForJobs(owner, queues, n, ms, signal)
    if (!isStuck || !signal.aborted || isPushed) return arrived
    // The wait has ended because jobs are requeued, and gets this job all the same.
    isPushed = true
    await J.performAsync(next++)
    const step = { now: Date.now(), started: [], settlements: [], fetch: { queues, n: 1 } }
    const { fetched } = await workers.settleAndFetch(owner, step)
    notePushed()
    return fetched
  }
  await t.work({ queues: ['a'], concurrency: 1 })
  while (!isPushed) {
    const slow = next + QUICK
    await J.performBulk(Array.from({ length: QUICK + 1 + BEHIND }, () => [next, next++ === slow]))
    await ran.atLeast(next)
  }
  await ran.atLeast(next)
  expect(ran.all).toEqual(Array.from({ length: next }, (_, n) => n))
})
