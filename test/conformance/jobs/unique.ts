import { expect } from 'vitest'
import type { Effect, Pull, PushItem, UniqueClaim, UniqueLock } from '#dist/store/contract.js'
import { type Bench, type Case, done, NOW, release, toQueue } from '../bench.ts'

const unique = (t: Bench, jid: string, ...claims: Partial<UniqueClaim>[]): PushItem => ({
  ...toQueue('q', t.job(jid)),
  unique: { jid, claims: (claims.length > 0 ? claims : [{}]).map((claim) => ({ key: 'k', ...claim })) },
})

const holdersOf = async (t: Bench, items: PushItem[], now = NOW) =>
  (await t.store.jobs.push(items, now)).map(({ item, holder }) => [item.unique?.jid, holder])

const free: Effect = { kind: 'release-unique', key: 'k', holder: 'a' }
const acquire: Effect = { kind: 'keep-unique', key: 'k', holder: 'a', acquire: true }

const lock = (key: string, holder: string, more: Partial<UniqueLock> = {}): UniqueLock => {
  return { key, holder, ends: null, outlives: false, suspicion: null, ...more }
}

/** All locks, by key, read in small pages. */
const locksOf = async ({ store }: Bench, now = NOW) => {
  const all = new Map<string, UniqueLock>()
  for (let after: string | undefined; ; ) {
    const page = await store.unique.list({ after, limit: 2 }, now)
    for (const one of page.locks) all.set(one.key, one)
    if (page.next === null) return [...all.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
    after = page.next
  }
}

/** Unique jobs: a push and its lock are one step, and so are the end of a job and the release of its lock. */
export const uniqueJobs: Case[] = [
  {
    name: 'a push whose lock another job holds is refused with that job, also in one call; the others are stored',
    async run(t) {
      const items = [unique(t, 'a'), toQueue('q', t.job('x')), unique(t, 'b'), unique(t, 'c', { key: 'other' })]
      expect(await holdersOf(t, items)).toEqual([['b', 'a']])
      expect((await t.waiting('q')).sort()).toEqual([t.job('a'), t.job('c'), t.job('x')].sort())
      const scheduled: PushItem = {
        to: 'schedule',
        text: t.job('d'),
        score: 2e9,
        unique: { jid: 'd', claims: [{ key: 'k' }] },
      }
      expect(await holdersOf(t, [scheduled])).toEqual([['d', 'a']])
      expect(await t.store.jobSets.size('schedule')).toBe(0)
    },
  },
  {
    name: 'a second push of the job that holds the lock is refused with itself, and a repeated push with once is not',
    async run(t) {
      expect(await holdersOf(t, [unique(t, 'a')])).toEqual([])
      expect(await holdersOf(t, [unique(t, 'a')])).toEqual([['a', 'a']])
      const twice = [unique(t, 'c', { key: 'c' }), unique(t, 'c', { key: 'c' })]
      expect(await holdersOf(t, twice)).toEqual([['c', 'c']])
      const once = { ...unique(t, 'e', { key: 'e' }), once: 'e' }
      expect(await holdersOf(t, [once])).toEqual([])
      expect(await holdersOf(t, [once])).toEqual([])
      expect(await holdersOf(t, [unique(t, 'e', { key: 'e' })])).toEqual([['e', 'e']])
      expect(await t.waiting('q')).toEqual(['a', 'c', 'e'].map((id) => t.job(id)))
    },
  },
  {
    name: 'a refused push with once is refused again, and is stored once the lock is free',
    async run(t) {
      await holdersOf(t, [unique(t, 'a')])
      const once = { ...unique(t, 'b'), once: 'b' }
      expect(await holdersOf(t, [once])).toEqual([['b', 'a']])
      expect(await holdersOf(t, [once])).toEqual([['b', 'a']])
      const owner = await t.owner()
      const [job] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [done(job, { effects: [free] })] })
      expect(await holdersOf(t, [once])).toEqual([])
      expect(await holdersOf(t, [once])).toEqual([])
      expect(await t.waiting('q')).toEqual([t.job('b')])
    },
  },
  {
    name: 'the lock is released in the step that starts or settles the job, and only for its holder',
    async run(t) {
      await holdersOf(t, [unique(t, 'a')])
      const owner = await t.owner()
      const [{ queue, ticket }] = await t.fetch(owner, 'q')
      const others: Effect = { kind: 'release-unique', key: 'k', holder: 'b' }
      await t.settleAndFetch(owner, { started: [{ queue, ticket, effects: [others] }] })
      expect(await holdersOf(t, [unique(t, 'b')])).toEqual([['b', 'a']])
      await t.settleAndFetch(owner, { started: [{ queue, ticket, effects: [free] }] })
      expect(await holdersOf(t, [unique(t, 'b')])).toEqual([])
      await t.settleAndFetch(owner, { started: [{ queue, ticket, effects: [free] }] })
      expect(await holdersOf(t, [unique(t, 'c')])).toEqual([['c', 'b']])
    },
  },
  {
    name: 'a settlement that is fenced releases no lock',
    async run(t) {
      await holdersOf(t, [unique(t, 'a')])
      const owner = await t.owner()
      const [job] = await t.fetch(owner, 'q')
      await t.store.workers.claim(owner)
      await t.settleAndFetch(owner, { settlements: [done(job, { effects: [free] })] })
      expect(await holdersOf(t, [unique(t, 'b')])).toEqual([['b', 'a']])
      const [orphan] = await t.store.workers.orphaned(9)
      const rescue = { owner, queue: 'q', ticket: orphan?.ticket as string, to: null, effects: [free] }
      expect(await t.store.workers.rescue([rescue], NOW)).toEqual(['ok'])
      expect(await holdersOf(t, [unique(t, 'b')])).toEqual([])
    },
  },
  {
    name: 'a job that waits again gets its lock only if it is free',
    async run(t) {
      await holdersOf(t, [unique(t, 'a')])
      const owner = await t.owner()
      const start = async () => {
        const [job] = await t.fetch(owner, 'q')
        await t.settleAndFetch(owner, { started: [{ queue: 'q', ticket: job.ticket, effects: [free] }] })
        return job
      }
      const first = await start()
      await t.settleAndFetch(owner, { settlements: [release(first, { effects: [acquire] })] })
      expect(await holdersOf(t, [unique(t, 'b')])).toEqual([['b', 'a']])
      const second = await start()
      expect(await holdersOf(t, [unique(t, 'b')])).toEqual([])
      await t.settleAndFetch(owner, { settlements: [release(second, { effects: [acquire] })] })
      expect(await holdersOf(t, [unique(t, 'c')])).toEqual([['c', 'b']])
    },
  },
  {
    name: 'a lock with an end is held after its job has ended, and is free from its end on',
    async run(t) {
      await holdersOf(t, [unique(t, 'a', { ends: NOW + 300, outlives: true })])
      const owner = await t.owner()
      const [job] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [done(job)] })
      expect(await holdersOf(t, [unique(t, 'b', { ends: NOW + 300 })], NOW + 1)).toEqual([['b', 'a']])
      expect(await holdersOf(t, [unique(t, 'c')], NOW + 301)).toEqual([])
    },
  },
  {
    name: 'a job of a queue gets another text in its place, only while it is unchanged, and its effects apply',
    async run(t) {
      await holdersOf(t, [unique(t, 'a')])
      await t.push('q', t.job('x'), t.job('y'), t.job('x'))
      await t.store.unique.suspect([{ key: 'k', holder: 'a' }], 'walk')
      const same = (text: string, by: string, effects: Effect[] = []): Pull => {
        return { text, to: { to: 'same', text: by }, effects }
      }
      const pulls = [same(t.job('a'), t.job('b'), [acquire]), same(t.job('x'), 'new'), same(t.job('z'), 'no')]
      expect(await t.store.search.pull('q', pulls, NOW)).toEqual(['ok', 'ok', 'gone'])
      const waiting = await t.waiting('q')
      expect([waiting[0], waiting[2], waiting.length]).toEqual([t.job('b'), t.job('y'), 4])
      expect([waiting[1], waiting[3]].toSorted()).toEqual(['new', t.job('x')].toSorted())
      expect(await locksOf(t)).toEqual([lock('k', 'a')])
      const twice = [same(t.job('y'), 'y1'), same('y1', 'y2'), { text: t.job('b'), to: null }]
      expect((await t.store.search.pull('q', twice, NOW)).filter((answer) => answer === 'ok').length).toBeGreaterThan(1)
      expect(await t.waiting('q')).toHaveLength(3)
    },
  },
  {
    name: 'clearing a queue leaves jobs with a needle while a lock is held',
    async run(t) {
      const text = t.job('a', { hk_unique: 'success:k' })
      await t.store.jobs.push([{ ...unique(t, 'a'), ...toQueue('q', text) }, toQueue('q', t.job('x'))], NOW)
      const cleared = await t.store.search.clearQueue('q', ['"hk_unique"'], 9)
      expect(cleared).toMatchObject({ removed: 1, done: true, kept: [{ text }] })
    },
  },
  {
    name: 'of several connections that push one key at once, one stores its job',
    shared: true,
    async run(t) {
      const stores = [t.store, await t.another(), await t.another()]
      const refused = await Promise.all(
        stores.flatMap((store, s) =>
          Array.from({ length: 10 }, (_, n) => store.jobs.push([unique(t, `${s}${n}`)], NOW)),
        ),
      )
      expect(await t.waiting('q')).toHaveLength(1)
      expect(refused.flat()).toHaveLength(29)
      expect(new Set(refused.flat().map(({ holder }) => holder)).size).toBe(1)
    },
  },
  {
    name: 'a job with several locks gets all of them or none, and the first one that is held decides',
    async run(t) {
      await holdersOf(t, [unique(t, 'a', { key: 'k1' })])
      expect(await holdersOf(t, [unique(t, 'b', { key: 'k2' }, { key: 'k1' })])).toEqual([['b', 'a']])
      expect(await locksOf(t)).toEqual([lock('k1', 'a')])
      expect(await holdersOf(t, [unique(t, 'c', { key: 'k2' }, { key: 'k3' })])).toEqual([])
      expect(await holdersOf(t, [unique(t, 'c', { key: 'k2' }, { key: 'k1' })])).toEqual([['c', 'c']])
      expect(await holdersOf(t, [unique(t, 'c', { key: 'k1' }, { key: 'k2' })])).toEqual([['c', 'a']])
      expect(await t.waiting('q')).toEqual([t.job('a'), t.job('c')])
    },
  },
  {
    name: 'a refused push tells when the holder was scheduled, as far as its moves said so',
    async run(t) {
      const scheduled: PushItem = { ...unique(t, 'a'), to: 'schedule', text: t.job('a'), score: 2e9 }
      await t.store.jobs.push([scheduled, unique(t, 'x', { key: 'x' })], NOW)
      const refused = async (key: string) =>
        (await t.store.jobs.push([unique(t, 'b', { key })], NOW)).map(({ due }) => due)
      expect([await refused('k'), await refused('x')]).toEqual([[2e9], [null]])
      const moved = { to: 'schedule', text: t.job('a'), score: 3e9 } as const
      const effects: Effect[] = [{ kind: 'keep-unique', key: 'k', holder: 'a', acquire: true, due: 3e9 }]
      await t.store.jobSets.swap('schedule', [{ text: t.job('a'), score: 2e9, to: moved, effects }], NOW)
      expect(await refused('k')).toEqual([3e9])
    },
  },
  {
    name: 'locks are listed and found with their holders and ends; those whose time is over are free',
    async run(t) {
      const claims = Array.from({ length: 7 }, (_, i) => unique(t, `j${i}`, { key: `k${i}` }))
      const ending = [
        unique(t, 'é:1', { key: 'z1', ends: NOW + 9, outlives: true }),
        unique(t, 'e2', { key: 'z2', ends: NOW + 5 }),
      ]
      await t.store.jobs.push([...claims, ...ending], NOW)
      const all = claims.map((_, i) => lock(`k${i}`, `j${i}`))
      const z1 = lock('z1', 'é:1', { ends: NOW + 9, outlives: true })
      const z2 = lock('z2', 'e2', { ends: NOW + 5 })
      expect(await locksOf(t)).toEqual([...all, z1, z2])
      expect(await t.store.unique.find(['z2', 'no', 'k3', 'z1'], NOW)).toEqual([z2, null, all[3], z1])
      expect(await t.store.unique.find(['z2', 'z1'], NOW + 5)).toEqual([null, z1])
      expect(await t.store.unique.find([], NOW)).toEqual([])
      expect(await locksOf(t, NOW + 5)).toEqual([...all, z1])
      expect(await locksOf(t, NOW + 9)).toEqual(all)
    },
  },
  {
    name: 'locks whose keys and holders have a NUL are found, listed page by page, and released',
    async run(t) {
      const jids = ['a\0b', 'a\0c', 'a\0d']
      const keyOf = (jid: string) => `jid:${jid}`
      const items = jids.map((jid) => unique(t, jid, { key: keyOf(jid) }))
      expect(await holdersOf(t, items)).toEqual([])
      expect(await holdersOf(t, items)).toEqual(jids.map((jid) => [jid, jid]))
      const all = jids.map((jid) => lock(keyOf(jid), jid))
      expect(await t.store.unique.find(jids.map(keyOf), NOW)).toEqual(all)
      expect(await locksOf(t)).toEqual(all)
      expect(await t.store.unique.release(all.map(({ key, holder }) => ({ key, holder })))).toEqual([true, true, true])
    },
  },
  {
    name: 'a lock is released by hand only while this job has it',
    async run(t) {
      await holdersOf(t, [unique(t, 'a'), unique(t, 'c', { key: 'c', ends: NOW + 300, outlives: true })])
      const { release } = t.store.unique
      const [k, c] = [
        { key: 'k', holder: 'a' },
        { key: 'c', holder: 'c' },
      ]
      expect(
        await t.store.unique.release([
          { ...k, holder: 'b' },
          { ...k, key: 'no' },
        ]),
      ).toEqual([false, false])
      expect(await locksOf(t)).toHaveLength(2)
      expect(await release.call(t.store.unique, [k, c, k])).toEqual([true, true, false])
      expect(await locksOf(t)).toEqual([])
      expect(await holdersOf(t, [unique(t, 'b')])).toEqual([])
    },
  },
  {
    name: 'a suspicion stays until its job moves, and a release that names it misses a job that has moved',
    async run(t) {
      await holdersOf(t, [
        unique(t, 'a'),
        unique(t, 'b', { key: 'b' }),
        unique(t, 'c', { key: 'c', ends: NOW + 9, outlives: true }),
      ])
      const held = [lock('k', 'a'), lock('b', 'b'), lock('c', 'c'), lock('no', 'no'), lock('b', 'other')]
      await t.store.unique.suspect(held, 'm1')
      expect((await locksOf(t)).map(({ key, suspicion }) => [key, suspicion])).toEqual([
        ['b', 'm1'],
        ['c', null],
        ['k', 'm1'],
      ])
      const owner = await t.owner()
      const [job] = await t.fetch(owner, 'q')
      expect((await t.store.unique.find(['k'], NOW))[0]?.suspicion).toBe('m1')
      await t.settleAndFetch(owner, { settlements: [release(job, { effects: [acquire] })] })
      expect((await t.store.unique.find(['k'], NOW))[0]?.suspicion).toBe(null)
      const suspected = held.slice(0, 3).map((one) => ({ ...one, suspicion: 'm1' }))
      expect(await t.store.unique.release(suspected)).toEqual([false, true, false])
      expect((await locksOf(t)).map(({ key }) => key)).toEqual(['c', 'k'])
    },
  },
  {
    name: 'a job that moves keeps the end of its lock, gets a free lock back only with acquire, and none whose time is over',
    async run(t) {
      await holdersOf(t, [unique(t, 'a', { ends: NOW + 60_000 })])
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      const again = (job: typeof first, more: object) =>
        t.settleAndFetch(owner, { settlements: [release(job, { effects: [{ ...acquire, ...more } as Effect] })] })
      await again(first, { ends: NOW + 60_000 })
      expect(await locksOf(t)).toEqual([lock('k', 'a', { ends: NOW + 60_000 })])
      await t.store.unique.release([{ key: 'k', holder: 'a' }])
      const [second] = await t.fetch(owner, 'q')
      await again(second, { acquire: false })
      expect(await locksOf(t)).toEqual([])
      const [third] = await t.fetch(owner, 'q')
      await again(third, { ends: NOW })
      expect(await locksOf(t)).toEqual([])
      const [fourth] = await t.fetch(owner, 'q')
      await again(fourth, { ends: NOW + 1 })
      expect(await locksOf(t)).toEqual([lock('k', 'a', { ends: NOW + 1 })])
    },
  },
]
