import { expect } from 'vitest'
import type {
  Destination,
  DueLimits,
  Effect,
  Limit,
  LimitAnswer,
  LimitChange,
  SetLimit,
  Settlement,
} from '#dist/store/contract.js'
import { type Bench, type Case, NOW, pause, until } from '../bench.ts'

const HOST = 'machine\n1\n1'
const HOUR = 3_600_000
const base: Limit = { name: 'tenant: {1}\0 🦙', max: 0, count: 0, per: 0, burst: 1, window: 'smooth' }
const slots: Limit = { ...base, max: 2 }
const rate = (count: number, more: Partial<Limit> = {}): Limit => ({ ...base, count, per: HOUR, ...more })
const set = `limited:${base.name}` as const
const release = (owner: string, ticket: string) => ({ kind: 'release-slot', limit: base.name, owner, ticket }) as const
const ok: LimitAnswer = { over: null, ms: 0 }

/** Slots and rates of limits, and the jobs that wait for them. */
export const limits: Case[] = [
  {
    name: 'a limit gives as many slots as it has, each attempt one, and forgets itself when none is used',
    async run(t) {
      await join(t, 'o')
      expect(granted(await acquire(t, 'o', '123', slots))).toBe('++-')
      expect(await acquire(t, 'o', '1', slots)).toEqual([ok])
      expect(await t.store.limits.list()).toEqual([{ ...slots, used: 2, waiting: 0, roomMs: null }])
      const ticket = await fetched(t, 'o')
      await settle(t, 'o', ticket, null, [release('o', '1'), release('o', '2')])
      expect(await t.store.limits.list()).toEqual([])
      expect(await acquire(t, 'o', '3', slots)).toEqual([ok])
    },
  },
  {
    name: 'the limits of some names are listed: those in use',
    async run(t) {
      await join(t, 'o')
      for (const limit of [slots, { ...slots, name: 'other' }]) await acquire(t, 'o', '1', limit)
      await t.store.limits.add({ name: 'unused', numbers: { max: 1 } })
      const state = { ...slots, used: 1, waiting: 0, roomMs: null }
      expect(await t.store.limits.list([base.name, 'unused', 'unknown'])).toEqual([state])
      expect(await t.store.limits.list([])).toEqual([])
    },
  },
  {
    name: 'numbers that were set hold at once, for all keys, until they are reset, and the limit is listed with them and its own',
    async run(t) {
      await join(t, 'o')
      const [a, b] = [1, 2].map((key) => ({ ...slots, name: `job:Export:${key}` })) as [Limit, Limit]
      expect(await t.store.limits.allSet()).toEqual([])
      await t.store.limits.change('job:Export', { max: 1 })
      expect(await t.store.limits.allSet()).toEqual([{ name: 'job:Export', numbers: { max: 1 } }])
      const unused = { ...base, name: 'job:Export', max: 1, set: { max: 1 }, used: 0, waiting: 0, roomMs: null }
      expect(await t.store.limits.list()).toEqual([unused])
      expect(granted(await acquire(t, 'o', '12', a))).toBe('+-')
      expect(await acquire(t, 'o', '3', b)).toEqual([{ ...ok, slots: [1] }])
      const used = { ...a, max: 1, set: { max: 1 }, code: a, used: 1, waiting: 0, roomMs: null }
      expect(await t.store.limits.list()).toEqual([used, { ...used, name: b.name, code: b }])
      expect(granted(await acquire(t, 'o', '12', { ...slots, name: 'job:Exports' }))).toBe('++')
      await t.store.limits.reset('job:Export')
      expect(granted(await acquire(t, 'o', '24', a))).toBe('+-')
      expect(await t.store.limits.allSet()).toEqual([])
      expect((await t.store.limits.list())[0]).toEqual({ ...a, used: 2, waiting: 0, roomMs: null })
    },
  },
  {
    name: 'a rate that was set takes the place of that of the code, and jobs that wait for room are checked at once',
    async run(t) {
      await join(t, 'o')
      const name = 'queue:mail'
      const code = rate(1, { name })
      expect(granted(await acquire(t, 'o', '12', code))).toBe('+-')
      await wait(t, 'o', code, 1, 1)
      expect((await t.store.limits.due(9)).limits).toEqual([])
      await t.store.limits.change(name, { count: 1000, per: 100 })
      let due: DueLimits
      // The first start may be one interval of the new rate away.
      do due = await t.store.limits.due(9)
      while (due.limits.length === 0 && (due.nextMs as number) < 1000)
      expect(due.limits).toEqual([{ name, room: 1 }])
      expect((await t.store.limits.list())[0]).toMatchObject({ count: 1000, per: 100, burst: 1, code })
      await t.store.limits.reset(name)
      expect((await t.store.limits.list())[0]).toMatchObject({ count: 1, per: HOUR, waiting: 1 })
    },
  },
  {
    name: 'a limit that only was set has its numbers in the store alone, and without them lets every job start',
    async run(t) {
      await join(t, 'o')
      const code = { ...base, name: 'app:all%20jobs' }
      await t.store.limits.change(code.name, { max: 1, per: 3 })
      const requests = ['1', '2'].map((ticket) => ({ ticket, limits: [slots, code] }))
      expect(await t.store.limits.acquire('o', requests)).toMatchObject([
        { over: null, slots: [2, 1] },
        { over: 1, slots: [2, 1] },
      ])
      await wait(t, 'o', code, 1, 1)
      expect((await t.store.limits.due(9)).limits).toEqual([])
      await t.store.limits.reset(code.name)
      expect((await t.store.limits.due(9)).limits).toEqual([{ name: code.name, room: 1 }])
      expect(granted(await acquire(t, 'o', '3456', code))).toBe('++++')
    },
  },
  {
    name: 'a step of a worker reports that a limit was set, and so does the list of cancellations',
    async run(t) {
      await join(t, 'o')
      const step = () =>
        t.store.workers.settleAndFetch('o', { now: NOW, started: [], settlements: [], fetch: { queues: ['q'], n: 1 } })
      let { cancellations } = await step()
      for (const change of [{ max: 1 }, { max: null }]) {
        const before = cancellations
        await t.store.limits.change('queue:q', change)
        cancellations = (await step()).cancellations
        expect(cancellations).toBeGreaterThan(before)
        expect(await t.store.cancellations.since(before)).toEqual({ version: cancellations, jids: [] })
      }
    },
  },
  {
    name: 'a change of numbers leaves the others as they are, and null deletes one',
    async run(t) {
      const { limits } = t.store
      const name = 'queue:q'
      expect(await limits.change(name, { max: 5, count: 9, per: HOUR })).toBe(true)
      expect(await limits.change(name, { max: 6, burst: 2 })).toBe(true)
      expect(await limits.allSet()).toEqual([{ name, numbers: { max: 6, count: 9, per: HOUR, burst: 2 } }])
      expect(await limits.change(name, { count: null, per: null, burst: null })).toBe(true)
      expect(await limits.allSet()).toEqual([{ name, numbers: { max: 6 } }])
      for (let i = 0; i < 2; i++) expect(await limits.change(name, { max: null })).toBe(true)
      expect(await limits.allSet()).toEqual([])
      expect(await limits.reset(name)).toBe(false)
    },
  },
  {
    name: 'a burst without a rate is never set',
    async run(t) {
      const { limits } = t.store
      const name = 'queue:q'
      expect(await limits.change(name, { burst: 5 })).toBe(false)
      expect(await limits.allSet()).toEqual([])
      const numbers = { count: 9, per: HOUR, burst: 2 }
      await limits.change(name, numbers)
      const { version } = await t.store.cancellations.since(0)
      expect(await limits.change(name, { count: null, per: null })).toBe(false)
      expect(await limits.allSet()).toEqual([{ name, numbers }])
      expect((await t.store.cancellations.since(0)).version).toBe(version)
    },
  },
  {
    name: 'a limit is added only if none of its numbers is set',
    async run(t) {
      const [one, two] = [{ max: 1 }, { count: 2, per: HOUR }].map((numbers) => ({ name: 'queue:q', numbers })) as [
        SetLimit,
        SetLimit,
      ]
      expect([await t.store.limits.add(one), await t.store.limits.add(two)]).toEqual([true, false])
      expect(await t.store.limits.allSet()).toEqual([one])
    },
  },
  {
    name: 'of two changes at the same time none is lost, and of two resets one finds the numbers',
    shared: true,
    async run(t) {
      const all = [t.store, await t.another()]
      const name = 'queue:q'
      for (let n = 1; n <= 10; n++) {
        const changes = [{ max: n }, { count: n, per: HOUR }]
        await Promise.all(all.map(({ limits }, i) => limits.change(name, changes[i] as LimitChange)))
        expect(await t.store.limits.allSet()).toEqual([{ name, numbers: { max: n, count: n, per: HOUR } }])
        const resets = await Promise.all(all.map(({ limits }) => limits.reset(name)))
        expect(resets.toSorted()).toEqual([false, true])
      }
    },
  },
  {
    name: 'a change whose caller goes away is made wholly or not at all, and workers learn of it',
    shared: true,
    async run(t) {
      const name = 'queue:q'
      await t.store.limits.change(name, { max: 1, count: 1, per: 1 })
      for (let n = 2; n < 8; n++) {
        const caller = await t.another()
        const { version } = await t.store.cancellations.since(0)
        const changing = caller.limits.change(name, { max: n, count: n, per: n }).catch(() => {})
        await caller.close()
        await changing
        // A store on a network may carry it out later.
        const [set] = await t.store.limits.allSet()
        const max = set?.numbers.max as number
        expect(set).toEqual({ name, numbers: { max, count: max, per: max } })
        if (max === n) expect((await t.store.cancellations.since(0)).version).toBeGreaterThan(version)
      }
    },
  },
  {
    name: 'a wait for jobs returns none after a limit was set: the next step of the worker returns them and reports it',
    async run(t) {
      const owner = await t.owner()
      for (const change of [{ max: 1 }, { max: null }]) {
        const { cancellations } = await t.settleAndFetch(owner, {})
        const waiting = t.store.workers.waitForJobs(owner, ['q'], 1, 2000, new AbortController().signal)
        await t.store.limits.change('queue:q', change)
        await t.push('q', t.job(1))
        expect(await waiting).toEqual([])
        const next = await t.settleAndFetch(owner, { fetch: { queues: ['q'], n: 1 } })
        expect(next.fetched).toHaveLength(1)
        expect(next.cancellations).toBeGreaterThan(cancellations)
      }
    },
  },
  {
    name: 'a slot can be freed before its attempt is settled',
    async run(t) {
      await join(t, 'o')
      expect(granted(await acquire(t, 'o', '12', slots))).toBe('++')
      await wait(t, 'o', slots, 1, 1)
      expect((await t.store.limits.due(9)).limits).toEqual([])
      for (let i = 0; i < 2; i++) await t.store.limits.release(release('o', '1'))
      expect((await t.store.limits.due(9)).limits).toEqual([{ name: base.name, room: 1 }])
      expect((await t.store.limits.list())[0]).toMatchObject({ used: 1, waiting: 1 })
      expect(granted(await acquire(t, 'o', '34', slots))).toBe('+-')
    },
  },
  {
    name: 'an owner without a lease gets no slot, and its slots are free once it is claimed',
    async run(t) {
      for (const owner of ['o', 'p']) await join(t, owner)
      expect(granted(await acquire(t, 'o', '12', slots))).toBe('++')
      expect(granted(await acquire(t, 'p', '1', slots))).toBe('-')
      await t.store.workers.claim('o')
      expect(await t.store.limits.list()).toEqual([])
      expect(granted(await acquire(t, 'p', '1', slots))).toBe('+')
      expect(granted(await acquire(t, 'o', '3', slots))).toBe('-')
      expect(granted(await acquire(t, 'nobody', '3', slots))).toBe('-')
    },
  },
  {
    name: 'the slots of an owner without a lease are freed, and a job that waits for one has room',
    async run(t) {
      for (const owner of ['o', 'p']) await join(t, owner)
      await acquire(t, 'o', '12', slots)
      await acquire(t, 'o', '3', { ...slots, name: 'idle' })
      await wait(t, 'p', slots, 1, 1)
      await t.store.limits.releaseOrphanedSlots()
      expect((await t.store.limits.due(9)).limits).toEqual([])
      await t.store.workers.claim('o')
      await t.store.limits.releaseOrphanedSlots()
      expect((await t.store.limits.due(9)).limits).toEqual([{ name: base.name, room: 1 }])
      expect(await t.store.limits.list()).toEqual([{ ...slots, used: 0, waiting: 1, roomMs: null }])
    },
  },
  {
    name: 'a job that waits for room in a limit is in its set, by score, and keeps the limit listed',
    async run(t) {
      await join(t, 'o')
      for (const [n, score] of [5, 3].entries()) await wait(t, 'o', slots, n, score)
      expect(await t.store.limits.list()).toEqual([{ ...slots, used: 0, waiting: 2, roomMs: null }])
      expect(await t.store.jobSets.size(set)).toBe(2)
      const entries = [
        { text: t.job(1), score: 3 },
        { text: t.job(0), score: 5 },
      ]
      expect(await t.store.jobSets.page(set, { limit: 9 })).toEqual(entries)
      expect((await t.store.search.scanSet(set, '', { limit: 9 })).items).toHaveLength(2)
      expect(await t.store.jobSets.size('limited:other')).toBe(0)
      const swaps = entries.map((entry) => ({ ...entry, to: null }))
      expect(await t.store.jobSets.swap(set, swaps, NOW)).toEqual(['ok', 'ok'])
      expect(await t.store.limits.list()).toEqual([])
    },
  },
  {
    name: 'a queue knows how many of its jobs, of all priorities, wait for room, and a full one counts them',
    async run(t) {
      await join(t, 'o')
      const limitedOf = async (...queues: string[]) => {
        const [counts, { limited }] = [await t.store.jobs.queues(queues), await t.store.metrics.totals()]
        return [...counts.map((queue) => queue.limited), limited]
      }
      const other: Limit = { ...slots, name: 'other' }
      const texts = [t.job(1, { queue: 'q' }), t.job(2, { queue: 'p3:q' }), t.job(3, { queue: 'r' }), 'not JSON']
      for (const [n, text] of texts.entries()) {
        const limit = n % 2 ? other : slots
        const to: Destination = { to: `limited:${limit.name}`, text, score: n }
        await settle(t, 'o', await fetched(t, 'o'), to, [{ kind: 'await-limit', limit }])
      }
      expect(await limitedOf('q', 'r', 'none')).toEqual([2, 1, 0, 4])
      const one = (n: number, maxLength: number) =>
        ({ to: 'queue', queue: 'q', text: t.job(n), end: 'back', maxLength }) as const
      const refused = await t.store.jobs.push([one(4, 3), one(5, 3)], NOW)
      expect(refused).toMatchObject([{ item: { text: t.job(5) }, holder: null }])
      const swap = (text: string, score: number, to: Destination | null) => ({ text, score, to })
      const changed = { to: set, text: texts[0] as string, score: 7 } as const
      const back: Destination = { to: 'queue', queue: 'r', text: texts[2] as string, end: 'front' }
      const swaps = [
        swap(texts[0] as string, 0, changed),
        swap(texts[2] as string, 2, back),
        swap(texts[2] as string, 2, null),
      ]
      expect(await t.store.jobSets.swap(set, swaps, NOW)).toEqual(['ok', 'ok', 'gone'])
      expect(await limitedOf('q', 'r')).toEqual([2, 0, 3])
      await t.store.jobSets.swap('limited:other', [swap(texts[1] as string, 1, null), swap('not JSON', 3, null)], NOW)
      await t.store.jobSets.swap(set, [swap(texts[0] as string, 7, null)], NOW)
      expect(await limitedOf('q', 'r')).toEqual([0, 0, 0])
      expect(await t.store.jobs.queues(['q'])).toMatchObject([{ size: 1 }])
    },
  },
  {
    name: 'a slot that becomes free while a job waits wakes those who wait for due jobs, and the job has room then',
    async run(t) {
      await join(t, 'o')
      expect(granted(await acquire(t, 'o', 'ab', slots))).toBe('++')
      await wait(t, 'o', slots, 1, 5)
      expect((await t.store.limits.due(9)).limits).toEqual([])
      const ticket = await fetched(t, 'o')
      const woken = t.store.jobSets.waitUntilDue(20_000, AbortSignal.timeout(20_000))
      const began = performance.now()
      await t.store.jobs.queues()
      await settle(t, 'o', ticket, null, [release('o', 'a')])
      await woken
      expect(performance.now() - began).toBeLessThan(10_000)
      const { limits: due, nextMs } = await t.store.limits.due(9)
      expect(due).toEqual([{ name: base.name, room: 1 }])
      expect(nextMs).toBeGreaterThan(0)
    },
  },
  {
    name: 'the room that a job was called for goes to the next one when that job ends without taking it',
    async run(t) {
      await join(t, 'o')
      for (const limit of [{ ...slots, max: 1 }, rate(1, { name: 'hourly' })]) {
        for (const n of [1, 2]) await wait(t, 'o', limit, n, n)
        const room = [{ name: limit.name, room: 1 }]
        expect((await t.store.limits.due(9)).limits).toEqual(room)
        expect((await t.store.limits.due(9)).limits).toEqual([])
        await settle(t, 'o', await fetched(t, 'o'), null, [{ ...release('o', 'dropped'), limit: limit.name }])
        expect((await t.store.limits.due(9)).limits).toEqual(room)
      }
    },
  },
  {
    name: 'jobs that were called for the room of a burst keep it until they start, and then the next ones have room',
    async run(t) {
      await join(t, 'o')
      const limit = rate(36_000, { burst: 5 })
      for (let n = 0; n < 9; n++) await wait(t, 'o', limit, n, n)
      expect((await t.store.limits.due(9)).limits).toEqual([{ name: limit.name, room: 5 }])
      for (let n = 0; n < 2; n++) {
        // `due` of no limits says when the next check is, and checks none.
        await pause(((await t.store.limits.due(0)).nextMs ?? 0) + 2)
        expect((await t.store.limits.due(9)).limits).toEqual([])
      }
      expect(granted(await acquire(t, 'o', '12345', limit))).toBe('+++++')
      await until('the next job has room', async () => (await t.store.limits.due(9)).limits.length > 0)
    },
  },
  {
    name: 'a rate whose jobs wait is not checked sooner because its slots are looked at, or because it is listed',
    async run(t) {
      await join(t, 'o')
      const hourly = rate(1, { window: 'fixed' })
      await acquire(t, 'o', '1', hourly)
      await wait(t, 'o', hourly, 1, 1)
      expect((await t.store.limits.due(9)).limits).toEqual([])
      await t.store.limits.releaseOrphanedSlots()
      expect(await t.store.limits.list()).toMatchObject([{ name: base.name, waiting: 1 }])
      // `due` of no limits says when the next check is, and checks none.
      expect((await t.store.limits.due(0)).nextMs).toBeGreaterThan(10_000)
    },
  },
  {
    name: 'limits are checked in the order in which they had room, so that none starves',
    async run(t) {
      await join(t, 'o')
      const all = ['a', 'b', 'c'].map((name): Limit => ({ ...slots, name, max: 1 }))
      for (const [n, limit] of all.entries()) {
        await acquire(t, 'o', '1', limit)
        await wait(t, 'o', limit, n, n)
      }
      expect((await t.store.limits.due(9)).limits).toEqual([])
      for (const limit of ['c', 'a', 'b']) await t.store.limits.release({ limit, owner: 'o', ticket: '1' })
      for (const name of ['c', 'a', 'b']) expect((await t.store.limits.due(1)).limits).toEqual([{ name, room: 1 }])
    },
  },
  {
    name: 'a smooth rate spaces the starts evenly, gives them out a little ahead, and says when it has room',
    async run(t) {
      await join(t, 'o')
      const tenEachSecond = rate(100, { per: 1000 })
      const answers = await acquire(t, 'o', '1234', tenEachSecond)
      expect(answers.map(({ over }) => over)).toEqual([null, null, null, 0])
      expect(answers.slice(0, 3).map(({ ms }) => Math.round(ms))).toEqual([0, 10, 20])
      expect(answers[3]?.ms).toBeGreaterThan(5)
      expect(answers[3]?.ms).toBeLessThan(11)
    },
  },
  {
    name: 'a burst starts at once, and a window lets its jobs start as they come',
    async run(t) {
      await join(t, 'o')
      const kinds = [rate(1, { burst: 3 }), rate(3, { window: 'fixed' }), rate(3, { window: 'sliding' })]
      for (const [i, kind] of kinds.entries()) {
        const limit = { ...kind, name: `kind ${i}` }
        expect((await acquire(t, 'o', '12', limit)).concat(await acquire(t, 'o', '3', limit))).toEqual([ok, ok, ok])
        const [over] = await acquire(t, 'o', '4', limit)
        expect(over?.over).toBe(0)
        expect(over?.ms).toBeGreaterThan(HOUR - 60_000)
        expect(over?.ms).toBeLessThan(HOUR * 1.02)
        const other = await acquire(t, 'o', '5', { ...limit, name: `another ${i}` })
        expect(other).toEqual([ok])
      }
      expect(await t.store.limits.list()).toEqual([])
    },
  },
  {
    name: 'an attempt gets room in all of its limits, or takes nothing of any',
    async run(t) {
      await join(t, 'o')
      const narrow: Limit = { ...slots, name: 'narrow', max: 1 }
      const hourly = rate(1, { name: 'hourly', burst: 2 })
      expect(await acquire(t, 'o', '1', slots, hourly, narrow)).toEqual([ok])
      const [over] = await acquire(t, 'o', '2', slots, hourly, narrow)
      expect(over?.over).toBe(2)
      expect((await t.store.limits.list()).map(({ used }) => used)).toEqual([1, 1])
      expect(await acquire(t, 'o', '3', hourly)).toEqual([ok])
      expect(granted(await acquire(t, 'o', '4', hourly))).toBe('-')
      const [second] = await acquire(t, 'o', '5', slots, hourly)
      expect(second?.over).toBe(1)
    },
  },
  {
    name: 'waiting jobs have as much room as the rate and the slots leave',
    async run(t) {
      await join(t, 'o')
      const both = { ...rate(1, { burst: 3 }), max: 5 }
      for (let n = 0; n < 6; n++) await wait(t, 'o', both, n, n)
      const due = await t.store.limits.due(9)
      expect(due.limits).toEqual([{ name: base.name, room: 3 }])
      expect(due.nextMs).toBeGreaterThan(1000)
      await acquire(t, 'o', '123', both)
      expect((await t.store.limits.due(9)).limits).toEqual([])
      const [state] = await t.store.limits.list()
      expect(state).toMatchObject({ ...both, used: 3, waiting: 6 })
      expect(state?.roomMs).toBeGreaterThan(HOUR - 60_000)
    },
  },
  {
    name: 'more than a hundred waiting jobs have room at once, and the next check is when the rate has room again',
    async run(t) {
      await join(t, 'o')
      const hourly = rate(101, { window: 'fixed' })
      for (let n = 0; n < 102; n++) await wait(t, 'o', hourly, n, n)
      const due = await t.store.limits.due(9)
      expect(due.limits).toEqual([{ name: base.name, room: 101 }])
      expect(due.nextMs).toBeGreaterThan(1000)
    },
  },
  {
    name: 'a limit that a deploy has changed is checked at once, with its new numbers',
    async run(t) {
      await join(t, 'o')
      await acquire(t, 'o', '1', rate(1))
      for (const n of [1, 2]) await wait(t, 'o', rate(1), n, n)
      expect((await t.store.limits.due(9)).limits).toEqual([])
      expect(await acquire(t, 'o', '2', rate(1, { burst: 2 }))).toEqual([ok])
      expect((await t.store.limits.due(9)).limits).toEqual([])
      await acquire(t, 'o', '3', rate(1, { burst: 3 }))
      await acquire(t, 'o', '4', rate(1, { burst: 5 }))
      expect((await t.store.limits.due(9)).limits).toEqual([{ name: base.name, room: 1 }])
      expect((await t.store.limits.list())[0]?.burst).toBe(5)
    },
  },
  {
    name: "a limit whose jobs can't be moved is postponed, until a slot is freed",
    async run(t) {
      await join(t, 'o')
      await acquire(t, 'o', '1', slots)
      await wait(t, 'o', slots, 1, 1)
      await t.store.limits.postpone([base.name, 'unknown'], 20_000)
      const { limits: due, nextMs } = await t.store.limits.due(9)
      expect(due).toEqual([])
      expect(nextMs).toBeGreaterThan(10_000)
      await settle(t, 'o', await fetched(t, 'o'), null, [release('o', '1')])
      expect((await t.store.limits.due(9)).limits).toEqual([{ name: base.name, room: 1 }])
    },
  },
]

