import type { TaskEvent } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import { TaskMaintenance } from '#dist/tasks/task-maintenance.js'
import { all, until } from '../engine/bench.ts'
import { contents, faultsOf } from '../redis/census.ts'
import { besideRuby } from './world.ts'

const ROWS = 50

besideRuby('a tracked task beside Ruby', (world) => {
  test("Ruby's scheduler moves rows of a task, and every count stays right", async () => {
    const { redis } = world()
    const node = world().node()
    const worker = await node.work({ queues: ['node'] })
    const task = await node.hq.tasks.create(
      node.hq.jobNamed('Once'),
      Array.from({ length: ROWS }, (_, n) => [n]),
      { window: 10, queue: 'node' },
    )
    // All fail the first time. What is put off makes room for the next in the window.
    await world().set('retry', ROWS)
    await worker.quiet()
    await world().rubyWorker({ queues: ['ruby'] })
    await world().makeDue('retry')
    await until(async () => (await redis.zcard('retry')) === 0)
    // Ruby knows nothing of the window: it lets in more rows than it should.
    expect((await task.status())?.counts).toMatchObject({ enqueued: ROWS, finished: 0 })

    await node.work({ queues: ['node'] })
    const { state, counts } = await task.wait()
    expect(state).toBe('done')
    expect(counts).toMatchObject({ finished: ROWS, enqueued: 0, working: 0, error: 0 })
    await node.settled()
    expect(faultsOf(await contents(redis))).toEqual([])
    expect(await redis.llen('ran')).toBe(ROWS)
  })

  test('Ruby runs rows through the window, and rows without a report end as ran-elsewhere', async () => {
    const node = world().node()
    // The maintenance of a worker, which walks again at once: a worker pauses a hundred times as long as a walk took.
    const { store } = node.hq
    const report = (error: unknown) => void node.errors.push({ error: error as Error, about: {} })
    const app = { store, now: node.clock.now, report }
    const maintenance = new TaskMaintenance(app, { everySeconds: 0.2, walkingPart: 1 })
    onTestFinished(() => maintenance.stop())
    await maintenance.start()
    await world().rubyWorker({ queues: ['ruby'] })
    const task = await node.hq.tasks.create(
      node.hq.jobNamed('Quick'),
      Array.from({ length: ROWS }, (_, n) => [n]),
      { window: 20, queue: 'ruby', lostAfter: 60 },
    )
    for (let ran = 20; ran < ROWS + 20; ran += 20) {
      await world().reports(Math.min(ran, ROWS))
      // After ten seconds without progress, the rows that Ruby fetched no longer count in the window.
      node.clock.ahead += 11
    }
    expect((await world().reports(ROWS)).map(({ by, args }) => [by, args[0]])).toEqual(
      expect.arrayContaining(Array.from({ length: ROWS }, (_, n) => ['ruby', n])),
    )
    expect((await task.status())?.counts).toMatchObject({ enqueued: ROWS })
    node.clock.ahead += 61
    const { state, counts } = await task.wait({ every: 20 })
    expect([state, counts.error]).toEqual(['done', ROWS])
    expect(await task.reasons()).toEqual([{ status: 'error', code: 'ran-elsewhere', count: ROWS }])
    expect(node.errors).toEqual([])

    // Whoever says later how it went is right.
    const [event] = await all(task.events())
    const { jid, attempts } = event as TaskEvent
    const late = { kind: 'event', jid, run: 1, attempt: attempts + 1, status: 'finished', window: 'leave' } as const
    await node.hq.store.tasks.changeEvents([{ ...late, at: node.clock.now() }], node.clock.now())
    expect((await task.status())?.counts).toMatchObject({ error: ROWS - 1, finished: 1 })
  })
})
