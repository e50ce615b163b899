import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { type Bench, bench, Child, Collector, gate, until } from './bench.ts'
import { Blocker } from './blocker.ts'

/** What a lease guarantees, on any store that processes share. `makeUrl` answers the URL of an empty one. */
export function leaseCases(title: string, makeUrl: () => string | Promise<string>): void {
  const onStore = async () => bench({ url: await makeUrl() })

  describe(`stopped processes on ${title}`, () => {
    test('a process that was stopped for three leases loses its jobs; continued, its late settlement is refused, it works as a new owner, and no block is reported', async () => {
      const t = await onStore()
      const ran = new Collector<number>()
      t.hq.job('Deaf', async (_ctx, n: number) => ran.add(n))
      await t.hq.push({ class: 'Deaf', args: [1, 1000] })
      await t.hq.push({ class: 'Deaf', args: [2, 60_000] })
      const child = new Child(t.url, { concurrency: 2 })
      await child.waitFor('began', 2)
      await child.freeze(t)
      const swept = sweepsOf(t)
      const here = await t.work({ leaseSeconds: 1 })
      expect([...(await ran.atLeast(2))].sort()).toEqual([1, 2])
      await t.settled()
      await swept(THREE_LEASES)
      await here.stop()
      child.kill('SIGCONT')
      await child.waitFor('ended')
      const errors = await child.waitFor('error', 2)
      expect(errors.map(({ code }) => code)).toEqual(['LEASE_LOST', 'LEASE_LOST'])
      expect(errors.map(({ message }) => message)).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/its end was not recorded/),
          expect.stringMatching(/continues as a new owner/),
        ]),
      )
      // It has all its slots again, though one of its old handlers goes on for a minute.
      for (const n of [3, 4]) await t.hq.push({ class: 'Quick', args: [n] })
      expect((await child.waitFor('ran', 2)).map(({ n }) => n)).toEqual([3, 4])
      await t.settled()
      expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 4, failed: 0, retries: 0, dead: 0 })
      // Its thread has looked often enough to be mistaken.
      await renewals(t, 4)
      expect(child.all('warned')).toEqual([])
    })

    test('the time in which a process was stopped does not count as blocked', async () => {
      const t = await onStore()
      const ran = new Collector<string>()
      t.hq.job('Stuck', async (ctx) => ran.add(ctx.jid))
      const child = new Blocker(t.url)
      const lines = child.readStderr()
      // So that its thread looks by now.
      await renewals(t, 2)
      const jid = await t.hq.push({ class: 'Stuck', args: [child.file, 200] })
      await child.waitFor('began')
      // A look at least, and less than it takes to be called blocked.
      await sleep(300)
      await child.freeze(t)
      const swept = sweepsOf(t)
      const here = await t.work({ leaseSeconds: 1 })
      expect(await ran.atLeast(1)).toEqual([jid])
      await t.settled()
      await swept(THREE_LEASES)
      await here.stop()
      // Its thread wakes up with it, and sees at once how long nothing has changed.
      child.kill('SIGCONT')
      child.release()
      expect((await child.waitFor('error', 2)).map(({ code }) => code)).toEqual(['LEASE_LOST', 'LEASE_LOST'])
      await renewals(t, 4)
      expect([lines, child.all('warned')]).toEqual([[], []])
      expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0, fetched: 0 })
    })

    test('a process that was stopped keeps no result of a job that another process has settled', async () => {
      const t = await onStore()
      t.hq.job('StuckWithResult', { keepResult: 60 }, async () => 'new')
      const child = new Blocker(t.url)
      const jid = (await t.hq.push({ class: 'StuckWithResult', args: [child.file] })) as string
      await child.waitFor('began')
      await child.freeze(t)
      const here = await t.work({ leaseSeconds: 1 })
      expect(await t.hq.result(jid)).toBe('new')
      await t.settled()
      await here.stop()
      child.release()
      child.kill('SIGCONT')
      await child.waitFor('error', 2)
      await t.hq.push({ class: 'Quick', args: [1] })
      await child.waitFor('ran')
      expect(await t.hq.result(jid, { timeout: 0 })).toBe('new')
    })

    test('a process that was stopped saves no cursor of an iterable job that another process has ended', async () => {
      const t = await onStore()
      t.hq.iterable('StuckItems', { enumerate: () => [[0, 0]], each() {} })
      const child = new Blocker(t.url)
      const jid = (await t.hq.push({ class: 'StuckItems', args: [child.file] })) as string
      await child.waitFor('began')
      await child.freeze(t)
      const here = await t.work({ leaseSeconds: 1 })
      await until(async () => (await t.hq.store.metrics.totals()).processed === 1)
      await here.stop()
      expect(await t.hq.iteration(jid)).toBeNull()
      child.release()
      child.kill('SIGCONT')
      await child.waitFor('ended')
      await t.hq.push({ class: 'Quick', args: [1] })
      await child.waitFor('ran')
      expect(await t.hq.iteration(jid)).toBeNull()
    })

    test('a process that is frozen while it starts 200 jobs starts none that others have settled', async () => {
      const t = await onStore()
      const ran = new Collector<string>()
      for (const name of ['Quick', 'Stuck']) t.hq.job(name, async (ctx) => ran.add(ctx.jid))
      const numbers = [...Array(200).keys()].map((n) => [n])
      const child = new Blocker(t.url, { concurrency: 400 })
      // The worker begins when all jobs are there: one fetch brings them, and the 50th handler does not return.
      child.kill('SIGSTOP')
      await t.hq.pushBulk({ class: 'Quick', args: numbers.slice(0, 49) })
      await t.hq.push({ class: 'Stuck', args: [child.file] })
      await t.hq.pushBulk({ class: 'Quick', args: numbers.slice(50) })
      child.kill('SIGCONT')
      await child.waitFor('began')
      await child.waitFor('ran', 49)
      await child.freeze(t)
      const here = await t.work({ leaseSeconds: 1 })
      await ran.atLeast(200)
      await t.settled()
      await here.stop()
      child.release()
      child.kill('SIGCONT')
      await child.waitFor('error', 2)
      await t.hq.push({ class: 'Quick', args: [200] })
      await t.settled()
      expect(child.all('ran').map(({ n }) => n)).toEqual([...Array(49).keys(), 200])
      expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 201, failed: 0, retries: 0, dead: 0 })
    })

    test('a process that lost its lease with all slots busy fetches jobs again without waiting for its old handlers', async () => {
      const t = await onStore()
      const ran = new Collector<number>()
      t.hq.job('Deaf', async (_ctx, n: number) => ran.add(n))
      await t.hq.push({ class: 'Deaf', args: [1, 60_000] })
      const child = new Child(t.url, { concurrency: 1 })
      await child.waitFor('began')
      await child.freeze(t)
      const here = await t.work({ leaseSeconds: 1 })
      await ran.atLeast(1)
      await t.settled()
      await here.stop()
      child.kill('SIGCONT')
      await t.hq.push({ class: 'Quick', args: [2] })
      expect(await child.waitFor('ran')).toMatchObject([{ n: 2 }])
      await t.settled()
      expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 2, failed: 0 })
    })
  })

  describe(`claimed leases on ${title}`, () => {
    test.each([
      ['a job that succeeds', 'succeeds'],
      ['a job that fails', 'fails'],
      ['a row of a task', 'row'],
    ])(
      'the store refuses the end of %s whose owner was claimed, and the worker fetches the next job as a new owner',
      async (_, kind) => {
        const t = await onStore()
        const began = new Collector<string>()
        const owners = new Collector<string | undefined>()
        const { opened, open } = gate()
        const Held = t.hq.job('Held', async (ctx) => {
          began.add(ctx.jid)
          await opened
          if (kind === 'fails') throw new Error('it fails')
        })
        t.hq.job('Next', async ({ jid }) => {
          const { items } = await t.hq.store.workers.fetched({ limit: 9 })
          owners.add(items.find(({ text }) => text.includes(jid))?.owner)
        })
        const task = kind === 'row' ? await t.hq.tasks.create(Held, [[]]) : undefined
        if (!task) await Held.performAsync()
        // The lease thread does not renew before the test is over: only the store can tell the worker.
        const worker = await t.work({ concurrency: 1, leaseSeconds: 60 })
        await began.atLeast(1)
        if (task) await until(async () => (await task.status())?.counts.working === 1)
        const claimed = `${worker.identity}.0`
        expect(await t.hq.store.workers.claim(claimed)).toBe(true)
        await t.hq.push({ class: 'Next', args: [] })
        // One call settles the job and fetches the next one.
        open()
        expect(await owners.atLeast(1)).toEqual([`${worker.identity}.1`])
        await began.atLeast(2)
        await t.settled()
        expect(t.errors.filter(({ error }) => error.code === 'LEASE_LOST').map(({ error }) => error.message)).toEqual([
          expect.stringMatching(/its end was not recorded/),
          expect.stringMatching(/continues as a new owner/),
        ])
        const failed = kind === 'fails' ? 1 : 0
        expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 2, failed, retries: failed, dead: 0 })
      },
    )
  })

  describe(`blocked event loops on ${title}`, () => {
    test('a handler that blocks the event loop for three leases keeps its job: other workers do not rescue it', async () => {
      const t = await onStore()
      const ran = new Collector<string>()
      const swept = sweepsOf(t)
      t.hq.job('Stuck', async () => ran.add('here'))
      const child = new Blocker(t.url)
      await t.hq.push({ class: 'Stuck', args: [child.file] })
      await child.waitFor('began')
      await t.work({ leaseSeconds: 1 })
      await swept(THREE_LEASES)
      child.release()
      await child.waitFor('ended')
      await until(async () => (await t.hq.store.metrics.totals()).processed === 1)
      expect(child.all('began')).toHaveLength(1)
      expect(child.all('error')).toEqual([])
      expect(ran.all).toEqual([])
      expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0, enqueued: 0, fetched: 0 })
      expect(t.log.lines).toEqual([])
    })

    test('a blocking job is named at growing intervals while it blocks; afterwards the app logs how long it took', async () => {
      const t = await onStore()
      const child = new Blocker(t.url)
      const jid = await t.hq.push({ class: 'Stuck', args: [child.file] })
      const lines = await child.waitForWarning(/^event loop blocked/, 2)
      expect(child.all('ended')).toEqual([])
      expect(child.all('warned')).toEqual([])
      const message = expect.stringMatching(new RegExp(`^event loop blocked \\d+ s in job ${jid} of class Stuck$`))
      expect(lines).toMatchObject([
        { level: 40, pid: child.process.pid, jid, class: 'Stuck', msg: message },
        { jid, msg: message },
      ])
      const [first = {}, second = {}] = lines
      expect(second.blockedSeconds).toBeGreaterThan(first.blockedSeconds as number)
      child.release()
      const [warned] = await child.waitFor('warned')
      expect(warned).toMatchObject({ jid, class: 'Stuck' })
      expect(warned?.message).toMatch(new RegExp(`^event loop was blocked \\d+ s in job ${jid} of class Stuck$`))
    })

    test('when a handler blocks after an await, all running jobs are named as likely causes', async () => {
      const t = await onStore()
      const child = new Blocker(t.url)
      const waits = await t.hq.push({ class: 'Waiting', args: [] })
      await child.waitFor('waits')
      const stuck = await t.hq.push({ class: 'StuckLater', args: [child.file] })
      const [line] = await child.waitForWarning(/^event loop blocked/)
      expect(line).not.toHaveProperty('jid')
      expect(line?.running).toHaveLength(2)
      expect(line?.running).toEqual(
        expect.arrayContaining([
          { jid: waits, class: 'Waiting' },
          { jid: stuck, class: 'StuckLater' },
        ]),
      )
      expect(line?.msg).toMatch(/^event loop blocked \d+ s, most likely in one of the 2 running jobs: /)
    })

    test('a worker that blocks longer than maxBlockSeconds loses its jobs: they run on other workers, and its late settlement is refused and reported', async () => {
      const t = await onStore()
      const ran = new Collector<string>()
      t.hq.job('Stuck', async (ctx) => ran.add(ctx.jid))
      const child = new Blocker(t.url, { maxBlockSeconds: 2 })
      const jid = await t.hq.push({ class: 'Stuck', args: [child.file] })
      await child.waitFor('began')
      const here = await t.work({ leaseSeconds: 1 })
      const [line] = await child.waitForWarning(/is no longer renewed/)
      expect(line).toMatchObject({ jid, class: 'Stuck' })
      expect(await ran.atLeast(1)).toEqual([jid])
      await t.settled()
      await here.stop()
      expect(child.all('ended')).toEqual([])
      child.release()
      await child.waitFor('ended')
      const errors = await child.waitFor('error', 2)
      expect(errors.map(({ code }) => code)).toEqual(['LEASE_LOST', 'LEASE_LOST'])
      expect(errors.map(({ message }) => message)).toContainEqual(expect.stringMatching(/its end was not recorded/))
      // It works on, as a new owner.
      await t.hq.push({ class: 'Quick', args: [2] })
      await child.waitFor('ran')
      await t.settled()
      expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 2, failed: 0, retries: 0, dead: 0 })
    })

    test('a worker that stopped renewing keeps its jobs if no other worker claimed them', async () => {
      const t = await onStore()
      const child = new Blocker(t.url, { maxBlockSeconds: 1 })
      await t.hq.push({ class: 'Stuck', args: [child.file] })
      await child.waitForWarning(/is no longer renewed/)
      await until(async () => (await t.hq.store.workers.leases()).every(({ ended }) => ended))
      child.release()
      await t.settled()
      expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0 })
      expect(child.all('error')).toEqual([])
      expect((await t.hq.store.workers.leases()).map(({ claimed }) => claimed)).toEqual([false])
    })

    test('a worker that blocks past the deadline of its stop loses its jobs to other workers', async () => {
      const t = await onStore()
      const ran = new Collector<string>()
      t.hq.job('StuckWhenStopping', async (ctx) => ran.add(ctx.jid))
      const child = new Blocker(t.url, { timeout: 0.1 })
      const jid = await t.hq.push({ class: 'StuckWhenStopping', args: [child.file] })
      await child.waitFor('waits')
      child.kill('SIGTERM')
      await child.waitFor('began')
      await t.work({ leaseSeconds: 1 })
      expect(await ran.atLeast(1)).toEqual([jid])
      child.release()
      expect(await child.exited).toEqual({ code: 0, signal: null })
      await t.settled()
      expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0 })
    })

    test('a process that blocks because its log is not read keeps its job', async () => {
      const t = await onStore()
      const ran = new Collector<string>()
      const swept = sweepsOf(t)
      t.hq.job('Flood', async () => ran.add('here'))
      const child = new Blocker(t.url)
      await t.hq.push({ class: 'Flood', args: [] })
      await child.waitFor('began')
      await t.work({ leaseSeconds: 1 })
      await swept(THREE_LEASES)
      expect(child.all('ended')).toEqual([])
      child.readStderr()
      await child.waitFor('ended')
      await t.settled()
      expect(ran.all).toEqual([])
      expect(child.all('error')).toEqual([])
    })
  })
}

/** The looks in three leases of one second, of a worker without a random part: it looks every 150 ms. */
const THREE_LEASES = 20

/** Resolves when the workers of this bench have looked for lost leases as many times from now on. */
function sweepsOf({ hq }: Bench): (n: number) => Promise<void> {
  const looks = vi.spyOn(hq.store.workers, 'unrenewed')
  return (n) => until(() => looks.mock.calls.length >= n)
}

/** Resolves when the one lease that holds was seen to be renewed `n` times. */
async function renewals({ hq }: Bench, n: number): Promise<void> {
  const ends = new Set<number>()
  await until(async () => {
    for (const lease of await hq.store.workers.leases()) if (!lease.claimed) ends.add(lease.ends)
    return ends.size > n
  })
}
