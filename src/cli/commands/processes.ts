/** `highkiq processes | quiet | stop | concurrency` list and change the running workers. */

import type { Command } from 'commander'
import { holdsLease } from '../../doctor/processes.ts'
import type { Highkiq, Process } from '../../index.ts'
import { liveOwners } from '../../inspect/orphans.ts'
import { all } from '../../job/json.ts'
import { given } from '../../job/options.ts'
import { plural } from '../../job/plural.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { type Column, count, duration, print, table } from '../output.ts'
import { type ShowOptions, show, withShowOptions } from '../show.ts'
import { CliError, wholeNumber } from '../usage.ts'

const since = (date: Date) => duration(Math.max(Math.round((Date.now() - date.getTime()) / 1000), 0))

/** Formats a concurrency: `10`, or `10 + 5` with 5 batches of ordered queues. */
function slotsOf({ concurrency, orderedConcurrency: ordered }: Process): string {
  return ordered > 0 ? `${count(concurrency - ordered)} + ${count(ordered)}` : count(concurrency)
}

const COLUMNS: Column<Process>[] = [
  { title: 'IDENTITY', of: ({ identity }) => identity },
  { title: 'TAG', of: ({ tag }) => tag },
  { title: 'QUEUES', of: ({ queues }) => queues.join(' '), flexible: true },
  { title: 'BUSY', of: (process) => `${count(process.busy)} of ${slotsOf(process)}`, right: true },
  { title: 'MEMORY', of: ({ rss }) => `${count(Math.round(rss / 1024))} MB`, right: true },
  { title: 'RUNS FOR', of: ({ startedAt }) => since(startedAt), right: true },
  { title: 'SEEN', of: ({ beat }) => `${since(beat)} ago`, right: true },
]

/** The column of states. A worker of Highkiq without a lease is dead; other workers rescue its jobs. */
const stateColumn = (owners: ReadonlySet<string>): Column<Process> => ({
  title: '',
  of(process) {
    if (process.ours && !holdsLease(owners, process)) return 'dead'
    return [...(process.isQuiet ? ['quiet'] : []), ...(process.leader ? ['leader'] : [])].join(' ')
  },
})

export function register(program: Command): void {
  withShowOptions(program.command('processes'))
    .description('running workers')
    .addHelpText('after', '\nExamples:\n  highkiq processes\n  highkiq processes --json\n')
    .action((options: ShowOptions) =>
      show(options, {
        get: async (hq) => ({ processes: await all(hq.processes()), owners: await liveOwners(hq.store) }),
        json: ({ processes }) => processes,
        text: ({ processes, owners }) =>
          table(
            [...COLUMNS, stateColumn(owners)],
            processes,
            'no worker is running: start one with highkiq work -r FILE',
          ),
      }),
    )
}

export function registerQuiet(program: Command): void {
  registerSignal(program, 'quiet', 'Make a worker fetch no more jobs, like SIGTSTP. Running jobs finish.', {
    send: (process) => process.quiet(),
    effect: 'fetches no more jobs from its next heartbeat on',
  })
}

export function registerStop(program: Command): void {
  registerSignal(program, 'stop', 'Stop a worker gracefully, like SIGTERM. Running jobs get `--timeout` seconds.', {
    send: (process) => process.stop(),
    effect: 'stops at its next heartbeat',
  })
}

const CONCURRENCY_EXAMPLES = `
The change holds until the worker ends. With fewer slots, running jobs go on. The worker receives this with its next
heartbeat, within 10 seconds. highkiq processes lists the identities.

Examples:
  highkiq concurrency web-1:4711:0f3a6c1e9b2d 20
  highkiq concurrency web-1:4711:0f3a6c1e9b2d 4 --capsule mail
`

export function registerConcurrency(program: Command): void {
  withAppOptions(program.command('concurrency <identity>').argument('<n>', 'jobs', wholeNumber))
    .description('Change how many jobs a running worker runs at the same time.')
    .option('--capsule <name>', "the queues that get these slots (default: the worker's own, default)")
    .addHelpText('after', CONCURRENCY_EXAMPLES)
    .action((identity: string, concurrency: number, { capsule, ...options }: AppOptions & { capsule?: string }) =>
      signal(identity, options, {
        send: (process) => process.set({ concurrency, ...given({ capsule }) }),
        effect: `runs ${plural(concurrency, 'job')} at the same time from its next heartbeat on`,
      }),
    )
}

interface Signal {
  send: (process: Process) => Promise<boolean>
  /** The text about the signalled process, behind its identity. */
  effect: string
}

function registerSignal(program: Command, name: string, description: string, { send, effect }: Signal): void {
  withAppOptions(program.command(`${name} <identity>`))
    .description(description)
    .addHelpText(
      'after',
      '\nThe worker receives this with its next heartbeat, within 10 seconds. highkiq processes lists the identities.\n',
    )
    .action((identity: string, options: AppOptions) => signal(identity, options, { send, effect }))
}

function signal(identity: string, options: AppOptions, { send, effect }: Signal): Promise<void> {
  return withExistingStore(options, async (hq) => {
    if (!(await send(await processOf(hq, identity)))) {
      throw new CliError(`${identity} ended before it received the signal`)
    }
    print(`${identity} ${effect}`)
  })
}

async function processOf(hq: Highkiq, identity: string): Promise<Process> {
  const processes = await all(hq.processes())
  const found = processes.find((process) => process.identity === identity)
  if (found) return found
  const known = processes.map((process) => process.identity).join(', ')
  throw new CliError(`there is no process ${JSON.stringify(identity)} (running: ${known || 'none'})`)
}