function join(t: Bench, owner: string): Promise<boolean> {
  return t.store.workers.join(owner, { queues: ['q'], seconds: 30, host: HOST })
}

/** Asks for several attempts in one call; each letter is a ticket. */
function acquire(t: Bench, owner: string, tickets: string, ...own: Limit[]): Promise<LimitAnswer[]> {
  return t.store.limits.acquire(
    owner,
    [...tickets].map((ticket) => ({ ticket, limits: own })),
  )
}

function granted(answers: readonly LimitAnswer[]): string {
  return answers.map(({ over }) => (over === null ? '+' : '-')).join('')
}

/** Lets a job wait for room in a limit. */
async function wait(t: Bench, owner: string, limit: Limit, n: number, score: number): Promise<void> {
  const to: Destination = { to: `limited:${limit.name}`, text: t.job(n), score }
  await settle(t, owner, await fetched(t, owner), to, [{ kind: 'await-limit', limit }])
}

async function fetched(t: Bench, owner: string): Promise<string> {
  await t.store.jobs.push([{ to: 'queue', queue: 'q', text: t.job(99), end: 'back' }], NOW)
  const fetch = { queues: ['q'], n: 1 }
  const answer = await t.store.workers.settleAndFetch(owner, { now: NOW, started: [], settlements: [], fetch })
  return (answer.fetched[0] as { ticket: string }).ticket
}

async function settle(
  t: Bench,
  owner: string,
  ticket: string,
  move: Destination | null,
  effects: Effect[],
): Promise<void> {
  const settlement: Settlement = { queue: 'q', ticket, move, processed: 0, failed: 0, effects }
  const step = { now: NOW, started: [], settlements: [settlement], fetch: { queues: [], n: 0 } }
  expect((await t.store.workers.settleAndFetch(owner, step)).settled).toEqual(['ok'])
}
