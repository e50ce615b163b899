import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { chance } from '../conformance/chance.js'
import { Address } from '../postgres/address.ts'
import { type PostgresServer, startPostgres } from '../postgres/server.ts'
import { onPostgres } from '../postgres/suite.ts'
import { ALL_KINDS } from './kinds.ts'
import { lineOf, type Outcome } from './outcome.ts'
import { failOver, type Injection, POSTGRES_FAULTS } from './postgres-faults.ts'
import { storm } from './storm.ts'

// The long form: HIGHKIQ_STORM_JOBS=20000 HIGHKIQ_STORM_SECONDS=30
const JOBS = Number(process.env.HIGHKIQ_STORM_JOBS ?? 800)
const SECONDS = Number(process.env.HIGHKIQ_STORM_SECONDS ?? 3)
const CONCURRENCY = 10

/** Only a worker that is killed, or loses its lease, leaves ends that are not stored: those jobs run again. */
function mostRepeats({ lostOwners }: Outcome): number {
  return lostOwners * 3 * CONCURRENCY
}

interface Case {
  /** The server that has the store in the end. */
  server: PostgresServer
  url?: string
  inject: Injection
}

async function check(name: string, { server, url = server.url(), inject }: Case): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-chaos-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const random = chance(Date.now())
  const outcome = await storm({
    url,
    folder,
    jobs: JOBS,
    mix: ALL_KINDS,
    waves: SECONDS * 4,
    seconds: SECONDS,
    processes: 3,
    concurrency: CONCURRENCY,
    mostSeconds: 60,
    inject: (crew) => inject({ server, crew, seconds: SECONDS, random }),
    leftovers: async () => {
      const rows = await server.query('SELECT text FROM highkiq.fetched LIMIT 3')
      return rows.map(({ text }) => `left with its owner: ${text}`)
    },
  })
  expect(outcome.complaints, lineOf(name, outcome)).toEqual([])
  expect(outcome.repeats, lineOf(name, outcome)).toBeLessThanOrEqual(mostRepeats(outcome))
}

async function start(...how: Parameters<typeof startPostgres>): Promise<PostgresServer> {
  const server = await startPostgres(...how)
  onTestFinished(() => server.remove())
  return server
}

onPostgres('jobs of all kinds on PostgreSQL: nothing lost, few repeated, every count exact', () => {
  for (const [name, inject] of Object.entries(POSTGRES_FAULTS)) {
    // A crash of the server, unlike one of the machine, keeps what was written without fsync.
    test(name, { timeout: 300_000 }, async () => check(name, { server: await start(), inject }))
  }

  const promotion = 'the primary crashes and its synchronous standby is promoted'
  test(promotion, { timeout: 300_000 }, async () => {
    // With '*' a commit waits for the standby from the beginning.
    const primary = await start({ synchronous_standby_names: '*' })
    const address = await Address.open(primary.port)
    onTestFinished(() => address.close())
    const standby = await start({}, primary.port)
    const url = new URL(primary.url())
    url.port = String(address.port)
    await check(promotion, { server: standby, url: url.href, inject: failOver(primary, standby, address) })
  })
})
