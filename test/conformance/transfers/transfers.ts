import { expect } from 'vitest'
import { TRANSFER_PAGES_KEPT, type TransferPage } from '#dist/store/contract.js'
import { type Bench, type Case, NOW, sure, toQueue } from '../bench.ts'
import { taskId } from '../tasks/tracked.ts'

/** Takes texts from the beginning of queue q. */
async function hold(t: Bench, transfer: string, ...texts: string[]): Promise<TransferPage> {
  return sure(await t.store.transfers.hold(transfer, 'there', { queue: 'q', offset: 0, texts }))
}

const page = (number: number, transfer = 'T') => ({ transfer, number })

/** Transfers between stores: the steps of the source, and those of the target. */
export const transfers: Case[] = [
  {
    name: 'hold moves jobs from a queue into a page, in the order in which they are fetched; held returns it',
    async run(t) {
      await t.push('q', t.job(1), t.job(2), t.job(3), t.job(4))
      await t.store.jobs.push([toQueue('p3:q', t.job(5))], NOW)
      const taken = await t.store.transfers.hold('T', 'there', {
        queue: 'q',
        offset: 0,
        texts: [t.job(5), t.job(1), t.job('never'), t.job(3)],
      })
      const job = (queue: string, n: number) => toQueue(queue, t.job(n), 'front')
      const expected = { ...page(1), target: 'there', jobs: [job('p3:q', 5), job('q', 1), job('q', 3)] }
      expect(taken).toEqual(expected)
      expect(await t.store.transfers.held()).toEqual(expected)
      expect(await t.waiting('q')).toEqual([t.job(2), t.job(4)])
      expect((await t.store.jobs.queues(['q']))[0]?.size).toBe(2)
    },
  },
  {
    name: 'hold moves unchanged entries of a set into a page, each with its score',
    async run(t) {
      for (const to of ['retry', 'schedule', 'dead', 'finished', 'limited:mail'] as const) {
        const entries = [1, 2, 3].map((n) => ({ text: t.job(n), score: n + 0.25 }))
        const pushed = entries.map((entry) => ({ to: 'retry', ...entry }) as const)
        await t.store.jobs.push(pushed, NOW)
        const swaps = entries.map((entry) => ({ ...entry, to: { to, ...entry } }))
        if (to !== 'retry') await t.store.jobSets.swap('retry', swaps, NOW)
        const asked = [sure(entries[0]), { text: t.job(2), score: 9 }, sure(entries[2]), { text: t.job(4), score: 1 }]
        const taken = sure(await t.store.transfers.hold(to, 'there', { set: to, entries: asked }))
        expect(taken.jobs).toEqual([1, 3].map((n) => ({ to, text: t.job(n), score: n + 0.25 })))
        expect(await t.store.jobSets.page(to, { limit: 9 })).toEqual([entries[1]])
        expect(await t.store.transfers.endPage(taken, [], NOW)).toBe(true)
      }
      // Of the limited jobs one is left.
      expect((await t.store.jobs.queues(['q']))[0]?.limited).toBe(1)
    },
  },
  {
    name: 'of several jobs with the same text take moves as many as it is asked for',
    async run(t) {
      await t.push('q', t.job(1), t.job(1), t.job(1))
      expect((await hold(t, 'T', t.job(1), t.job(1))).jobs).toHaveLength(2)
      expect(await t.waiting('q')).toEqual([t.job(1)])
    },
  },
  {
    name: 'hold finds a job far behind the beginning of a queue, also when it has moved up or back since it was read',
    async run(t) {
      const texts = Array.from({ length: 1500 }, (_, n) => t.job(n))
      await t.store.jobs.push(
        texts.map((text, n) => toQueue(n < 400 ? 'p3:q' : 'q', text)),
        NOW,
      )
      const places = [
        ...[
          [390, 0],
          [391, 391],
          [392, 800],
        ],
        ...[
          [800, 400],
          [801, 801],
          [802, 1200],
        ],
        ...[
          [1490, 1100],
          [1491, 1491],
          [1492, 1900],
        ],
      ] as [number, number][]
      for (const [at, offset] of places) {
        const text = sure(texts[at])
        const taken = sure(await t.store.transfers.hold('T', 'there', { queue: 'q', offset, texts: [text] }))
        expect(taken.jobs).toEqual([toQueue(at < 400 ? 'p3:q' : 'q', text, 'front')])
        await t.store.transfers.endPage(taken, [], NOW)
      }
      const left = new Set(texts)
      for (const [at] of places) left.delete(sure(texts[at]))
      expect(await t.store.jobs.peek('q', 0, 9999)).toEqual([...left])
    },
  },
  {
    name: 'hold returns null when all jobs are gone, and no page is held then',
    async run(t) {
      await t.push('q', t.job(1))
      const from = { queue: 'q', offset: 0, texts: [t.job(2)] }
      expect(await t.store.transfers.hold('T', 'there', from)).toBe(null)
      expect(await t.store.transfers.hold('T', 'there', { ...from, queue: 'never' })).toBe(null)
      expect(await t.store.transfers.held()).toBe(null)
    },
  },
  {
    name: 'while a page is held, hold of any transfer returns it and takes nothing',
    async run(t) {
      await t.push('q', t.job(1), t.job(2))
      const first = await hold(t, 'T', t.job(1))
      expect(await hold(t, 'T', t.job(2))).toEqual(first)
      expect(await hold(t, 'another', t.job(2))).toEqual(first)
      expect(await t.waiting('q')).toEqual([t.job(2)])
    },
  },
  {
    name: 'the number of a page is greater than that of every page before, of any transfer',
    async run(t) {
      await t.push('q', t.job(0), t.job(1), t.job(2), t.job(3))
      for (const [n, transfer] of ['A', 'A', 'B', 'A'].entries()) {
        const taken = await hold(t, transfer, t.job(n))
        expect(taken).toMatchObject({ transfer, number: n + 1 })
        await t.store.transfers.endPage(taken, [], NOW)
      }
    },
  },
  {
    name: 'of two racing takers one gets its jobs, and both get the same page',
    shared: true,
    async run(t) {
      const other = await t.another()
      await t.push('q', t.job(1), t.job(2))
      const from = (n: number) => ({ queue: 'q', offset: 0, texts: [t.job(n)] })
      const [a, b] = await Promise.all([
        t.store.transfers.hold('A', 'there', from(1)),
        other.transfers.hold('B', 'there', from(2)),
      ])
      expect(a).toEqual(b)
      expect(await t.waiting('q')).toHaveLength(1)
    },
  },
  {
    name: 'endPage drops the jobs of the page, or moves jobs, once',
    async run(t) {
      await t.push('q', t.job(1), t.job(2), t.job(3))
      const taken = await hold(t, 'T', t.job(1), t.job(2))
      expect(await t.store.transfers.endPage(page(2), [], NOW)).toBe(false)
      expect(await t.store.transfers.endPage(page(1, 'another'), [], NOW)).toBe(false)
      const back = taken.jobs.toReversed().map((to) => ({ to }))
      expect(await t.store.transfers.endPage(taken, back, NOW)).toBe(true)
      expect(await t.store.transfers.endPage(taken, back, NOW)).toBe(false)
      expect(await t.waiting('q')).toEqual([1, 2, 3].map((n) => t.job(n)))
      const second = await hold(t, 'T', t.job(1))
      expect(await t.store.transfers.endPage(taken, back, NOW)).toBe(false)
      const unlock = { kind: 'release-unique', key: 'K', holder: 'j' } as const
      await t.store.jobs.push([{ ...toQueue('other', t.job(9)), unique: { jid: 'j', claims: [{ key: 'K' }] } }], NOW)
      expect(await t.store.transfers.endPage(second, [{ to: null, effects: [unlock] }], NOW)).toBe(true)
      expect(await t.store.unique.find(['K'], NOW)).toEqual([null])
      expect(await t.waiting('q')).toEqual([2, 3].map((n) => t.job(n)))
    },
  },
  {
    name: 'put stores the jobs of a page once, also when it is repeated with other jobs',
    async run(t) {
      const items = [
        toQueue('q', t.job(1)),
        toQueue('p2:q', t.job(2)),
        { to: 'dead', text: t.job(3), score: 7 } as const,
      ]
      expect(await t.store.transfers.put(page(1), items, NOW)).toBe('stored')
      expect(await t.store.transfers.put(page(1), [toQueue('q', t.job(4))], NOW)).toBe('stored')
      expect(await t.waiting('q')).toEqual([t.job(2), t.job(1)])
      expect(await t.store.jobSets.page('dead', { limit: 9 })).toEqual([{ text: t.job(3), score: 7 }])
      expect(await t.store.transfers.put(page(2), [toQueue('q', t.job(5))], NOW)).toBe('stored')
      expect(await t.store.transfers.put(page(1), [toQueue('q', t.job(6))], NOW)).toBe('stored')
      expect(await t.store.transfers.put(page(1, 'another'), [toQueue('q', t.job(7))], NOW)).toBe('stored')
      expect(await t.waiting('q')).toEqual([2, 1, 5, 7].map((n) => t.job(n)))
    },
  },
  {
    name: 'put forgets a page after 10,000 newer ones of its source, but no page of another source, and no task',
    seconds: 90,
    async run(t) {
      const { transfers } = t.store
      const put = (number: number, transfer = 'b/T') =>
        transfers.put(page(number, transfer), [toQueue('q', t.job(number))], NOW)
      const tasks = ['a/U', 'b/U']
      for (const [n, name] of tasks.entries()) expect(await transfers.voidTask(taskId(n), name, NOW)).toBe('void')
      for (const name of ['a/T', 'b/T']) expect(await transfers.put(page(1, name), [], NOW)).toBe('void')
      const putTo = async (last: number, from: number) => {
        for (let n = from; n <= last; )
          await Promise.all(Array.from({ length: Math.min(500, last + 1 - n) }, () => put(n++)))
      }
      await putTo(TRANSFER_PAGES_KEPT, 2)
      expect(await put(1)).toBe('void')
      // A store may forget pages by the hundred.
      await putTo(TRANSFER_PAGES_KEPT + 100, TRANSFER_PAGES_KEPT + 1)
      expect(await put(1)).toBe('stored')
      expect(await put(1, 'a/T')).toBe('void')
      const part = { task: null, rows: [], backlog: [], files: [], next: null }
      for (const [n, name] of tasks.entries())
        expect(await transfers.putTask(taskId(n), name, '', part, NOW)).toBe('void')
    },
  },
  {
    name: 'a page that was put without jobs is void for ever',
    async run(t) {
      expect(await t.store.transfers.put(page(1), [], NOW)).toBe('void')
      expect(await t.store.transfers.put(page(1), [toQueue('q', t.job(1))], NOW)).toBe('void')
      expect(await t.waiting('q')).toEqual([])
      expect(await t.store.transfers.put(page(2), [toQueue('q', t.job(2))], NOW)).toBe('stored')
      expect(await t.store.transfers.put(page(2), [], NOW)).toBe('stored')
      expect(await t.waiting('q')).toEqual([t.job(2)])
    },
  },
  {
    name: 'of racing puts of one page one stores the jobs, and all have the same answer',
    shared: true,
    async run(t) {
      const other = await t.another()
      const put = (store: typeof other, ...items: ReturnType<typeof toQueue>[]) =>
        store.transfers.put(page(1), items, NOW)
      const answers = await Promise.all([
        put(t.store, toQueue('q', t.job(1))),
        put(other),
        put(other, toQueue('q', t.job(1))),
        put(t.store, toQueue('q', t.job(1))),
      ])
      expect(new Set(answers).size).toBe(1)
      expect(await t.waiting('q')).toHaveLength(answers[0] === 'stored' ? 1 : 0)
    },
  },
  {
    name: 'put takes the free locks of a job; a lock that another job has does not stop it',
    async run(t) {
      const ends = NOW + 60_000
      await t.store.jobs.push([{ ...toQueue('q', t.job(1)), unique: { jid: 'a', claims: [{ key: 'K' }] } }], NOW)
      const claims = [{ key: 'K' }, { key: 'L', ends, outlives: true }]
      await t.store.transfers.put(page(1), [{ ...toQueue('q', t.job(2)), unique: { jid: 'b', claims } }], NOW)
      expect(await t.waiting('q')).toEqual([t.job(1), t.job(2)])
      const [held, free] = await t.store.unique.find(['K', 'L'], NOW)
      expect(held?.holder).toBe('a')
      expect(free).toMatchObject({ holder: 'b', ends, outlives: true })
    },
  },
  {
    name: 'put requests the cancellations of its jobs in the same step, once',
    async run(t) {
      const items = [
        { ...toQueue('q', t.job(1)), cancelled: 'aa' },
        { ...toQueue('q', t.job(2)), unique: { jid: 'bb', claims: [{ key: 'K' }] } },
      ]
      await t.store.transfers.put(page(1), items, NOW)
      expect(await t.store.cancellations.among(['aa', 'bb'])).toEqual(['aa'])
      expect(await t.store.cancellations.withdraw('aa', NOW)).toBe('requested')
      await t.store.transfers.put(page(1), items, NOW)
      expect(await t.store.cancellations.among(['aa'])).toEqual([])
    },
  },
  {
    name: 'put wakes a worker that waits for jobs',
    async run(t) {
      const owner = await t.owner()
      const waiting = t.store.workers.waitForJobs(owner, ['q'], 1, 20_000, new AbortController().signal)
      await t.store.transfers.put(page(1), [toQueue('q', t.job(1))], NOW)
      const fetched = await waiting
      expect(fetched.length + (await t.fetch(owner, 'q')).length).toBe(1)
    },
  },
]
