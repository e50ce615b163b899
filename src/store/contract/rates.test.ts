import { expect, test } from 'vitest'
import type { Limit } from './limits.ts'
import { openRate } from './rates.ts'

const SECOND = 1_000_000
const limit = (more: Partial<Limit>): Limit => ({
  ...{ name: 'x', max: 0, count: 10, per: 1000, burst: 1, window: 'smooth' },
  ...more,
})

/** A generator of numbers from 0 to 1 (mulberry32). */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let n = Math.imul(state ^ (state >>> 15), 1 | state)
    n = (n + Math.imul(n ^ (n >>> 7), 61 | n)) ^ n
    return ((n ^ (n >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Asks at random times for as many starts as there is room; returns them on a clock that is never set. */
function starts(own: Limit, seed: number, steps: (random: () => number) => number): number[] {
  const random = chance(seed)
  const all: number[] = []
  let [state, real, set] = ['', 100 * SECOND, 0]
  for (let i = 0; i < 400; i++) {
    real += Math.floor(random() * random() * 0.4 * SECOND)
    set += steps(random)
    const rate = openRate(own, state, real + set)
    const wanted = Math.floor(random() * 6)
    for (let n = 0; n < wanted && rate.room > 0; n++) {
      // Another limit of the job may delay its start.
      const at = Math.max(rate.start, real + set + Math.floor(random() * random() * 20_000))
      rate.reserve(at)
      all.push(at - set)
    }
    if (wanted > 0 && all.length > 0) state = String(rate)
  }
  return all
}

const never = () => 0
const backwards = (random: () => number) => (random() < 0.05 ? -Math.floor(random() * 90 * SECOND) : 0)

for (const [name, steps] of Object.entries({ 'a sound clock': never, 'a clock that is set back': backwards })) {
  test(`no rate is exceeded with ${name}`, () => {
    for (let seed = 1; seed <= 100; seed++) {
      const burst = 1 + (seed % 4)
      const smooth = starts(limit({ burst }), seed, steps)
      // Any 10 + burst starts in a row need more than a second, less the rounding of the state.
      expect(shortest(smooth, burst + 9)).toBeGreaterThan(SECOND - 30)
      const sliding = starts(limit({ window: 'sliding' }), seed, steps)
      expect(shortest(sliding, 10)).toBeGreaterThan(SECOND)
      const fixed = starts(limit({ window: 'fixed' }), seed, steps)
      expect(shortest(fixed, 20)).toBeGreaterThan(SECOND)
      for (const all of [smooth, sliding, fixed]) expect(all.length).toBeGreaterThan(0)
    }
  })
}

/** Returns the shortest time between a start and the one `n` later. */
function shortest(all: readonly number[], n: number): number {
  const sorted = all.toSorted((a, b) => a - b)
  return Math.min(...sorted.slice(n).map((start, i) => start - (sorted[i] as number)))
}

test('a rate gives out all its starts, and says when the next one has room', () => {
  for (const window of ['smooth', 'fixed', 'sliding'] as const) {
    let [state, now] = ['', 7 * SECOND]
    const first = now
    let taken = 0
    while (taken < 1000) {
      const rate = openRate(limit({ window }), state, now)
      for (; rate.room > 0; taken++) rate.reserve(rate.start)
      state = String(rate)
      const next = rate.nextFor(rate.room + 1)
      expect(next).toBeGreaterThan(now)
      now = next
    }
    const seconds = (now - first) / SECOND
    expect(seconds).toBeGreaterThan(97)
    expect(seconds).toBeLessThan(102.1)
  }
})

test('a clock that was set back by a year delays nobody for longer than a period', () => {
  for (const window of ['smooth', 'fixed', 'sliding'] as const) {
    const late = openRate(limit({ window }), '', 400 * 86_400 * SECOND)
    while (late.room > 0) late.reserve(late.start)
    const early = openRate(limit({ window }), String(late), 35 * 86_400 * SECOND)
    expect(early.nextFor(early.room + 1) - 35 * 86_400 * SECOND).toBeLessThan(1.05 * SECOND)
  }
})

test('a state that is no state counts as an unused one', () => {
  for (const window of ['smooth', 'fixed', 'sliding'] as const) {
    expect(openRate(limit({ window }), 'garbage 1 x', 5 * SECOND).room).toBeGreaterThan(0)
  }
})

test('moved jobs keep their room until they start, for five seconds, or until a check that was not planned', () => {
  for (const own of [limit({ burst: 10 }), limit({ window: 'sliding' }), limit({ window: 'fixed' })]) {
    const now = 100 * SECOND
    const planned = now + 50_000
    const first = openRate(own, '', now)
    expect(first.roomOfWaiting(now)).toBe(10)
    expect(first.addMoved(10)).toBeGreaterThan(now)
    first.planCheck(planned)
    const at = (time: number) => openRate(own, String(first), time)
    expect(at(planned).roomOfWaiting(planned)).toBe(0)
    expect(at(planned).room).toBe(10)
    expect(at(planned).roomOfWaiting(planned - 1)).toBe(10)
    expect(at(now + 5 * SECOND).roomOfWaiting(planned)).toBe(10)
    const starting = at(planned)
    for (let n = 0; n < 10; n++) starting.reserve(starting.start)
    expect([starting.roomOfWaiting(planned), starting.room]).toEqual([0, 0])
    expect(String(starting)).not.toContain('called')
  }
})
