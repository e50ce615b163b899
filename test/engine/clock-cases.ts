import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { PushItem } from '#dist/store/contract.js'
import { pathOf } from '../programs/program.ts'
import { faketime } from '../redis/program.ts'
import { bench, Collector, promptly, until } from './bench.ts'

const OWNERS = 24
const LEASE_SECONDS = 2

/** A program that runs with a clock of its own. */
export interface ClockedProgram {
  /** A folder with the program, under its own name; everybody may read it. */
  folder: string
  path: string
  /** Sets its clock, in seconds from now. */
  setClock(seconds: number): void
}

/** Makes a program that runs the one at `path` with a clock that is set later. */
export function withClock(path: string, name: string): ClockedProgram {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-clock-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o755)
  const setClock = (seconds: number) => writeFileSync(join(folder, 'clock'), `${seconds >= 0 ? '+' : ''}${seconds}`)
  setClock(0)
  const environment = spawnSync(pathOf(faketime) as string, ['-f', '+0', 'env'], { encoding: 'utf8' }).stdout
  const [, library] = /^LD_PRELOAD=(.*)$/m.exec(environment) ?? []
  const program = join(folder, name)
  // Only the time of day changes, as when an administrator sets it; the monotonic clock stays. Without libc's own
  // malloc before it, jemalloc asks for the time before the library can answer.
  const variables = `LD_PRELOAD='${library}:libc.so.6' FAKETIME_TIMESTAMP_FILE='${folder}/clock' FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1`
  writeFileSync(program, `#!/bin/sh\n${variables} exec ${path} "$@"\n`)
  chmodSync(program, 0o755)
  return { folder, path: program, setClock }
}

