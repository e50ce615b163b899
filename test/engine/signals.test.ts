import { existsSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Bench, bench, Child, Collector, until } from './bench.ts'

const order = (child: Child) =>
  child.messages.all.map(({ type }) => type).filter((type) => type !== 'logged' && type !== 'error')

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s stops the worker: the running job is aborted and requeued, and the process ends with 0',
  async (signal) => {
    const t = bench()
    await t.hq.push({ class: 'Long', args: [1] })
    const child = new Child(t.url, { timeout: 0.05 })
    await child.waitFor('began')
    child.kill(signal)
    expect(await child.exited).toEqual({ code: 0, signal: null })
    expect(order(child)).toEqual(['startup', 'heartbeat', 'began', 'quiet', 'aborted', 'shutdown', 'exit', 'closed'])
    expect(child.all('aborted')).toMatchObject([{ code: 'SHUTDOWN' }])
    expect(await t.hq.store.metrics.totals()).toMatchObject({ enqueued: 1, fetched: 0, processed: 0, retries: 0 })
    expect(await t.hq.store.workers.leases()).toEqual([])
    expect(await t.hq.store.workers.processes()).toEqual([])
  },
)

test('a second SIGTERM ends the process at once, with 1; its jobs run on other workers', async () => {
  const t = bench()
  const ran = new Collector<number>()
  await t.hq.push({ class: 'Deaf', args: [1, 60_000] })
  const child = new Child(t.url, { timeout: 60 })
  await child.waitFor('began')
  child.kill('SIGTERM')
  await child.waitFor('logged')
  const again = setInterval(() => child.kill('SIGTERM'), 100)
  expect(await child.exited).toEqual({ code: 1, signal: null })
  clearInterval(again)
  expect(child.all('exit')).toEqual([])
  t.hq.job('Deaf', async (_ctx, n: number) => ran.add(n))
  await t.work({ leaseSeconds: 1 })
  expect(await ran.atLeast(1)).toEqual([1])
})

test('a signal that comes twice at once, as from a terminal and from npm, lets the running job end', async () => {
  const t = bench()
  await t.hq.push({ class: 'Deaf', args: [1, 1500] })
  const child = new Child(t.url, { timeout: 60 })
  await child.waitFor('began')
  // Two of one kind could arrive as one.
  child.kill('SIGINT')
  child.kill('SIGTERM')
  expect(await child.exited).toEqual({ code: 0, signal: null })
  expect(child.all('ended')).toHaveLength(1)
})

test('SIGTSTP makes the worker quiet: it fetches nothing, running jobs continue, and SIGTERM still ends it', async () => {
  const t = bench()
  const ran = new Collector<number>()
  await t.hq.push({ class: 'Long', args: [1] })
  const child = new Child(t.url, { timeout: 0.05 })
  await child.waitFor('began')
  child.kill('SIGTSTP')
  await child.waitFor('quiet')
  expect(child.all('logged')).toMatchObject([{ message: 'quiet: fetching no more jobs, running jobs continue' }])
  t.hq.job('Quick', async (_ctx, n: number) => ran.add(n))
  await t.hq.push({ class: 'Quick', args: [2] })
  await until(async () => (await t.hq.store.workers.processes())[0]?.quiet)
  const here = await t.work({ concurrency: 1 })
  await ran.atLeast(1)
  await here.stop()
  expect(child.all('ran')).toEqual([])
  expect(child.all('aborted')).toEqual([])
  child.kill('SIGTERM')
  expect(await child.exited).toEqual({ code: 0, signal: null })
  expect(child.all('aborted')).toHaveLength(1)
})

/** The only process that is shown. */
async function identityOf({ hq }: Bench): Promise<string> {
  const [seen] = await hq.store.workers.processes()
  return seen?.identity ?? ''
}

test('SIGTTIN writes the running jobs, stacks and leases to the log and a file, and the worker continues', async () => {
  const t = bench()
  const jid = await t.hq.push({ class: 'Long', args: [1] })
  const child = new Child(t.url, { timeout: 0.05 })
  const [began] = await child.waitFor('began')
  child.kill('SIGTTIN')
  const [warned] = await child.waitFor('warned')
  const file = join(tmpdir(), `highkiq_ttin_${began?.pid}.txt`)
  onTestFinished(() => rmSync(file, { force: true }))
  const identity = await identityOf(t)
  expect(warned).toMatchObject({
    running: [{ jid, class: 'Long', queue: 'default', seconds: expect.any(Number), progress: { done: 1, total: 4 } }],
    leases: [{ owner: `${identity}.0`, ended: false, claimed: false }],
    stacks: { 'main thread': [expect.stringMatching(/each one that runs awaits something, and Node does not tell/)] },
    file,
  })
  await until(() => existsSync(file) && readFileSync(file, 'utf8').includes('thread'))
  const text = readFileSync(file, 'utf8')
  expect(text).toMatch(/^.+: 1 of 10 busy\n/)
  expect(text).toContain(`${jid}  Long  (default) {"done":1,"total":4}`)
  expect(text).toContain(`held  ${identity}.0  (this worker)`)
  expect(text).toMatch(/main thread\n {4}no handler is on the stack/)
  // The thread that renews the lease starts a moment later than the worker.
  await until(async () => {
    child.kill('SIGTTIN')
    await child.waitFor('warned', child.all('warned').length + 1)
    return /thread \d+ \(lease\)\n {4}\S/.test(readFileSync(file, 'utf8'))
  })
  await t.hq.push({ class: 'Quick', args: [2] })
  await child.waitFor('ran')
})

