import { expect, test } from 'vitest'
import { QueueSizeRecorder } from '#dist/metrics/queue-sizes.js'
import { LeaderLock } from '#dist/worker/background-service.js'
import { bench, until } from './bench.ts'

const MINUTE = 60_000
const NOON = Date.UTC(2026, 4, 17, 12)

/** An app on its own clock, with `n` processes that may store the sizes of queues. */
function sizesBench(n = 1) {
  let time = NOON
  const t = bench({ clock: { now: () => time } })
  const report = (error: unknown) => {
    throw error
  }
  /** Processes whose locks have different names are leaders at the same time. */
  const process = (name = 'maintenance', seconds = 15) => {
    const lock = new LeaderLock(() => t.hq.store, name, { seconds })
    return new QueueSizeRecorder({ store: t.hq.store, now: () => time, report }, { lock })
  }
  const processes = Array.from({ length: n }, () => process())
  return {
    ...t,
    process,
    push: (queue: string, n = 1) => t.hq.pushBulk({ class: 'Waits', queue, args: Array.from({ length: n }, () => []) }),
    /** Sets the clock to a minute after noon, and lets the processes look at it. */
    async at(minute: number, some: readonly QueueSizeRecorder[] = processes) {
      time = NOON + minute * MINUTE
      for (const one of some) await one.run()
    },
    async sizes(queue: string, options = {}) {
      const { points } = await t.hq.metrics.queueSizes(queue, options)
      return points.map(({ at, size }) => [(at.getTime() - NOON) / MINUTE, size])
    },
    async texts(minute: number) {
      return (await t.hq.store.metrics.queueSizes(1, [NOON + minute * MINUTE])).map(({ text }) => text)
    },
  }
}

test('one process stores the sizes of all queues every minute, and only those that changed', async () => {
  const t = sizesBench(2)
  await t.push('images', 3)
  // Another program may name a queue so.
  const other = 'a "queue"\n1 7'
  await t.hq.store.jobs.push([{ to: 'queue', queue: other, text: '{"class":"A","args":[]}', end: 'back' }], NOON)
  await t.at(0)
  await t.push('images')
  await t.push('new')
  await t.at(1)
  await t.at(1.5)
  await t.hq.queue('images').clear()
  await t.push('new')
  await t.at(2)
  await t.at(3)
  expect(await t.sizes('images')).toEqual([
    [0, 3],
    [1, 4],
    [2, 0],
    [3, 0],
  ])
  expect(await t.sizes('new')).toEqual([
    [0, 0],
    [1, 1],
    [2, 2],
    [3, 2],
  ])
  expect((await t.sizes(other)).map(([, size]) => size)).toEqual([1, 1, 1, 1])
  expect((await t.sizes('never')).map(([, size]) => size)).toEqual([0, 0, 0, 0])
  expect(await t.texts(3)).toEqual([`since ${NOON + 2 * MINUTE}\n`])
  expect(await t.sizes('images', { minutes: 2 })).toEqual([
    [2, 0],
    [3, 0],
  ])
  await expect(t.hq.metrics.queueSizes('images', { hours: 73 })).rejects.toThrow('hours must be a whole number from 1')
})

test('hours show the largest size of each ten minutes, with those under way', async () => {
  const t = sizesBench()
  await t.push('images', 2)
  await t.at(0)
  await t.push('images', 5)
  await t.at(4)
  await t.hq.queue('images').clear()
  await t.at(9)
  expect(await t.sizes('images', { hours: 1 })).toEqual([[0, 7]])
  await t.push('images')
  await t.at(10)
  const stored = await t.hq.store.metrics.queueSizes(10, [NOON, NOON + 10 * MINUTE])
  expect(stored.map(({ at, text }) => [at, text])).toEqual([[NOON, 'all\n"images" 7\n']])
  await t.push('images')
  await t.at(12)
  expect(await t.sizes('images', { hours: 1 })).toEqual([
    [0, 7],
    [10, 2],
  ])
  await t.at(20)
  await t.hq.queue('images').clear()
  await t.at(21)
  await t.at(30)
  await t.at(40)
  expect(await t.sizes('images', { hours: 1 })).toEqual([
    [0, 7],
    [10, 2],
    [20, 2],
    [30, 0],
    [40, 0],
  ])
})

