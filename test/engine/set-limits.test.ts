import { HighkiqError } from 'highkiq'
import { expect, test } from 'vitest'
import { bench, Collector, gate, until } from './bench.ts'

/** A handler that counts the jobs that run at the same time, on all workers, and waits for a gate. */
function counter() {
  const began = new Collector<number>()
  let { opened, open } = gate()
  let running = 0
  let most = 0
  return {
    began,
    handler: async () => {
      most = Math.max(most, ++running)
      began.add(running)
      await opened
      running--
    },
    /** Returns the most jobs that ran at the same time since the last call. */
    most: () => {
      const was = most
      most = running
      return was
    },
    /** Lets the jobs end that run now. */
    release: () => {
      const was = open
      ;({ opened, open } = gate())
      was()
    },
  }
}

test('a limit that is set for a queue without one holds on two workers for the jobs that they fetch next', async () => {
  const t = bench()
  const other = bench({ url: t.url })
  const jobs = counter()
  for (const { hq } of [t, other]) hq.job('Mail', { queue: 'mail' }, jobs.handler)
  await Promise.all([t.work({ queues: ['mail'], concurrency: 5 }), other.work({ queues: ['mail'], concurrency: 5 })])
  for (let n = 0; n < 4; n++) await t.hq.push({ class: 'Mail', args: [], queue: 'mail' })
  await jobs.began.atLeast(4)
  jobs.release()
  await until(async () => (await t.hq.store.metrics.totals()).processed === 4)
  expect(jobs.most()).toBe(4)

  await t.hq.limits.set('queue:mail', { concurrency: 2 })
  for (let n = 0; n < 6; n++) await t.hq.push({ class: 'Mail', args: [], queue: 'mail' })
  await jobs.began.atLeast(6)
  await until(async () => (await t.hq.queue('mail').limited()) === 4)
  expect(await t.hq.limits.list()).toMatchObject([
    { id: 'queue:mail', kind: 'queue', concurrency: 2, used: 2, waiting: 4, set: { concurrency: 2, rate: null } },
  ])

  // More room: waiting jobs start although no slot was released.
  await t.hq.limits.set('queue:mail', { concurrency: 3 })
  await jobs.began.atLeast(7)
  expect(jobs.most()).toBe(3)
  expect(await t.hq.limits.reset('queue:mail')).toBe(true)
  await jobs.began.atLeast(10)
  jobs.release()
  await until(async () => (await t.hq.limits.list()).length === 0)
  expect(await t.hq.limits.reset('queue:mail')).toBe(false)
})

test('a limit that was set holds in a worker that starts later, and reset brings the number of the code back', async () => {
  const t = bench({ queues: { mail: { limit: { concurrency: 2 } } } })
  const jobs = counter()
  t.hq.job('Mail', { queue: 'mail' }, jobs.handler)
  await t.hq.limits.set('queue:mail', { concurrency: 1 })
  const first = await t.work({ queues: ['mail'], concurrency: 5 })
  for (let n = 0; n < 5; n++) await t.hq.push({ class: 'Mail', args: [], queue: 'mail' })
  await until(async () => (await t.hq.queue('mail').limited()) === 4)
  expect(jobs.began.all).toHaveLength(1)
  const stopped = first.stop()
  jobs.release()
  await stopped

  const again = bench({ url: t.url, queues: { mail: { limit: { concurrency: 2 } } } })
  again.hq.job('Mail', { queue: 'mail' }, jobs.handler)
  await again.work({ queues: ['mail'], concurrency: 5 })
  await jobs.began.atLeast(2)
  expect((await again.hq.limits.list())[0]).toMatchObject({ concurrency: 1, code: { concurrency: 2 }, waiting: 3 })
  await again.hq.limits.reset('queue:mail')
  await jobs.began.atLeast(3)
  expect((await again.hq.limits.list())[0]).toMatchObject({ concurrency: 2, set: null, used: 2 })
  jobs.release()
  await jobs.began.atLeast(5)
  expect(jobs.most()).toBe(2)
  jobs.release()
})

