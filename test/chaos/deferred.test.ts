import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { deferredStorm } from './deferred-storm.ts'
import { eachSeedTogether } from './seeds.ts'

// HIGHKIQ_DEFERRED=1000 runs the long form; HIGHKIQ_TEST_SEED sets the first seed.
const seeds = Number(process.env.HIGHKIQ_DEFERRED ?? 20)
const TITLE = 'each deferred row ends once, by an answer or its deadline, while processes are killed'
const timeout = 60_000 + seeds * 5000

async function check(urlOf: (seed: number) => string): Promise<void> {
  let [answered, overdue, late] = [0, 0, 0]
  await eachSeedTogether(seeds, 'deferred-worker.js', async (seed, crew) => {
    const outcome = await deferredStorm(urlOf(seed), seed, crew)
    expect(outcome, `seed ${seed}`).toMatchObject({ wrong: [] })
    answered += outcome.answered
    overdue += outcome.overdue
    late += outcome.late
  })
  expect(Math.min(answered, overdue, late)).toBeGreaterThan(0)
}

describe('deferred rows on SQLite', () => {
  test(TITLE, { timeout }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-deferred-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    await check((seed) => `sqlite:${folder}/${seed}.db`)
  })
})

onRedis('deferred rows on Redis', () => {
  test(TITLE, { timeout }, async () => {
    const server = await startServer({ databases: 2000 })
    onTestFinished(() => server.remove())
    await check((seed) => server.url(seed % 2000))
  })
})
