import { expect } from 'vitest'
import type { PushItem, Swap } from '#dist/store/contract.js'
import { type Case, NOW, pause, timed, toQueue, until } from '../bench.ts'

/** Results of jobs, and waiting for them. */
export const results: Case[] = [
  {
    name: 'a push deletes the kept result of its job if the job is stored, and a move does so, too',
    async run(t) {
      const { jobs, jobSets, results } = t.store
      const dead = t.job('b')
      const item: PushItem = {
        ...toQueue('q', t.job('a')),
        unique: { jid: 'a', claims: [{ key: 'jid:a' }] },
        effects: [{ kind: 'delete-result', jid: 'a' }],
      }
      await results.keep('a', '{"result":1}', 60)
      await results.keep('b', '{"result":2}', 60)
      await jobs.push([item], NOW)
      expect(await results.find('a')).toBe(null)
      expect(await results.find('b')).toBe('{"result":2}')
      await results.keep('a', '{"result":3}', 60)
      expect(await jobs.push([item], NOW)).toMatchObject([{ holder: 'a' }])
      expect(await results.find('a')).toBe('{"result":3}')
      await jobs.push([{ to: 'dead', text: dead, score: 1 }], NOW)
      const swap: Swap = {
        text: dead,
        score: 1,
        to: toQueue('q', dead),
        effects: [{ kind: 'delete-result', jid: 'b' }],
      }
      expect(await jobSets.swap('dead', [swap], NOW)).toEqual(['ok'])
      expect(await results.find('b')).toBe(null)
    },
  },
  {
    name: 'a result is found by its id, the last one counts, and other ids have none',
    async run(t) {
      expect(await t.store.results.find('a')).toBe(null)
      await t.store.results.keep('a', '{"result":"žluťoučký 🦙"}', 60)
      await t.store.results.keep('b', '{}', 60)
      expect(await t.store.results.find('a')).toBe('{"result":"žluťoučký 🦙"}')
      await t.store.results.keep('a', '{"result":2}', 60)
      expect(await t.store.results.find('a')).toBe('{"result":2}')
      expect(await t.store.results.find('b')).toBe('{}')
      expect(await t.store.results.find('c')).toBe(null)
    },
  },
  {
    name: 'a result is gone when its time is over, and another may be stored then',
    async run(t) {
      await t.store.results.keep('a', '1', 0.15)
      await t.store.results.keep('b', '2', 60)
      expect(await t.store.results.find('a')).toBe('1')
      await until('it is gone', async () => (await t.store.results.find('a')) === null)
      expect(await t.store.results.find('b')).toBe('2')
      await t.store.results.keep('a', '3', 60)
      expect(await t.store.results.find('a')).toBe('3')
    },
  },
  {
    name: 'a waiter gets its result at once, and not those of other ids',
    async run(t) {
      await t.store.open()
      const waits = [1, 2, 3].map(() => timed(t.store.results.find('a', 10_000)))
      const other = timed(t.store.results.find('b', 400))
      await pause(50)
      await t.store.results.keep('a', '1', 60)
      for (const { value, ms } of await Promise.all(waits)) {
        expect(value).toBe('1')
        expect(ms).toBeLessThan(350)
      }
      const { value, ms } = await other
      expect(value).toBe(null)
      expect(ms).toBeGreaterThan(350)
    },
  },
  {
    name: 'a wait ends when it is aborted',
    async run(t) {
      const controller = new AbortController()
      const wait = timed(t.store.results.find('a', 10_000, controller.signal))
      await pause(30)
      controller.abort()
      const { value, ms } = await wait
      expect(value).toBe(null)
      expect(ms).toBeLessThan(2000)
      expect(await t.store.results.find('a', 10_000, controller.signal)).toBe(null)
    },
  },
  {
    name: 'a result that is stored while its wait begins is not missed',
    async run(t) {
      for (let n = 0; n < 30; n++) {
        const wait = timed(t.store.results.find(`job ${n}`, 5000))
        for (let turn = t.dice(6); turn > 0; turn--) await new Promise(setImmediate)
        await t.store.results.keep(`job ${n}`, String(n), 60)
        const { value, ms } = await wait
        expect(value).toBe(String(n))
        expect(ms).toBeLessThan(1000)
      }
    },
  },
  {
    name: 'a result that another connection stores wakes a waiter',
    shared: true,
    async run(t) {
      const other = await t.another()
      for (let n = 0; n < 5; n++) {
        const wait = timed(t.store.results.find(`job ${n}`, 5000))
        await pause(20)
        await other.results.keep(`job ${n}`, String(n), 60)
        const { value, ms } = await wait
        expect(value).toBe(String(n))
        expect(ms).toBeLessThan(1500)
      }
    },
  },
]
