/** `highkiq locks` lists the locks of unique jobs, and releases one. */

import type { Command } from 'commander'
import type { Highkiq, UniqueLockInfo } from '../../index.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { type Column, printResult, table, time } from '../output.ts'
import { type ShowOptions, show, withShowOptions } from '../show.ts'
import { CliError, wholeNumber } from '../usage.ts'

const COLUMNS: Column<UniqueLockInfo>[] = [
  { title: 'KEY', of: ({ key }) => key },
  { title: 'JID', of: ({ jid }) => jid },
  { title: 'ENDS', of: ({ endsAt }) => (endsAt ? time(endsAt) : 'with its job') },
]

const RELEASE_EXAMPLES = `
The job that has the lock stays. The next push of such a job is stored beside it.

Example:
  highkiq locks release 9c1rVbm3T2eX4Qh0uZsL1A 2b8f1c0d9e7a6b5c4d3e2f10
`

export function register(program: Command): void {
  const locks = program.command('locks').description('list the locks of unique jobs, and release one')
  withShowOptions(locks.command('list').description('list the locks and the jobs that have them'))
    .option('--limit <n>', 'show at most n locks (default: all)', wholeNumber)
    .addHelpText('after', '\nExamples:\n  highkiq locks list\n  highkiq locks list --limit 20 --json\n')
    .action(({ limit, ...options }: ShowOptions & { limit?: number }) =>
      show(options, {
        get: (hq) => list(hq, limit),
        text: (held) => table(COLUMNS, held, 'no locks: no unique job waits or runs'),
      }),
    )
  withAppOptions(
    locks
      .command('release')
      .description('release a lock, for a job that will not release it')
      .argument('<key>', 'key of the lock')
      .argument('<jid>', 'job that has the lock'),
  )
    .option('--json', 'as JSON')
    .addHelpText('after', RELEASE_EXAMPLES)
    .action((key: string, jid: string, { json, ...options }: AppOptions) =>
      withExistingStore(options, async (hq) => {
        if (!(await hq.uniqueLocks.release({ key, jid }))) {
          throw new CliError(`job ${jid} has no lock ${key}: highkiq locks list shows the locks that are held`)
        }
        printResult(json, { key, jid }, `released: job ${jid} has it no longer`)
      }),
    )
}

async function list(hq: Highkiq, limit = Infinity): Promise<UniqueLockInfo[]> {
  const found: UniqueLockInfo[] = []
  for await (const lock of hq.uniqueLocks) if (found.push(lock) >= limit) break
  return found
}
