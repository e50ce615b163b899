/** `--work`: the command runs the jobs of a task's queue in its own process. */

import { type Command, Option } from 'commander'
import type { Highkiq } from '../index.ts'
import { io } from './io.ts'
import { CliError, wholeNumber } from './usage.ts'

export interface WorkOptions {
  work?: boolean
  concurrency?: number
}

export function withWorkOptions(command: Command): Command {
  return command
    .addOption(
      new Option('-w, --work', "run the jobs of the task's queue in this process until the task has ended")
        .conflicts('wait')
        .implies({ watch: true }),
    )
    .option('-c, --concurrency <n>', 'jobs that run at the same time in this process, with --work', wholeNumber)
    .hook('preAction', () => {
      const { work, concurrency }: WorkOptions = command.opts()
      if (concurrency !== undefined && !work) throw new CliError('-c needs --work', 2)
    })
}

/** Keeps the log of a worker out of the progress bar. Call it before the app is loaded. */
export function quietLog({ work }: WorkOptions): void {
  // The task reports failed rows.
  if (work) io().env.HIGHKIQ_LOG_LEVEL ??= 'warn'
}

/** Starts a worker on the queue of a task. It stops when the app closes. */
export async function startTaskWorker(hq: Highkiq, queue: string, { concurrency }: WorkOptions): Promise<void> {
  // An error handler replaces the default log: errors of rows are in the task's events already.
  hq.onError((error, about) => {
    if (!('jid' in about)) hq.log.error({ ...about, err: error }, (error as Error)?.message)
  })
  await hq.store.open()
  await hq.worker({ queues: [queue], ...(concurrency === undefined ? {} : { concurrency }) }).start()
}
