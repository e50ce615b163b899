import { expect } from 'vitest'
import type { FetchedJob } from '#dist/store/contract.js'
import { type Case, done, NOW, release, retry, textsOf, toQueue } from '../bench.ts'
import { longJob, MANY, startsWithOldest } from './in-order.ts'

/** Settling and fetching: one step of a worker. */
export const settleAndFetch: Case[] = [
  {
    name: 'a fetched job belongs to its owner alone',
    async run(t) {
      await t.push('q', t.job(1), t.job(2))
      const [one, two] = [await t.owner(), await t.owner()]
      expect(textsOf(await t.fetch(one, 'q', 1))).toEqual([t.job(1)])
      expect(textsOf(await t.fetch(two, 'q', 5))).toEqual([t.job(2)])
      expect(await t.fetch(one, 'q', 5)).toEqual([])
      expect(await t.store.metrics.totals()).toMatchObject({ enqueued: 0, fetched: 2, processed: 0 })
    },
  },
  {
    name: 'jobs that go back to the front of their queue in one step are in their order for an idle worker',
    async run(t) {
      await t.push('q', ...Array.from({ length: MANY }, (_, n) => longJob(t, n)))
      const owner = await t.owner()
      const fetched: FetchedJob[] = []
      while (fetched.length < MANY) fetched.push(...(await t.fetch(owner, 'q', MANY - fetched.length)))
      const settlements = fetched.toReversed().map((one) => release(one))
      await startsWithOldest(t, longJob(t, 0), async () => {
        expect((await t.settleAndFetch(owner, { settlements })).settled).toEqual(settlements.map(() => 'ok'))
      })
    },
  },
  {
    name: 'owners that fetch at the same time get every job once',
    async run(t) {
      const texts = Array.from({ length: 60 }, (_, n) => t.job(n))
      await t.push('q', ...texts)
      const owners = await Promise.all([1, 2, 3, 4].map(() => t.owner()))
      const rounds = await Promise.all(
        owners.map(async (owner) => {
          const mine: string[] = []
          for (let i = 0; i < 8; i++) mine.push(...textsOf(await t.fetch(owner, 'q', 3)))
          return mine
        }),
      )
      expect(rounds.flat().sort()).toEqual([...texts].sort())
    },
  },
  {
    name: 'owners on two connections that fetch at the same time get every job once',
    shared: true,
    async run(t) {
      const texts = Array.from({ length: 60 }, (_, n) => t.job(n))
      await t.push('q', ...texts)
      const stores = [t.store, await t.another()]
      const rounds = await Promise.all(
        stores.map(async (store) => {
          const owner = await t.owner({ store })
          const mine: string[] = []
          let mineNow = await t.fetch(owner, 'q', 3, store)
          while (mineNow.length > 0) {
            mine.push(...textsOf(mineNow))
            const answer = await t.settleAndFetch(
              owner,
              { settlements: mineNow.map((taken) => done(taken)), fetch: { queues: ['q'], n: 3 } },
              store,
            )
            expect(answer.settled).toEqual(mineNow.map(() => 'ok'))
            mineNow = answer.fetched
          }
          return mine
        }),
      )
      expect(rounds.flat().sort()).toEqual([...texts].sort())
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 60, fetched: 0, enqueued: 0 })
    },
  },
  {
    name: 'a fetch returns at most n jobs, and none for n = 0',
    async run(t) {
      await t.push('q', ...[1, 2, 3, 4, 5].map((n) => t.job(n)))
      const owner = await t.owner()
      expect(await t.fetch(owner, 'q', 0)).toEqual([])
      expect(textsOf(await t.fetch(owner, 'q', 2))).toEqual([t.job(1), t.job(2)])
      expect(await t.fetch(owner, 'q', 9)).toHaveLength(3)
    },
  },
  {
    name: 'a fetch goes through the queues in the order given, and names the queue of each job',
    async run(t) {
      await t.push('a', t.job('a1'), t.job('a2'))
      await t.push('b', t.job('b1'), t.job('b2'), t.job('b3'))
      await t.push('c', t.job('c1'))
      const owner = await t.owner({ queues: ['a', 'b', 'c'] })
      const first = await t.fetch(owner, ['b', 'none', 'a'], 4)
      expect(first.map(({ queue, text }) => [queue, text])).toEqual([
        ['b', t.job('b1')],
        ['b', t.job('b2')],
        ['b', t.job('b3')],
        ['a', t.job('a1')],
      ])
      expect(textsOf(await t.fetch(owner, ['c', 'a'], 9))).toEqual([t.job('c1'), t.job('a2')])
    },
  },
  {
    name: 'a fetch returns only jobs of the named queues, whatever is settled',
    async run(t) {
      await t.push('a', t.job('a1'))
      await t.push('b', t.job('b1'), t.job('b2'))
      const owner = await t.owner({ queues: ['a', 'b'] })
      const [first] = await t.fetch(owner, 'b')
      const answer = await t.settleAndFetch(owner, { settlements: [done(first)], fetch: { queues: ['a'], n: 5 } })
      expect(textsOf(answer.fetched)).toEqual([t.job('a1')])
      expect(await t.waiting('b')).toEqual([t.job('b2')])
    },
  },
  {
    name: 'a settled job is gone and counted',
    async run(t) {
      await t.push('q', t.job(1), t.job(2))
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      expect((await t.settleAndFetch(owner, { settlements: [done(first)] })).settled).toEqual(['ok'])
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0, fetched: 0, enqueued: 1 })
    },
  },
  {
    name: 'settling a ticket again answers fenced and counts nothing',
    async run(t) {
      await t.push('q', t.job(1))
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [retry(first, 2e9)] })
      const again = await t.settleAndFetch(owner, { settlements: [retry(first, 2e9), done(first)] })
      expect(again).toMatchObject({ fenced: false, settled: ['fenced', 'fenced'] })
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 1, failed: 1, retries: 1, enqueued: 0 })
    },
  },
  {
    name: 'a ticket settled twice in one call is settled once',
    async run(t) {
      await t.push('q', t.job(1))
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      expect((await t.settleAndFetch(owner, { settlements: [done(first), retry(first, 1)] })).settled).toEqual([
        'ok',
        'fenced',
      ])
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0, enqueued: 0, retries: 0 })
    },
  },
  {
    name: "an owner can't settle the job of another one",
    async run(t) {
      await t.push('q', t.job(1))
      const [one, two] = [await t.owner(), await t.owner()]
      const [first] = await t.fetch(one, 'q')
      expect((await t.settleAndFetch(two, { settlements: [done(first)] })).settled).toEqual(['fenced'])
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 0, fetched: 1 })
      expect((await t.settleAndFetch(one, { settlements: [done(first)] })).settled).toEqual(['ok'])
    },
  },
  {
    name: 'an invented ticket is fenced',
    async run(t) {
      const owner = await t.owner()
      const invented = { queue: 'q', ticket: '999999999', text: t.job(1) }
      expect((await t.settleAndFetch(owner, { settlements: [retry(invented, 1)] })).settled).toEqual(['fenced'])
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 0, failed: 0, retries: 0 })
    },
  },
  {
    name: 'one bad settlement of several does not affect the others, and answers come in order',
    async run(t) {
      await t.push('q', ...[1, 2, 3, 4].map((n) => t.job(n)))
      const owner = await t.owner()
      const [a, b, c, d] = await t.fetch(owner, 'q', 4)
      await t.settleAndFetch(owner, { settlements: [done(b)] })
      const answer = await t.settleAndFetch(owner, {
        settlements: [retry(a, 5), done(b), done(c), { ...done(d), ticket: 'no such ticket' }],
      })
      expect(answer.settled).toEqual(['ok', 'fenced', 'ok', 'fenced'])
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 3, failed: 1, retries: 1, fetched: 1 })
      expect((await t.settleAndFetch(owner, { settlements: [done(d)] })).settled).toEqual(['ok'])
    },
  },
  {
    name: 'settlements are applied before the fetch: a released job can be fetched in the same call, with a new ticket',
    async run(t) {
      await t.push('q', t.job(1))
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      const answer = await t.settleAndFetch(owner, { settlements: [release(first)], fetch: { queues: ['q'], n: 1 } })
      expect(answer.settled).toEqual(['ok'])
      expect(textsOf(answer.fetched)).toEqual([t.job(1)])
      expect(answer.fetched[0].ticket).not.toBe(first.ticket)
      expect((await t.settleAndFetch(owner, { settlements: [done(first)] })).settled).toEqual(['fenced'])
      expect((await t.settleAndFetch(owner, { settlements: [done(answer.fetched[0])] })).settled).toEqual(['ok'])
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 1, fetched: 0, enqueued: 0 })
    },
  },
  {
    name: 'a ticket is never used twice, also when jobs are released and fetched again',
    async run(t) {
      await t.push('q', t.job(1), t.job(2), t.job(3))
      const owner = await t.owner()
      const seen = new Set<string>()
      let held = await t.fetch(owner, 'q', 2)
      for (let round = 0; round < 12; round++) {
        for (const { ticket } of held) seen.add(ticket)
        const settlements = held.map((taken) => release(taken, { move: toQueue('q', taken.text, 'back') }))
        if (round % 4 === 3) {
          await t.settleAndFetch(owner, { settlements })
          held = await t.fetch(owner, 'q', 2)
        } else {
          held = (await t.settleAndFetch(owner, { settlements, fetch: { queues: ['q'], n: 2 } })).fetched
        }
      }
      for (const { ticket } of held) seen.add(ticket)
      expect(seen.size).toBe(26)
    },
  },
  {
    name: 'a job goes to the destination of its settlement, with its text',
    async run(t) {
      await t.push('q', ...[1, 2, 3, 4, 5, 6].map((n) => t.job(n)))
      const owner = await t.owner()
      const [a, b, c, d, e] = await t.fetch(owner, 'q', 5)
      const answer = await t.settleAndFetch(owner, {
        settlements: [
          done(a, { move: { to: 'retry', text: '{"a":1}', score: 10.25 }, failed: 1 }),
          done(b, { move: { to: 'dead', text: '{"b":1}', score: 20 }, failed: 1 }),
          done(c, { move: { to: 'schedule', text: '{"c":1}', score: 30 }, processed: 0 }),
          done(d, { move: toQueue('other', '{"d":1}'), processed: 0 }),
          done(e, { move: toQueue('q', '{"e":1}', 'front'), processed: 0 }),
        ],
      })
      expect(answer.settled).toEqual(['ok', 'ok', 'ok', 'ok', 'ok'])
      expect(await t.store.jobSets.page('retry', { limit: 9 })).toEqual([{ text: '{"a":1}', score: 10.25 }])
      expect(await t.store.jobSets.page('dead', { limit: 9 })).toEqual([{ text: '{"b":1}', score: 20 }])
      expect(await t.store.jobSets.page('schedule', { limit: 9 })).toEqual([{ text: '{"c":1}', score: 30 }])
      expect(await t.waiting('other')).toEqual(['{"d":1}'])
      expect(await t.waiting('q')).toEqual(['{"e":1}', t.job(6)])
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 2, failed: 2, fetched: 0 })
    },
  },
  {
    name: 'jobs released to the front, newest first, are in their old order',
    async run(t) {
      const texts = [1, 2, 3, 4].map((n) => t.job(n))
      await t.push('q', ...texts)
      const owner = await t.owner()
      const taken = await t.fetch(owner, 'q', 3)
      await t.settleAndFetch(owner, { settlements: taken.reverse().map((one) => release(one)) })
      expect(await t.waiting('q')).toEqual(texts)
    },
  },
  {
    name: 'an unknown owner is fenced: nothing is settled and nothing is fetched',
    async run(t) {
      await t.push('q', t.job(1), t.job(2))
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      const answer = await t.settleAndFetch(t.ownerName(), {
        settlements: [done(first), retry(first, 1)],
        fetch: { queues: ['q'], n: 5 },
      })
      expect(answer).toMatchObject({ fenced: true, settled: ['fenced', 'fenced'], fetched: [] })
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 0, enqueued: 1, fetched: 1, retries: 0 })
    },
  },
  {
    name: 'a start without effects is accepted',
    async run(t) {
      await t.push('q', t.job(1))
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      const started = [{ queue: 'q', ticket: first.ticket, effects: [] }]
      expect(await t.settleAndFetch(owner, { started })).toMatchObject({
        fenced: false,
        started: ['ok'],
        settled: [],
        fetched: [],
      })
      expect(await t.settleAndFetch(owner, { started })).toMatchObject({ started: ['ok'] })
    },
  },
  {
    name: 'an effect on a deleted task does not prevent the settlement of its job',
    async run(t) {
      await t.push('q', t.job(1))
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      const effects = [
        {
          kind: 'event' as const,
          jid: '00000000000000aa00000001',
          run: 1,
          attempt: 1,
          status: 'finished' as const,
          at: NOW,
          window: 'leave' as const,
        },
      ]
      expect((await t.settleAndFetch(owner, { settlements: [done(first, { effects })] })).settled).toEqual(['ok'])
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 1, fetched: 0 })
    },
  },
  {
    name: '500 jobs are settled in one call',
    async run(t) {
      const texts = Array.from({ length: 500 }, (_, n) => t.job(n))
      await t.push('q', ...texts)
      const owner = await t.owner()
      const taken = await t.fetch(owner, 'q', 500)
      expect(textsOf(taken)).toEqual(texts)
      const answer = await t.settleAndFetch(owner, { settlements: taken.map((one) => done(one)) })
      expect(new Set(answer.settled)).toEqual(new Set(['ok']))
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 500, fetched: 0, enqueued: 0 })
    },
  },
  {
    name: 'concurrent calls of one owner do not affect each other',
    async run(t) {
      const texts = Array.from({ length: 30 }, (_, n) => t.job(n))
      await t.push('q', ...texts)
      const owner = await t.owner()
      const taken = (await Promise.all([1, 2, 3].map(() => t.fetch(owner, 'q', 10)))).flat()
      expect(textsOf(taken).sort()).toEqual([...texts].sort())
      const answers = await Promise.all(
        taken.map((one) => t.settleAndFetch(owner, { settlements: [done(one), done(one)] })),
      )
      expect(answers.map(({ settled }) => settled)).toEqual(taken.map(() => ['ok', 'fenced']))
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 30, fetched: 0 })
    },
  },
]
