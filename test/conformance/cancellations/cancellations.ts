import { expect } from 'vitest'
import { type CancellationEffect, MOST_CANCELLERS, type Store } from '#dist/store/contract.js'
import { type Bench, type Case, done, NOW, pause, release, sure, textsOf, timed, toQueue, until } from '../bench.ts'

const NEVER = new AbortController().signal
const PROMPT = 1000

/** Cancellations and paused queues. */
export const cancellations: Case[] = [
  {
    name: 'without a cancellation the version is 0, and no job is cancelled',
    async run(t) {
      const owner = await t.owner()
      await t.push('q', t.job(1))
      expect(await t.settleAndFetch(owner, { fetch: { queues: ['q'], n: 1 } })).toMatchObject({
        cancellations: 0,
        fetched: [{}],
      })
      expect(await t.store.cancellations.since(0)).toEqual({ version: 0, jids: [] })
      expect(await t.store.cancellations.among(['a', 'b'])).toEqual([])
      expect(await t.store.cancellations.among([])).toEqual([])
      expect(await t.store.cancellations.withdraw('a', NOW)).toBe('none')
    },
  },
  {
    name: 'the call that fetches a job returns the version of every earlier cancellation',
    shared: true,
    async run(t) {
      const owner = await t.owner()
      const other = await t.another()
      let version = 0
      for (let n = 1; n <= 5; n++) {
        await t.push('q', t.job(n))
        await other.cancellations.request(`jid ${n}`, NOW)
        const answer = await t.settleAndFetch(owner, { fetch: { queues: ['q'], n: 1 } })
        expect(answer.fetched).toHaveLength(1)
        expect(answer.cancellations).toBeGreaterThan(version)
        version = answer.cancellations
        const found = await t.store.cancellations.since(0)
        expect(found).toEqual({ version, jids: Array.from({ length: n }, (_, i) => `jid ${i + 1}`) })
      }
      expect(await t.settleAndFetch(owner, {})).toMatchObject({ cancellations: version })
    },
  },
  {
    name: 'since returns each cancellation once, and among finds the cancelled jobs',
    async run(t) {
      await t.store.cancellations.request('a', NOW)
      const first = await t.store.cancellations.since(0)
      expect(first.jids).toEqual(['a'])
      expect(await t.store.cancellations.since(first.version)).toEqual({ version: first.version, jids: [] })
      await t.store.cancellations.request(['b', 'a', 'c'], NOW)
      const second = await t.store.cancellations.since(first.version)
      expect(second.jids).toEqual(['b', 'c'])
      expect(second.version).toBeGreaterThan(first.version)
      expect((await t.store.cancellations.among(['c', 'x', 'a', 'a b'])).sort()).toEqual(['a', 'c'])
    },
  },
  {
    name: 'a cancelled job whose jid has a NUL is found, and one with the jid before the NUL is not',
    async run(t) {
      const jids = ['a\0b', 'c']
      await t.store.cancellations.request(jids, NOW)
      expect((await t.store.cancellations.since(0)).jids).toEqual(jids)
      expect((await t.store.cancellations.among(['a', ...jids])).sort()).toEqual(jids)
    },
  },
  {
    name: 'a repeated request changes nothing, and since does not return it again',
    async run(t) {
      await t.store.cancellations.request('a', NOW)
      const { version } = await t.store.cancellations.since(0)
      await t.store.cancellations.request('a', NOW + 1000)
      expect(await t.store.cancellations.since(0)).toEqual({ version, jids: ['a'] })
      expect(await t.store.cancellations.since(version)).toEqual({ version, jids: [] })
    },
  },
  {
    name: 'a request returns the version of each cancellation, a repeated one the same',
    async run(t) {
      const { cancellations } = t.store
      const [first = 0] = await cancellations.request('a', NOW)
      expect(first).toBeGreaterThan(0)
      expect(await cancellations.since(0)).toEqual({ version: first, jids: ['a'] })
      const [b = 0, a, c = 0] = await cancellations.request(['b', 'a', 'c'], NOW)
      expect([a, b > first, c > b]).toEqual([first, true, true])
      expect(await cancellations.since(0)).toEqual({ version: c, jids: ['a', 'b', 'c'] })
    },
  },
  {
    name: 'a caller withdraws only its own request: the cancellation stays while another caller wants it',
    async run(t) {
      const { cancellations } = t.store
      const [first] = await cancellations.request('a', NOW)
      const [second] = await cancellations.request('a', NOW)
      const [other] = await cancellations.request('b', NOW)
      expect(await cancellations.withdraw('a', NOW, other)).toBe('requested')
      expect(await cancellations.withdraw('a', NOW, first)).toBe('requested')
      expect((await cancellations.among(['a', 'b'])).sort()).toEqual(['a', 'b'])
      expect(await cancellations.withdraw('a', NOW, second)).toBe('requested')
      expect(await cancellations.withdraw('a', NOW, second)).toBe('none')
      expect(await cancellations.among(['a', 'b'])).toEqual(['b'])
      const [third] = await cancellations.request('a', NOW)
      expect(await cancellations.withdraw('a', NOW, first)).toBe('requested')
      expect(await cancellations.among(['a'])).toEqual(['a'])
      expect(third).not.toBe(first)
    },
  },
  {
    name: 'without a version a cancellation is withdrawn for all callers',
    async run(t) {
      const { cancellations } = t.store
      for (let n = 0; n < 3; n++) await cancellations.request('a', NOW)
      expect(await cancellations.withdraw('a', NOW)).toBe('requested')
      expect(await cancellations.withdraw('a', NOW)).toBe('none')
    },
  },
  {
    name: 'a cancellation that more callers request than a store counts stays',
    async run(t) {
      const { cancellations } = t.store
      const versions: (number | undefined)[] = []
      for (let n = 0; n < MOST_CANCELLERS + 2; n++) versions.push((await cancellations.request('a', NOW))[0])
      expect(new Set(versions).size).toBe(1)
      for (const version of versions) await cancellations.withdraw('a', NOW, version)
      expect(await cancellations.among(['a'])).toEqual(['a'])
      const [next = 0] = await cancellations.request('b', NOW)
      expect(await cancellations.since(versions[0] as number)).toMatchObject({ version: next })
    },
  },
  {
    name: 'a caller learns that its job was dropped',
    async run(t) {
      const [version] = await t.store.cancellations.request('a', NOW)
      await deliver(t, clearing('a'))
      expect(await t.store.cancellations.withdraw('a', NOW, version)).toBe('dropped')
    },
  },
  {
    name: 'versions grow, whatever the clocks of the callers are',
    async run(t) {
      let before = 0
      for (const [i, ahead] of [0, 5000, -5000, 0].entries()) {
        await t.store.cancellations.request(`jid ${i}`, NOW + ahead)
        const { version } = await t.store.cancellations.since(0)
        expect(version).toBeGreaterThan(before)
        before = version
      }
      expect((await t.store.cancellations.since(0)).jids).toHaveLength(4)
    },
  },
  {
    name: 'a withdrawn cancellation is gone, and a new request is returned again',
    async run(t) {
      await t.store.cancellations.request('a', NOW)
      const { version } = await t.store.cancellations.since(0)
      expect(await t.store.cancellations.withdraw('a', NOW)).toBe('requested')
      expect(await t.store.cancellations.withdraw('a', NOW)).toBe('none')
      expect(await t.store.cancellations.among(['a'])).toEqual([])
      expect((await t.store.cancellations.since(0)).jids).toEqual([])
      await t.store.cancellations.request('a', NOW)
      expect((await t.store.cancellations.since(version)).jids).toEqual(['a'])
    },
  },
  {
    name: 'a cancellation is cleared in the step that drops its job, and its state is dropped',
    async run(t) {
      const owner = await t.owner()
      await t.push('q', t.job(1))
      await t.store.cancellations.request('a', NOW)
      const [taken] = await t.fetch(owner, 'q')
      const settlement = done(taken, { processed: 0, effects: [clearing('a')] })
      expect((await t.settleAndFetch(owner, { settlements: [settlement] })).settled).toEqual(['ok'])
      expect(await t.store.cancellations.among(['a'])).toEqual([])
      expect((await t.store.cancellations.since(0)).jids).toEqual([])
      expect(await t.store.cancellations.withdraw('a', NOW)).toBe('dropped')
      expect(await t.store.cancellations.withdraw('a', NOW)).toBe('dropped')
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 0, failed: 0, fetched: 0 })
    },
  },
  {
    name: 'the state of a cancelled job that was running is aborted, whatever the time was',
    async run(t) {
      for (const jid of ['a', 'b']) await t.store.cancellations.request(jid, NOW)
      await deliver(t, { ...clearing('a'), begun: true })
      await deliver(t, { ...clearing('b'), begun: true, at: NOW + 1 })
      for (const jid of ['a', 'b']) expect(await t.store.cancellations.withdraw(jid, NOW)).toBe('aborted')
      await t.store.cancellations.request('a', NOW + 10)
      await deliver(t, { ...clearing('a'), begun: false, at: NOW + 1 })
      expect(await t.store.cancellations.withdraw('a', NOW)).toBe('dropped')
    },
  },
  {
    name: 'a job that was dropped can be cancelled again',
    async run(t) {
      await t.store.cancellations.request('a', NOW)
      await deliver(t, clearing('a'))
      await t.store.cancellations.request('a', NOW + 10)
      expect(await t.store.cancellations.among(['a'])).toEqual(['a'])
      expect(await t.store.cancellations.withdraw('a', NOW)).toBe('requested')
    },
  },
  {
    name: 'the cancellation of a job that ended by itself is cleared, and clearing a job without one has no effect',
    async run(t) {
      await t.store.cancellations.request('a', NOW)
      await deliver(t, clearing('a', false), clearing('b'), clearing('c', false))
      for (const jid of ['a', 'b', 'c']) expect(await t.store.cancellations.withdraw(jid, NOW)).toBe('none')
    },
  },
  {
    name: 'a fenced settlement clears no cancellation',
    async run(t) {
      const owner = await t.owner()
      await t.push('q', t.job(1))
      await t.store.cancellations.request('a', NOW)
      const [taken] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [done(taken)] })
      const answer = await t.settleAndFetch(owner, { settlements: [done(taken, { effects: [clearing('a')] })] })
      expect(answer.settled).toEqual(['fenced'])
      expect(await t.store.cancellations.withdraw('a', NOW)).toBe('requested')
    },
  },
  {
    name: 'a cancellation is cleared with a job that is dropped from a set, from a queue, or from a dead owner',
    async run(t) {
      for (const jid of ['a', 'b', 'c', 'd']) await t.store.cancellations.request(jid, NOW)
      await t.store.jobs.push([{ to: 'retry', text: t.job(1), score: 1 }], NOW)
      await t.push('q', t.job(2))
      await t.push('p', t.job(3))
      const dead = await t.owner({ queues: ['p'] })
      await t.fetch(dead, 'p')
      await t.store.workers.claim(dead)
      const [orphaned] = await t.store.workers.orphaned(1)
      const dropped = { to: null, effects: [clearing('a')] }
      expect(await t.store.jobSets.swap('retry', [{ text: t.job(1), score: 1, ...dropped }], NOW)).toEqual(['ok'])
      const pull = { text: t.job(2), to: null, effects: [clearing('b')] }
      expect(await t.store.search.pull('q', [pull, pull], NOW)).toEqual(['ok', 'gone'])
      const restore = { ...sure(orphaned), to: null, effects: [clearing('c')] }
      expect(await t.store.workers.rescue([restore], NOW)).toEqual(['ok'])
      expect(await t.store.workers.rescue([restore], NOW)).toEqual(['gone'])
      for (const jid of ['a', 'b', 'c']) expect(await t.store.cancellations.withdraw(jid, NOW)).toBe('dropped')
      expect(await t.store.cancellations.withdraw('d', NOW)).toBe('requested')
      expect(await t.store.metrics.totals()).toMatchObject({ enqueued: 0, fetched: 0, retries: 0, processed: 0 })
    },
  },
  {
    name: 'many cancellations are returned in pages, each once',
    seconds: 60,
    async run(t) {
      const jids = Array.from({ length: 10_050 }, (_, n) => `jid ${n}`)
      for (let from = 0; from < jids.length; from += 500) {
        await Promise.all(jids.slice(from, from + 500).map((jid) => t.store.cancellations.request(jid, NOW)))
      }
      const first = await t.store.cancellations.since(0)
      const second = await t.store.cancellations.since(first.version)
      expect([first.jids.length, second.jids.length]).toEqual([10_000, 50])
      expect([...first.jids, ...second.jids].sort()).toEqual(jids.sort())
      expect(await t.store.cancellations.since(second.version)).toMatchObject({ jids: [] })
      expect(await t.store.cancellations.among([...jids.slice(0, 3000), 'x'])).toHaveLength(3000)
    },
  },

  // ------------------------------------------------------------------------------------------------- pauses
  {
    name: 'a call fetches nothing from a paused queue, everything from the others, and settles as usual',
    async run(t) {
      const owner = await t.owner()
      await t.push('p', t.job(1), t.job(2))
      await t.push('q', t.job(3))
      const [running] = await t.fetch(owner, 'p')
      await t.store.jobs.pauseQueue('p', true)
      expect(textsOf(await t.fetch(owner, ['p', 'q'], 5))).toEqual([t.job(3)])
      expect((await t.settleAndFetch(owner, { settlements: [done(running)] })).settled).toEqual(['ok'])
      expect(await t.waiting('p')).toEqual([t.job(2)])
      await t.store.jobs.pauseQueue('p', false)
      expect(textsOf(await t.fetch(owner, ['p', 'q'], 5))).toEqual([t.job(2)])
    },
  },
  {
    name: 'paused queues are listed by name, each once, also those without jobs; a queue is resumed however often it was paused',
    async run(t) {
      expect(await t.store.jobs.pausedQueues()).toEqual([])
      for (const queue of ['z', 'a b', 'z']) await t.store.jobs.pauseQueue(queue, true)
      expect(await t.store.jobs.pausedQueues()).toEqual(['a b', 'z'])
      await t.store.jobs.pauseQueue('z', false)
      await t.store.jobs.pauseQueue('never', false)
      expect(await t.store.jobs.pausedQueues()).toEqual(['a b'])
      expect(await t.store.jobs.queues()).toEqual([])
    },
  },
  {
    name: 'a pause stays when the store is opened again',
    shared: true,
    async run(t) {
      await t.store.jobs.pauseQueue('q', true)
      await t.push('q', t.job(1))
      await t.store.close()
      const other = await t.another()
      const owner = await t.owner({ store: other })
      expect(await other.jobs.pausedQueues()).toEqual(['q'])
      expect(await t.fetch(owner, 'q', 1, other)).toEqual([])
    },
  },
  {
    name: 'a waiter gets no jobs of a queue that is paused meanwhile, and all of them when it is resumed',
    shared: true,
    async run(t) {
      const owner = await t.owner()
      const other = await t.another()
      await other.open()
      const waiting = receive(t.store, owner, ['q'])
      await pause(50)
      await other.jobs.pauseQueue('q', true)
      await other.jobs.push([toQueue('q', t.job(1)), toQueue('q', t.job(2))], NOW)
      expect(await Promise.race([waiting, pause(700)])).toBeUndefined()
      await until('all are back', async () => (await t.waiting('q')).length === 2)
      expect((await t.store.metrics.totals()).fetched).toBe(0)
      await other.jobs.pauseQueue('q', false)
      const { ms, value } = await timed(waiting)
      expect(value).toHaveLength(1)
      expect(ms).toBeLessThan(PROMPT)
    },
  },
  {
    name: 'a waiter on several queues gets the jobs of those that are not paused, promptly',
    async run(t) {
      const owner = await t.owner()
      await t.store.jobs.pauseQueue('p', true)
      await t.push('p', t.job(1))
      const waiting = timed(receive(t.store, owner, ['p', 'q']))
      await pause(100)
      await t.push('q', t.job(2))
      const { ms, value } = await waiting
      expect(value).toEqual([t.job(2)])
      expect(ms).toBeLessThan(100 + PROMPT)
      expect(await t.waiting('p')).toEqual([t.job(1)])
    },
  },
  {
    name: 'a waiter with only paused queues wakes at once when one is resumed',
    shared: true,
    async run(t) {
      const owner = await t.owner()
      const other = await t.another()
      await other.jobs.pauseQueue('q', true)
      await t.push('q', t.job(1))
      let slowest = 0
      for (let n = 0; n < 3; n++) {
        const waiting = receive(t.store, owner, ['q'])
        // Until it waits for this, and for no job.
        await pause(700)
        const resumed = timed(waiting)
        await other.jobs.pauseQueue('q', false)
        slowest = Math.max(slowest, (await resumed).ms)
        await other.jobs.pauseQueue('q', true)
        await t.push('q', t.job(n + 2))
      }
      expect(slowest).toBeLessThan(PROMPT)
    },
  },
  {
    name: 'a wait on paused queues alone ends when it is aborted, and when its time is up',
    async run(t) {
      const owner = await t.owner()
      await t.store.jobs.pauseQueue('q', true)
      await t.push('q', t.job(1))
      expect(await t.fetch(owner, 'q')).toEqual([])
      const short = await timed(t.store.workers.waitForJobs(owner, ['q'], 1, 150, NEVER))
      expect(short.value).toEqual([])
      expect(short.ms).toBeLessThan(150 + PROMPT)
      const stop = new AbortController()
      const waiting = timed(t.store.workers.waitForJobs(owner, ['q'], 1, 8000, stop.signal))
      await pause(20)
      stop.abort()
      expect((await waiting).ms).toBeLessThan(PROMPT)
    },
  },
  {
    name: 'a job that is requeued, promoted or rescued into a paused queue stays there',
    async run(t) {
      const [owner, dead] = [await t.owner(), await t.owner()]
      await t.push('q', t.job(1), t.job(2))
      const [mine] = await t.fetch(owner, 'q')
      const [lost] = await t.fetch(dead, 'q')
      await t.store.jobs.push([{ to: 'schedule', text: t.job(3), score: 1 }], NOW)
      await t.store.jobs.pauseQueue('q', true)
      await t.settleAndFetch(owner, { settlements: [release(mine)] })
      await t.store.workers.claim(dead)
      const back = toQueue('q', lost.text, 'front')
      await t.store.workers.rescue([{ owner: dead, queue: 'q', ticket: lost.ticket, to: back }], NOW)
      await t.store.jobSets.swap('schedule', [{ text: t.job(3), score: 1, to: toQueue('q', t.job(3)) }], NOW)
      expect(await t.fetch(owner, 'q', 5)).toEqual([])
      expect(await t.waiting('q')).toHaveLength(3)
    },
  },
]

function clearing(jid: string, dropped = true): CancellationEffect {
  return { kind: 'clear-cancellation', jid, at: NOW, dropped }
}

/** Applies effects with a job that nobody fetches. */
async function deliver(t: Bench, ...effects: CancellationEffect[]): Promise<void> {
  await t.store.jobs.push([{ ...toQueue('carrier', '{}'), effects }], NOW)
}

/** Fetches and waits, as a worker does, until it has a job. */
async function receive(store: Store, owner: string, queues: string[]): Promise<string[]> {
  for (;;) {
    const turn = { now: NOW, started: [], settlements: [], fetch: { queues, n: 1 } }
    const { fetched: taken } = await store.workers.settleAndFetch(owner, turn)
    if (taken.length > 0) return textsOf(taken)
    const handed = await store.workers.waitForJobs(owner, queues, 1, 2000, NEVER)
    if (handed.length > 0) return textsOf(handed)
  }
}
