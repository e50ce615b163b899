/** `highkiq processes | quiet | stop` list, quiet and stop the running workers. */

import type { Command } from 'commander'
import type { Process } from '../../index.ts'
import { type AppOptions, withAppOptions } from '../open-app.ts'
import { type Column, count, duration, table } from '../output.ts'
import { signalProcess } from '../processes.ts'
import { all, type ShowOptions, show, withShowOptions } from '../show.ts'

const since = (date: Date) => duration(Math.max(Math.round((Date.now() - date.getTime()) / 1000), 0))

/** Formats a concurrency: `10`, or `10 + 5` with 5 batches of ordered queues. */
function slotsOf({ concurrency, orderedConcurrency: ordered }: Process): string {
  return ordered > 0 ? `${count(concurrency - ordered)} + ${count(ordered)}` : count(concurrency)
}

const COLUMNS: Column<Process>[] = [
  { title: 'IDENTITY', of: ({ identity }) => identity },
  { title: 'TAG', of: ({ tag }) => tag },
  { title: 'QUEUES', of: ({ queues }) => queues.join(' ') },
  { title: 'BUSY', of: (process) => `${count(process.busy)} of ${slotsOf(process)}`, right: true },
  { title: 'MEMORY', of: ({ rss }) => `${count(Math.round(rss / 1024))} MB`, right: true },
  { title: 'RUNS FOR', of: ({ startedAt }) => since(startedAt), right: true },
  { title: 'SEEN', of: ({ beat }) => `${since(beat)} ago`, right: true },
  { title: '', of: ({ isQuiet, leader }) => [...(isQuiet ? ['quiet'] : []), ...(leader ? ['leader'] : [])].join(' ') },
]

export function register(program: Command): void {
  withShowOptions(program.command('processes'))
    .description('running workers')
    .addHelpText('after', '\nExamples:\n  highkiq processes\n  highkiq processes --json\n')
    .action((options: ShowOptions) => show(options, { get: (hq) => all(hq.processes()), text }))
}

function text(processes: Process[]): string {
  return processes.length > 0 ? table(COLUMNS, processes) : 'no worker is running: start one with highkiq work -r FILE'
}

export function registerQuiet(program: Command): void {
  withAppOptions(program.command('quiet <identity>'))
    .description('Make a worker fetch no more jobs, like SIGTSTP. Running jobs finish.')
    .addHelpText(
      'after',
      '\nThe worker receives this with its next heartbeat, within 10 seconds. highkiq processes lists the identities.\n',
    )
    .action((identity: string, options: AppOptions) =>
      signalProcess(identity, options, (process) => process.quiet(), 'fetches no more jobs from its next heartbeat on'),
    )
}

export function registerStop(program: Command): void {
  withAppOptions(program.command('stop <identity>'))
    .description('Stop a worker gracefully, like SIGTERM. Running jobs get `--timeout` seconds.')
    .addHelpText(
      'after',
      '\nThe worker receives this with its next heartbeat, within 10 seconds. highkiq processes lists the identities.\n',
    )
    .action((identity: string, options: AppOptions) =>
      signalProcess(identity, options, (process) => process.stop(), 'stops at its next heartbeat'),
    )
}
