import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { moveStorm } from './move-storm.ts'
import { eachSeed } from './seeds.ts'

// HIGHKIQ_MOVE_SEEDS=1000 runs the long form; HIGHKIQ_TEST_SEED sets the first seed.
const seeds = Number(process.env.HIGHKIQ_MOVE_SEEDS ?? 5)

onRedis('moving jobs between stores', () => {
  test('each job ends once while it moves from SQLite to Redis and back, and movers and workers are killed', {
    timeout: 120_000 + seeds * 30_000,
  }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-move-'))
    const server = await startServer({ databases: 2000 })
    onTestFinished(async () => {
      await server.remove()
      rmSync(folder, { recursive: true, force: true })
    })
    let [pages, killed] = [0, 0]
    await eachSeed(seeds, async (seed) => {
      const outcome = await moveStorm(`sqlite:${folder}/${seed}.db`, server.url(seed % 2000), seed)
      expect(outcome, `seed ${seed}`).toMatchObject({ wrong: [] })
      pages += outcome.pages
      killed += outcome.killed
    })
    expect(Math.min(pages, killed)).toBeGreaterThan(0)
  })
})
