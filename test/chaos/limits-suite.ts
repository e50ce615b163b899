import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { limitsUnder } from './limits-property.ts'

/** No limit is exceeded while processes ask and die at random, for so many seeds and on both stores. */
export function limitsSuite(seeds: number): void {
  const first = Number(process.env.HIGHKIQ_TEST_SEED ?? 1)
  const timeout = 60_000 + seeds * 3000
  const name = `no limit is exceeded while processes die, with ${seeds} seeds`

  test(name, { timeout }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-limits-'))
    for (let seed = first; seed < first + seeds; seed++) {
      expect(await limitsUnder(`sqlite:${folder}/${seed}.db`, seed)).toEqual([])
    }
    rmSync(folder, { recursive: true, force: true })
  })

  onRedis('limits on Redis', () => {
    test(name, { timeout }, async () => {
      const server = await startServer()
      try {
        for (let seed = first; seed < first + seeds; seed++) {
          await server.ask('FLUSHALL')
          expect(await limitsUnder(server.url(), seed)).toEqual([])
        }
      } finally {
        await server.remove()
      }
    })
  })
}
