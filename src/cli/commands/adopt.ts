/** `highkiq adopt` moves what go-workers and Lowkiq have left in Redis to where Highkiq's workers find it. */

import type { Command } from 'commander'
import type { Highkiq } from '../../index.ts'
import { DEFAULT_SHARDS, type GoList, type LeftoverStore, type LowkiqAdoption } from '../../store/contract.ts'
import { setExitCode } from '../io.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { plural, printResult } from '../output.ts'
import { confirm } from '../terminal.ts'
import { CliError, printToStderr } from '../usage.ts'

/** At most this many ids that stay are named. */
const NAMED = 10

interface AdoptOptions extends AppOptions {
  dryRun?: boolean
  yes?: boolean
  force?: boolean
}

const GO_HELP = `
Jobs go back to the front of their queues, where a worker of Highkiq runs them. A Go process that still runs them would run
them twice. Retries in goretry stay: let a Go process run until it is empty.
Run it again after a crash: each job moves once.

Examples:
  highkiq adopt go-workers --dry-run
  highkiq adopt go-workers --url 'redis://localhost:6379/0?namespace=app'
`

const LOWKIQ_HELP = `
Ids go with their payloads, times, retries and errors to the ordered queue of the same name, and dead ones to its morgue.
First start a worker with these ordered queues: it decides on the number of their shards.
Run it again after a crash: each id moves once.

Examples:
  highkiq adopt lowkiq --dry-run
  highkiq adopt lowkiq --yes
`

export function register(program: Command): void {
  const adopt = program.command('adopt').description('move what go-workers or Lowkiq have left in Redis')
  withOptions(adopt.command('go-workers').description('move fetched jobs of Go processes back to their queues'))
    .option('--force', 'proceed although a client waits with BRPOPLPUSH')
    .addHelpText('after', GO_HELP)
    .action((options: AdoptOptions) => withLeftovers(options, (leftovers) => adoptGo(leftovers, options)))
  withOptions(adopt.command('lowkiq').description('move the queues of Lowkiq to ordered queues'))
    .addHelpText('after', LOWKIQ_HELP)
    .action((options: AdoptOptions) => withLeftovers(options, (leftovers) => adoptLowkiq(leftovers, options)))
}

function withOptions(command: Command): Command {
  return withAppOptions(command)
    .option('--dry-run', 'count what would move, and change nothing')
    .option('--yes', 'confirm that all its processes have ended')
    .option('--json', 'as JSON')
}

function withLeftovers(options: AdoptOptions, work: (leftovers: LeftoverStore) => Promise<void>): Promise<void> {
  return withExistingStore(options, ({ store: { leftovers, url } }: Highkiq) => {
    if (leftovers) return work(leftovers)
    throw new CliError(`${url} has no jobs of other programs: give the Redis where they are, --url redis://…`, 2)
  })
}

/** Only a person knows whether processes of another program have ended: they leave no sign of life in Redis. */
async function confirmEnded(program: string, { dryRun, yes }: AdoptOptions): Promise<void> {
  if (!dryRun) await confirm(`Highkiq can't see all processes of ${program}. Have all of them ended`, yes)
}

async function adoptGo(leftovers: LeftoverStore, options: AdoptOptions): Promise<void> {
  const { dryRun, force, json } = options
  const lists = await leftovers.goLists()
  if (!dryRun && lists.length > 0) {
    const [client] = force ? [] : ((await leftovers.goClients()) ?? [])
    if (client !== undefined) {
      const message = `the client at ${client} waits for jobs with BRPOPLPUSH, as a process of go-workers does: stop it first. If it is another program, add --force`
      throw new CliError(message)
    }
    await confirmEnded('go-workers', options)
  }
  const moved: GoList[] = []
  for (const list of lists) moved.push(dryRun ? list : { ...list, size: await leftovers.requeueGoList(list) })
  const verb = dryRun ? 'would move' : 'moved'
  const texts = moved.map(
    ({ queue, process, size }) => `${verb} ${plural(size, 'job')} of process ${process} to ${queue}`,
  )
  printResult(json, { lists: moved }, texts.join('\n') || 'nothing to adopt: processes of go-workers have left no jobs')
}

async function adoptLowkiq(leftovers: LeftoverStore, options: AdoptOptions): Promise<void> {
  const { dryRun, json } = options
  await confirmEnded('Lowkiq', options)
  const all = await leftovers.adoptLowkiq(DEFAULT_SHARDS, dryRun === true)
  const queues = all.filter(({ waiting, dead, left }) => waiting + dead + left.length > 0)
  printResult(
    json,
    { queues },
    queues.map((one) => textOf(one, dryRun)).join('\n') || 'nothing to adopt: Lowkiq has left no ids',
  )
  const left = queues.flatMap(({ queue, left }) => left.map((one) => ({ queue, ...one })))
  for (const { queue, id, reason } of left.slice(0, NAMED)) printToStderr(`${queue}: ${id} stays: ${reason}`)
  if (left.length > NAMED) printToStderr(`and ${plural(left.length - NAMED, 'more id')}: --json names all`)
  if (left.length > 0) setExitCode(1)
}

function textOf({ queue, waiting, dead, left }: LowkiqAdoption, dryRun: boolean | undefined): string {
  const stay = left.length > 0 ? `, and ${plural(left.length, 'id stays', 'ids stay')}` : ''
  return `${queue}: ${dryRun ? 'would move' : 'moved'} ${plural(waiting, 'waiting id')} and ${plural(dead, 'dead id')}${stay}`
}
