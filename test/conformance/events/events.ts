import { expect } from 'vitest'
import type { RecordEffect, RecordedEvent, Store } from '#dist/store/contract.js'
import { type Bench, type Case, done, NOW, pause, toQueue } from '../bench.ts'

const NEVER = new AbortController().signal
const ABOUT = JSON.stringify([{ 'é\u0000': '\ud800' }])
const record = (name: string): RecordEffect => ({ kind: 'record', jid: name, about: ABOUT })

const read = (store: Store, after: number, { limit = 1000, ms = 0, signal = NEVER } = {}) =>
  store.events.read(after, { limit, ms, signal }, () => NOW)

function namesOf(events: readonly RecordedEvent[] | null): string[] {
  return (events ?? []).map(({ event }) => (event as [string])[0])
}

async function began(t: Bench, keep: number | null = null): Promise<number> {
  return (await t.store.events.record(keep, NOW)).newest
}

const DAY = 86_400_000

/** Starts a recording more than a day ago, and extends it until now. Returns the number of its first event. */
async function beganLongAgo({ store }: Bench): Promise<number> {
  const { newest } = await store.events.record(null, NOW - DAY - 5)
  for (let at = NOW - DAY; at < NOW; at += 3_000_000) await store.events.record(null, at)
  return newest
}