test('a limit of all jobs and one of a class can be set without the code, and each number alone', async () => {
  const t = bench()
  const jobs = counter()
  for (const name of ['A', 'B']) t.hq.job(name, jobs.handler)
  await t.hq.limits.set('app', { concurrency: 3 })
  await t.hq.limits.set('job:A', { concurrency: 1 })
  await t.work({ concurrency: 10 })
  for (const name of 'AAABBB') await t.hq.push({ class: name, args: [] })
  await until(async () => (await t.hq.stats()).limited === 3)
  const listed = await t.hq.limits.list()
  expect(listed.map(({ id, used, concurrency }) => [id, used, concurrency])).toEqual([
    ['app', 3, 3],
    ['job:A', 1, 1],
  ])
  await t.hq.limits.set('job:A', { rate: 1, per: '1h', burst: 2 })
  expect((await t.hq.limits.list())[1]?.set).toEqual({ concurrency: 1, rate: 1, per: 3600, burst: 2 })
  await t.hq.limits.set('job:A', { rate: null, burst: null })
  expect((await t.hq.limits.list())[1]?.set).toEqual({ concurrency: 1, rate: null, per: null, burst: null })
  await t.hq.limits.set('app', { concurrency: null })
  jobs.release()
  await jobs.began.atLeast(4)
  jobs.release()
  await jobs.began.atLeast(5)
  jobs.release()
  await jobs.began.atLeast(6)
  jobs.release()
  await t.settled()
  expect(await t.hq.limits.reset('job:A')).toBe(true)
  expect(await t.hq.limits.list()).toEqual([])
})

test('slots that a limit of a rate gets by hq.limits.set are released, those of within, too', async () => {
  const t = bench()
  const jobs = counter()
  const limit = { rate: 1000, per: 1, burst: 50 } as const
  const api = t.hq.limit('api', limit)
  t.hq.job('Rated', { limit }, jobs.handler)
  t.hq.job('Part', async (ctx) => api.within(ctx, { wait: 60 }, jobs.handler))
  for (const id of ['job:Rated', 'shared:api']) await t.hq.limits.set(id, { concurrency: 1 })
  for (const name of ['Rated', 'Rated', 'Part', 'Part']) await t.hq.push({ class: name, args: [] })
  await t.work({ concurrency: 4 })
  await jobs.began.atLeast(2)
  expect((await t.hq.limits.list()).map(({ used }) => used)).toEqual([1, 1])
  jobs.release()
  await jobs.began.atLeast(4)
  jobs.release()
  await t.settled()
  expect((await t.hq.limits.list()).map(({ used, waiting }) => used + waiting)).toEqual([0, 0])
})

test('two numbers that are set at the same time both hold, and of two resets one finds them', async () => {
  const t = bench()
  const other = bench({ url: t.url })
  await Promise.all([
    t.hq.limits.set('queue:mail', { concurrency: 5 }),
    other.hq.limits.set('queue:mail', { rate: 9, per: 1 }),
  ])
  expect((await t.hq.limits.list())[0]?.set).toEqual({ concurrency: 5, rate: 9, per: 1, burst: null })
  const resets = await Promise.all([t, other].map(({ hq }) => hq.limits.reset('queue:mail')))
  expect(resets.toSorted()).toEqual([false, true])
})

test('a burst is refused for a limit with a window that is in use', async () => {
  const t = bench()
  const jobs = counter()
  t.hq.job('Mail', { limit: { concurrency: 5, rate: 5, per: '1h', window: 'sliding' } }, jobs.handler)
  await t.hq.push({ class: 'Mail', args: [] })
  await t.work()
  await jobs.began.atLeast(1)
  const set = t.hq.limits.set('job:Mail', { rate: 9, per: '1h', burst: 5 })
  await expect(set).rejects.toThrow('hq.limits.set job:Mail: burst has no meaning with the window of the limit')
  jobs.release()
})

