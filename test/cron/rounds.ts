import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathOf } from '../programs/program.ts'
import { redis } from '../redis/program.ts'
import { startServer } from '../redis/server.ts'
import { runFleet } from './fleet.ts'
import { OLD_ZONES, ZONES } from './zones.ts'

/** Each of one year, for an entry names its days without it. */
const YEARS = [ZONES, ...Object.entries(OLD_ZONES).map(([zone, year]) => ({ [zone]: year }))]

/** Round after round until the time is over, on SQLite and on Redis in turn. */
export async function cronRounds(end: number): Promise<void> {
  for (let round = 1; round === 1 || Date.now() < end; round++) {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-cron-'))
    const server = round % 2 === 0 && pathOf(redis) ? await startServer() : undefined
    const url = server?.url() ?? `sqlite:${folder}/jobs.db`
    const began = performance.now()
    const { ticks, deaths, complaints } = await runFleet({
      url,
      folder,
      zones: YEARS[Math.floor((round - 1) / 2) % YEARS.length] ?? ZONES,
      specs: 5,
      processes: 3,
      kills: true,
      paceMs: 10,
      stepMs: ([5, 20, 60][round % 3] as number) * 60_000,
      skewMs: [0, 30_000, 600_000][round % 3] as number,
      patienceMs: 60_000,
      random: Math.random,
    })
    await server?.remove()
    rmSync(folder, { recursive: true, force: true })
    const seconds = Math.round((performance.now() - began) / 1000)
    const where = server ? 'Redis' : 'SQLite'
    const verdict = complaints.length === 0 ? 'each has one job' : complaints.join('\n')
    console.log(`round ${round} on ${where}: ${ticks} ticks, ${deaths} processes died, ${seconds} s: ${verdict}`)
    if (complaints.length > 0) process.exitCode = 1
  }
}
