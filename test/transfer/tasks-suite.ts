import { expect, onTestFinished, test } from 'vitest'
import type { Store } from '#dist/store/contract.js'
import { TaskMaintenance } from '#dist/tasks/task-maintenance.js'
import { StoreMover } from '#dist/transfer/mover.js'
import { done, job, NOW, requestOf, sure, toQueue } from '../conformance/bench.ts'
import type { StoreFactory } from '../conformance/factory.ts'
import { change, jidOf, PRODUCER, rows, single, spec, taskId } from '../conformance/tasks/tracked.ts'
import { mixedTask, OPEN_ROWS, runAll, snapshot } from '../conformance/transfers/mixed-task.ts'
import { bench, gate } from '../engine/bench.ts'
import { disturbed, failing, moveAll, open, overtaken } from './stores.ts'

const OPEN_JIDS = OPEN_ROWS.map((index) => jidOf(taskId(1), index))

/** Returns what a store has of jobs and tasks. */
async function restOf(store: Store) {
  const ids = (await store.transfers.taskIds({ limit: 99 })).ids
  const found = await Promise.all(ids.map((id) => store.tasks.find(id)))
  const sizes = await Promise.all((['retry', 'schedule', 'dead'] as const).map((set) => store.jobSets.size(set)))
  const queues = await store.jobs.queues()
  return {
    tasks: found.filter((task) => task !== null).length,
    jobs: [...sizes, ...queues.map(({ size }) => size)].reduce((sum, n) => sum + n, 0),
    moving: await store.transfers.movingTasks(),
    page: await store.transfers.held(),
  }
}

const NOTHING = { tasks: 0, jobs: 0, moving: [], page: null }

/** Checks that one of the two stores has the task and all of its jobs, and the source has nothing left of a move. */
async function expectWhole(source: Store, target: Store, before: Awaited<ReturnType<typeof snapshot>>, step: string) {
  const { moving, page } = await restOf(source)
  expect({ moving, page }, step).toEqual({ moving: [], page: null })
  const where = (await source.tasks.find(taskId(1))) ? source : target
  expect(await snapshot(where, taskId(1)), step).toEqual(before)
  expect(await runAll(where, 1), step).toEqual(OPEN_JIDS)
}

/** Checks that the target has the whole task, and that each of its open rows runs there once. */
async function expectMoved(target: Store, before: Awaited<ReturnType<typeof snapshot>>, about = ''): Promise<void> {
  expect(await snapshot(target, taskId(1)), about).toEqual(before)
  expect((await target.jobSets.page('dead', { limit: 9 })).length, about).toBe(1)
  expect(await target.jobs.peek('calls', 0, 9), about).toHaveLength(1)
  expect(await runAll(target, 1), about).toEqual(OPEN_JIDS)
}

