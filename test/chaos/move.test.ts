import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startPostgres } from '../postgres/server.ts'
import { onPostgres } from '../postgres/suite.ts'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { moveStorm } from './move-storm.ts'
import { eachSeed } from './seeds.ts'

// HIGHKIQ_MOVE_SEEDS=1000 runs the long form; HIGHKIQ_TEST_SEED sets the first seed. PostgreSQL runs a third of them.
const seeds = Number(process.env.HIGHKIQ_MOVE_SEEDS ?? 4)
const TITLE = 'each job ends once while it moves from SQLite and back, and movers and workers are killed'
const options = { timeout: 300_000 + seeds * 30_000 }

async function check(
  server: { remove(): Promise<void> },
  seeds: number,
  urlOf: (seed: number) => string,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-move-'))
  onTestFinished(async () => {
    await server.remove()
    rmSync(folder, { recursive: true, force: true })
  })
  const sums: Record<string, number> = {}
  await eachSeed(seeds, async (seed) => {
    const { wrong, happened } = await moveStorm(`sqlite:${folder}/${seed}.db`, urlOf(seed), seed)
    expect(wrong, `seed ${seed}`).toEqual([])
    for (const [what, n] of Object.entries(happened)) sums[what] = (sums[what] ?? 0) + n
  })
  expect(Object.entries(sums).filter(([, n]) => n === 0)).toEqual([])
}

onRedis('moving jobs between SQLite and Redis', () => {
  test(TITLE, options, async () => {
    const server = await startServer({ databases: 2000 })
    await check(server, seeds, (seed) => server.url(seed % 2000))
  })
})

onPostgres('moving jobs between SQLite and PostgreSQL', () => {
  test(TITLE, options, async () => {
    const server = await startPostgres()
    await check(server, Math.ceil(seeds / 3), (seed) => server.url(`?schema=seed_${seed}`))
  })
})
