// npm run chaos: `npm run chaos -- --help` lists the options.
import { cronRounds } from '../cron/rounds.ts'
import { commandOf, type HarnessOptions, helpText, parseOptions, UsageError } from './harness/options.ts'
import { textOf } from './harness/plan.ts'
import { reportOf } from './harness/report.ts'
import { isGood, runRound } from './harness/round.ts'

const PLAN = 'Faults: after so many runs of jobs, which one, and two numbers that choose process and duration:'

try {
  const options = parseOptions(process.argv.slice(2))
  if (options.help) console.log(helpText())
  else if (options.cron) await cronRounds(Date.now() + options.minutes * 60_000)
  else await runUntil(performance.now() + options.minutes * 60_000, options)
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  console.error(error.message)
  process.exitCode = 2
}

async function runUntil(end: number, options: HarnessOptions): Promise<void> {
  const { rate, minutes } = options
  const soak = options.isSoak ? { soak: { seconds: minutes * 60, rate, progress: console.log } } : {}
  for (let { seed } = options; seed === options.seed || performance.now() < end; seed++) {
    for (const store of options.stores) {
      console.log(`${store}, seed ${seed}`)
      const announce = (plan: Parameters<typeof textOf>[0]) => {
        if (plan.length > 0) console.log(`${PLAN}\n${textOf(plan)}`)
      }
      const outcome = await runRound({ ...options, ...soak, store, seed, announce })
      console.log(reportOf(outcome))
      const result = isGood(outcome) ? 'Passed' : 'FAILED'
      console.log(`${result} in ${outcome.seconds.toFixed(0)} s: ${commandOf(options, store, seed)}\n`)
      if (!isGood(outcome)) process.exitCode = 1
    }
  }
}
