import { expect, test } from 'vitest'
import { type Alert, keyOf } from './alert.ts'
import { alertPlan } from './options.ts'
import { beginTry, changesFor, emptyState, endTry, isDue, pruned, readState, Watch, writeState } from './state.ts'

const plan = alertPlan({ to: [{ webhook: 'https://x' }], after: 0 })
const [target] = plan.targets as [(typeof plan.targets)[number]]
const unserved = (n: number): Alert => ({ kind: 'queue-unserved', level: 'error', queue: `q${n}`, size: 1 })
const found = (from: number, to: number) =>
  new Map(Array.from({ length: to - from }, (_, i) => unserved(from + i)).map((alert) => [keyOf(alert), alert]))
const at = (now: number) => ({ now, isKnown: () => true })

test('at most 200 problems are open, and others follow when one is over', () => {
  const watch = new Watch(0)
  const first = watch.problemsAfter({}, found(0, 1000), at(1))
  expect(Object.keys(first)).toHaveLength(200)
  // The rest is found before some are over, so it follows one round later.
  const second = watch.problemsAfter(first, found(10, 1000), at(2))
  const open = (problems: typeof first) => Object.values(problems).filter(({ over }) => over === null).length
  expect(open(second)).toBe(200)
  expect(Object.values(second).filter(({ over }) => over === 2)).toHaveLength(10)
})

test('200 problems of one level do not keep one of another level from being sent', () => {
  const paused = Array.from({ length: 300 }, (_, n): Alert => {
    return { kind: 'task-paused', level: 'failed', task: `${n}`, name: 'import', reason: null, cause: null }
  })
  const byKey = (alerts: Alert[]) => new Map(alerts.map((alert) => [keyOf(alert), alert]))
  const watch = new Watch(0)
  const first = watch.problemsAfter({}, byKey(paused), at(1))
  const stopped: Alert = { kind: 'no-process', level: 'error', waiting: 5 }
  const second = watch.problemsAfter(first, byKey([...paused, stopped]), at(2))
  expect(second[keyOf(stopped)]).toMatchObject({ since: 2, over: null })
  expect(Object.keys(second)).toHaveLength(201)
})

test('when the clock is set back, a problem that lasts is sent, and one that is gone is over, after the usual time', () => {
  const watch = new Watch(60_000)
  const HOUR = 3_600_000
  const alerts = found(0, 1)
  const [key = ''] = alerts.keys()
  expect(watch.problemsAfter({}, alerts, at(2 * HOUR))).toEqual({})
  expect(watch.problemsAfter({}, alerts, at(HOUR))).toEqual({})
  const open = watch.problemsAfter({}, alerts, at(HOUR + 60_000))
  expect(open[key]).toMatchObject({ since: HOUR, over: null })
  watch.problemsAfter(open, new Map(), at(HOUR + 61_000))
  watch.problemsAfter(open, new Map(), at(1000))
  expect(watch.problemsAfter(open, new Map(), at(61_000))[key]).toMatchObject({ over: 61_000 })
})

test('at most 200 problems that are over are kept for a target that fails for long', () => {
  let state = emptyState()
  const watch = new Watch(0)
  for (let n = 0; n < 5; n++) {
    state = { ...state, problems: watch.problemsAfter(state.problems, found(n * 100, n * 100 + 100), at(n)) }
    const changes = changesFor(state, target)
    if (changes) state = endTry(state, target, { ...changes, over: [] })
    state = pruned(state)
  }
  expect(Object.values(state.problems).filter(({ over }) => over !== null)).toHaveLength(200)
  expect(Object.values(state.problems).filter(({ over }) => over === null)).toHaveLength(100)
  expect(writeState(state).length).toBeLessThan(100_000)
})

test('the waits after tries without success double up to an hour, also when the clock was set back', () => {
  let state = { ...emptyState(), problems: new Watch(0).problemsAfter({}, found(0, 1), at(0)) }
  const changes = changesFor(state, target) ?? { begun: [], over: [] }
  const waits: number[] = []
  for (let n = 0; n < 12; n++) {
    state = beginTry(state, target, changes, 1e9)
    waits.push(((state.targets[target.id]?.nextAt ?? 0) - 1e9) / 1000)
  }
  expect(waits).toEqual([15, 30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600])
  expect(isDue(state, target, 1e9 + 3_599_999)).toBe(false)
  expect(isDue(state, target, 1e9 + 3_600_000)).toBe(true)
  expect(isDue(state, target, 1e9 - 1)).toBe(true)
})

test('a long name is cut, and the text of another program counts as an empty state', () => {
  const alert = { kind: 'queue-unserved', level: 'error', queue: 'x'.repeat(100_000), size: 1 } as const
  const problems = new Watch(0).problemsAfter({}, new Map([[keyOf(alert), alert]]), at(0))
  expect(writeState({ problems, targets: {} }).length).toBeLessThan(600)
  for (const text of ['', 'x', '[]', '{"problems":1,"targets":{}}']) expect(readState(text)).toEqual(emptyState())
})
