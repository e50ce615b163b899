/** `highkiq deploy` records a deploy, which metrics show. */

import type { Command } from 'commander'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { print } from '../output.ts'

export function register(program: Command): void {
  withAppOptions(program.command('deploy'))
    .description('record a deploy; metrics show it')
    .argument('[label]', "name of the deploy (default: git's last commit)")
    .addHelpText('after', '\nExamples:\n  highkiq deploy\n  highkiq deploy v1.2 --url redis://localhost:6379/0\n')
    .action((label: string | undefined, options: AppOptions) =>
      withExistingStore(options, async (hq) => {
        print(
          (await hq.deploy(label))
            ? 'recorded'
            : 'already recorded: in this minute, or with this label in the last minute',
        )
      }),
    )
}
