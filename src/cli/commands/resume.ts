/** `highkiq resume` resumes a paused queue. */

import type { Command } from 'commander'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { print, printJson } from '../output.ts'

export function register(program: Command): void {
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
