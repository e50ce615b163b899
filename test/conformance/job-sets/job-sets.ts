import { expect } from 'vitest'
import type { Entry } from '#dist/store/contract.js'
import { type Bench, type Case, NOW, sure, toQueue } from '../bench.ts'
import { longJob, MANY, startsWithOldest } from '../workers/in-order.ts'

/** Reading job sets. */
export const jobSets: Case[] = [
  {
    name: 'the sets are kept apart, each with its size',
    async run(t) {
      await t.store.jobs.push(
        [
          { to: 'retry', text: t.job(1), score: 1 },
          { to: 'retry', text: t.job(2), score: 2 },
          { to: 'dead', text: t.job(1), score: 1 },
        ],
        NOW,
      )
      expect(await t.store.jobSets.size('retry')).toBe(2)
      expect(await t.store.jobSets.size('dead')).toBe(1)
      expect(await t.store.jobSets.size('schedule')).toBe(0)
      expect(await t.store.jobSets.page('schedule', { limit: 5 })).toEqual([])
    },
  },
  {
    name: 'entries come by score, then text, upwards and downwards',
    async run(t) {
      const all = await filled(t)
      expect(await t.store.jobSets.page('dead', { limit: 100 })).toEqual(all)
      expect(await t.store.jobSets.page('dead', { desc: true, limit: 100 })).toEqual([...all].reverse())
      expect(await t.store.jobSets.page('dead', { limit: 3 })).toEqual(all.slice(0, 3))
    },
  },
  {
    name: 'pages continue after the last entry, also among equal scores, in both directions',
    async run(t) {
      const all = await filled(t)
      for (const limit of [1, 2, 3, 5]) {
        expect(await paged(t, limit, false)).toEqual(all)
        expect(await paged(t, limit, true)).toEqual([...all].reverse())
      }
    },
  },
  {
    name: 'a page continues after an entry that has gone meanwhile',
    async run(t) {
      const all = await filled(t)
      const after = sure(all[4])
      await t.store.jobSets.swap('dead', [{ ...after, to: null }], 0)
      expect(await t.store.jobSets.page('dead', { after, limit: 2 })).toEqual(all.slice(5, 7))
      expect(await t.store.jobSets.page('dead', { after, desc: true, limit: 2 })).toEqual([all[3], all[2]])
    },
  },
  {
    name: 'a page continues after any score and text, also without such an entry, among equal scores',
    async run(t) {
      const all = Array.from({ length: 1000 }, (_, n) => ({ score: 5, text: `{"n":"${String(n).padStart(4, '0')}é"}` }))
      const [first, last] = [
        { score: 4, text: '{"first":1}' },
        { score: 6, text: '{"last":1}' },
      ]
      await t.store.jobs.push(
        [...all, first, last].map((entry) => ({ to: 'dead', ...entry })),
        NOW,
      )
      const behind = (text: string, desc: boolean) =>
        t.store.jobSets.page('dead', { after: { score: 5, text }, desc, limit: 2 })
      expect(await behind('{"n":"0700', false)).toEqual(all.slice(700, 702))
      expect(await behind('{"n":"0700', true)).toEqual([all[699], all[698]])
      expect(await behind('{"n":"0700~', false)).toEqual(all.slice(700, 702))
      expect(await behind('{"n":"0700ê', true)).toEqual([all[700], all[699]])
      expect(await behind('', false)).toEqual(all.slice(0, 2))
      expect(await behind('', true)).toEqual([first])
      expect(await behind('\u{10ffff}', false)).toEqual([last])
      expect(await behind('\u{10ffff}', true)).toEqual([all[999], all[998]])
      expect(await t.store.jobSets.page('dead', { after: { score: 5.5, text: 'x' }, limit: 2 })).toEqual([last])
      expect(await t.store.jobSets.page('dead', { after: { score: 7, text: 'x' }, limit: 2 })).toEqual([])
      expect(await t.store.jobSets.page('dead', { after: { score: 3, text: 'x' }, limit: 1 })).toEqual([first])
    },
  },
  {
    name: 'jobs with equal texts that are pushed to a set all stay, together and one by one, also with another time',
    async run(t) {
      const text = t.job(1)
      const item = (score: number) => ({ to: 'schedule', text, score }) as const
      await t.store.jobs.push([item(5)], NOW)
      await t.store.jobs.push([item(5)], NOW)
      await t.store.jobs.push([item(9)], NOW)
      await t.store.jobs.push([item(5), { to: 'schedule', text: t.job(2), score: 7 }, item(5)], NOW)
      const entries = await t.store.jobSets.page('schedule', { limit: 9 })
      expect(entries.map(({ score }) => score)).toEqual([5, 5, 5, 5, 7, 9])
      expect(entries.filter(({ score }) => score !== 7).map((entry) => entry.text.trimEnd())).toEqual(
        Array(5).fill(text),
      )
      expect(new Set(entries.filter(({ score }) => score === 5).map((entry) => entry.text)).size).toBe(4)
      expect(entries.map((entry) => entry.text)).toContain(text)
      const swaps = entries.map((entry) => ({ ...entry, to: null }))
      expect(await t.store.jobSets.swap('schedule', swaps, NOW)).toEqual(entries.map(() => 'ok'))
      expect(await t.store.jobSets.size('schedule')).toBe(0)
    },
  },
  {
    name: 'jobs that leave a set for the front of a queue in one call start in their order',
    async run(t) {
      const jobs = Array.from({ length: MANY }, (_, n) => ({ text: longJob(t, n), score: n }))
      await t.store.jobs.push(
        jobs.map((entry) => ({ to: 'retry', ...entry })),
        NOW,
      )
      const swaps = jobs.map((entry) => ({ ...entry, to: toQueue('q', entry.text, 'front') })).reverse()
      await startsWithOldest(t, longJob(t, 0), () => t.store.jobSets.swap('retry', swaps, NOW))
    },
  },
  {
    name: 'scores keep their fractions',
    async run(t) {
      const scores = [1_779_019_200.123, 1_779_019_200.1230001, 1_779_019_200.5, 0.1]
      await t.store.jobs.push(
        scores.map((score, n) => ({ to: 'retry', text: t.job(n), score })),
        NOW,
      )
      const kept = await t.store.jobSets.page('retry', { limit: 9 })
      expect(kept.map(({ score }) => score)).toEqual([...scores].sort((a, b) => a - b))
      const answers = await t.store.jobSets.swap(
        'retry',
        kept.map((entry) => ({ ...entry, to: null })),
        0,
      )
      expect(answers).toEqual(['ok', 'ok', 'ok', 'ok'])
    },
  },
]

/** Entries of the dead set, some with equal scores, in their order. */
async function filled(t: Bench): Promise<Entry[]> {
  const all: Entry[] = []
  for (const score of [-1, 0, 10, 10.5, 1e9]) {
    for (let i = 0; i < (score === 10 ? 6 : 2); i++) all.push({ score, text: `{"n":"${score}/${i}"}` })
  }
  const shuffled = [...all].sort(() => t.random() - 0.5)
  await t.store.jobs.push(
    shuffled.map((entry) => ({ to: 'dead', ...entry })),
    NOW,
  )
  return all
}

async function paged(t: Bench, limit: number, desc: boolean): Promise<Entry[]> {
  const all: Entry[] = []
  for (;;) {
    const page = await t.store.jobSets.page('dead', { after: all.at(-1), desc, limit })
    expect(page.length).toBeLessThanOrEqual(limit)
    if (page.length === 0) return all
    all.push(...page)
  }
}
