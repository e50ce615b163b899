// npm run chaos -- [--minutes N] [--jobs N]: kills worker processes at random, round after round, until the time is over.
// npm run chaos -- --redis [--minutes N] [--jobs N] [--fault WORD]: each fault for N minutes (2), on Redis through a proxy.
// npm run chaos -- --cron [--minutes N]: processes that share cron entries live through the changes of many zones' clocks.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { cronRounds } from '../cron/rounds.ts'
import { killWorkers, mostRepeated } from './kill-workers.ts'
import { lineOf, type Outcome } from './outcome.ts'
import { REDIS_FAULTS } from './redis-faults.ts'
import { mostRepeats, redisStorm } from './redis-storm.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    jobs: { type: 'string', default: '20000' },
    redis: { type: 'boolean' },
    cron: { type: 'boolean' },
    fault: { type: 'string', default: '' },
  },
})
const jobs = Number(values.jobs)

if (values.redis) await stormOnRedis(Number(values.minutes ?? 2) * 60)
else if (values.cron) await cronRounds(Date.now() + Number(values.minutes ?? 1) * 60_000)
else await killUntil(Date.now() + Number(values.minutes ?? 1) * 60_000)

async function stormOnRedis(seconds: number): Promise<void> {
  for (const [name, fault] of Object.entries(REDIS_FAULTS)) {
    if (!name.includes(values.fault)) continue
    const outcome = await redisStorm(fault, { jobs, seconds, random: Math.random })
    tell(name, outcome, mostRepeats(outcome))
  }
}

async function killUntil(end: number): Promise<void> {
  for (let round = 1; round === 1 || Date.now() < end; round++) {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-chaos-'))
    const outcome = await killWorkers({ url: `sqlite:${folder}/chaos.db`, folder, jobs, random: Math.random })
    if (outcome.complaints.length > 0) outcome.complaints.push(`kept for inspection: ${folder}`)
    else rmSync(folder, { recursive: true, force: true })
    tell(`round ${round}`, outcome, mostRepeated(outcome))
  }
}

function tell(name: string, outcome: Outcome, most: number): void {
  console.log(`${lineOf(name, outcome)}, at most ${most} may be repeated`)
  for (const complaint of outcome.complaints) console.log(`  ${complaint}`)
  if (outcome.complaints.length > 0 || outcome.repeats > most) process.exitCode = 1
}
