import { expect } from 'vitest'
import type { PushItem } from '#dist/store/contract.js'
import { type Bench, type Case, NOW, toQueue } from '../bench.ts'

/** Pushes to queues with a limit. */
export const maxLength: Case[] = [
  {
    name: 'a queue takes as many jobs as its limit allows, of all priorities, and names those that it refused',
    async run(t) {
      await t.push('q', t.job(1))
      await t.push('p3:q', t.job(2))
      const items = [limited(t, 3, 4), limited(t, 4, 4, 'p1:q'), limited(t, 5, 4), limited(t, 6, 4, 'p9:q')]
      expect(await t.store.jobs.push(items, NOW)).toEqual([
        { item: items[2], holder: null, due: null },
        { item: items[3], holder: null, due: null },
      ])
      expect(await t.waiting('q')).toEqual([t.job(2), t.job(4), t.job(1), t.job(3)])
      const [job] = await t.fetch(await t.owner(), 'q', 1)
      expect(job?.text).toBe(t.job(2))
      expect(await t.store.jobs.push([limited(t, 7, 4), limited(t, 8, 4)], NOW)).toHaveLength(1)
    },
  },
  {
    name: 'jobs without a limit, and jobs for another queue or a set, are stored beside a full queue',
    async run(t) {
      expect(await t.store.jobs.push([limited(t, 1, 1)], NOW)).toEqual([])
      const items: PushItem[] = [
        limited(t, 2, 1),
        toQueue('q', t.job(3)),
        toQueue('q', t.job(4), 'front'),
        limited(t, 5, 1, 'other'),
        { to: 'schedule', text: t.job(6), score: NOW / 1000 + 60, maxLength: 1 },
      ]
      expect(await t.store.jobs.push(items, NOW)).toEqual([{ item: items[0], holder: null, due: null }])
      expect([...(await t.waiting('q'))].sort()).toEqual([t.job(1), t.job(3), t.job(4)].sort())
      expect(await t.waiting('other')).toEqual([t.job(5)])
      expect(await t.store.jobSets.size('schedule')).toBe(1)
      expect(await t.store.jobs.push([limited(t, 7, 1)], NOW)).toHaveLength(1)
    },
  },
  {
    name: 'a refused unique job gets no lock, and a refused push may be repeated',
    async run(t) {
      await t.push('q', t.job(1))
      const unique = { jid: 'a', claims: [{ key: 'k' }] }
      const item: PushItem = { ...limited(t, 2, 1), unique, once: 'a' }
      expect(await t.store.jobs.push([item], NOW)).toEqual([{ item, holder: null, due: null }])
      await t.fetch(await t.owner(), 'q', 1)
      expect(await t.store.jobs.push([item], NOW)).toEqual([])
      // It is stored: a push that comes again has that job, and is not refused because of the full queue.
      expect(await t.store.jobs.push([item], NOW)).toEqual([])
      const again = { ...item, once: 'b' }
      expect(await t.store.jobs.push([again], NOW)).toEqual([{ item: again, holder: 'a', due: null }])
      const other: PushItem = { ...limited(t, 3, 1), unique: { jid: 'b', claims: [{ key: 'k' }] } }
      expect(await t.store.jobs.push([other], NOW)).toEqual([{ item: other, holder: 'a', due: null }])
      expect(await t.waiting('q')).toEqual([t.job(2)])
    },
  },
  {
    name: 'two connections that push at the same time never exceed the limit',
    shared: true,
    async run(t) {
      const stores = [t.store, await t.another()]
      const pushes = Array.from({ length: 40 }, (_, n) =>
        (stores[n % 2] ?? t.store).jobs.push([limited(t, n, 25), limited(t, `b${n}`, 25)], NOW),
      )
      const refused = (await Promise.all(pushes)).flat()
      expect(await t.waiting('q')).toHaveLength(25)
      expect(refused).toHaveLength(55)
    },
  },
  {
    name: 'hundreds of jobs of one push fill a queue to its limit',
    async run(t) {
      const items = Array.from({ length: 450 }, (_, n) => limited(t, n, 321))
      expect(await t.store.jobs.push(items, NOW)).toHaveLength(129)
      expect(await t.waiting('q')).toEqual(Array.from({ length: 321 }, (_, n) => t.job(n)))
    },
  },
]

function limited(t: Bench, n: number | string, maxLength: number, queue = 'q'): PushItem {
  return { ...toQueue(queue, t.job(n)), maxLength }
}
