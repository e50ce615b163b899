import { expect, test } from 'vitest'
import { bench, Child, Heard, until } from './bench.ts'

const order = (child: Child) => child.said.all.map(({ is }) => is).filter((is) => is !== 'logged' && is !== 'error')

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s stops: the job that runs is told, goes back to its queue, and the process ends with 0',
  async (signal) => {
    const t = bench()
    await t.hq.push({ class: 'Long', args: [1] })
    const child = new Child(t.url, { timeout: 0.05 })
    await child.tells('began')
    child.kill(signal)
    expect(await child.exited).toEqual({ code: 0, signal: null })
    expect(order(child)).toEqual(['startup', 'heartbeat', 'began', 'quiet', 'aborted', 'shutdown', 'exit', 'closed'])
    expect(child.all('aborted')).toMatchObject([{ code: 'SHUTDOWN' }])
    expect(await t.hq.store.stats()).toMatchObject({ enqueued: 1, taken: 0, processed: 0, retries: 0 })
    expect(await t.hq.store.leases()).toEqual([])
    expect(await t.hq.store.processes()).toEqual([])
  },
)

test('a second SIGTERM ends the process at once, with 1; what it held runs elsewhere', async () => {
  const t = bench()
  const ran = new Heard<number>()
  await t.hq.push({ class: 'Deaf', args: [1, 60_000] })
  const child = new Child(t.url, { timeout: 60 })
  await child.tells('began')
  child.kill('SIGTERM')
  await child.tells('logged')
  child.kill('SIGTERM')
  expect(await child.exited).toEqual({ code: 1, signal: null })
  expect(child.all('exit')).toEqual([])
  t.hq.job('Deaf', async (_ctx, n: number) => ran.say(n))
  await t.work({ leaseSeconds: 1 })
  expect(await ran.atLeast(1)).toEqual([1])
})

test('SIGTSTP quiets: no more is taken, what runs goes on, and SIGTERM still ends it', async () => {
  const t = bench()
  const ran = new Heard<number>()
  await t.hq.push({ class: 'Long', args: [1] })
  const child = new Child(t.url, { timeout: 0.05 })
  await child.tells('began')
  child.kill('SIGTSTP')
  await child.tells('quiet')
  t.hq.job('Quick', async (_ctx, n: number) => ran.say(n))
  await t.hq.push({ class: 'Quick', args: [2] })
  await until(async () => (await t.hq.store.processes())[0]?.quiet)
  const here = await t.work({ concurrency: 1 })
  await ran.atLeast(1)
  await here.stop()
  expect(child.all('ran')).toEqual([])
  expect(child.all('aborted')).toEqual([])
  child.kill('SIGTERM')
  expect(await child.exited).toEqual({ code: 0, signal: null })
  expect(child.all('aborted')).toHaveLength(1)
})

test('SIGTTIN tells what runs, and all goes on', async () => {
  const t = bench()
  const jid = await t.hq.push({ class: 'Long', args: [1] })
  const child = new Child(t.url, { timeout: 0.05 })
  await child.tells('began')
  child.kill('SIGTTIN')
  const [warned] = await child.tells('warned')
  expect(warned?.running).toMatchObject([{ jid, class: 'Long', queue: 'default', seconds: expect.any(Number) }])
  await t.hq.push({ class: 'Quick', args: [2] })
  await child.tells('ran')
})

test('SIGTERM while a worker starts ends it as soon as it has started', async () => {
  const t = bench()
  await t.hq.push({ class: 'Quick', args: [1] })
  const child = new Child(t.url, { slowStart: true })
  await child.tells('starting')
  child.kill('SIGTERM')
  expect(await child.exited).toEqual({ code: 0, signal: null })
  expect(order(child).slice(-3)).toEqual(['shutdown', 'exit', 'closed'])
  expect(await t.hq.store.leases()).toEqual([])
})
