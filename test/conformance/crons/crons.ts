import { expect } from 'vitest'
import type {
  CronRecord,
  CronRunEffect,
  CronTick,
  Effect,
  FetchedJob,
  Settlement,
  Store,
} from '#dist/store/contract.js'
import { type Bench, type Case, done, NOW, release, retry, sure, toQueue, until } from '../bench.ts'

const HOUR = 3_600_000
const TEXT = '{"spec":"0 * * * *"}'

/** Cron entries, and locks. */
export const crons: Case[] = [
  {
    name: 'an entry is defined once, and kept or changed only by a caller that knows its text',
    async run(t) {
      expect(await t.store.crons.list()).toEqual([])
      expect(await t.store.crons.define('a', { old: null, text: TEXT, tick: 5 }, 60)).toBe(true)
      expect(await t.store.crons.define('a', { old: null, text: 'other', tick: 9 }, 60)).toBe(false)
      expect(await t.store.crons.define('a', { old: 'other', text: 'more', tick: 9 }, 60)).toBe(false)
      expect(await t.store.crons.define('b', { old: TEXT, text: TEXT, tick: null }, 60)).toBe(false)
      const fresh = { name: 'a', text: TEXT, tick: 5, paused: false, alive: true, jid: null, pushedAt: null, runs: [] }
      expect(await t.store.crons.list()).toEqual([fresh])
      expect(await t.store.crons.define('a', { old: TEXT, text: TEXT, tick: 9 }, 60)).toBe(true)
      expect(await t.store.crons.list(['a'])).toEqual([fresh])
      expect(await t.store.crons.define('a', { old: TEXT, text: 'same schedule', tick: null }, 60)).toBe(true)
      expect(await t.store.crons.list(['a'])).toEqual([{ ...fresh, text: 'same schedule' }])
      expect(await t.store.crons.define('a', { old: 'same schedule', text: 'another', tick: 7 }, 60)).toBe(true)
      expect(await t.store.crons.list(['a', 'nobody'])).toEqual([{ ...fresh, text: 'another', tick: 7 }])
      // A caller whose clock is behind must not decide ticks again.
      expect(await t.store.crons.define('a', { old: 'another', text: 'a third', tick: 6 }, 60)).toBe(true)
      expect(await t.store.crons.list(['a'])).toEqual([{ ...fresh, text: 'a third', tick: 7 }])
    },
  },
  {
    name: 'entries are sorted by name',
    async run(t) {
      const names = ['B', 'a', 'b:c', 'hk:crons', "it's {queue:x} *?[", 'ä ü', '日本']
      for (const name of names) await t.store.crons.define(name, { old: null, text: name, tick: NOW }, 60)
      expect((await t.store.crons.list()).map(({ name }) => name)).toEqual([...names].sort())
      expect((await t.store.crons.list(['b:c', 'B', 'x'])).map(({ text }) => text)).toEqual(['B', 'b:c'])
      expect(await t.store.crons.list([])).toEqual([])
    },
  },
  {
    name: 'of several callers that change an entry at once one succeeds',
    shared: true,
    async run(t) {
      const other = await t.another()
      const at = (n: number) => (n % 2 ? t.store : other)
      const all = [0, 1, 2, 3, 4, 5]
      const define = (old: string | null) =>
        Promise.all(all.map((n) => at(n).crons.define('a', { old, text: `${old}/${n}`, tick: n }, 60)))
      const first = await define(null)
      expect(first.filter(Boolean)).toHaveLength(1)
      const { text, tick } = await record(t)
      expect({ text, tick }).toEqual({ text: `null/${first.indexOf(true)}`, tick: first.indexOf(true) })
      expect((await define(text)).filter(Boolean)).toHaveLength(1)
    },
  },
  {
    name: 'an entry is alive for the seconds of its last definition',
    async run(t) {
      await entry(t)
      expect((await record(t)).alive).toBe(true)
      const said = performance.now()
      await t.store.crons.define('a', { old: TEXT, text: TEXT, tick: null }, 0.3)
      await until('nobody lives', async () => !(await record(t)).alive)
      expect(performance.now() - said).toBeGreaterThan(290)
      await t.store.crons.define('a', { old: TEXT, text: TEXT, tick: null }, 60)
      expect((await record(t)).alive).toBe(true)
    },
  },
  {
    name: 'a tick and its job come in one step',
    async run(t) {
      await entry(t)
      expect(await t.store.crons.tick('a', tick(t, 1), NOW + 7)).toBe('ok')
      expect(await t.waiting('q')).toEqual([t.job(1)])
      expect(await record(t)).toMatchObject({ tick: NOW + HOUR, jid: 'jid-1', pushedAt: NOW + 7, paused: false })
    },
  },
  {
    name: 'a tick is decided once; a repeated or outdated decision changes nothing',
    async run(t) {
      await entry(t)
      expect(await t.store.crons.tick('a', tick(t, 1), NOW)).toBe('ok')
      const before = await record(t)
      expect(await t.store.crons.tick('a', tick(t, 1), NOW + 1)).toBe('gone')
      expect(await t.store.crons.tick('a', tick(t, 1, { from: NOW - HOUR }), NOW + 1)).toBe('gone')
      expect(await t.store.crons.tick('a', tick(t, 3, { from: NOW + 2 * HOUR }), NOW + 1)).toBe('gone')
      expect(await t.store.crons.tick('a', tick(t, 2, { from: NOW + HOUR, text: 'old' }), NOW + 1)).toBe('gone')
      expect(await t.store.crons.tick('b', tick(t, 1), NOW + 1)).toBe('gone')
      expect(await record(t)).toEqual(before)
      expect(await t.waiting('q')).toEqual([t.job(1)])
      expect(await t.store.crons.tick('a', tick(t, 2, { from: NOW + HOUR }), NOW + 2)).toBe('ok')
      expect(await t.waiting('q')).toEqual([t.job(1), t.job(2)])
    },
  },
  {
    name: 'of many callers at once each tick is decided by one',
    shared: true,
    async run(t) {
      await entry(t)
      const stores = [t.store, await t.another(), await t.another()]
      const caller = async (store: Store, wins: number[]) => {
        for (let n = 1; n <= 20; ) {
          const answer = await store.crons.tick('a', tick(t, n, { from: NOW + (n - 1) * HOUR }), NOW)
          if (answer === 'ok') wins.push(n)
          const [now] = await store.crons.list(['a'])
          n = (sure(now).tick - NOW) / HOUR + 1
        }
      }
      const wins: number[] = []
      await Promise.all([...stores, ...stores].map((store) => caller(store, wins)))
      const all = Array.from({ length: 20 }, (_, i) => i + 1)
      // The answers of two connections may arrive in another order.
      expect(wins.toSorted((a, b) => a - b)).toEqual(all)
      expect(await t.waiting('q')).toEqual(all.map((n) => t.job(n)))
    },
  },
  {
    name: 'a skipped tick pushes nothing',
    async run(t) {
      await entry(t)
      expect(await t.store.crons.tick('a', { ...tick(t, 1), push: null }, NOW)).toBe('ok')
      expect(await t.waiting('q')).toEqual([])
      expect(await record(t)).toMatchObject({ tick: NOW + HOUR, jid: null, pushedAt: null })
    },
  },
  {
    name: 'a tick may push to any destination',
    async run(t) {
      await entry(t)
      const to = (n: number, item: Partial<CronTick['push'] & object>['item']) => ({
        ...tick(t, n, { from: NOW + (n - 1) * HOUR }),
        push: { jid: `jid-${n}`, item: sure(item) },
      })
      await t.push('q', t.job(0))
      expect(await t.store.crons.tick('a', to(1, toQueue('q', t.job(1), 'front')), NOW)).toBe('ok')
      expect(await t.store.crons.tick('a', to(2, { to: 'schedule', text: t.job(2), score: 2e9 }), NOW)).toBe('ok')
      expect(await t.waiting('q')).toEqual([t.job(1), t.job(0)])
      expect(await t.store.jobSets.page('schedule', { limit: 9 })).toEqual([{ text: t.job(2), score: 2e9 }])
    },
  },
  {
    name: 'a paused entry pushes no ticks, and continues from now or from the last one that was skipped',
    async run(t) {
      await entry(t)
      expect(await t.store.crons.pause('a', true, NOW)).toBe(true)
      expect(await t.store.crons.tick('a', tick(t, 1), NOW)).toBe('gone')
      expect(await record(t)).toMatchObject({ paused: true, tick: NOW })
      expect(await t.store.crons.tick('a', { ...tick(t, 1), push: null }, NOW)).toBe('ok')
      expect(await record(t)).toMatchObject({ paused: true, tick: NOW + HOUR })
      expect(await t.store.crons.pause('a', true, NOW)).toBe(true)
      expect(await t.store.crons.define('a', { old: TEXT, text: TEXT, tick: null }, 60)).toBe(true)
      expect((await record(t)).paused).toBe(true)
      expect(await t.store.crons.pause('a', false, NOW + 3 * HOUR)).toBe(true)
      expect(await record(t)).toMatchObject({ paused: false, tick: NOW + 3 * HOUR })
      // An entry that is not paused continues as before, and no entry goes back.
      expect(await t.store.crons.pause('a', false, NOW + 9 * HOUR)).toBe(true)
      await t.store.crons.pause('a', true, NOW)
      await t.store.crons.pause('a', false, NOW)
      expect(await record(t)).toMatchObject({ paused: false, tick: NOW + 3 * HOUR })
      expect(await t.waiting('q')).toEqual([])
    },
  },
  {
    name: 'a job is pushed off schedule also during a pause, and the ticks stay as before',
    async run(t) {
      await entry(t)
      await t.store.crons.pause('a', true, NOW)
      expect(await t.store.crons.tick('a', { ...tick(t, 1), to: NOW }, NOW + 5)).toBe('ok')
      expect(await record(t)).toMatchObject({ tick: NOW, paused: true, jid: 'jid-1', pushedAt: NOW + 5 })
      await t.store.crons.pause('a', false, NOW)
      expect(await t.store.crons.tick('a', tick(t, 2, { from: NOW }), NOW + 9)).toBe('ok')
      expect(await t.waiting('q')).toEqual([t.job(1), t.job(2)])
    },
  },
  {
    name: 'a removed entry is gone, and may be defined again',
    async run(t) {
      await entry(t)
      await t.store.crons.pause('a', true, NOW)
      expect(await t.store.crons.remove('a')).toBe(true)
      expect(await t.store.crons.remove('a')).toBe(false)
      expect(await t.store.crons.pause('a', true, NOW)).toBe(false)
      expect(await t.store.crons.pause('a', false, NOW)).toBe(false)
      expect(await t.store.crons.list()).toEqual([])
      await entry(t)
      expect(await record(t)).toMatchObject({ paused: false, jid: null })
    },
  },
  {
    name: 'a lock is acquired with the push, and nothing changes while another job has it',
    async run(t) {
      await entry(t)
      expect(await t.store.crons.tick('a', tick(t, 1, { lock: 'l' }), NOW)).toBe('ok')
      const before = await record(t)
      const next = tick(t, 2, { from: NOW + HOUR, lock: 'l' })
      expect(await t.store.crons.tick('a', next, NOW)).toEqual({ holder: 'jid-1' })
      expect(await record(t)).toEqual(before)
      expect(await t.waiting('q')).toEqual([t.job(1)])
      // A tick that is skipped, a push without a lock, and the holder of the lock succeed.
      expect(await t.store.crons.tick('a', { ...next, push: null }, NOW)).toBe('ok')
      expect(await t.store.crons.tick('a', tick(t, 3, { from: NOW + 2 * HOUR }), NOW)).toBe('ok')
      await t.store.crons.releaseLock('l', 'jid-3')
      const fourth = tick(t, 4, { from: NOW + 3 * HOUR, lock: 'l' })
      expect(await t.store.crons.tick('a', fourth, NOW)).toEqual({ holder: 'jid-1' })
      await t.store.crons.releaseLock('l', 'jid-1')
      expect(await t.store.crons.tick('a', fourth, NOW)).toBe('ok')
    },
  },
  {
    name: 'a tick whose unique job needs a lock that another job has changes nothing, else it acquires the lock',
    async run(t) {
      await entry(t)
      const unique = (n: number, more: Parameters<typeof tick>[2] = {}) => {
        const { push, ...rest } = tick(t, n, more)
        const { jid, item, ...lock } = sure(push)
        return {
          ...rest,
          push: { jid, item: { ...item, unique: { jid, claims: [{ key: 'k' }, { key: 'm' }] } }, ...lock },
        }
      }
      expect(
        await t.store.jobs.push([{ ...toQueue('q', t.job(0)), unique: { jid: 'x', claims: [{ key: 'm' }] } }], NOW),
      ).toEqual([])
      const before = await record(t)
      const first = unique(1, { lock: 'l' })
      expect(await t.store.crons.tick('a', first, NOW)).toEqual({ holder: 'x', isUnique: true })
      expect(await record(t)).toEqual(before)
      expect(await t.store.unique.find(['k'], NOW)).toEqual([null])
      await t.store.unique.release([{ key: 'm', holder: 'x' }])
      expect(await t.store.crons.tick('a', first, NOW)).toBe('ok')
      expect(await t.store.crons.tick('a', first, NOW)).toBe('gone')
      expect((await t.store.unique.find(['k', 'm'], NOW)).map((one) => one?.holder)).toEqual(['jid-1', 'jid-1'])
      expect(await t.waiting('q')).toEqual([t.job(0), t.job(1)])
      // The lock of the entry decides first, and a refused tick does not acquire it.
      const second = unique(2, { from: NOW + HOUR, lock: 'l' })
      expect(await t.store.crons.tick('a', second, NOW)).toEqual({ holder: 'jid-1' })
      await t.store.crons.releaseLock('l', 'jid-1')
      expect(await t.store.crons.tick('a', second, NOW)).toEqual({ holder: 'jid-1', isUnique: true })
      expect(await t.store.crons.tick('a', tick(t, 3, { from: NOW + HOUR, lock: 'l' }), NOW)).toBe('ok')
    },
  },
  {
    name: 'a lock is released with a settlement, a swap or a rescue, and by its holder alone',
    async run(t) {
      await entry(t)
      const owner = await t.owner()
      const settle = async (settlement: Settlement) => {
        expect((await t.settleAndFetch(owner, { settlements: [settlement] })).settled).toEqual(['ok'])
      }
      const effects: Effect[] = [{ kind: 'release-lock', lock: 'l', holder: 'me' }]
      const ways: (() => Promise<void>)[] = [
        async () => settle(done((await t.fetch(owner, 'p'))[0], { effects })),
        async () => settle(retry((await t.fetch(owner, 'p'))[0], 1, { effects })),
        async () => settle(release((await t.fetch(owner, 'p'))[0], { effects })),
        async () => {
          await t.store.jobs.push([{ to: 'dead', text: t.job('dead'), score: 5 }], NOW)
          const swap = { text: t.job('dead'), score: 5, to: null, effects }
          expect(await t.store.jobSets.swap('dead', [swap], NOW)).toEqual(['ok'])
        },
        async () => {
          const dying = await t.owner()
          await t.fetch(dying, 'p')
          await t.store.workers.claim(dying)
          const [one] = await t.store.workers.orphaned(1)
          const { text } = sure(one)
          expect(
            await t.store.workers.rescue([{ ...sure(one), to: toQueue('p', text, 'front'), effects }], NOW),
          ).toEqual(['ok'])
        },
      ]
      for (const [n, way] of ways.entries()) {
        await t.push('p', t.job(`p${n}`))
        const push = { jid: 'me', item: toQueue('q', t.job(n)), lock: 'l' }
        const { tick: from } = await record(t)
        expect(await t.store.crons.tick('a', { text: TEXT, from, to: from + 1, push }, NOW)).toBe('ok')
        await settle(
          done((await t.fetch(owner, 'q'))[0], { effects: [{ kind: 'release-lock', lock: 'l', holder: 'other' }] }),
        )
        const held = { text: TEXT, from: from + 1, to: from + 2, push: { ...push, jid: 'you' } }
        expect(await t.store.crons.tick('a', held, NOW)).toEqual({ holder: 'me' })
        await way()
        expect(await t.store.crons.tick('a', held, NOW)).toBe('ok')
        await t.store.crons.releaseLock('l', 'you')
        await t.fetch(owner, 'q')
      }
    },
  },
  {
    name: 'an entry remembers its newest 20 runs, and how the jobs of these went on',
    async run(t) {
      await entry(t)
      for (let n = 1; n <= 21; n++) {
        expect(await t.store.crons.tick('a', tick(t, n, { from: NOW + (n - 1) * HOUR }), NOW + n)).toBe('ok')
      }
      // One off schedule.
      expect(
        await t.store.crons.tick('a', { ...tick(t, 22, { from: NOW + 21 * HOUR }), to: NOW + 21 * HOUR }, NOW),
      ).toBe('ok')
      const runs = async () => (await record(t)).runs
      const fresh = { state: 'waiting', startedAt: null, endedAt: null }
      const first = await runs()
      expect(first).toHaveLength(20)
      expect(first[0]).toEqual({ jid: 'jid-22', tick: null, pushedAt: NOW, ...fresh })
      expect(first[1]).toEqual({ jid: 'jid-21', tick: NOW + 21 * HOUR, pushedAt: NOW + 21, ...fresh })
      expect(first.at(-1)).toMatchObject({ jid: 'jid-3' })

      const run = (n: number, more: Partial<CronRunEffect> = {}): Effect => ({
        ...{ kind: 'cron-run', name: 'a', jid: `jid-${n}`, state: 'running', startedAt: NOW + 50, endedAt: null },
        ...more,
      })
      const owner = await t.owner()
      const jobs = await t.fetch(owner, 'q', 22)
      await t.settleAndFetch(owner, { started: [{ ...ticketOf(jobs[3]), effects: [run(4)] }] })
      expect((await runs()).at(-2)).toMatchObject({
        jid: 'jid-4',
        state: 'running',
        startedAt: NOW + 50,
        endedAt: null,
      })
      const settlements = [
        // The first run is forgotten, and the entry of the second is unknown.
        done(jobs[0], { effects: [run(1)] }),
        done(jobs[1], { effects: [run(2, { name: 'nobody' })] }),
        done(jobs[2], { effects: [run(3, { state: 'succeeded', endedAt: NOW + 70 })] }),
        retry(jobs[3], 9, { effects: [run(4, { state: 'retrying', startedAt: null, endedAt: NOW + 80 })] }),
      ]
      expect((await t.settleAndFetch(owner, { settlements })).settled).toEqual(['ok', 'ok', 'ok', 'ok'])
      expect((await runs()).slice(-2)).toEqual([
        {
          ...{ jid: 'jid-4', tick: NOW + 4 * HOUR, pushedAt: NOW + 4 },
          ...{ state: 'retrying', startedAt: NOW + 50, endedAt: NOW + 80 },
        },
        {
          ...{ jid: 'jid-3', tick: NOW + 3 * HOUR, pushedAt: NOW + 3 },
          ...{ state: 'succeeded', startedAt: NOW + 50, endedAt: NOW + 70 },
        },
      ])
      expect((await runs()).slice(0, -2)).toEqual(first.slice(0, -2))
      expect(await t.store.crons.remove('a')).toBe(true)
      await entry(t)
      expect(await runs()).toEqual([])
    },
  },
]

async function entry(t: Bench): Promise<void> {
  expect(await t.store.crons.define('a', { old: null, text: TEXT, tick: NOW }, 60)).toBe(true)
}

async function record(t: Bench): Promise<CronRecord> {
  return sure((await t.store.crons.list(['a']))[0])
}

/** The n-th tick of the entry, an hour after the one before; it pushes job n. */
function tick(t: Bench, n: number, more: { from?: number; text?: string; lock?: string } = {}): CronTick {
  const { from = NOW, text = TEXT, lock } = more
  const push = { jid: `jid-${n}`, item: toQueue('q', t.job(n)), ...(lock ? { lock } : {}) }
  return { text, from, to: NOW + n * HOUR, push }
}

function ticketOf(job: FetchedJob | undefined): Pick<FetchedJob, 'queue' | 'ticket'> {
  const { queue, ticket } = sure(job)
  return { queue, ticket }
}
