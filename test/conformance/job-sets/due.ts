import { expect } from 'vitest'
import { type Case, NOW, timed, toQueue } from '../bench.ts'

const NOW_SECONDS = NOW / 1000

/** Job sets by time: due, swap, prune, and waiting for the next entry. */
export const due: Case[] = [
  {
    name: 'due returns the due entries, lowest first, and the score of the next one',
    async run(t) {
      await t.store.jobs.push(
        [5, -3, 0, -1, 7].map((off) => ({ to: 'schedule', text: t.job(off), score: NOW_SECONDS + off })),
        NOW,
      )
      const answer = await t.store.jobSets.due('schedule', NOW, 10)
      expect(answer.entries).toEqual([-3, -1, 0].map((off) => ({ text: t.job(off), score: NOW_SECONDS + off })))
      expect(answer.next).toBe(NOW_SECONDS + 5)
    },
  },
  {
    name: 'due at its limit returns the first entry after the page as next, and changes nothing',
    async run(t) {
      await t.store.jobs.push(
        [1, 2, 3].map((n) => ({ to: 'retry', text: t.job(n), score: n + 0.5 })),
        NOW,
      )
      const answer = await t.store.jobSets.due('retry', NOW, 2)
      expect(answer.entries).toEqual([1, 2].map((n) => ({ text: t.job(n), score: n + 0.5 })))
      expect(answer.next).toBe(3.5)
      expect(await t.store.jobSets.due('retry', NOW, 2)).toEqual(answer)
      expect(await t.store.jobSets.size('retry')).toBe(3)
    },
  },
  {
    name: 'due of an empty set is empty, and next is null when nothing is left',
    async run(t) {
      expect(await t.store.jobSets.due('schedule', NOW, 10)).toEqual({ entries: [], next: null })
      await t.store.jobs.push([{ to: 'schedule', text: t.job(1), score: 1 }], NOW)
      expect((await t.store.jobSets.due('schedule', NOW, 10)).next).toBe(null)
      expect(await t.store.jobSets.due('retry', NOW, 10)).toEqual({ entries: [], next: null })
    },
  },
  {
    name: 'a score between two milliseconds is not due too early',
    async run(t) {
      await t.store.jobs.push([{ to: 'schedule', text: t.job(1), score: NOW_SECONDS + 0.25 }], NOW)
      expect((await t.store.jobSets.due('schedule', NOW + 249, 10)).entries).toEqual([])
      expect((await t.store.jobSets.due('schedule', NOW + 251, 10)).entries).toHaveLength(1)
    },
  },
  {
    name: 'swap moves an entry to a queue, to another set, to a new score, or drops it',
    async run(t) {
      await t.store.jobs.push(
        [1, 2, 3, 4, 5].map((n) => ({ to: 'retry', text: t.job(n), score: n })),
        NOW,
      )
      const answers = await t.store.jobSets.swap(
        'retry',
        [
          { text: t.job(1), score: 1, to: toQueue('q', '{"new":1}') },
          { text: t.job(2), score: 2, to: { to: 'dead', text: '{"new":2}', score: 22 } },
          { text: t.job(3), score: 3, to: { to: 'retry', text: t.job(3), score: 33.5 } },
          { text: t.job(4), score: 4, to: null },
        ],
        NOW,
      )
      expect(answers).toEqual(['ok', 'ok', 'ok', 'ok'])
      expect(await t.waiting('q')).toEqual(['{"new":1}'])
      expect(await t.store.jobSets.page('dead', { limit: 9 })).toEqual([{ text: '{"new":2}', score: 22 }])
      expect(await t.store.jobSets.page('retry', { limit: 9 })).toEqual([
        { text: t.job(5), score: 5 },
        { text: t.job(3), score: 33.5 },
      ])
    },
  },
  {
    name: 'swap changes nothing when the score or the text has changed',
    async run(t) {
      await t.store.jobs.push([{ to: 'retry', text: t.job(1), score: 1.5 }], NOW)
      const answers = await t.store.jobSets.swap(
        'retry',
        [
          { text: t.job(1), score: 1, to: toQueue('q', t.job(1)) },
          { text: t.job(2), score: 1.5, to: toQueue('q', t.job(2)) },
          { text: `${t.job(1)} `, score: 1.5, to: null },
        ],
        NOW,
      )
      expect(answers).toEqual(['gone', 'gone', 'gone'])
      expect(await t.store.jobSets.swap('schedule', [{ text: t.job(1), score: 1.5, to: null }], NOW)).toEqual(['gone'])
      expect(await t.waiting('q')).toEqual([])
      expect(await t.store.jobSets.page('retry', { limit: 9 })).toEqual([{ text: t.job(1), score: 1.5 }])
    },
  },
  {
    name: 'an entry is swapped once; a repeated swap answers gone, also within one call',
    async run(t) {
      await t.store.jobs.push([{ to: 'schedule', text: t.job(1), score: 1 }], NOW)
      const move = { text: t.job(1), score: 1, to: toQueue('q', t.job(1)) }
      expect(await t.store.jobSets.swap('schedule', [move, move], NOW)).toEqual(['ok', 'gone'])
      expect(await t.store.jobSets.swap('schedule', [move], NOW)).toEqual(['gone'])
      expect(await t.waiting('q')).toEqual([t.job(1)])
    },
  },
  {
    name: 'an entry that is gone does not affect the other swaps of the call',
    async run(t) {
      await t.store.jobs.push(
        [1, 3].map((n) => ({ to: 'schedule', text: t.job(n), score: n })),
        NOW,
      )
      const swaps = [1, 2, 3].map((n) => ({ text: t.job(n), score: n, to: toQueue('q', t.job(n)) }))
      expect(await t.store.jobSets.swap('schedule', swaps, NOW)).toEqual(['ok', 'gone', 'ok'])
      expect(await t.waiting('q')).toEqual([t.job(1), t.job(3)])
    },
  },
  {
    name: 'of two racing swappers exactly one moves each entry',
    async run(t) {
      const numbers = Array.from({ length: 20 }, (_, n) => n)
      await t.store.jobs.push(
        numbers.map((n) => ({ to: 'retry', text: t.job(n), score: n })),
        NOW,
      )
      await raced(t.store, t.store)
      async function raced(one: typeof t.store, two: typeof t.store) {
        const swaps = numbers.map((n) => ({ text: t.job(n), score: n, to: toQueue('q', t.job(n)) }))
        const [left, right] = await Promise.all([
          one.jobSets.swap('retry', swaps, NOW),
          two.jobSets.swap('retry', swaps, NOW),
        ])
        for (const n of numbers) expect([left[n], right[n]].sort()).toEqual(['gone', 'ok'])
        expect((await t.waiting('q')).sort()).toEqual(numbers.map((n) => t.job(n)).sort())
      }
    },
  },
  {
    name: 'of two racing swappers on two connections exactly one moves each entry',
    shared: true,
    async run(t) {
      const numbers = Array.from({ length: 20 }, (_, n) => n)
      await t.store.jobs.push(
        numbers.map((n) => ({ to: 'retry', text: t.job(n), score: n })),
        NOW,
      )
      const other = await t.another()
      const answers = await Promise.all(
        [t.store, other].map(async (store) => {
          const mine = []
          for (const n of numbers) {
            const swap = { text: t.job(n), score: n, to: toQueue('q', t.job(n)) }
            mine.push((await store.jobSets.swap('retry', [swap], NOW))[0])
          }
          return mine
        }),
      )
      for (const n of numbers) expect([answers[0]?.[n], answers[1]?.[n]].sort()).toEqual(['gone', 'ok'])
      expect(await t.waiting('q')).toHaveLength(20)
      expect(await t.store.jobSets.size('retry')).toBe(0)
    },
  },
  {
    name: 'prune keeps the newest entries, and of those the ones that are not too old',
    async run(t) {
      await t.store.jobs.push(
        [5, 1, 4, 2, 3].map((n) => ({ to: 'dead', text: t.job(n), score: n * 100 })),
        NOW,
      )
      await t.store.jobSets.prune('dead', 10, 0)
      expect(await t.store.jobSets.size('dead')).toBe(5)
      await t.store.jobSets.prune('dead', 4, 0)
      expect(await scores()).toEqual([200, 300, 400, 500])
      await t.store.jobSets.prune('dead', 4, 300)
      expect(await scores()).toEqual([300, 400, 500])
      await t.store.jobSets.prune('dead', 1, 1)
      expect(await scores()).toEqual([500])
      await t.store.jobSets.prune('dead', 0, 0)
      expect(await scores()).toEqual([])
      async function scores() {
        return (await t.store.jobSets.page('dead', { limit: 9 })).map(({ score }) => score)
      }
    },
  },
  {
    name: 'prune removes thousands of entries, also equal scores, exactly as many as exceed the limit',
    async run(t) {
      const entries = Array.from({ length: 2500 }, (_, n) => ({ text: t.job(n), score: n < 1500 ? 1 : n }))
      await t.store.jobs.push(
        entries.map((entry) => ({ to: 'finished', ...entry })),
        NOW,
      )
      const kept = await t.store.jobSets.page('finished', { limit: 2500 })
      await t.store.jobSets.prune('finished', 1203, 0)
      expect(await t.store.jobSets.page('finished', { limit: 2500 })).toEqual(kept.slice(-1203))
      await t.store.jobSets.prune('finished', 5000, 1501)
      expect(await t.store.jobSets.page('finished', { limit: 2500 })).toEqual(kept.slice(-999))
      expect(await t.store.jobSets.size('finished')).toBe(999)
    },
  },
  {
    name: 'prune resolves with the removed texts that contain the needle',
    async run(t) {
      const texts = Array.from({ length: 1205 }, (_, n) => t.job(n).replace('{', n % 600 === 0 ? '{"bid":"b",' : '{'))
      await t.store.jobs.push(
        texts.map((text, n) => ({ to: 'dead', text, score: n })),
        NOW,
      )
      const found = await t.store.jobSets.prune('dead', 4, 0, '"bid"')
      expect(found.toSorted()).toEqual([texts[0], texts[600], texts[1200]].toSorted())
      expect(await t.store.jobSets.size('dead')).toBe(4)
      expect(await t.store.jobSets.prune('dead', 0, 0)).toEqual([])
      expect(await t.store.jobSets.size('dead')).toBe(0)
    },
  },
  {
    name: 'prune does not change the other sets',
    async run(t) {
      await t.store.jobs.push([{ to: 'retry', text: t.job(1), score: 1 }], NOW)
      await t.store.jobSets.prune('dead', 0, 1e10)
      expect(await t.store.jobSets.size('retry')).toBe(1)
    },
  },
  {
    name: 'waitUntilDue resolves when something is scheduled',
    async run(t) {
      expect(await t.store.jobSets.due('schedule', NOW, 1)).toEqual({ entries: [], next: null })
      const waiting = timed(t.store.jobSets.waitUntilDue(8000, new AbortController().signal))
      await t.store.jobs.push([{ to: 'schedule', text: t.job(1), score: NOW_SECONDS + 1 }], NOW)
      expect((await waiting).ms).toBeLessThan(1500)
    },
  },
  {
    name: 'waitUntilDue resolves when another connection schedules something',
    shared: true,
    async run(t) {
      const other = await t.another()
      await other.open()
      expect(await t.store.jobSets.due('schedule', NOW, 1)).toEqual({ entries: [], next: null })
      const waiting = timed(t.store.jobSets.waitUntilDue(8000, new AbortController().signal))
      await other.jobs.push([{ to: 'schedule', text: t.job(1), score: NOW_SECONDS + 1 }], NOW)
      expect((await waiting).ms).toBeLessThan(3000)
    },
  },
  {
    name: 'waitUntilDue resolves after its time, and when it is aborted',
    async run(t) {
      await t.store.open()
      expect((await timed(t.store.jobSets.waitUntilDue(50, new AbortController().signal))).ms).toBeLessThan(1000)
      const stop = new AbortController()
      const waiting = timed(t.store.jobSets.waitUntilDue(8000, stop.signal))
      stop.abort()
      expect((await waiting).ms).toBeLessThan(1000)
      expect((await timed(t.store.jobSets.waitUntilDue(8000, stop.signal))).ms).toBeLessThan(1000)
    },
  },
]
