/** `highkiq stop IDENTITY`: a worker ends. */

import type { Command } from 'commander'
import { type AppOptions, withAppOptions } from '../open-app.ts'
import { signalProcess } from '../signal-process.ts'

export function register(program: Command): void {
  withAppOptions(program.command('stop <identity>'))
    .description('a worker ends, as at SIGTERM: what runs has its timeout')
    .addHelpText('after', '\nIt hears of it with its next beat, within 10 s. Identities: highkiq processes\n')
    .action((identity: string, options: AppOptions) =>
      signalProcess(identity, options, (process) => process.stop(), 'stops from its next beat on'),
    )
}
