#!/usr/bin/env node
/** Entry point of the command line. */

import { Command } from 'commander'
import { VERSION } from '../index.ts'
import * as cancel from './commands/cancel.ts'
import * as cron from './commands/cron.ts'
import * as dead from './commands/dead.ts'
import * as demo from './commands/demo.ts'
import * as deploy from './commands/deploy.ts'
import * as enqueue from './commands/enqueue.ts'
import * as imports from './commands/import.ts'
import * as metrics from './commands/metrics.ts'
import * as ordered from './commands/ordered.ts'
import * as pause from './commands/pause.ts'
import * as processes from './commands/processes.ts'
import * as queues from './commands/queues.ts'
import * as quiet from './commands/quiet.ts'
import * as resume from './commands/resume.ts'
import * as retries from './commands/retries.ts'
import * as scheduled from './commands/scheduled.ts'
import * as stats from './commands/stats.ts'
import * as stop from './commands/stop.ts'
import * as task from './commands/task.ts'
import * as web from './commands/web.ts'
import * as work from './commands/work.ts'
import { prepare, run } from './usage.ts'

const HELP = `
Examples:
  highkiq demo                                                   try it with generated data
  highkiq work -r jobs.ts                                        run jobs; reads config/sidekiq.yml, too
  highkiq enqueue HardJob bob 5                                  push one job
  highkiq import products.csv --job ImportProduct -r jobs.ts     run a job for each row, with a progress bar

Each command has its own help: highkiq work --help
`

const program = prepare(new Command('highkiq'))
  .description('Background jobs for Node.js that survive crashes, and tracked tasks with live progress.')
  .version(VERSION, '-V, --version')
  .addHelpText('after', HELP)

const GROUPS = {
  'Run and push:': [work, enqueue, imports, web, demo],
  'Show:': [stats, queues, retries, scheduled, dead, processes, metrics, task, ordered],
  'Change:': [cancel, pause, resume, quiet, stop, cron, deploy],
}

for (const [heading, commands] of Object.entries(GROUPS)) {
  program.commandsGroup(heading)
  for (const command of commands) command.register(program)
}
program.commandsGroup('Help:').helpCommand(true)

await run(program, process.argv)
