import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { chance } from '../conformance/chance.js'
import { newSchema, sharedPostgres } from '../postgres/server.ts'
import { onPostgres } from '../postgres/suite.ts'
import { type RedisServer, startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { type Fault, type FleetOptions, type Outcome, runFleet } from './fleet.ts'
import { ZONES } from './zones.ts'

/** The short form; `npm run chaos -- --cron` is the long one. */
const SEED = Number(process.env.HIGHKIQ_TEST_SEED ?? 20260517)
const LIMIT = { timeout: 300_000 }

function fleet(more: Partial<FleetOptions>): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-cron-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return runFleet({
    url: `sqlite:${folder}/jobs.db?synchronous=normal`,
    folder,
    zones: ZONES,
    specs: 2,
    processes: 3,
    kills: true,
    paceMs: 10,
    stepMs: 90 * 60_000,
    skewMs: 30_000,
    patienceMs: 15_000,
    random: chance(SEED),
    ...more,
  })
}

const NAME = 'over the changes of the clocks of all zones each tick has one job, whichever processes are killed'

test(`on SQLite, ${NAME}`, LIMIT, async () => {
  const { complaints, ticks, deaths } = await fleet({})
  expect(complaints).toEqual([])
  expect(ticks).toBeGreaterThan(150)
  expect(deaths).toBeGreaterThan(1)
})

onRedis('on Redis', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.remove())

  test(NAME, LIMIT, async () => {
    const { complaints, deaths } = await fleet({ url: server.url() })
    expect(complaints).toEqual([])
    expect(deaths).toBeGreaterThan(1)
  })
})

onPostgres('on PostgreSQL', () => {
  test(NAME.replace('all', 'some'), LIMIT, async () => {
    const server = await sharedPostgres()
    // The same work takes three times as long as on the other stores.
    const zones = Object.fromEntries(Object.entries(ZONES).filter((_, i) => i % 5 === 0))
    const { complaints, deaths } = await fleet({ url: server.url(`?schema=${newSchema()}`), zones })
    expect(complaints).toEqual([])
    expect(deaths).toBeGreaterThan(1)
  })
})

describe('the check finds each fault', () => {
  test.for<[fault: Fault, says: RegExp, more: Partial<FleetOptions>]>([
    ['ticks are not compared', /has more than one job/, {}],
    ['a tick and its job are two steps', /has no job/, { kills: true, patienceMs: 5000 }],
    ['zones are ignored', /is no tick/, { processes: 1 }],
    ['what comes twice runs twice', /is no tick/, { processes: 1 }],
  ])('%s', LIMIT, async ([fault, says, more]) => {
    const zones = { 'Europe/Berlin': 2025 }
    const { complaints } = await fleet({
      fault,
      zones,
      specs: 8,
      processes: 2,
      kills: false,
      patienceMs: 1000,
      ...more,
    })
    expect(complaints).toContainEqual(expect.stringMatching(says))
  })
})
