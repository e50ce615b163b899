/** All commands, in the groups of `highkiq --help`. */

import type { Command } from 'commander'
import * as adopt from './commands/adopt.ts'
import * as alerts from './commands/alerts.ts'
import * as backup from './commands/backup.ts'
import * as batches from './commands/batches.ts'
import * as bench from './commands/bench.ts'
import * as cancel from './commands/cancel.ts'
import * as completion from './commands/completion.ts'
import * as cron from './commands/cron.ts'
import * as demo from './commands/demo.ts'
import * as deploy from './commands/deploy.ts'
import * as doctor from './commands/doctor.ts'
import * as edit from './commands/edit.ts'
import * as enqueue from './commands/enqueue.ts'
import * as events from './commands/events.ts'
import * as imports from './commands/import.ts'
import * as init from './commands/init.ts'
import * as job from './commands/job.ts'
import * as jobSets from './commands/job-sets.ts'
import * as jobs from './commands/jobs.ts'
import * as limits from './commands/limits.ts'
import * as metrics from './commands/metrics.ts'
import * as migrate from './commands/migrate.ts'
import * as move from './commands/move.ts'
import * as ordered from './commands/ordered.ts'
import * as processes from './commands/processes.ts'
import * as queues from './commands/queues.ts'
import * as stats from './commands/stats.ts'
import * as task from './commands/task.ts'
import * as locks from './commands/unique-locks.ts'
import * as web from './commands/web.ts'
import * as work from './commands/work.ts'

const GROUPS = {
  'Run and push:': [
    work.register,
    enqueue.register,
    imports.register,
    web.register,
    init.register,
    demo.register,
    bench.register,
  ],
  'Show:': [
    stats.register,
    alerts.register,
    queues.register,
    limits.register,
    job.register,
    jobs.register,
    jobSets.register,
    processes.register,
    metrics.register,
    events.register,
    doctor.register,
    task.register,
    ordered.register,
  ],
  'Change:': [
    cancel.register,
    edit.register,
    queues.registerPause,
    queues.registerResume,
    processes.registerQuiet,
    processes.registerStop,
    processes.registerConcurrency,
    batches.register,
    cron.register,
    locks.register,
    deploy.register,
    migrate.register,
    backup.register,
    move.register,
    adopt.register,
  ],
  'Help:': [completion.register],
}

export function registerAll(program: Command): void {
  for (const [heading, commands] of Object.entries(GROUPS)) {
    program.commandsGroup(heading)
    for (const register of commands) register(program)
  }
}
