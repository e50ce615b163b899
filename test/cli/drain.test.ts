import { expect } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { NOW, sure } from '../conformance/bench.ts'
import { PRODUCER, spec } from '../conformance/tasks/tracked.ts'
import { test } from './command.ts'

const JOBS = `
import { BusinessFailure, Highkiq } from 'highkiq'
export const hq = new Highkiq()
export const First = hq.job('First', async () => { await Next.performAsync() })
export const Next = hq.job('Next', () => {})
export const Threaded = hq.job('Threaded', { thread: import.meta.url }, async () => { await Next.performAsync() })
export const Flaky = hq.job('Flaky', { retryIn: () => 0.05 }, (ctx) => {
  if (ctx.attempt === 1) throw new Error('once more')
})
export const Row = hq.job('Row', (ctx, n) => {
  if (n === 2) throw new BusinessFailure('no', { code: 'no' })
})
export const Deferred = hq.job('Deferred', async (ctx) => {
  await ctx.defer({ within: '3s' })
})
export const Ended = hq.job('Ended', (ctx, id) => ctx.log.info('ended ' + id))
hq.cron('tick', '* * * * * *', Next)
`

/** The handler of Sync waits for the file `go`. */
const ORDERED = `
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq } from 'highkiq'
export const hq = new Highkiq()
export const Sync = hq.ordered('Sync', { shards: 1 }, async (ctx) => {
  ctx.log.info('begun')
  while (!existsSync('go')) await sleep(20)
  ctx.log.info('synced')
})
`

const PUSH = `
import { Ended, First, Flaky, hq, Row, Threaded } from './jobs.mjs'
await First.performAsync()
await First.set({ queue: 'elsewhere' }).performAsync()
await Threaded.performAsync()
await Flaky.performAsync()
await First.performIn(2)
await hq.tasks.create(Row, [[1], [2], [3]], { onDone: Ended })
await hq.close()
`

test('--drain runs all jobs of a store, pushes to the app’s own store, runs no cron entries, and exits', {
  timeout: 300_000,
}, async ({ folder }) => {
  folder.write({
    'jobs.mjs': JOBS,
    'push.mjs': PUSH.replace('./jobs.mjs', './old.mjs'),
    'old.mjs': JOBS.replace('new Highkiq()', "new Highkiq({ url: 'sqlite:old.db' })"),
  })
  await folder.node('push.mjs')
  const { code, stderr } = await folder.run(['work', '-r', 'jobs.mjs', '--drain', '--url', 'sqlite:old.db'])
  expect(stderr).toMatch(/drained: the store is empty/)
  expect(stderr).toMatch(/ended [0-9a-f]+/)
  expect(code).toBe(0)
  const left = { enqueued: 0, scheduled: 0, retries: 0, busy: 0, backlog: 0, dead: 0 }
  expect(await folder.json('stats', '--url', 'sqlite:old.db')).toMatchObject(left)
  expect(await folder.json('task', 'list', '--url', 'sqlite:old.db')).toMatchObject([
    { state: 'done', counts: { finished: 2, failed: 1 } },
  ])
  expect(await folder.json('cron', 'list', '--url', 'sqlite:old.db')).toEqual([])
  // Three First jobs and the thread pushed Next.
  expect(await folder.json('stats')).toMatchObject({ enqueued: 4, processed: 0 })
})

test('--drain without another store for new jobs is refused', async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS })
  const same = await folder.run(['work', '-r', 'jobs.mjs', '--drain', '--url', 'sqlite:./highkiq.db'])
  expect(same).toMatchObject({ code: 2, stderr: expect.stringMatching(/name the new store by HIGHKIQ_URL/) })
  const absent = await folder.run(['work', '-r', 'jobs.mjs', '--drain', '--url', 'sqlite:nothing.db'])
  expect(absent).toMatchObject({ code: 1, stderr: expect.stringMatching(/nothing\.db does not exist/) })
  const none = await folder.run(['work', '-r', 'jobs.mjs', '--drain'])
  expect(none).toMatchObject({ code: 2, stderr: expect.stringMatching(/--drain needs --url/) })
})

