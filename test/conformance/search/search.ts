import { expect } from 'vitest'
import type { Entry, Scan } from '#dist/store/contract.js'
import { type Bench, type Case, NOW, textsOf, toQueue } from '../bench.ts'

/** How many jobs are searched; more: HIGHKIQ_TEST_SEARCHED=100000. */
const SEARCHED = Number(process.env.HIGHKIQ_TEST_SEARCHED ?? 20_000)

/** Searching queues and sets, a page at a time. */
export const search: Case[] = [
  {
    name: 'scanQueue finds jobs with the needle, newest first, page by page, and counts the compared jobs',
    async run(t) {
      const texts = Array.from({ length: 25 }, (_, n) => t.job(n, { color: n % 2 ? 'red' : 'blue' }))
      await t.push('q', ...texts)
      await t.push('other', t.job('x', { color: 'red' }))
      const red = texts.filter((text) => text.includes('red')).reverse()
      for (const limit of [1, 5, 12, 100]) {
        const { hits, scanned, pages } = await wholeQueue(t, '"color":"red"', limit)
        expect(hits).toEqual(red)
        expect(scanned).toBe(25)
        expect(Math.max(...pages)).toBeLessThanOrEqual(limit)
      }
      expect((await wholeQueue(t, '', 7)).hits).toEqual([...texts].reverse())
      expect((await wholeQueue(t, 'green', 7)).hits).toEqual([])
      expect(await t.store.search.scanQueue('none', '', { limit: 5 })).toEqual({ items: [], next: null, scanned: 0 })
      expect(await t.waiting('q')).toEqual(texts)
    },
  },
  {
    name: 'a needle is compared literally, without wildcards',
    async run(t) {
      const odd = ['%', '*', '?', '[a-z]', '^x', '.', '\\n', "'", 'žluť', '\u{1f600}', '_']
      const texts = odd.map((what, n) => t.job(n, { what: `<${what}>` }))
      await t.push('q', ...texts)
      await t.store.jobs.push(
        texts.map((text, score) => ({ to: 'dead', text, score })),
        NOW,
      )
      for (const [i, what] of odd.entries()) {
        const needle = JSON.stringify(`<${what}>`)
        expect((await wholeQueue(t, needle, 5)).hits).toEqual([texts[i]])
        expect(textsOf((await wholeSet(t, needle, 5)).hits)).toEqual([texts[i]])
      }
    },
  },
  {
    name: 'pushes and fetches during a search make it skip nothing',
    async run(t) {
      const texts = Array.from({ length: 60 }, (_, n) => t.job(n))
      await t.push('q', ...texts)
      const owner = await t.owner()
      const met = new Set<string>()
      let after: string | undefined
      let n = 0
      for (;;) {
        const page: Scan<{ text: string }> = await t.store.search.scanQueue('q', '', { after, limit: 4 })
        for (const { text } of page.items) met.add(text)
        if (page.next === null) break
        after = page.next
        await t.push('q', t.job(`new ${n}`), t.job(`newer ${n}`), t.job(`newest ${n++}`))
        await t.fetch(owner, 'q', t.dice(4))
      }
      const still = (await t.waiting('q')).filter((text) => texts.includes(text))
      expect(still.length).toBeGreaterThan(10)
      expect(still.filter((text) => !met.has(text))).toEqual([])
    },
  },
  {
    name: 'with oldestFirst scanQueue finds the jobs in the order in which they are fetched',
    async run(t) {
      const texts = Array.from({ length: 25 }, (_, n) => t.job(n, { color: n % 2 ? 'red' : 'blue' }))
      await t.push('q', ...texts)
      const red = texts.filter((text) => text.includes('red'))
      for (const limit of [1, 5, 12, 100]) {
        const { hits, scanned, pages } = await wholeQueue(t, '"color":"red"', limit, { oldestFirst: true })
        expect(hits).toEqual(red)
        expect(scanned).toBe(25)
        expect(Math.max(...pages)).toBeLessThanOrEqual(limit)
      }
      expect((await wholeQueue(t, '', 7, { oldestFirst: true })).hits).toEqual(texts)
      const none = await t.store.search.scanQueue('none', '', { oldestFirst: true, limit: 5 })
      expect(none).toEqual({ items: [], next: null, scanned: 0 })
      // What a search has found can be named to `pull`.
      const { items } = await t.store.search.scanQueue('q', '', { oldestFirst: true, limit: 3 })
      const pulls = items.map((item) => ({ ...item, to: null }))
      expect(await t.store.search.pull('q', pulls, NOW)).toEqual(['ok', 'ok', 'ok'])
      expect(await t.waiting('q')).toEqual(texts.slice(3))
    },
  },
  {
    name: 'with oldestFirst pushes, fetches and requeues during a search make it skip nothing',
    async run(t) {
      const texts = Array.from({ length: 120 }, (_, n) => t.job(n))
      await t.push('q', ...texts)
      const owner = await t.owner()
      const met = new Set<string>()
      const gone = new Set<string>()
      let after: string | undefined
      for (let n = 0; ; n++) {
        const page = await t.store.search.scanQueue('q', '', { after, oldestFirst: true, limit: 4 })
        for (const { text } of page.items) met.add(text)
        if (page.next === null) break
        after = page.next
        if (n < 40) await t.push('q', t.job(`new ${n}`))
        if (n % 3 === 0) await t.store.jobs.push([toQueue('q', t.job(`back ${n}`), 'front')], NOW)
        for (const { text } of await t.fetch(owner, 'q', t.dice(3))) gone.add(text)
      }
      const still = texts.filter((text) => !gone.has(text))
      expect(still.filter((text) => !met.has(text))).toEqual([])
    },
  },
  {
    name: 'a search that begins at a job finds it soon, whatever was pushed, fetched and requeued meanwhile',
    async run(t) {
      const texts = Array.from({ length: 3000 }, (_, n) => t.job(n))
      await t.push('q', ...texts)
      const first = await t.store.search.scanQueue('q', '', { limit: 1000 })
      const second = await t.store.search.scanQueue('q', '', { after: first.next ?? '', limit: 1000 })
      const listed = [...first.items, ...second.items]
      const chosen = [0, 500, 1500, 1999].map((i) => listed[i] as (typeof listed)[number])
      await t.push('q', ...Array.from({ length: 300 }, (_, n) => t.job(`new ${n}`)))
      await t.fetch(await t.owner(), 'q', 200)
      const back = Array.from({ length: 300 }, (_, n) => toQueue('q', t.job(`back ${n}`), 'front'))
      await t.store.jobs.push(back, NOW)
      for (const { text, at } of chosen) {
        let looked = 0
        let after: string | undefined
        let isMet = false
        do {
          const page: Scan<{ text: string }> = await t.store.search.scanQueue('q', '', { at, after, limit: 100 })
          looked += page.scanned
          isMet = page.items.some((item) => item.text === text)
          after = page.next ?? undefined
        } while (!isMet && after !== undefined)
        expect(isMet).toBe(true)
        expect(looked).toBeLessThanOrEqual(900)
      }
    },
  },
  {
    name: 'found jobs can be removed before the next page, and the search skips and repeats nothing',
    async run(t) {
      const texts = Array.from({ length: 50 }, (_, n) => t.job(n))
      await t.push('q', ...texts)
      const met: string[] = []
      let after: string | undefined
      for (;;) {
        const page: Scan<{ text: string; at: string }> = await t.store.search.scanQueue('q', '', { after, limit: 7 })
        met.push(...textsOf(page.items))
        const pulls = page.items.filter((_, i) => i !== 2).map((item) => ({ ...item, to: null }))
        expect(await t.store.search.pull('q', pulls, NOW)).toEqual(pulls.map(() => 'ok'))
        if (page.next === null) break
        after = page.next
      }
      expect(met).toEqual([...texts].reverse())
    },
  },
  {
    name: 'large and small jobs are searched alike',
    async run(t) {
      const texts = Array.from({ length: 40 }, (_, n) => t.job(n, { fill: 'x'.repeat(n % 7 === 0 ? 400_000 : 10) }))
      await t.push('q', ...texts)
      const { hits, scanned } = await wholeQueue(t, texts[3]?.slice(0, 40) ?? '', 10)
      expect(hits).toEqual([texts[3]])
      expect(scanned).toBe(40)
    },
  },
  {
    name: 'scanSet finds every entry that contains the needle, with its score',
    async run(t) {
      const all = Array.from({ length: 300 }, (_, n) => ({
        score: n % 3 ? 10 : n / 7,
        text: t.job(n, { color: n % 10 ? 'blue' : 'red' }),
      }))
      await t.store.jobs.push(
        all.map((entry) => ({ to: 'retry', ...entry })),
        NOW,
      )
      await t.store.jobs.push([{ to: 'dead', text: t.job('x', { color: 'red' }), score: 1 }], NOW)
      const red = all.filter(({ text }) => text.includes('red'))
      for (const limit of [1, 25, 1000]) {
        expect(sorted((await wholeSet(t, '"color":"red"', limit, 'retry')).hits)).toEqual(sorted(red))
      }
      expect(sorted((await wholeSet(t, '', 20, 'retry')).hits)).toEqual(sorted(all))
      expect(await t.store.search.scanSet('schedule', '', { limit: 5 })).toMatchObject({ items: [], next: null })
    },
  },
  {
    name: 'found entries can be removed before the next page, and the scan skips nothing',
    async run(t) {
      const all = Array.from({ length: 250 }, (_, n) => ({ score: n % 40 ? 7 : n, text: t.job(n) }))
      await t.store.jobs.push(
        all.map((entry) => ({ to: 'dead', ...entry })),
        NOW,
      )
      let after: string | undefined
      do {
        const page: Scan<Entry> = await t.store.search.scanSet('dead', '', { after, limit: 20 })
        await t.store.jobSets.swap(
          'dead',
          page.items.map((entry) => ({ ...entry, to: null })),
          NOW,
        )
        after = page.next ?? undefined
      } while (after !== undefined)
      expect(await t.store.jobSets.size('dead')).toBe(0)
    },
  },
  {
    name: 'a long queue and a long set are searched in small steps',
    seconds: 60,
    async run(t) {
      const texts = Array.from({ length: SEARCHED }, (_, n) => t.job(n))
      for (let from = 0; from < texts.length; from += 10_000) {
        await t.store.jobs.push(
          texts.slice(from, from + 10_000).map((text) => toQueue('q', text)),
          NOW,
        )
        await t.store.jobs.push(
          texts.slice(from, from + 10_000).map((text, n) => ({ to: 'dead', text, score: n % 100 })),
          NOW,
        )
      }
      const needle = '[5],'
      const inQueue = await wholeQueue(t, needle, 100)
      expect(inQueue.hits).toEqual([texts[5]])
      expect(inQueue.scanned).toBe(SEARCHED)
      expect(inQueue.pages.length).toBeGreaterThan(SEARCHED / 5000)
      const inSet = await wholeSet(t, needle, 100)
      expect(textsOf(inSet.hits)).toEqual([texts[5]])
      expect(inSet.pages.length).toBeGreaterThan(SEARCHED / 5000)
    },
  },
  {
    name: 'scanQueues finds jobs with the needle in several queues, in their order, each newest first',
    async run(t) {
      const red = (n: number) => t.job(n, { color: 'red' })
      await t.push('a', red(1), t.job(2), red(3))
      await t.push('b', t.job(4))
      await t.push('p3:c', red(5))
      await t.push('c', red(6), t.job(7), red(8))
      await t.push('other', red(9))
      const found = await t.store.search.scanQueues(['c', 'none', 'b', 'a'], '"color":"red"')
      const places = found.items.map(({ queue, text }) => [queue, text])
      expect(places).toEqual([
        ['c', red(8)],
        ['c', red(6)],
        ['c', red(5)],
        ['a', red(3)],
        ['a', red(1)],
      ])
      expect(found.sizes).toEqual([4, 0, 1, 3])
      expect((await t.store.search.scanQueues(['a'], '')).items).toHaveLength(3)
      expect(await t.store.search.scanQueues([], '')).toEqual({ items: [], sizes: [] })
      // `at` names the place of a job, as it does after scanQueue.
      for (const { queue, text, at } of found.items) {
        expect(await t.store.search.pull(queue, [{ text, at, to: null }], NOW)).toEqual(['ok'])
      }
      expect(await t.waiting('c')).toEqual([t.job(7)])
    },
  },
  {
    name: 'scanQueues searches as many of the first queues as one call can, and no part of a queue',
    async run(t) {
      const names = Array.from({ length: 1200 }, (_, n) => `q${n}`)
      const jobs = names.flatMap((queue, n) => toQueue(queue, t.job(n)))
      const more = Array.from({ length: 1990 }, (_, n) => t.job(`more ${n}`))
      await t.store.jobs.push(jobs, NOW)
      await t.push('q3', ...more)
      const texts: string[] = []
      for (let from = 0, calls = 1; from < names.length; calls++) {
        const { items, sizes } = await t.store.search.scanQueues(names.slice(from), '')
        expect(items).toHaveLength(sizes.reduce((sum, size) => sum + size, 0))
        expect(sizes.length).toBeGreaterThan(0)
        expect(calls).toBeLessThan(6)
        texts.push(...textsOf(items))
        from += sizes.length
      }
      expect(texts.sort()).toEqual([...textsOf(jobs), ...more].sort())
      await t.push('q3', ...Array.from({ length: 2000 }, (_, n) => t.job(`most ${n}`)))
      expect(await t.store.search.scanQueues(['q3', 'q4'], '')).toEqual({ items: [], sizes: [] })
      expect(await t.store.search.scanQueues(['q2', 'q3'], '')).toMatchObject({ sizes: [1] })
    },
  },
  {
    name: 'scanQueues finds a job once that moves from queue to queue meanwhile',
    shared: true,
    async run(t) {
      const queues = ['a', 'b', 'c']
      const text = t.job('moving')
      await t.push('a', text)
      const other = await t.another()
      const moving = async () => {
        for (let i = 0; i < 60; i++) {
          const [from, to] = [queues[i % 3] as string, queues[(i + 1) % 3] as string]
          expect(await other.search.pull(from, [{ text, to: toQueue(to, text) }], NOW)).toEqual(['ok'])
        }
      }
      let isOver = false
      const moved = moving().finally(() => {
        isOver = true
      })
      while (!isOver) {
        const { items } = await t.store.search.scanQueues(queues, 'moving')
        expect(textsOf(items)).toEqual([text])
      }
      await moved
    },
  },
]

async function wholeQueue(t: Bench, needle: string, limit: number, order: { oldestFirst?: boolean } = {}) {
  const found: { hits: string[]; scanned: number; pages: number[] } = { hits: [], scanned: 0, pages: [] }
  let after: string | undefined
  do {
    const page = await t.store.search.scanQueue('q', needle, { after, limit, ...order })
    found.hits.push(...textsOf(page.items))
    found.pages.push(page.items.length)
    found.scanned += page.scanned
    after = page.next ?? undefined
  } while (after !== undefined)
  return found
}

async function wholeSet(t: Bench, needle: string, limit: number, set: 'dead' | 'retry' = 'dead') {
  const found: { hits: Entry[]; pages: number[] } = { hits: [], pages: [] }
  let after: string | undefined
  do {
    const page = await t.store.search.scanSet(set, needle, { after, limit })
    found.hits.push(...page.items)
    found.pages.push(page.items.length)
    after = page.next ?? undefined
  } while (after !== undefined)
  // A scan may meet an entry again.
  found.hits = [...new Map(found.hits.map((entry) => [entry.text, entry])).values()]
  return found
}

function sorted(entries: Entry[]): Entry[] {
  return [...entries].sort((a, b) => (a.text < b.text ? -1 : 1))
}