test('a limit that a later version has set is reported once and stops no worker', async () => {
  const t = bench()
  const jobs = counter()
  t.hq.job('Mail', jobs.handler)
  await t.hq.store.limits.change('tenant:acme', { max: 1 })
  await t.work()
  await t.hq.push({ class: 'Mail', args: [] })
  await jobs.began.atLeast(1)
  jobs.release()
  // Again: each change makes workers read all names.
  await t.hq.limits.set('app', { concurrency: 1 })
  for (let n = 0; n < 2; n++) await t.hq.push({ class: 'Mail', args: [] })
  await jobs.began.atLeast(2)
  await until(async () => (await t.hq.stats()).limited === 1)
  expect(t.errors.map(({ error, about }) => [error.code, error.message, about.during])).toEqual([
    ['STORE_UNUSABLE', expect.stringMatching(/^a limit "tenant:acme" is set that this version/), expect.any(String)],
  ])
  expect((await t.hq.limits.list()).map(({ id }) => id)).toEqual(['app'])
  jobs.release()
  await jobs.began.atLeast(3)
  jobs.release()
})

test('wrong names and numbers are refused with what is right', async () => {
  const { hq } = bench()
  const set = (settings: unknown, id = 'queue:mail') => hq.limits.set(id, settings as never)
  const named = 'hq.limits: name a limit as app (all jobs), queue:NAME, job:NAME, job:NAME#2 or shared:NAME (got'
  for (const id of ['mail', 'queue:', 'all:x', 'App', '']) {
    await expect(set({ concurrency: 1 }, id)).rejects.toThrow(`${named} ${JSON.stringify(id)})`)
  }
  for (const id of [`queue:${'x'.repeat(30_000)}`, `job:${'#2'.repeat(15_000)}`, `shared:${'x'.repeat(1001)}`]) {
    await expect(set({ concurrency: 1 }, id)).rejects.toThrow('hq.limits: a name must have at most 1,000 characters')
    await expect(hq.limits.reset(id)).rejects.toThrow('hq.limits: a name must have at most 1,000 characters')
  }
  await expect(set({})).rejects.toThrow('hq.limits.set queue:mail needs a number, as in { concurrency: 5 }')
  await expect(set({ concurrency: 0 })).rejects.toThrow('concurrency must be a whole number above 0, or null (got 0)')
  await expect(set({ rate: 5 })).rejects.toThrow('needs rate and per together')
  await expect(set({ per: 5 })).rejects.toThrow('needs rate and per together')
  await expect(set({ rate: 10_001, per: 1 })).rejects.toThrow('rate must be at most 10,000 jobs in a second')
  await expect(set({ burst: 5 })).rejects.toThrow('hq.limits.set queue:mail: burst needs a rate that is set, too')
  expect(await hq.limits.list()).toEqual([])
  await expect(set({ window: 'fixed' })).rejects.toThrow('there is no option window')
  await hq.limits.set('job:Two#2', { concurrency: 2 })
  await hq.limits.set('queue:a:b c#3', { concurrency: 2 })
  expect((await hq.limits.list()).map(({ id, position }) => [id, position])).toEqual([
    ['job:Two#2', 2],
    ['queue:a:b c#3', 1],
  ])
})

test.each(['job', 'within'])(
  'a slot of a limit that was only set is free again after the answer of the store was lost (%s)',
  async (kind) => {
    const t = bench()
    const { limits } = t.hq.store
    const { acquire } = limits
    let lost = 0
    limits.acquire = async (...request) => {
      const answer = await acquire.call(limits, ...request)
      if (lost++ === 0) throw new HighkiqError('STORE_UNREACHABLE', 'the answer was lost')
      return answer
    }
    const ended = new Collector<string>()
    const api = t.hq.limit('api', { rate: 100, per: '1s' })
    t.hq.job('Mail', { queue: 'mail' }, async ({ jid }) => void ended.add(jid))
    t.hq.job('Call', async (ctx) => {
      await expect(api.within(ctx, () => {})).rejects.toThrow('the answer was lost')
      ended.add(ctx.jid)
    })
    await t.hq.limits.set(kind === 'job' ? 'queue:mail' : 'shared:api', { concurrency: 1 })
    await t.work({ queues: ['default', 'mail'] })
    const jid = await t.hq.push(
      kind === 'job' ? { class: 'Mail', args: [], queue: 'mail' } : { class: 'Call', args: [] },
    )
    expect(await ended.atLeast(1)).toEqual([jid])
    await until(async () => (await t.hq.limits.list()).every(({ used }) => used === 0))
  },
)
