import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { chance } from '../conformance/chance.js'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { eventsStorm } from './events-storm.ts'

// The long form: HIGHKIQ_EVENT_SEEDS=1000
const seeds = Number(process.env.HIGHKIQ_EVENT_SEEDS ?? 20)
const BASE = Number(process.env.HIGHKIQ_TEST_SEED ?? 1)
const timeout = seeds * 30_000

/** Runs the storm with each seed, on stores that `use` makes. */
async function complaintsOf(use: (storm: (url: string) => Promise<string[]>) => Promise<string[]>): Promise<string[]> {
  const complaints: string[] = []
  let next = BASE
  const run = async () => {
    while (next < BASE + seeds) {
      const seed = next++
      const found = await use((url) => eventsStorm(url, chance(seed)))
      complaints.push(...found.map((complaint) => `seed ${seed}: ${complaint}`))
    }
  }
  await Promise.all([run(), run()])
  return complaints
}

test('workers are killed and readers begin again: no event is missed, and each settlement has one', {
  timeout,
}, async () => {
  const complaints = await complaintsOf(async (storm) => {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-events-'))
    try {
      return await storm(`sqlite:${folder}/jobs.db`)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
  expect(complaints).toEqual([])
})

onRedis('on Redis', () => {
  test('workers are killed and readers begin again: no event is missed, and each settlement has one', {
    timeout,
  }, async () => {
    const server = await startServer({ databases: seeds + 1 })
    let database = 0
    try {
      expect(await complaintsOf((storm) => storm(server.url(++database)))).toEqual([])
    } finally {
      await server.remove()
    }
  })
})
