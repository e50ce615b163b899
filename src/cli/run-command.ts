/** Runs a command of the command line in this process. */

import { Command } from 'commander'
import { VERSION } from '../index.ts'
import * as bench from './commands/bench.ts'
import * as cancel from './commands/cancel.ts'
import * as cron from './commands/cron.ts'
import * as demo from './commands/demo.ts'
import * as deploy from './commands/deploy.ts'
import * as enqueue from './commands/enqueue.ts'
import * as imports from './commands/import.ts'
import * as jobSets from './commands/job-sets.ts'
import * as metrics from './commands/metrics.ts'
import * as ordered from './commands/ordered.ts'
import * as processes from './commands/processes.ts'
import * as queues from './commands/queues.ts'
import * as stats from './commands/stats.ts'
import * as task from './commands/task.ts'
import * as web from './commands/web.ts'
import * as work from './commands/work.ts'
import { type Io, io, setExitCode, withIo } from './io.ts'
import { reportError } from './usage.ts'

export type { Io } from './io.ts'

const HELP = `
Examples:
  highkiq demo                                                   try it with generated data
  highkiq work -r jobs.ts                                        run jobs; reads config/sidekiq.yml, too
  highkiq enqueue HardJob bob 5                                  push one job
  highkiq import products.csv --job ImportProduct -r jobs.ts     run a job for each row, with a progress bar

Each command has its own help: highkiq work --help
`

const GROUPS = {
  'Run and push:': [work.register, enqueue.register, imports.register, web.register, demo.register, bench.register],
  'Show:': [
    stats.register,
    queues.register,
    jobSets.register,
    processes.register,
    metrics.register,
    task.register,
    ordered.register,
  ],
  'Change:': [
    cancel.register,
    queues.registerPause,
    queues.registerResume,
    processes.registerQuiet,
    processes.registerStop,
    cron.register,
    deploy.register,
  ],
}

/** Runs a command, such as `['stats', '--json']`, and returns its exit code. It does not end the process. */
export function runCommand(argv: readonly string[], streams: Io): Promise<number> {
  return withIo(streams, async () => {
    try {
      await createProgram().parseAsync(argv, { from: 'user' })
    } catch (thrown) {
      setExitCode(reportError(thrown))
    }
  })
}

function createProgram(): Command {
  const program = new Command('highkiq')
    .description('Background jobs for Node.js that survive crashes, and tracked tasks with live progress.')
    .version(VERSION, '-V, --version')
    .addHelpText('after', HELP)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io().stdout.write(text),
      writeErr: (text) => io().stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'highkiq: ')),
    })
    .showSuggestionAfterError()
  for (const [heading, commands] of Object.entries(GROUPS)) {
    program.commandsGroup(heading)
    for (const register of commands) register(program)
  }
  program.commandsGroup('Help:').helpCommand(true)
  return program
}
