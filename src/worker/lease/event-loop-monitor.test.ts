import { expect, test } from 'vitest'
import type { Block } from './block.ts'
import { type BlockEvent, EventLoopMonitor, paceOf } from './event-loop-monitor.ts'
import { EventLoopReader, EventLoopState } from './event-loop-state.ts'

/** A monitor of a lease of one second: it looks every quarter of a second of a time that only the test moves. */
function watched(maxBlockSeconds = 900) {
  const eventLoop = new EventLoopState(10)
  const reported: { event: BlockEvent; block: Block; at: number }[] = []
  let now = 1_000_000
  const monitor = new EventLoopMonitor(
    new EventLoopReader(eventLoop.memory),
    { ...paceOf(1), maxBlockSeconds, now },
    (event, block) => void reported.push({ event, block, at: (now - 1_000_000) / 1000 }),
  )
  return {
    eventLoop,
    monitor,
    reported,
    /** Time passes, and the monitor looks as often as it should. */
    pass(seconds: number) {
      for (let i = 0; i < seconds * 4; i++) {
        now += 250
        monitor.check(now)
      }
    },
    /** Time passes, and nobody is awake. */
    sleep(seconds: number) {
      now += seconds * 1000
    },
    /** The reported events, each with its time. */
    events: () => reported.map(({ event, at }) => [event, at]),
    stopIn: (seconds: number) => monitor.stopAt(now + seconds * 1000),
    /** The renewals stop when this time has passed, and not before. */
    stopsAfter(seconds: number) {
      this.pass(seconds)
      expect(monitor.gaveUp).toBe(false)
      this.pass(0.25)
      expect(monitor.gaveUp).toBe(true)
    },
  }
}

/** Watches an event loop that runs the job j from the beginning. */
function blocked(maxBlockSeconds?: number) {
  const t = watched(maxBlockSeconds)
  t.eventLoop.began('j', 'J')
  return t
}

test.each([
  [0.5, 1000],
  [1, 1000],
  [15, 5000],
  [3600, 5000],
])('with a lease of %s s it is blocked after %s ms, and looked for several times in that', (leaseSeconds, warnMs) => {
  const pace = paceOf(leaseSeconds)
  expect(pace.warnMs).toBe(warnMs)
  expect(pace.stepMs).toBeLessThanOrEqual(warnMs / 4)
})

test.each([
  ['nothing is reported while the event loop runs', 900, 0],
  ['time in which the watching thread did not run either does not count', 2, 60],
])('%s', (_, maxBlockSeconds, asleep) => {
  const t = watched(maxBlockSeconds)
  for (let i = 0; i < 20; i++) {
    t.eventLoop.beat()
    t.pass(0.5)
    t.sleep(asleep)
    // The first look after the process was continued, when the other thread has not got its turn yet.
    t.pass(0.25)
  }
  expect(t.reported).toEqual([])
})

test('a block is reported at growing intervals, and its end with the total time', () => {
  const t = blocked()
  t.pass(20.25)
  expect(t.events()).toEqual([1.25, 2.25, 4.25, 8.25, 16.25].map((at) => ['blocked', at]))
  expect(t.reported[4]?.block).toMatchObject({ seconds: 16, job: { jid: 'j', class: 'J' }, count: 1 })
  t.eventLoop.yielded()
  t.pass(0.25)
  expect(t.reported[5]).toMatchObject({ event: 'over', block: { seconds: 20, job: { jid: 'j' } } })
  t.pass(1)
  expect(t.events()[6]?.[0]).toBe('blocked')
})

test('a block that ends before its first report is not reported', () => {
  const t = blocked()
  t.pass(1)
  t.eventLoop.beat()
  t.pass(1)
  expect(t.reported).toEqual([])
})

test('after maxBlockSeconds the monitor stops the renewals and reports that once; they continue when the block is over', () => {
  const t = blocked(3)
  t.stopsAfter(3)
  t.pass(10)
  expect(t.events().filter(([event]) => event === 'gave-up')).toEqual([['gave-up', 3.25]])
  t.eventLoop.yielded()
  t.pass(0.25)
  expect(t.monitor.gaveUp).toBe(false)
  expect(t.events().at(-1)).toEqual(['over', 13.5])
})

test.each([
  ['a job with a timeout has twice as long', 5, 10],
  ['a job with a short timeout has as long as any', 1, 3],
])('%s', (_, timeout, limit) => {
  const t = watched(3)
  t.eventLoop.began('j', 'J', timeout)
  t.stopsAfter(limit)
})

test("twice the longest timeout counts when the blocking job is unknown, else only that job's", () => {
  const t = watched(3)
  t.eventLoop.began('long', 'J', 10)
  t.eventLoop.yielded()
  t.eventLoop.began('short', 'J', 1)
  t.pass(3.25)
  expect(t.monitor.gaveUp).toBe(true)
  t.eventLoop.yielded()
  t.stopsAfter(20)
})

test('with maxBlockSeconds Infinity the renewals never stop', () => {
  const t = blocked(Number.POSITIVE_INFINITY)
  t.pass(10_000)
  expect(t.monitor.gaveUp).toBe(false)
})

test('at the deadline of a stop the renewals stop, but only when the worker is blocked', () => {
  const t = watched()
  t.stopIn(2)
  for (let i = 0; i < 10; i++) {
    t.eventLoop.beat()
    t.pass(0.5)
  }
  expect(t.monitor.gaveUp).toBe(false)
  t.eventLoop.began('j', 'J')
  t.pass(1.25)
  expect(t.monitor.gaveUp).toBe(true)
})