test('the worker obeys signals that come through the store', async () => {
  const t = bench()
  await t.hq.push({ class: 'Long', args: [1] })
  const child = new Child(t.url, { timeout: 0.05 })
  const [began] = await child.waitFor('began')
  onTestFinished(() => rmSync(join(tmpdir(), `highkiq_ttin_${began?.pid}.txt`), { force: true }))
  const identity = await identityOf(t)
  await t.hq.store.workers.signal(identity, 'TTIN')
  // A heartbeat comes at once with this.
  child.kill('SIGTSTP')
  await child.waitFor('warned')
  expect(child.all('shutdown')).toEqual([])
  const other = bench()
  const second = new Child(other.url, { timeout: 0.05 })
  await second.waitFor('heartbeat')
  await other.hq.store.workers.signal(await identityOf(other), 'TERM')
  second.kill('SIGTSTP')
  expect(await second.exited).toEqual({ code: 0, signal: null })
  expect(order(second).slice(-3)).toEqual(['shutdown', 'exit', 'closed'])
})

test('SIGUSR2 makes loggers reopen their files, and the worker continues', async () => {
  const t = bench()
  const child = new Child(t.url)
  await child.waitFor('heartbeat')
  child.kill('SIGUSR2')
  await child.waitFor('reopen')
  await t.hq.push({ class: 'Quick', args: [2] })
  await child.waitFor('ran')
})

test.each(['throws', 'catches'])(
  'an uncaught error that nobody %s stops the worker gracefully with 1: jobs are requeued and fatal handlers run',
  async (how) => {
    const t = bench()
    await t.hq.push({ class: 'Long', args: [1] })
    const child = new Child(t.url, { timeout: 0.05 })
    await child.waitFor('began')
    await t.hq.push({ class: 'Careless', args: [how] })
    expect(await child.exited).toEqual({ code: 1, signal: null })
    expect(order(child).slice(-5)).toEqual(['quiet', 'aborted', 'shutdown', 'exit', 'fatal'])
    expect(child.all('error')).toMatchObject([{ message: `nobody ${how}` }])
    const worker = { concurrency: 10, orderedConcurrency: 0, queues: ['default'], identity: expect.any(String) }
    expect(child.all('fatal')).toMatchObject([{ message: `nobody ${how}`, worker }])
    expect(await t.hq.store.metrics.totals()).toMatchObject({ enqueued: 1, fetched: 0, processed: 1, failed: 0 })
    expect(await t.hq.store.workers.leases()).toEqual([])
  },
)

test.each(['obeys', 'ignores the abort'])(
  'a job whose uncaught error ends its process counts a crash each time, until it is dead; its handler %s',
  async (how) => {
    const t = bench()
    const jid = await t.hq.push({ class: 'Crashing', args: [how] })
    const first = new Child(t.url, { timeout: 0.05 })
    expect(await first.exited).toEqual({ code: 1, signal: null })
    expect(await t.queue()).toMatchObject([{ jid, hk_crashes: 1 }])
    expect(first.all('death')).toEqual([])
    const second = new Child(t.url, { timeout: 0.05 })
    expect(await second.exited).toEqual({ code: 1, signal: null })
    expect(second.all('began')).toMatchObject([{ crashes: 1 }])
    expect(second.all('death')).toMatchObject([{ jid, crashes: 2 }])
    expect(await t.set('dead')).toMatchObject([{ jid, hk_crashes: 2, error_class: 'Crashed' }])
    expect(await t.hq.store.metrics.totals()).toMatchObject({ enqueued: 0, fetched: 0 })
  },
)

test('SIGTERM while a worker starts ends it as soon as it has started', async () => {
  const t = bench()
  await t.hq.push({ class: 'Quick', args: [1] })
  const child = new Child(t.url, { slowStart: true })
  await child.waitFor('starting')
  child.kill('SIGTERM')
  expect(await child.exited).toEqual({ code: 0, signal: null })
  expect(order(child).slice(-3)).toEqual(['shutdown', 'exit', 'closed'])
  expect(await t.hq.store.workers.leases()).toEqual([])
})
