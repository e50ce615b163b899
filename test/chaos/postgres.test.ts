import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'vitest'
import { chance } from '../conformance/chance.js'
import { startPostgres } from '../postgres/server.ts'
import { onPostgres } from '../postgres/suite.ts'
import { ALL_KINDS } from './kinds.ts'
import { lineOf, type Outcome } from './outcome.ts'
import { POSTGRES_FAULTS } from './postgres-faults.ts'
import { storm } from './storm.ts'

// The long form: HIGHKIQ_STORM_JOBS=20000 HIGHKIQ_STORM_SECONDS=30
const JOBS = Number(process.env.HIGHKIQ_STORM_JOBS ?? 800)
const SECONDS = Number(process.env.HIGHKIQ_STORM_SECONDS ?? 3)
const CONCURRENCY = 10

/** Only a worker that is killed, or loses its lease, leaves ends that are not stored: those jobs run again. */
function mostRepeats({ lostOwners }: Outcome): number {
  return lostOwners * 3 * CONCURRENCY
}

onPostgres('jobs of all kinds on PostgreSQL: nothing lost, few repeated, every count exact', () => {
  for (const [name, strike] of Object.entries(POSTGRES_FAULTS)) {
    test(name, { timeout: 120_000 }, async ({ expect }) => {
      const folder = mkdtempSync(join(tmpdir(), 'highkiq-chaos-'))
      // A crash of the server, unlike one of the machine, keeps what was written without fsync.
      const server = await startPostgres()
      const random = chance(Date.now())
      try {
        const outcome = await storm({
          url: server.url(),
          folder,
          jobs: JOBS,
          mix: ALL_KINDS,
          waves: SECONDS * 4,
          seconds: SECONDS,
          processes: 3,
          concurrency: CONCURRENCY,
          mostSeconds: 60,
          strike: (crew) => strike({ server, crew, seconds: SECONDS, random }),
          leftovers: async () => {
            const rows = await server.query('SELECT text FROM highkiq.fetched LIMIT 3')
            return rows.map(({ text }) => `left with its owner: ${text}`)
          },
        })
        expect(outcome.complaints, lineOf(name, outcome)).toEqual([])
        expect(outcome.repeats, lineOf(name, outcome)).toBeLessThanOrEqual(mostRepeats(outcome))
      } finally {
        await server.remove()
        rmSync(folder, { recursive: true, force: true })
      }
    })
  }
})
