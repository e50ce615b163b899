import { expect } from 'vitest'
import type { Case } from '../bench.ts'

/** Secrets that all processes of a store share. */
export const secrets: Case[] = [
  {
    name: 'the first proposed secret of a name stays',
    async run(t) {
      const given = await Promise.all(['a', 'b', 'c'].map((text) => t.store.results.secret('links', text)))
      expect(new Set(given).size).toBe(1)
      expect(['a', 'b', 'c']).toContain(given[0])
      expect(await t.store.results.secret('links', 'd')).toBe(given[0])
      expect(await t.store.results.secret('others', 'd')).toBe('d')
    },
  },
]