export function movingTasks(from: StoreFactory, to: StoreFactory) {
  test('a task moves with its jobs in queues and sets, and each row runs once there', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    await mixedTask(source, 1)
    const before = await snapshot(source, taskId(1))
    expect(await new StoreMover({ source, target: null }).count()).toMatchObject({ moved: 11, tasks: 1 })
    const mover = await moveAll(source, target)
    expect(mover).toMatchObject({ moved: 11, movedTasks: 1 })
    expect(await restOf(source)).toEqual(NOTHING)
    await expectMoved(target, before)
  })

  test('a mover that is killed between any two steps of a task neither loses nor doubles a row', {
    timeout: 240_000,
  }, async () => {
    for (let at = 0; ; at++) {
      const [{ store: source }, { store: target }] = [await open(from), await open(to)]
      await mixedTask(source, 1)
      const before = await snapshot(source, taskId(1))
      // The step is done, and its answer is lost.
      const count = { calls: 0, at, isDone: true }
      const end = await moveAll(failing(source, count), failing(target, count)).then(
        () => 'moved',
        () => 'killed',
      )
      const about = `call ${at}`
      // Every third time the move is undone first.
      if (at % 3 === 0) {
        await new StoreMover({ source, target, now: () => NOW }).undo()
        const { moving, page } = await restOf(source)
        expect({ moving, page }, about).toEqual({ moving: [], page: null })
        const where = (await source.tasks.find(taskId(1))) ? source : target
        expect(await snapshot(where, taskId(1)), about).toEqual(before)
      }
      await moveAll(source, target)
      expect(await restOf(source), about).toEqual(NOTHING)
      await expectMoved(target, before, about)
      if (end === 'moved') {
        expect(at).toBeGreaterThan(30)
        break
      }
    }
  })

  test('rows whose jobs have not followed their task yet stay open in the target, also after lostAfter', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    const { id } = spec(1)
    const template = `{"class":"RowJob","queue":"q1","hk_task":"${id}"}`
    await source.tasks.create(spec(1, { queue: 'q1', template, lostAfter: 60_000 }))
    await source.tasks.addRows(id, PRODUCER, 0, rows(0, 3), NOW)
    await source.tasks.endAdding(id, PRODUCER, NOW)
    const killed = disturbed(source, 'hold', async () => {
      if (await target.tasks.find(id)) throw new Error('killed')
    })
    await expect(moveAll(killed, target)).rejects.toThrow('killed')

    const report = (thrown: unknown) => {
      throw thrown
    }
    let now = NOW
    const app = { store: target, now: () => now, report }
    const maintenance = new TaskMaintenance(app, { everySeconds: 1, walkingPart: 1e9 })
    onTestFinished(() => maintenance.stop())
    const countsAfterWalks = async () => {
      for (let i = 0; i < 3; i++) {
        now += 3_600_000
        await maintenance.run()
      }
      return (await target.tasks.find(id))?.counts
    }
    expect(await countsAfterWalks()).toMatchObject({ enqueued: 3, error: 0 })
    await moveAll(source, target)
    const texts = await target.jobs.peek('q1', 0, 9)
    expect(texts).toHaveLength(3)
    // From now on a row without a job ends as always.
    await target.search.pull('q1', [{ text: sure(texts[0]), to: null }], NOW)
    expect(await countsAfterWalks()).toMatchObject({ enqueued: 2, error: 1 })
  })

  test('two movers at the same time move a task once', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    await mixedTask(source, 1)
    const before = await snapshot(source, taskId(1))
    const movers = await Promise.all([moveAll(source, target), moveAll(source, target)])
    expect(movers.reduce((sum, { moved }) => sum + moved, 0)).toBe(11)
    expect(movers.reduce((sum, { movedTasks }) => sum + movedTasks, 0)).toBe(1)
    expect(await restOf(source)).toEqual(NOTHING)
    await expectMoved(target, before)
  })

  test('a mover that was frozen leaves a task as it is that came back meanwhile', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    await mixedTask(source, 1)
    const before = await snapshot(source, taskId(1))
    const late = overtaken(source, 'dropTask', async () => {
      await moveAll(source, target)
      await moveAll(target, source)
    })
    const mover = new StoreMover({ source: late, target, now: () => NOW })
    await mover.begin()
    await mover.pass()
    expect(mover).toMatchObject({ movedTasks: 0 })
    await expectMoved(source, before)
  })

  test('a mover that ends leaves no job of a task that another mover moves', async () => {
    for (const step of ['freeze', 'hold', 'endPage', 'seal', 'readTask'] as const) {
      const [{ store: source }, { store: target }] = [await open(from), await open(to)]
      await mixedTask(source, 1)
      const before = await snapshot(source, taskId(1))
      const ending = new StoreMover({ source, target, now: () => NOW })
      const store = overtaken(source, step, () => ending.release())
      const mover = new StoreMover({ source: store, target, now: () => NOW })
      await mover.begin()
      await mover.pass()
      await mover.release()
      await expectWhole(source, target, before, step)
    }
  })

  test('a task stays whole when a second mover stops and returns jobs while the task is sealed', async () => {
    for (const step of ['hold', 'endPage'] as const) {
      const [{ store: source }, { store: target }] = [await open(from), await open(to)]
      await mixedTask(source, 1)
      const before = await snapshot(source, taskId(1))
      const [reached, sealed] = [gate(), gate()]
      // The other mover stops before this step, and goes on when the task is sealed.
      const slow = overtaken(source, step, () => {
        reached.open()
        return sealed.opened
      })
      const ending = new StoreMover({ source: slow, target, now: () => NOW })
      let released: Promise<void> | undefined
      const sealing = overtaken(source, 'seal', () => {
        released = ending.release()
        return reached.opened
      })
      const sending = overtaken(sealing, 'readTask', async () => {
        sealed.open()
        await released
      })
      const mover = new StoreMover({ source: sending, target, now: () => NOW })
      await mover.begin()
      await mover.pass()
      sealed.open()
      await released
      await mover.release()
      await expectWhole(source, target, before, step)
    }
  })

  test('a mover that ends puts the jobs of a task back in their order', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    const task = spec(1, {
      window: 250,
      queue: 'q',
      template: `{"class":"RowJob","queue":"q","hk_task":"${taskId(1)}"}`,
    })
    await source.tasks.create(task)
    for (let from = 0; from < 250; from += 50) await source.tasks.addRows(task.id, PRODUCER, from, rows(from, 50), NOW)
    await source.tasks.endAdding(task.id, PRODUCER, NOW)
    // A row that runs keeps the task in the source.
    await source.workers.join('h:1:1', { queues: ['q'], seconds: 60, host: 'here' })
    await source.workers.settleAndFetch('h:1:1', requestOf({ fetch: { queues: ['q'], n: 1 } }))
    const order = await source.jobs.peek('q', 0, 999)
    expect(order).toHaveLength(249)
    const mover = new StoreMover({ source, target, now: () => NOW })
    await mover.begin()
    await mover.pass()
    expect(await source.jobs.peek('q', 0, 999)).toEqual([])
    await mover.release()
    expect(await source.jobs.peek('q', 0, 999)).toEqual(order)
  })

  test('an undo brings a sealed task back to its store, and each row runs once there', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    await mixedTask(source, 1)
    const before = await snapshot(source, taskId(1))
    const puts = { calls: 0, at: 3, isDone: true }
    await expect(moveAll(source, failing(target, puts))).rejects.toThrow('killed')
    expect((await restOf(source)).moving).toMatchObject([{ id: taskId(1), sealed: {} }])
    expect(await new StoreMover({ source, target, now: () => NOW }).undo()).toEqual({ jobs: 0, tasks: 1 })
    expect(await restOf(target)).toMatchObject({ tasks: 0 })
    expect(await snapshot(source, taskId(1))).toEqual(before)
    expect(await runAll(source, 1)).toEqual(OPEN_JIDS)
  })

  test('an undo without the target brings a sealed task back', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    await mixedTask(source, 1)
    await expect(moveAll(source, failing(target, { calls: 0, at: 3, isDone: true }))).rejects.toThrow('killed')
    expect(await new StoreMover({ source, target: null, now: () => NOW }).undo()).toEqual({ jobs: 0, tasks: 1 })
    expect(await runAll(source, 1)).toEqual(OPEN_JIDS)
  })

  test('an undo without the target says so when another mover holds a page, and that mover finishes it', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    await mixedTask(source, 1)
    const before = await snapshot(source, taskId(1))
    await expect(moveAll(source, failing(target, { calls: 0, at: 3, isDone: true }))).rejects.toThrow('killed')
    const other = async () => {
      await source.jobs.push([toQueue('other', job(1))], NOW)
      await expect(moveAll(source, failing(target, { calls: 0, at: 0, isDone: false }))).rejects.toThrow('killed')
    }
    const undo = new StoreMover({ source: overtaken(source, 'movingTasks', other), target: null }).undo()
    await expect(undo).rejects.toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(/^another mover moves jobs of .* holds 1 jobs: stop it .* or add --to/),
    })
    await moveAll(source, target)
    expect(await target.jobs.peek('other', 0, 9)).toEqual([job(1)])
    await expectMoved(target, before)
  })

  test('a task waits for its running row, and release lets its other rows run until then', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    const { tasks, workers } = source
    const template = `{"class":"RowJob","queue":"q","hk_task":"${taskId(1)}"}`
    await tasks.create(spec(1, { window: 1, template }))
    await tasks.addRows(taskId(1), PRODUCER, 0, rows(0, 3), NOW)
    await tasks.endAdding(taskId(1), PRODUCER, NOW)
    await workers.join('h:1:1', { queues: ['q'], seconds: 60, host: 'here' })
    const fetch = { queues: ['q'], n: 1 }
    const { fetched } = await workers.settleAndFetch('h:1:1', requestOf({ fetch }))
    const mover = new StoreMover({ source, target, now: () => NOW })
    await mover.begin()
    expect(await mover.pass()).toMatchObject({ moved: 0, tasks: 0, left: { running: 1, rows: 3, tasks: 0 } })
    expect(await source.transfers.movingTasks()).toMatchObject([{ sealed: null }])
    const ended = fetched.map((one) => done(one, { effects: [change(one)] }))
    await workers.settleAndFetch('h:1:1', requestOf({ settlements: ended }))
    expect((await workers.settleAndFetch('h:1:1', requestOf({ fetch }))).fetched).toEqual([])
    await mover.release()
    expect(await source.transfers.movingTasks()).toEqual([])
    expect((await tasks.find(taskId(1)))?.inWindow).toBe(1)
    expect(await mover.pass()).toMatchObject({ moved: 2, tasks: 1, left: { rows: 0, tasks: 0 } })
    expect(await target.tasks.find(taskId(1))).toMatchObject({ counts: { finished: 1, enqueued: 2 } })
  })

  test('tracked jobs move with their events, one of a cron entry that does not overlap stays', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    const [plain, locked] = [single(1), single(2)]
    const text = locked.text.replace('}', ',"hk_lock":"l"}')
    await source.tasks.pushTracked([plain, { ...locked, item: toQueue('q', text) }], NOW)
    const mover = new StoreMover({ source, target, now: () => NOW })
    await mover.begin()
    expect(await mover.pass()).toMatchObject({ moved: 1, tasks: 1, left: { crons: 0, rows: 1, tasks: 0 } })
    expect(await source.jobs.peek('q', 0, 9)).toEqual([text])
    expect(await target.jobs.peek('q', 0, 9)).toEqual([plain.text])
    expect(await target.tasks.event(jidOf(taskId(1), 0))).toMatchObject({ status: 'enqueued', location: 'window' })
  })

  test("a task without open rows that can't move yet counts as a task, and not as a row", async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    // Its producer may still add rows.
    await source.tasks.create(spec(1))
    const mover = new StoreMover({ source, target, now: () => NOW })
    await mover.begin()
    expect(await mover.pass()).toMatchObject({ moved: 0, tasks: 0, left: { rows: 0, tasks: 1 } })
  })

  test('jobs of a task that was deleted move without it', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    await source.jobs.push([toQueue('q', job(1, { hk_task: taskId(9) }))], NOW)
    expect(await moveAll(source, target)).toMatchObject({ moved: 1, movedTasks: 0 })
    expect(await target.jobs.peek('q', 0, 9)).toHaveLength(1)
  })

  test('jobs of a task that moves are found', async () => {
    const [{ store: source, url }, { store: target }] = [await open(from), await open(to)]
    await mixedTask(source, 1)
    await expect(moveAll(source, failing(target, { calls: 0, at: 3, isDone: true }))).rejects.toThrow('killed')
    const { hq } = bench({ url })
    expect(await hq.find(jidOf(taskId(1), 0))).toMatchObject({ state: 'queued' })
    expect(await hq.find(jidOf(taskId(1), 1))).toMatchObject({ state: 'retry' })
    expect(sure(await source.transfers.movingTasks())).toHaveLength(1)
  })
}
