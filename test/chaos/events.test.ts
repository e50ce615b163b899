import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { chance } from '../conformance/chance.js'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { eventsStorm } from './events-storm.ts'
import { eachSeedTogether } from './seeds.ts'

// HIGHKIQ_EVENT_SEEDS=1000 runs the long form; HIGHKIQ_TEST_SEED sets the first seed.
const seeds = Number(process.env.HIGHKIQ_EVENT_SEEDS ?? 20)
const TITLE = 'workers are killed and readers begin again: no event is missed, and each settlement has one'
const timeout = 60_000 + seeds * 5000

async function check(urlOf: (seed: number) => string): Promise<void> {
  await eachSeedTogether(seeds, 'events-worker.js', async (seed, crew) => {
    expect(await eventsStorm(urlOf(seed), chance(seed), crew), `seed ${seed}`).toEqual([])
  })
}

test(TITLE, { timeout }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-events-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  await check((seed) => `sqlite:${folder}/${seed}.db`)
})

onRedis('on Redis', () => {
  test(TITLE, { timeout }, async () => {
    const server = await startServer({ databases: 2000 })
    onTestFinished(() => server.remove())
    await check((seed) => server.url(seed % 2000))
  })
})
