/** `highkiq locks` lists the locks of unique jobs, and releases one. */

import type { Command } from 'commander'
import type { UniqueLockInfo } from '../../index.ts'
import { all } from '../../job/json.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { type Column, printResult, table, time } from '../output.ts'
import { type ShowOptions, show, withShowOptions } from '../show.ts'
import { CliError } from '../usage.ts'

const COLUMNS: Column<UniqueLockInfo>[] = [
  { title: 'KEY', of: ({ key }) => key },
  { title: 'JID', of: ({ jid }) => jid },
  { title: 'ENDS', of: ({ endsAt }) => (endsAt ? time(endsAt) : 'with its job') },
]

const RELEASE_EXAMPLES = `
The job that has the lock stays. The next push of such a job is stored beside it.

Example:
  highkiq locks release 9c1rVbm3T2eX4Qh0uZsL1A
`

export function register(program: Command): void {
  const locks = program.command('locks').description('list the locks of unique jobs, and release one')
  withShowOptions(locks.command('list').description('list the locks and the jobs that have them'))
    .addHelpText('after', '\nExamples:\n  highkiq locks list\n  highkiq locks list --json\n')
    .action((options: ShowOptions) =>
      show(options, {
        get: (hq) => all(hq.uniqueLocks),
        text: (held) => table(COLUMNS, held, 'no locks: no unique job waits or runs'),
      }),
    )
  withAppOptions(
    locks
      .command('release')
      .description('release a lock, for a job that will not release it')
      .argument('<key>', 'key of the lock'),
  )
    .option('--json', 'as JSON')
    .addHelpText('after', RELEASE_EXAMPLES)
    .action((key: string, { json, ...options }: AppOptions) =>
      withExistingStore(options, async (hq) => {
        const lock = (await all(hq.uniqueLocks)).find((one) => one.key === key)
        if (!lock || !(await hq.uniqueLocks.release(lock))) {
          throw new CliError(`no lock has the key ${key}: highkiq locks list shows the locks that are held`)
        }
        printResult(json, { key, jid: lock.jid }, `released: job ${lock.jid} has it no longer`)
      }),
    )
}
