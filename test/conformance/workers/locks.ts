import { expect } from 'vitest'
import { type Case, until } from '../bench.ts'

/** Locks that one process at a time holds. */
export const locks: Case[] = [
  {
    name: 'a lock has one holder at a time, who may keep it',
    async run(t) {
      expect(await t.store.workers.acquireLock('sweep', 'ann', 60)).toBe(true)
      expect(await t.store.workers.acquireLock('sweep', 'bob', 60)).toBe(false)
      expect(await t.store.workers.acquireLock('sweep', 'ann', 60)).toBe(true)
      expect(await t.store.workers.acquireLock('promote', 'bob', 60)).toBe(true)
    },
  },
  {
    name: 'a released lock is free, and only its holder can release it',
    async run(t) {
      await t.store.workers.acquireLock('sweep', 'ann', 60)
      await t.store.workers.releaseLock('sweep', 'bob')
      await t.store.workers.releaseLock('nothing', 'bob')
      expect(await t.store.workers.acquireLock('sweep', 'bob', 60)).toBe(false)
      await t.store.workers.releaseLock('sweep', 'ann')
      expect(await t.store.workers.acquireLock('sweep', 'bob', 60)).toBe(true)
      expect(await t.store.workers.acquireLock('sweep', 'ann', 60)).toBe(false)
    },
  },
  {
    name: 'a lock is free again after its seconds, and not before',
    async run(t) {
      const start = performance.now()
      await t.store.workers.acquireLock('sweep', 'ann', 0.3)
      await until('the duty is free', () => t.store.workers.acquireLock('sweep', 'bob', 60))
      expect(performance.now() - start).toBeGreaterThan(290)
      expect(await t.store.workers.acquireLock('sweep', 'ann', 60)).toBe(false)
    },
  },
  {
    name: 'acquiring a lock again prolongs it',
    async run(t) {
      await t.store.workers.acquireLock('sweep', 'ann', 0.15)
      await t.store.workers.acquireLock('sweep', 'ann', 60)
      const end = performance.now() + 250
      while (performance.now() < end) expect(await t.store.workers.acquireLock('sweep', 'bob', 60)).toBe(false)
    },
  },
  {
    name: 'of many that acquire a lock at once one gets it',
    shared: true,
    async run(t) {
      const other = await t.another()
      const wishes = [1, 2, 3, 4, 5, 6].map((n) => (n % 2 ? t.store : other).workers.acquireLock('sweep', `p${n}`, 60))
      expect((await Promise.all(wishes)).filter(Boolean)).toHaveLength(1)
    },
  },
]
