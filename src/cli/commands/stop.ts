/** `highkiq stop IDENTITY` stops a worker. */

import type { Command } from 'commander'
import { type AppOptions, withAppOptions } from '../open-app.ts'
import { signalProcess } from '../signal-process.ts'

export function register(program: Command): void {
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
