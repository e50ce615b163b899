/** `highkiq quiet IDENTITY` makes a worker fetch no more jobs. */

import type { Command } from 'commander'
import { type AppOptions, withAppOptions } from '../open-app.ts'
import { signalProcess } from '../signal-process.ts'

export function register(program: Command): void {
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
