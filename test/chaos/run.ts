// npm run chaos: `npm run chaos -- --help` lists the options.
import { cronRounds } from '../cron/rounds.ts'
import { helpText, parseOptions, UsageError } from './harness/options.ts'
import { textOf } from './harness/plan.ts'
import { reportOf } from './harness/report.ts'
import { isGood, runRound } from './harness/round.ts'

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

async function runUntil(end: number, { stores, ...options }: ReturnType<typeof parseOptions>): Promise<void> {
  for (let { seed } = options; seed === options.seed || performance.now() < end; seed++) {
    for (const store of stores) {
      console.log(
        `${store}, seed ${seed}. The faults, each when so many runs have begun, with its victim and duration (0–1):`,
      )
      const announce = (plan: Parameters<typeof textOf>[0]) => console.log(textOf(plan))
      const outcome = await runRound({ ...options, store, seed, announce })
      console.log(reportOf(outcome))
      const again = `--store ${store} --jobs ${options.jobs} --seed ${seed}`
      console.log(
        `${isGood(outcome) ? 'As promised' : 'WRONG'}, ${outcome.seconds.toFixed(0)} s: npm run chaos -- ${again}\n`,
      )
      if (!isGood(outcome)) process.exitCode = 1
    }
  }
}
