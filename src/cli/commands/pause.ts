/** `highkiq pause | resume` pause and resume a queue. */

import type { Command } from 'commander'
import { type AppOptions, sameApp, withAppOptions, withExistingStore } from '../open-app.ts'
import { print, printJson } from '../output.ts'
import { served } from '../processes.ts'
import { CliError } from '../usage.ts'

export function register(program: Command): void {
  withAppOptions(
    program
      .command('pause')
      .description('stop workers from fetching jobs of a queue; running jobs finish')
      .argument('<queue>', 'name of the queue'),
  )
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExamples:\n  highkiq pause low\n  highkiq resume low\n')
    .action(pause)
}

function pause(queue: string, { json, ...options }: AppOptions & { json?: boolean }): Promise<void> {
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
  withAppOptions(
    program
      .command('resume')
      .description('let workers fetch from a paused queue again')
      .argument('<queue>', 'name of the queue'),
  )
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExamples:\n  highkiq resume low\n')
    .action(resume)
}

function resume(queue: string, { json, ...options }: AppOptions & { json?: boolean }): Promise<void> {
  return withExistingStore(options, async (hq) => {
    await hq.queue(queue).resume()
    if (json) printJson({ queue, paused: false })
    else print(`${queue} is resumed`)
  })
}