/** The record of events of jobs: an event is recorded in the step that moves its job. */
export const jobEvents: Case[] = [
  {
    name: 'nothing is recorded without a recording, and one begins when it is asked for',
    async run(t) {
      expect(await t.store.events.isRecording(NOW)).toBe(false)
      expect(await read(t.store, 0)).toBeNull()
      expect(await t.store.events.confirm(NOW)).toBeNull()
      await t.store.jobs.push([{ ...toQueue('q', t.job(1)), effects: [record('early')] }], NOW)
      await t.store.events.append([record('early')], NOW)
      const first = await t.store.events.record(null, NOW)
      expect(first.isConfirmed).toBe(false)
      expect(await t.store.events.isRecording(NOW)).toBe(true)
      expect(await read(t.store, first.newest)).toEqual([])
      expect(await t.store.events.confirm(NOW)).toBe(first.newest)
      expect(await t.store.events.record(null, NOW)).toEqual({ newest: first.newest, isConfirmed: true })
      expect(await t.waiting('q')).toEqual([t.job(1)])
    },
  },
  {
    name: 'an event of a job that a batch pushes, kills or drops is recorded in that step, with its time',
    async run(t) {
      const about = (kind: string) => `["${kind}","J",\n,0]`
      const events = { pushed: about('pushed'), dead: about('dead'), cancelled: about('cancelled') }
      const none = {
        parent: null,
        onComplete: null,
        onSuccess: null,
        onDeath: null,
        meta: '{}',
        keep: 1,
        createdAt: NOW,
      }
      const jobOf = (jid: string) => ({ jid, queue: 'q', text: t.job(jid), events })
      const waiting = { ...jobOf('parent'), onChildFailure: 'fail' as const, failure: '"a":1' }
      const flow = (n: number, jid: string) => ({ ...none, bid: `${n}`.repeat(16), job: { ...waiting, jid } })
      const batches = [flow(1, 'dies'), flow(2, 'runs'), flow(3, 'dropped')]
      const called = { ...none, bid: '4'.repeat(16), job: null, onSuccess: jobOf('called') }
      const members = [...batches, called].map(({ bid }) => ({ bid, id: 'a', item: null }))
      await t.store.batches.push({ batches: [...batches, called], members }, NOW)
      const from = await began(t)
      const end = (n: number, change: 'failed' | 'succeeded') =>
        ({ kind: 'batch', bid: `${n}`.repeat(16), member: 'a', change }) as const
      await t.store.batches.apply([end(1, 'failed'), end(2, 'succeeded'), end(4, 'succeeded')], NOW + 5)
      await t.store.batches.cancel('3'.repeat(16), NOW + 6)
      expect((await read(t.store, from))?.map(({ event }) => event)).toEqual([
        ['dies', 'dead', 'J', NOW + 5, 0],
        ['runs', 'pushed', 'J', NOW + 5, 0],
        ['called', 'pushed', 'J', NOW + 5, 0],
        ['dropped', 'cancelled', 'J', NOW + 6, 0],
      ])
    },
  },
  {
    name: 'a push records its events, of single jobs, many jobs, and jobs of a set, with numbers without a gap',
    async run(t) {
      const from = await began(t)
      const items = [1, 2, 3].map((n) => ({ ...toQueue('q', t.job(n)), effects: [record(`push ${n}`)] }))
      await t.store.jobs.push(items, NOW)
      await t.store.jobs.push([toQueue('q', t.job(4))], NOW)
      await t.store.jobs.push([{ to: 'schedule', text: t.job(5), score: 2e9, effects: [record('push 5')] }], NOW)
      await t.store.events.append([record('push 6'), record('push 7')], NOW)
      const events = await read(t.store, from)
      expect(namesOf(events)).toEqual(['push 1', 'push 2', 'push 3', 'push 5', 'push 6', 'push 7'])
      expect(events?.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6].map((n) => from + n))
      expect(events?.[0]?.event).toEqual(['push 1', { 'é\u0000': '\ud800' }])
      expect(await t.waiting('q')).toEqual([1, 2, 3, 4].map((n) => t.job(n)))
      for (const n of [1, 2, 5]) expect(namesOf(await read(t.store, from + n))).toEqual(namesOf(events).slice(n))
      expect(await read(t.store, from + 7)).toBeNull()
      expect(await read(t.store, from - 1)).toBeNull()
    },
  },
  {
    name: 'a push of many jobs keeps their order, whether they record events or not',
    async run(t) {
      const from = await began(t)
      const items = Array.from({ length: 1500 }, (_, n) => ({
        ...toQueue('q', t.job(n)),
        ...(n % 3 === 0 ? {} : { effects: [record(String(n))] }),
      }))
      await t.store.jobs.push(items, NOW)
      expect((await t.waiting('q')).toSorted()).toEqual(items.map(({ text }) => text).toSorted())
      const names = namesOf(await read(t.store, from))
      expect(names).toEqual(items.flatMap((_, n) => (n % 3 === 0 ? [] : String(n))))
    },
  },
  {
    name: 'a push that stores nothing records nothing: repeated with once, or refused because of a lock',
    async run(t) {
      const from = await began(t)
      const once = { ...toQueue('q', t.job('a')), once: 'a', effects: [record('once')] }
      await t.store.jobs.push([once], NOW)
      await t.store.jobs.push([once], NOW)
      const unique = (jid: string) => ({
        ...toQueue('q', t.job(jid)),
        unique: { jid, claims: [{ key: 'k' }] },
        effects: [record(`unique ${jid}`)],
      })
      await t.store.jobs.push([unique('b')], NOW)
      expect(await t.store.jobs.push([unique('c')], NOW)).toHaveLength(1)
      expect(namesOf(await read(t.store, from))).toEqual(['once', 'unique b'])
      expect(await t.waiting('q')).toEqual([t.job('a'), t.job('b')])
    },
  },
  {
    name: 'a step records what started and ended, each attempt once, and nothing of an owner that was claimed',
    async run(t) {
      const from = await began(t)
      const owner = await t.owner()
      await t.push('q', ...[1, 2, 3, 4].map((n) => t.job(n)))
      const [a, b, c, d] = await t.fetch(owner, 'q', 4)
      const ends = {
        started: [{ queue: 'q', ticket: c.ticket, effects: [record('start c')] }],
        settlements: [
          done(a, { effects: [record('start a'), record('end a')] }),
          done(b, { move: { to: 'retry', text: b.text, score: 2e9 }, failed: 1, effects: [record('retry b')] }),
        ],
      }
      expect((await t.settleAndFetch(owner, ends)).settled).toEqual(['ok', 'ok'])
      const names = ['end a', 'retry b', 'start a', 'start c']
      expect(namesOf(await read(t.store, from)).toSorted()).toEqual(names)
      const again = await t.settleAndFetch(owner, { settlements: ends.settlements })
      expect(again.settled.every((one) => one !== 'error')).toBe(true)
      expect(
        (await t.settleAndFetch(owner, { settlements: [done(d, { effects: [record('end d')] })] })).settled,
      ).toEqual(['ok'])
      expect(namesOf(await read(t.store, from)).toSorted()).toEqual(['end a', 'end d', ...names.slice(1)])
      expect(await t.store.workers.claim(owner)).toBe(true)
      await t.settleAndFetch(owner, { settlements: [done(c, { effects: [record('end c')] })] })
      const rescue = {
        owner,
        queue: 'q',
        ticket: c.ticket,
        to: toQueue('q', c.text, 'front'),
        effects: [record('back c')],
      }
      expect(await t.store.workers.rescue([rescue], NOW)).toEqual(['ok'])
      expect(await t.store.workers.rescue([rescue], NOW)).toEqual(['gone'])
      expect(namesOf(await read(t.store, from)).slice(5)).toEqual(['back c'])
    },
  },
  {
    name: 'a move of a job by hand records its event, and a job that is gone records none',
    async run(t) {
      const from = await began(t)
      await t.store.jobs.push([{ to: 'retry', text: t.job(1), score: 5 }], NOW)
      const swap = { text: t.job(1), score: 5, to: null, effects: [record('deleted')] }
      expect(await t.store.jobSets.swap('retry', [swap], NOW)).toEqual(['ok'])
      expect(await t.store.jobSets.swap('retry', [swap], NOW)).toEqual(['gone'])
      expect(namesOf(await read(t.store, from))).toEqual(['deleted'])
    },
  },
  {
    name: 'a reader waits for the next event, also of another connection, until its time is over or its signal aborts',
    shared: true,
    async run(t) {
      const from = await began(t)
      const other = await t.another()
      const first = read(t.store, from, { ms: 60_000 })
      await pause(50)
      await t.store.events.append([record('own')], NOW)
      expect(namesOf(await first)).toEqual(['own'])
      const second = read(t.store, from + 1, { ms: 60_000 })
      await pause(50)
      await other.jobs.push([{ ...toQueue('q', t.job(1)), effects: [record('other')] }], NOW)
      expect(namesOf(await second)).toEqual(['other'])
      expect(await read(t.store, from + 2, { ms: 20 })).toEqual([])
      const aborting = new AbortController()
      const third = read(t.store, from + 2, { ms: 60_000, signal: aborting.signal })
      await pause(50)
      aborting.abort()
      expect(await third).toEqual([])
    },
  },
  {
    name: 'a recording keeps the newest events, and a reader of older ones learns that they are gone',
    async run(t) {
      const from = await began(t, 500)
      const records = Array.from({ length: 100 }, (_, n) => record(`${n}${'x'.repeat(50)}`))
      for (let n = 0; n < 40; n++) await t.store.events.append(records, NOW)
      expect(await read(t.store, from)).toBeNull()
      const kept = await read(t.store, from + 3500)
      expect(kept).toHaveLength(500)
      expect(await read(t.store, from + 4000)).toEqual([])
      expect((await read(t.store, from + 3600, { limit: 2 }))?.length).toBe(200)
    },
  },
  {
    name: 'a reader learns that the event which it has read last is another one by now, or is not kept any more',
    async run(t) {
      const from = await began(t, 500)
      await t.store.events.append(['a', 'b', 'c'].map(record), NOW)
      const after = async (number: number, isLast: (event: unknown) => boolean) => {
        const options = { limit: 9, ms: 0, signal: NEVER, isLast }
        return namesOf((await t.store.events.read(number, options, () => NOW)) ?? [{ number, event: ['none'] }])
      }
      const isNamed = (name: string) => (event: unknown) => (event as [string])[0] === name
      expect(await after(from + 1, isNamed('a'))).toEqual(['b', 'c'])
      expect(await after(from + 3, isNamed('c'))).toEqual([])
      expect(await after(from + 1, isNamed('b'))).toEqual(['none'])
      expect(await after(from + 3, isNamed('b'))).toEqual(['none'])
      expect(await after(from, (event) => typeof event === 'string')).toEqual(['a', 'b', 'c'])
      expect(await after(from - 1, () => true)).toEqual(['none'])
      expect(await read(t.store, from - 1)).toBeNull()
    },
  },
  {
    name: 'an old event is kept while it is the newest, so that a reader finds its place',
    async run(t) {
      const from = await beganLongAgo(t)
      await t.store.events.append([record('old')], NOW - DAY - 2)
      await t.store.events.record(null, NOW)
      const options = { limit: 9, ms: 0, signal: NEVER, isLast: () => true }
      expect(await t.store.events.read(from + 1, options, () => NOW)).toEqual([])
      expect(await t.store.events.read(from, options, () => NOW)).toBeNull()
    },
  },
  {
    name: 'events that are too old are deleted when the recording is extended',
    async run(t) {
      const from = await beganLongAgo(t)
      for (const [n, at] of [NOW - DAY - 2, NOW - DAY - 1, NOW].entries())
        await t.store.events.append([record(String(n))], at)
      await t.store.events.record(null, NOW)
      expect(await read(t.store, from)).toBeNull()
      expect(namesOf(await read(t.store, from + 2))).toEqual(['2'])
    },
  },
]