test('a new leader goes on after a failover, also with the ten minutes that the old one left open', async () => {
  const t = sizesBench()
  const [old, next] = [t.process('maintenance', 1), t.process()]
  await t.push('images', 9)
  await t.at(0, [old])
  await t.hq.queue('images').clear()
  await t.push('images', 2)
  await t.at(1, [old])
  // The old leader was killed: its lock ends after a second. On the clock of the charts that takes half an hour.
  await t.at(2, [next])
  expect(await t.sizes('images')).toHaveLength(2)
  await until(async () => {
    await t.at(31, [next])
    return (await t.sizes('images')).length === 3
  })
  await t.push('images')
  await t.at(32, [next])
  expect(await t.sizes('images')).toEqual([
    [0, 9],
    [1, 2],
    [31, 2],
    [32, 3],
  ])
  expect(await t.sizes('images', { hours: 1 })).toEqual([
    [0, 9],
    [30, 3],
  ])
})

test('a leader that was frozen while another one stored sizes makes no wrong point', async () => {
  const t = sizesBench()
  const [frozen, next] = [t.process('one'), t.process('other')]
  await t.push('images', 5)
  await t.at(0, [frozen])
  await t.hq.queue('images').clear()
  await t.at(1, [next])
  // The size is 5 again, as in the memory of the frozen process.
  await t.push('images', 5)
  await t.at(2, [frozen, next])
  await t.at(3, [next, frozen])
  await t.at(4, [frozen])
  expect(await t.sizes('images')).toEqual([
    [0, 5],
    [1, 0],
    [3, 5],
    [4, 5],
  ])
})

test('a clock that is set back or forward changes no point, and leaves a gap', async () => {
  const t = sizesBench()
  await t.push('images')
  await t.at(20)
  await t.at(21)
  await t.push('images')
  // The clock of the leader is half an hour ahead for a moment.
  await t.at(51)
  await t.at(22)
  await t.push('images', 2)
  // The clock is set back over minutes that have sizes.
  await t.at(19)
  await t.at(20)
  await t.at(21)
  await t.at(23)
  expect(await t.sizes('images')).toEqual([
    [19, 4],
    [20, 1],
    [21, 1],
    [22, 2],
    [23, 4],
  ])
  await t.at(60)
  // When the clock was ahead, the ten minutes from 12:20 seemed to be over.
  expect(await t.sizes('images', { hours: 2 })).toEqual([
    [10, 4],
    [20, 1],
    [50, 2],
    [60, 4],
  ])
})

test('of more than 5,000 queues the largest have sizes, and those of the others are unknown', async () => {
  const t = sizesBench()
  const sizes = Array.from({ length: 5001 }, (_, i) => ({ name: `q${i}`, size: i + 2, limited: 0, next: null }))
  let queues = sizes
  const store = Object.create(t.hq.store, { jobs: { value: { queues: async () => queues } } })
  const recorder = new QueueSizeRecorder({ store, now: () => t.hq.now(), report: () => {} })
  await t.at(0, [recorder])
  queues = [{ ...(sizes[0] as (typeof sizes)[0]), size: 9000 }, ...sizes.slice(1)]
  await t.at(1, [recorder])
  await t.at(10, [recorder])
  expect(await t.sizes('q0')).toEqual([
    [1, 9000],
    [10, 9000],
  ])
  expect(await t.sizes('q1')).toEqual([[0, 3]])
  expect((await t.sizes('q5000')).map(([, size]) => size)).toEqual([5002, 5002, 5002])
  expect(await t.sizes('none')).toEqual([])
  expect(await t.sizes('q0', { hours: 1 })).toEqual([
    [0, 9000],
    [10, 9000],
  ])
})
