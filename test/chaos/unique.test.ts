import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { eachSeedTogether } from './seeds.ts'
import { uniqueStorm } from './unique-storm.ts'

// HIGHKIQ_UNIQUE=1000 runs the long form; HIGHKIQ_TEST_SEED sets the first seed.
const seeds = Number(process.env.HIGHKIQ_UNIQUE ?? 20)
const TITLE = 'no lock outlives its job, and no two jobs have one lock, while processes are killed'
const timeout = 60_000 + seeds * 5000

async function check(urlOf: (seed: number) => string): Promise<void> {
  let [removed, ran] = [0, 0]
  await eachSeedTogether(seeds, 'unique-worker.js', async (seed, crew) => {
    const outcome = await uniqueStorm(urlOf(seed), seed, crew)
    expect(outcome, `seed ${seed}`).toMatchObject({ wrong: [], left: 0 })
    removed += outcome.removed
    ran += outcome.ran
  })
  expect(Math.min(removed, ran)).toBeGreaterThan(0)
}

describe('unique jobs on SQLite', () => {
  test(TITLE, { timeout }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-unique-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    await check((seed) => `sqlite:${folder}/${seed}.db`)
  })
})

onRedis('unique jobs on Redis', () => {
  test(TITLE, { timeout }, async () => {
    const server = await startServer({ databases: 2000 })
    onTestFinished(() => server.remove())
    await check((seed) => server.url(seed % 2000))
  })
})
