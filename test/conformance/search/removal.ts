import { expect } from 'vitest'
import { type Bench, type Case, done, NOW, textsOf, toQueue } from '../bench.ts'
import { change, expectExact, finish, payloadOf, taskWith } from '../tasks/tracked.ts'

const NEEDLE = '"hk_run"'
const LOCK = '"hk_lock"'

/** Moving jobs out of the middle of a queue, and clearing queues and sets. */
export const removal: Case[] = [
  {
    name: 'pull drops or moves a job anywhere in a queue, and keeps the order of the others',
    async run(t) {
      const [a, b, c, d, e, f] = ['a', 'b', 'c', 'd', 'e', 'f'].map((n) => t.job(n)) as [
        string,
        string,
        string,
        ...string[],
      ]
      await t.push('q', a, b, c, d as string, e as string, f as string)
      const answers = await t.store.search.pull(
        'q',
        [
          { text: c, to: null },
          { text: a, to: { to: 'dead', text: `${a} `, score: 5 } },
          { text: f as string, to: toQueue('other', f as string) },
          { text: e as string, to: toQueue('q', e as string, 'front') },
        ],
        NOW,
      )
      expect(answers).toEqual(['ok', 'ok', 'ok', 'ok'])
      expect(await t.waiting('q')).toEqual([e, b, d])
      expect(await t.waiting('other')).toEqual([f])
      expect(await t.store.jobSets.page('dead', { limit: 9 })).toEqual([{ text: `${a} `, score: 5 }])
      expect(await t.store.metrics.totals()).toMatchObject({ enqueued: 4, dead: 1, processed: 0 })
    },
  },
  {
    name: 'pull changes nothing when the text is not in the queue, or not any more',
    async run(t) {
      await t.push('q', t.job(1), t.job(2))
      const owner = await t.owner()
      const [taken] = await t.fetch(owner, 'q')
      const to = toQueue('other', 'moved')
      const answers = await t.store.search.pull(
        'q',
        [
          { text: taken.text, to },
          { text: `${t.job(2)} `, to },
          { text: t.job(2).slice(0, -1), to },
          { text: '', to },
        ],
        NOW,
      )
      expect(answers).toEqual(['gone', 'gone', 'gone', 'gone'])
      expect(await t.store.search.pull('none', [{ text: t.job(1), to }], NOW)).toEqual(['gone'])
      expect(await t.store.search.pull('q', [], NOW)).toEqual([])
      expect(await t.waiting('q')).toEqual([t.job(2)])
      expect(await t.waiting('other')).toEqual([])
      expect((await t.settleAndFetch(owner, { settlements: [done(taken)] })).settled).toEqual(['ok'])
    },
  },
  {
    name: 'among jobs with the same text each item removes one',
    async run(t) {
      const same = t.job('same')
      await t.push('q', same, t.job(1), same, t.job(2), same)
      expect(await t.store.search.pull('q', [{ text: same, to: null }], NOW)).toEqual(['ok'])
      expect((await t.waiting('q')).filter((text) => text === same)).toHaveLength(2)
      const thrice = [1, 2, 3].map(() => ({ text: same, to: null }))
      expect((await t.store.search.pull('q', thrice, NOW)).sort()).toEqual(['gone', 'ok', 'ok'])
      expect(await t.waiting('q')).toEqual([t.job(1), t.job(2)])
    },
  },
  {
    name: 'the hint of a search may be outdated or wrong: the text decides',
    async run(t) {
      const texts = Array.from({ length: 30 }, (_, n) => t.job(n))
      await t.push('q', ...texts)
      const { items } = await t.store.search.scanQueue('q', '', { limit: 30 })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q', 3)
      await t.push('q', t.job('later'))
      await t.settleAndFetch(owner, {
        settlements: [done(first, { move: toQueue('q', first.text, 'front'), processed: 0 })],
      })
      const hints = [...items.map(({ at }) => at).reverse(), '-5', '1e9', 'x', '']
      const some = [texts[0], texts[9], texts[20], texts[29]] as string[]
      for (const [i, text] of some.entries()) {
        expect(await t.store.search.pull('q', [{ text, at: hints[(i * 13) % hints.length], to: null }], NOW)).toEqual([
          'ok',
        ])
      }
      for (const at of hints)
        expect(await t.store.search.pull('q', [{ text: 'none', at, to: null }], NOW)).toEqual(['gone'])
      expect(await t.waiting('q')).toEqual([
        ...texts.filter((_, n) => n > 2 && ![9, 20, 29].includes(n)),
        t.job('later'),
      ])
    },
  },
  {
    name: 'two callers that pull the same jobs at once get each job once',
    shared: true,
    async run(t) {
      const texts = Array.from({ length: 100 }, (_, n) => t.job(n))
      await t.push('q', ...texts)
      const other = await t.another()
      const [mine, theirs] = await Promise.all([
        t.store.search.pull(
          'q',
          texts.map((text) => ({ text, to: toQueue('mine', text) })),
          NOW,
        ),
        other.search.pull(
          'q',
          texts.map((text) => ({ text, to: toQueue('theirs', text) })),
          NOW,
        ),
      ])
      for (const i of texts.keys()) expect([mine[i], theirs[i]].sort()).toEqual(['gone', 'ok'])
      expect([...(await t.waiting('mine')), ...(await t.waiting('theirs'))].sort()).toEqual([...texts].sort())
      expect(await t.waiting('q')).toEqual([])
    },
  },
  {
    name: 'a job is either fetched or pulled',
    shared: true,
    async run(t) {
      const texts = Array.from({ length: 200 }, (_, n) => t.job(n))
      await t.push('q', ...texts)
      const other = await t.another()
      const owner = await t.owner()
      const taking = (async () => {
        const taken: string[] = []
        for (let i = 0; i < 20; i++) taken.push(...textsOf(await t.fetch(owner, 'q', 7)))
        return taken
      })()
      const pulled: string[] = []
      for (let n = 0; n < texts.length; n += 20) {
        const some = texts.slice(n, n + 20)
        const answers = await other.search.pull(
          'q',
          some.map((text) => ({ text, to: null })),
          NOW,
        )
        pulled.push(...some.filter((_, i) => answers[i] === 'ok'))
      }
      const all = [...(await taking), ...pulled, ...(await t.waiting('q'))]
      expect(all.sort()).toEqual([...texts].sort())
    },
  },
  {
    name: 'pulling the row of a task changes its event in the same step, and the next row enters the window',
    async run(t) {
      const task = await taskWith(t, 1, 5)
      const [first] = await t.waiting('q')
      const deleted = change({ text: first }, { attempt: 0, status: 'cancelled', code: 'deleted' })
      expect(await t.store.search.pull('q', [{ text: first, to: null, effects: [deleted] }], NOW)).toEqual(['ok'])
      expect((await expectExact(t, task)).counts).toMatchObject({ cancelled: 1, enqueued: 4 })
      expect(await t.waiting('q')).toHaveLength(3)
      // Gone: no effect.
      const again = change({ text: first }, { attempt: 9, status: 'finished' })
      expect(await t.store.search.pull('q', [{ text: first, to: null, effects: [again] }], NOW)).toEqual(['gone'])
      expect((await expectExact(t, task)).counts).toMatchObject({ cancelled: 1, finished: 0 })
    },
  },
  {
    name: 'many jobs are pulled in one call',
    async run(t) {
      const texts = Array.from({ length: 2500 }, (_, n) => t.job(n))
      await t.store.jobs.push(
        texts.map((text) => toQueue('q', text)),
        NOW,
      )
      const odd = texts.filter((_, n) => n % 2)
      const answers = await t.store.search.pull(
        'q',
        odd.map((text) => ({ text, to: null })),
        NOW,
      )
      expect(answers.filter((answer) => answer === 'ok')).toHaveLength(odd.length)
      expect(await t.waiting('q')).toEqual(texts.filter((_, n) => n % 2 === 0))
    },
  },
  {
    name: 'clearQueue drops all jobs and the name, but no fetched job',
    async run(t) {
      await t.push('q', ...Array.from({ length: 30 }, (_, n) => t.job(n)))
      await t.push('other', t.job('x'))
      const owner = await t.owner()
      const [taken] = await t.fetch(owner, 'q')
      expect(await clearedQueue(t, 100)).toBe(29)
      expect(await t.store.metrics.totals()).toMatchObject({ enqueued: 1, fetched: 1 })
      expect((await t.store.jobs.queues()).map(({ name }) => name)).toEqual(['other'])
      expect(await t.store.search.clearQueue('none', [NEEDLE], 5)).toEqual({ removed: 0, kept: [], done: true })
      // The queue works as before.
      await t.settleAndFetch(owner, {
        settlements: [done(taken, { move: toQueue('q', taken.text, 'front'), processed: 0 })],
      })
      await t.push('q', t.job('later'))
      expect(await t.waiting('q')).toEqual([taken.text, t.job('later')])
      expect(await t.store.jobs.queues()).toContainEqual({ name: 'q', size: 2, limited: 0, next: taken.text })
      expect(textsOf(await t.fetch(owner, 'q', 5))).toEqual([taken.text, t.job('later')])
    },
  },
  {
    name: 'while a task has open rows, clearQueue returns and keeps jobs with a needle, in order, and stops at its limit',
    async run(t) {
      const task = await taskWith(t, 1, 4, { window: 2, queue: 'rows' })
      const texts = Array.from({ length: 10 }, (_, n) => (n % 4 === 1 ? t.job(n, { hk_run: 1 }) : t.job(n)))
      await t.push('q', ...texts)
      const kept = texts.filter((text) => text.includes(NEEDLE))
      const some = await t.store.search.clearQueue('q', [NEEDLE], 4)
      expect(some).toMatchObject({ removed: 3, done: false })
      expect(textsOf(some.kept)).toEqual(kept.slice(0, 1))
      expect(await t.waiting('q')).toEqual([texts[1], ...texts.slice(4)])
      const rest = await t.store.search.clearQueue('q', [NEEDLE], 100)
      expect(rest).toMatchObject({ removed: 4, done: true })
      expect(textsOf(rest.kept)).toEqual(kept)
      expect(await t.waiting('q')).toEqual(kept)
      expect(
        await t.store.search.pull(
          'q',
          rest.kept.map((item) => ({ ...item, to: null })),
          NOW,
        ),
      ).toEqual(['ok', 'ok', 'ok'])
      expect(await t.store.search.clearQueue('q', [NEEDLE], 100)).toEqual({ removed: 0, kept: [], done: true })
      expect((await t.store.jobs.queues()).map(({ name }) => name)).toEqual(['rows'])
      expect((await expectExact(t, task)).counts).toMatchObject({ enqueued: 4 })
    },
  },
  {
    name: 'once all rows have ended, clearQueue drops everything',
    async run(t) {
      const task = await taskWith(t, 1, 1, { queue: 'rows' })
      const owner = await t.owner({ queues: ['rows'] })
      const [row] = await t.fetch(owner, 'rows')
      await t.settleAndFetch(owner, { settlements: [finish(row)] })
      expect(payloadOf(row).jid.slice(0, 16)).toBe(task.id)
      await t.push('q', row.text, t.job(1))
      expect(await clearedQueue(t, 100)).toBe(2)
      expect(await t.waiting('q')).toEqual([])
    },
  },
  {
    name: 'clearSet drops a set, and no other',
    async run(t) {
      await t.store.jobs.push(
        Array.from({ length: 2500 }, (_, n) => ({ to: 'retry', text: t.job(n), score: n % 50 })),
        NOW,
      )
      await t.store.jobs.push([{ to: 'dead', text: t.job('x'), score: 1 }], NOW)
      let removed = 0
      for (;;) {
        const cleared = await t.store.search.clearSet('retry', [NEEDLE])
        removed += cleared.removed
        if (cleared.done) break
      }
      expect(removed).toBe(2500)
      expect(await t.store.metrics.totals()).toMatchObject({ retries: 0, dead: 1 })
      expect(await t.store.jobSets.size('retry')).toBe(0)
      expect(await t.store.search.clearSet('schedule', [])).toEqual({ removed: 0, kept: [], done: true })
    },
  },
  {
    name: 'while a task has open rows, clearSet returns and keeps entries with a needle; without a needle it drops everything',
    async run(t) {
      await taskWith(t, 1, 1, { queue: 'rows' })
      const fill = (to: 'retry' | 'dead') =>
        t.store.jobs.push(
          [1, 2, 3, 4].map((n) => ({ to, score: n, text: n === 3 ? t.job(n, { hk_run: 1 }) : t.job(n) })),
          NOW,
        )
      await fill('retry')
      await fill('dead')
      const kept = { text: t.job(3, { hk_run: 1 }), score: 3 }
      expect(await t.store.search.clearSet('retry', [NEEDLE])).toEqual({ removed: 3, kept: [kept], done: true })
      expect(await t.store.jobSets.page('retry', { limit: 9 })).toEqual([kept])
      expect(await t.store.jobSets.size('retry')).toBe(1)
      expect(await t.store.search.clearSet('dead', [])).toEqual({ removed: 4, kept: [], done: true })
    },
  },
  {
    name: 'while a job has a lock, jobs with any of the needles are returned and kept, and all others are dropped',
    async run(t) {
      const locked = t.job('locked', { hk_lock: 'l' })
      const row = t.job('row', { hk_run: 1 })
      await t.push('q', t.job(1), row)
      await t.store.crons.define('c', { old: null, text: 'c', tick: NOW }, 60)
      const push = { jid: 'locked', item: toQueue('q', locked), lock: 'l' }
      expect(await t.store.crons.tick('c', { text: 'c', from: NOW, to: NOW, push }, NOW)).toBe('ok')
      await t.push('q', t.job(2))
      const cleared = await t.store.search.clearQueue('q', [NEEDLE, LOCK], 100)
      expect(cleared).toMatchObject({ removed: 2, done: true })
      expect(textsOf(cleared.kept)).toEqual([row, locked])
      expect(await t.waiting('q')).toEqual([row, locked])

      const texts = [t.job(1), row, t.job(2), locked]
      await t.store.jobs.push(
        texts.map((text, score) => ({ to: 'retry', text, score })),
        NOW,
      )
      const set = await t.store.search.clearSet('retry', [NEEDLE, LOCK])
      expect(set).toMatchObject({ removed: 2, done: true })
      expect(set.kept).toEqual([
        { text: row, score: 1 },
        { text: locked, score: 3 },
      ])
      expect(await t.store.jobSets.size('retry')).toBe(2)
    },
  },
]

/** Returns how many jobs were dropped from queue `q`. */
async function clearedQueue(t: Bench, most: number): Promise<number> {
  let removed = 0
  for (;;) {
    const cleared = await t.store.search.clearQueue('q', [NEEDLE], most)
    expect(cleared.kept).toEqual([])
    removed += cleared.removed
    if (cleared.done) return removed
  }
}
