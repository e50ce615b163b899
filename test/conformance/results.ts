import { expect } from 'vitest'
import { type Case, pause, timed, until } from './bench.ts'

/** Texts that are kept under a job's id for a while, and who waits for them. */
export const results: Case[] = [
  {
    name: 'a text is kept under its id, the last one counts, and others have none',
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
    name: 'a text is gone when its time is over, and another may be kept then',
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
    name: 'who waits hears of a text at once, and not of those of others',
    async run(t) {
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
    name: 'a wait ends when it is told to',
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
    name: 'a text that is kept while its wait begins is not missed',
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
    name: 'a text of another connection is heard of too',
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
