/** Maintenance by two leaders at the same time: one was frozen for longer than its lock, or they have different versions. */

import { expect, test } from 'vitest'
import { BatchMaintenance } from '#dist/batches/batch-maintenance.js'
import { batchMembers } from '#dist/batches/batch-plugin.js'
import type { Canceller } from '#dist/batches/cancel.js'
import { TaskMaintenance } from '#dist/tasks/task-maintenance.js'
import { OrphanedLocks } from '#dist/unique/orphaned-locks.js'
import { LeaderLock } from '#dist/worker/background-service.js'
import { all, type Bench, bench, until } from './bench.ts'

const HOUR = 3600
const rows = (n: number): [number][] => Array.from({ length: n }, (_, i) => [i])

/** The maintenance of a worker whose lock has this name. It walks again at once. */
function maintenanceOf({ hq: { store }, clock: { now } }: Bench, name: string) {
  const report = (thrown: unknown) => {
    throw thrown
  }
  const lock = new LeaderLock(() => store, name, { seconds: 60 })
  const effects: Canceller['effects'] = (payload, outcome) => batchMembers.effects?.(payload, outcome, now)
  const app = { store, now, report, effects, keepEnd: async () => {} }
  return [
    new TaskMaintenance(app, { everySeconds: 1, walkingPart: 1e9, lock }),
    new BatchMaintenance(app, { everySeconds: 1, lostAfterMs: 0, walkingPart: 1e9, lock }),
    new OrphanedLocks(app, { goneMs: 0, walkingPart: 1e9, lock }),
  ]
}

/** Removes all jobs of a queue as another program does, which knows no tasks, batches and locks. */
async function emptyAsOthers({ hq: { store }, clock }: Bench, queue: string): Promise<void> {
  const texts = await store.jobs.peek(queue, 0, 1000)
  const pulls = texts.map((text) => ({ text, to: null }))
  expect(await store.search.pull(queue, pulls, clock.now())).toEqual(texts.map(() => 'ok'))
}

test('each row, batch and lock ends once when two leaders do the same maintenance', async () => {
  const t = bench()
  const { hq, clock } = t
  const onDone = hq.job('Done', { queue: 'callbacks' }, (_ctx, _id: string, _run?: number) => {})
  const Pay = hq.job('Pay', async (ctx, _n: number) => {
    await ctx.defer({ within: '1h' })
  })
  const overdue = await hq.tasks.create(Pay, rows(50), { onDone })
  const worker = await t.work()
  await until(async () => (await overdue.status())?.deferred === 50)
  await worker.stop()

  const Row = hq.job('Row', { queue: 'emptied' }, (_ctx, _n: number) => {})
  const lost = await hq.tasks.create(Row, rows(20), { onDone, lostAfter: 60 })
  const Once = hq.job('Once', { queue: 'emptied', unique: true }, (_ctx, _n: number) => {})
  await Once.performBulk(rows(20))
  const bid = await hq.batch({ onComplete: onDone }, async () => void (await Row.performBulk(rows(20))))
  await emptyAsOthers(t, 'emptied')
  const Waiting = hq.job('Waiting', { queue: 'nobody', unique: { by: (n) => n } }, (_ctx, _n: number) => {})
  const kept = await Waiting.performAsync(1)
  const cancelled = await hq.tasks.create(Row, rows(1500), { onDone, queue: 'nobody' })
  await hq.store.tasks.cancel(cancelled.id, null, clock.now())

  clock.ahead = 2 * HOUR
  const [one, two] = [maintenanceOf(t, 'maintenance'), maintenanceOf(t, 'maintenance of another version')]
  for (let round = 0; round < 4; round++) await Promise.all([...one, ...two].map((each) => each.run()))

  const ended = { state: 'done', deferred: 0, counts: { enqueued: 0, working: 0 } }
  expect(await overdue.status()).toMatchObject({ ...ended, counts: { error: 50 } })
  for (const { messages } of await all(overdue.events())) expect(messages).toHaveLength(2)
  expect(await lost.status()).toMatchObject({ ...ended, counts: { error: 20 } })
  expect(await cancelled.status()).toMatchObject({ state: 'cancelled', counts: { cancelled: 1500 } })
  expect(await hq.batches.get(bid)).toMatchObject({ state: 'failed', pending: 0, failed: 20 })
  const callbacks = (await t.queue('callbacks')).map(({ args }) => args[0] as string)
  expect(callbacks.sort()).toEqual([overdue.id, lost.id, cancelled.id, bid].sort())

  // Two leaders mark each other's locks as suspect again; the one that is left releases them.
  for (let round = 0; round < 2; round++) await Promise.all(one.map((each) => each.run()))
  const { locks } = await hq.store.unique.list({ limit: 99 }, clock.now())
  expect(locks.map(({ holder }) => holder)).toEqual([kept])
  for (const each of [...one, ...two]) await each.stop()
})