test.concurrent('--drain waits for jobs and tasks that an interrupted move left between the stores', {
  timeout: 180_000,
}, async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS })
  const store = openStore(`sqlite:${folder.at('old.db')}`)
  const { id } = spec(1)
  await store.tasks.create(spec(1))
  await store.tasks.endAdding(id, PRODUCER, NOW)
  await store.transfers.freeze(id, NOW)
  const target = JSON.stringify(['another', 'sqlite:new.db'])
  const { counts } = sure(await store.tasks.find(id))
  expect(await store.transfers.seal(id, 'T', target, counts)).toBe(true)
  await store.ordered.push('o', 1, [{ id: 'a', payload: '1', score: 1, performIn: 1 }], NOW)
  await store.ordered.pause('o', true)
  expect(await store.transfers.holdIds('T', target, { queue: 'o', ids: ['a'], dead: false })).not.toBe(null)
  await store.close()
  const running = folder.start(['work', '-r', 'jobs.mjs', '--drain', '--url', 'sqlite:old.db'])
  await running.waitFor(/"moving":2.*draining: these jobs are left/)
  running.kill('SIGTERM')
  expect((await running.ended).stderr).not.toContain('drained: the store is empty')
})

test.concurrent('--drain waits for an id of an ordered queue that is in flight, also after its worker was killed', {
  timeout: 180_000,
}, async ({ folder }) => {
  folder.write({
    'jobs.mjs': ORDERED,
    'old.mjs': ORDERED.replace('new Highkiq()', "new Highkiq({ url: 'sqlite:old.db' })"),
    'push.mjs': `
import { hq, Sync } from './old.mjs'
await Sync.performAsync({ id: 1 })
await hq.close()
`,
  })
  await folder.node('push.mjs')
  const old = ['--url', 'sqlite:old.db']
  const killed = folder.start(['work', '-r', 'jobs.mjs', '--lease-seconds', '1', ...old])
  await killed.waitFor(/begun/)
  killed.kill('SIGKILL')
  await killed.ended
  const draining = folder.start(['work', '-r', 'jobs.mjs', '--drain', ...old])
  await draining.waitFor(/draining: these jobs are left|drained: the store is empty/)
  folder.write({ go: '' })
  const { code, stderr } = await draining.ended
  expect(stderr).toMatch(/"ordered":1.*draining: these jobs are left[\s\S]*synced[\s\S]*drained: the store is empty/)
  expect(code).toBe(0)
  expect(await folder.json('ordered', 'show', 'Sync', ...old)).toMatchObject({ length: 0, busy: 0, processed: 1 })
})

test.concurrent('--drain waits for deferred rows until their deadline, and runs the callback of their task', {
  timeout: 180_000,
}, async ({ folder }) => {
  folder.write({
    'jobs.mjs': JOBS,
    'old.mjs': JOBS.replace('new Highkiq()', "new Highkiq({ url: 'sqlite:old.db' })"),
    'push.mjs': `
import { Deferred, Ended, hq } from './old.mjs'
await hq.tasks.create(Deferred, [[1]], { onDone: Ended })
await hq.close()
`,
  })
  await folder.node('push.mjs')
  const old = ['--url', 'sqlite:old.db']
  const { code, stderr } = await folder.run(['work', '-r', 'jobs.mjs', '--drain', ...old])
  expect(stderr).toMatch(/ended [0-9a-f]+[\s\S]*drained: the store is empty/)
  expect(code).toBe(0)
  expect(await folder.json('task', 'list', ...old)).toMatchObject([{ state: 'done', counts: { error: 1 } }])
})

test('--drain ends with code 1 and names the queues when only jobs in paused queues are left', {
  timeout: 180_000,
}, async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS })
  const old = ['--url', 'sqlite:old.db']
  await folder.run(['enqueue', 'Next', '--queue', 'resting', ...old])
  await folder.run(['pause', 'resting', ...old])
  const { code, stderr } = await folder.run(['work', '-r', 'jobs.mjs', '--drain', '--max-memory', '4000', ...old])
  expect(stderr).toMatch(/"queues":\["resting"\].*not drained: .*resume them/)
  expect(code).toBe(1)
})
