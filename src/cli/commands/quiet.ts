/** `highkiq quiet IDENTITY`: a worker takes no more jobs. */

import type { Command } from 'commander'
import { type AppOptions, withAppOptions } from '../open-app.ts'
import { signalProcess } from '../signal-process.ts'

export function register(program: Command): void {
  withAppOptions(program.command('quiet <identity>'))
    .description('a worker takes no more jobs; what runs goes on')
    .addHelpText('after', '\nIt hears of it with its next beat, within 10 s. Identities: highkiq processes\n')
    .action((identity: string, options: AppOptions) =>
      signalProcess(identity, options, (process) => process.quiet(), 'takes no more jobs from its next beat on'),
    )
}
