import { expect, test } from 'vitest'
import { bench, Collector } from '../engine/bench.ts'

const rows = (n: number) => Array.from({ length: n }, (_, i): [number] => [i])
/** The rows that a producer stores in one step. */
const CHUNK = 1000

/** A task that is created, and calls of `add` whose producers are claimed after their first chunk, as when they die. */
function broken() {
  const { hq, work } = bench()
  const Row = hq.job('Row', async (_ctx, _n: number) => {})
  const done = new Collector<string>()
  const Done = hq.job('Done', { queue: 'callbacks' }, async (_ctx, id: string, _run: number) => done.add(id))
  const claim = async (id: string) => {
    for (const { name } of await hq.store.tasks.producers(id)) await hq.store.workers.claim(name)
  }
  /** Yields rows, and claims the producer when a chunk of them is stored. */
  async function* dying(id: string) {
    yield* rows(CHUNK)
    await claim(id)
    yield [0] as [number]
  }
  return { hq, work, Row, Done, done, dying }
}

test('a call of `add` whose producer died is resumed, and then the task is done', async () => {
  const { hq, work, Row, Done, done, dying } = broken()
  const task = await hq.tasks.create(Row, rows(5), { onDone: Done, window: 9 })
  await expect(task.add(Row, dying(task.id))).rejects.toMatchObject({ code: 'TASK_TAKEN_OVER' })
  expect(await task.status()).toMatchObject({ state: 'interrupted', total: CHUNK + 5 })
  // The rows of `create` are stored. Another start would skip as many rows as that call has stored.
  const refused = { code: 'INVALID_OPTION', message: expect.stringContaining("{ of: 'add' }") }
  await expect(task.resumeAdding(Row, rows(5))).rejects.toMatchObject(refused)
  expect(await task.status()).toMatchObject({ state: 'interrupted', total: CHUNK + 5 })

  expect(await task.resumeAdding(Row, rows(CHUNK + 7), { of: 'add' })).toBe(7)
  await work({ queues: ['default', 'callbacks'] })
  expect(await task.wait({ every: 10 })).toMatchObject({ state: 'done', total: CHUNK + 12 })
  expect(await done.atLeast(1)).toEqual([task.id])
  // Another process may have resumed it.
  expect(await task.resumeAdding(Row, rows(CHUNK + 7), { of: 'add' })).toBe(0)
})

test('each call that died is resumed once, in any order; the oldest call of `add` first', async () => {
  const { hq, work, Row, dying } = broken()
  const id = '00112233445566bb'
  await expect(hq.tasks.create(Row, dying(id), { id })).rejects.toMatchObject({ code: 'TASK_TAKEN_OVER' })
  const task = hq.tasks.get(id)
  for (let i = 0; i < 2; i++) {
    await expect(task.add(Row, dying(id))).rejects.toMatchObject({ code: 'TASK_TAKEN_OVER' })
  }
  const [first, oldest] = await hq.store.tasks.producers(id)
  expect(await task.status()).toMatchObject({ state: 'interrupted', total: 3 * CHUNK })

  // The resumed call dies, too, and stays the oldest one.
  async function* dyingAgain() {
    yield* rows(2 * CHUNK)
    for (const { name, broken } of await hq.store.tasks.producers(id)) if (!broken) await hq.store.workers.claim(name)
    yield [0] as [number]
  }
  await expect(task.resumeAdding(Row, dyingAgain(), { of: 'add' })).rejects.toMatchObject({ code: 'TASK_TAKEN_OVER' })
  const names = (await hq.store.tasks.producers(id)).map(({ name }) => name)
  expect(names).toHaveLength(3)
  expect(names).toContain(first?.name)
  expect(names).not.toContain(oldest?.name)

  expect(await task.resumeAdding(Row, rows(2 * CHUNK + 1), { of: 'add' })).toBe(1)
  expect(await task.resumeAdding(Row, rows(CHUNK + 2))).toBe(2)
  expect(await task.status()).toMatchObject({ state: 'interrupted' })
  expect(await task.resumeAdding(Row, rows(CHUNK + 3), { of: 'add' })).toBe(3)
  await work()
  expect(await task.wait({ every: 10 })).toMatchObject({ state: 'done', total: 4 * CHUNK + 6 })
})

test('a call of `add` that may still run is not resumed', async () => {
  const { hq, Row } = broken()
  const task = await hq.tasks.create(Row, rows(5))
  const source = async function* () {
    yield* rows(1)
    const busy = { code: 'TASK_BUSY', message: expect.stringContaining('its lease ends within 30 seconds') }
    await expect(task.resumeAdding(Row, rows(1), { of: 'add' })).rejects.toMatchObject(busy)
    expect(await task.resumeAdding(Row, rows(5))).toBe(0)
  }
  expect(await task.add(Row, source())).toBe(1)
  expect(await task.status()).toMatchObject({ state: 'running', total: 6 })
})