/** The cases that set the clock of a server. `start` starts a server: call it first in a test, so that the server ends last. */
export function clockCases(start: () => Promise<{ url: string; setClock(seconds: number): void }>): void {
  test('24 owners keep their leases, and the jobs of dead ones run again, when the clock goes forward and back', async () => {
    const { url, setClock } = await start()
    const t = bench({ url })
    const ran = new Collector<string>()
    t.hq.job('J', (_ctx, name: string) => ran.add(name))
    const { store } = t.hq
    await store.open()
    const lost: string[] = []
    /** Starts an owner on another machine, and returns a function that ends its renewals. */
    const live = async (name: string, queue: string) => {
      await store.workers.join(name, { queues: [queue], seconds: LEASE_SECONDS, host: 'elsewhere\n1 1' })
      const renew = async () => {
        if (!(await store.workers.renew(name, LEASE_SECONDS))) lost.push(name)
      }
      const timer = setInterval(renew, (LEASE_SECONDS * 1000) / 3)
      const end = () => clearInterval(timer)
      onTestFinished(end)
      return end
    }
    const steps = [
      ['forward', 60],
      ['back', -3600],
    ] as const
    const dying = new Map<string, () => void>()
    for (const [name] of steps) {
      dying.set(name, await live(name, name))
      await t.hq.push({ class: 'J', args: [name], queue: name })
      const take = { queues: [name], n: 1 }
      const { fetched: taken } = await store.workers.settleAndFetch(name, {
        now: Date.now(),
        started: [],
        settlements: [],
        fetch: take,
      })
      expect(taken).toHaveLength(1)
    }
    for (let i = 0; i < OWNERS; i++) await live(`owner ${i}`, 'default')

    // The holder of the lock `rescue` died just before the clock was set back.
    expect(await store.workers.acquireLock('rescue', 'dead', LEASE_SECONDS / 2)).toBe(true)
    setClock(-3600)
    for (let i = 0; i < 2; i++) {
      await t.work({ leaseSeconds: LEASE_SECONDS, concurrency: 1, queues: ['forward', 'back'] })
    }
    for (const [name, seconds] of steps) {
      expect(ran.all).not.toContain(name)
      dying.get(name)?.()
      setClock(seconds)
      // By the server's clock the lease would hold for an hour.
      await promptly(
        2 * LEASE_SECONDS,
        until(() => ran.all.includes(name)),
      )
    }
    expect(ran.all).toEqual(['forward', 'back'])
    expect(lost).toEqual([])
    const owners = (await store.workers.leases()).filter(({ owner }) => owner.startsWith('owner '))
    expect(owners.map(({ claimed }) => claimed)).toEqual(Array.from({ length: OWNERS }, () => false))
    expect(t.errors.filter(({ error }) => error.code === 'LEASE_LOST')).toEqual([])
  })

  test('a process whose clock is half a year ahead removes nothing that others keep', async () => {
    const { url } = await start()
    const t = bench({ url })
    const { store } = t.hq
    const Done = t.hq.job('Done', { keepFinished: true, unique: { for: '1h' } }, () => {})
    const Dies = t.hq.job('Dies', { retry: 0 }, () => {
      throw new Error('no')
    })
    const { newest } = await store.events.record(null, Date.now())
    const jid = await Done.performAsync()
    await Dies.performAsync()
    const push = (more: Pick<PushItem, 'once' | 'unique'>) =>
      store.jobs.push([{ to: 'queue', queue: 'other', text: '{}', end: 'back', ...more }], Date.now())
    await push({ once: 'repeated' })
    await store.cancellations.request('order-7', Date.now())
    const bid = await t.hq.batch({}, () => {})
    await t.hq.job('Tracked', { track: true }, () => {}).performAsync()
    await t.hq.job('Deferred', { track: true }, (ctx) => void ctx.defer()).performAsync()
    const worker = await t.work()
    await until(async () => (await store.metrics.totals()).processed === 4)
    await worker.stop()
    const before = await store.events.record(null, Date.now())
    expect(before.newest).toBeGreaterThan(newest)

    const realNow = Date.now
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => realNow() + 190 * 86_400_000)
    onTestFinished(() => clock.mockRestore())
    const now = Date.now()
    await store.jobSets.prune('dead', 10_000, now / 1000 - 180 * 86_400)
    await store.jobSets.prune('finished', 10_000, now / 1000 - 3600)
    await store.unique.list({ limit: 100 }, now)
    await push({ unique: { jid: 'other', claims: [{ key: 'other', ends: now + 60_000 }] } })
    await push({ once: 'other' })
    await store.batches.prune(now, 100)
    expect(await store.tasks.expired(now, 100)).toEqual([])
    expect(await store.tasks.overdue(now, 100)).toEqual([])
    await store.cancellations.request('other', now)
    await store.events.isRecording(now)
    const { newest: after } = await store.events.record(null, now)
    clock.mockRestore()

    expect(after).toBe(before.newest)
    expect(await store.events.isRecording(Date.now())).toBe(true)
    expect(await store.jobSets.size('dead')).toBe(1)
    expect(await store.jobSets.size('finished')).toBe(1)
    expect(await Done.performAsync()).toBe(jid)
    await push({ once: 'repeated' })
    expect(await store.jobs.queues(['other'])).toMatchObject([{ size: 3 }])
    expect(await store.cancellations.among(['order-7'])).toEqual(['order-7'])
    expect(await t.hq.batches.get(bid)).not.toBe(null)
  })

  test('a process whose clock is an hour ahead skips no tick of an entry that it defines, changes or resumes', async () => {
    const { url } = await start()
    const { store } = bench({ url }).hq
    await store.open()
    const realNow = Date.now
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => realNow() + 3_600_000)
    onTestFinished(() => clock.mockRestore())
    const from = realNow()
    const tick = async () => {
      const [entry] = await store.crons.list()
      return (entry?.tick ?? 0) - from
    }
    await store.crons.define('c', { old: null, text: 'a', tick: Date.now() }, 60)
    expect(await tick()).toBeLessThan(60_000)
    await store.crons.pause('c', true, Date.now())
    await store.crons.pause('c', false, Date.now())
    expect(await tick()).toBeLessThan(60_000)
    await store.crons.define('c', { old: 'a', text: 'b', tick: Date.now() }, 60)
    expect(await tick()).toBeLessThan(60_000)
    expect(await tick()).toBeGreaterThan(-60_000)
  })
}
