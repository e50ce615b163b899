/** `highkiq deploy`: marks a deploy. */

import type { Command } from 'commander'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { print } from '../output.ts'

export function register(program: Command): void {
  withAppOptions(program.command('deploy'))
    .description('mark a deploy, which metrics show')
    .argument('[label]', "what was deployed (default: git's last commit)")
    .addHelpText('after', '\nExamples:\n  highkiq deploy\n  highkiq deploy v1.2 --url redis://localhost:6379/0\n')
    .action((label: string | undefined, options: AppOptions) =>
      withExistingStore(options, async (hq) => {
        print((await hq.deploy(label)) ? 'marked' : 'marked before: this minute, or this label within the last one')
      }),
    )
}
