/** `highkiq queues | pause | resume` list, pause and resume queues. */

import type { Command } from 'commander'
import type { QueueSummary } from '../../index.ts'
import { type AppOptions, sameApp, withAppOptions, withExistingStore } from '../open-app.ts'
import { type Column, count, duration, print, printJson, printResult, table } from '../output.ts'
import { served } from '../processes.ts'
import { type ShowOptions, show, withShowOptions } from '../show.ts'
import { CliError } from '../usage.ts'

const COLUMNS: Column<QueueSummary>[] = [
  { title: 'QUEUE', of: ({ name }) => name },
  { title: 'SIZE', of: ({ size }) => count(size), right: true },
  { title: 'LATENCY', of: ({ latency }) => duration(latency), right: true },
  { title: '', of: ({ paused }) => (paused ? 'paused' : '') },
]

export function register(program: Command): void {
  withShowOptions(program.command('queues'))
    .description('queues with their size and latency (how long the next job has waited)')
    .addHelpText('after', '\nExamples:\n  highkiq queues\n  highkiq queues --json\n')
    .action((options: ShowOptions) =>
      show(options, { get: (hq) => hq.queueSummaries(), text: (queues) => table(COLUMNS, queues, 'no queues') }),
    )
}

function actionCommand(program: Command, name: string, description: string): Command {
  const command = program.command(name).description(description).argument('<queue>', 'name of the queue')
  return withAppOptions(command).option('--json', 'as JSON')
}

export function registerPause(program: Command): void {
  actionCommand(program, 'pause', 'stop workers from fetching jobs of a queue; running jobs finish')
    .addHelpText('after', '\nExamples:\n  highkiq pause low\n  highkiq resume low\n')
    .action(pause)
}

function pause(queue: string, { json, ...options }: AppOptions): Promise<void> {
  return withExistingStore(options, async (hq) => {
    const isKnown = (await hq.queueSummaries()).some(({ name }) => name === queue) || (await served(hq)).has(queue)
    if (!isKnown && (await hq.orderedQueues()).includes(hq.ordered(queue).queue)) {
      throw new CliError(`${queue} is an ordered queue: highkiq ordered pause ${queue}${sameApp(options)}`)
    }
    const { ignoredBy } = await hq.queue(queue).pause()
    if (json) return printJson({ queue, paused: true, ignoredBy })
    print(`${queue} is paused; to resume: highkiq resume ${queue}${sameApp(options)}`)
    if (!isKnown) print(`no worker serves ${queue}, and it has no jobs: check its name`)
    for (const identity of ignoredBy)
      print(`${identity} is a Sidekiq process and may still fetch: only Sidekiq Pro supports pauses`)
  })
}

export function registerResume(program: Command): void {
  actionCommand(program, 'resume', 'let workers fetch from a paused queue again')
    .addHelpText('after', '\nExamples:\n  highkiq resume low\n')
    .action((queue: string, { json, ...options }: AppOptions) =>
      withExistingStore(options, async (hq) => {
        await hq.queue(queue).resume()
        printResult(json, { queue, paused: false }, `${queue} is resumed`)
      }),
    )
}
