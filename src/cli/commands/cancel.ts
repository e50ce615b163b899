/** `highkiq cancel` cancels one job. */

import type { Command } from 'commander'
import type { CancelAnswer } from '../../index.ts'
import { isOrphaned } from '../../inspect/orphans.ts'
import { given } from '../../job/options.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { print, printJson } from '../output.ts'
import { CliError, positiveSecondsOrInfinity } from '../usage.ts'

interface CancelOptions extends AppOptions {
  queue?: string
  budget?: number
}

const WORDS: Record<Exclude<CancelAnswer, 'not-found'>, string> = {
  removed: 'removed: the job had not started',
  signalled: 'signalled: the job is running; its handler sees ctx.signal abort',
  requested: 'requested: the job was not found yet; Highkiq workers will not run it to its end',
}

const ORPHANED = 'requested: its worker is dead; the job is dropped when another worker rescues it'

const EXAMPLES = `
Examples:
  highkiq cancel 5f9c3b0a7d2e41c68b1a90ff
  highkiq cancel 5f9c3b0a7d2e41c68b1a90ff --queue low
`

export function register(program: Command): void {
  withAppOptions(
    program
      .command('cancel')
      .description('cancel a job that is enqueued, scheduled, waiting for a retry or running')
      .argument('<jid>', 'id of the job'),
  )
    .option('-q, --queue <name>', 'search only this queue')
    .option('--budget <seconds>', 'seconds to search for the job (default: 10)', positiveSecondsOrInfinity)
    .option('--json', 'as JSON')
    .addHelpText('after', EXAMPLES)
    .action(cancel)
}

function cancel(jid: string, { json, queue, budget, ...options }: CancelOptions): Promise<void> {
  return withExistingStore(options, async (hq) => {
    const answer = await hq.cancel(jid, given({ queue, budget }))
    if (json) printJson({ jid, answer })
    if (answer === 'not-found')
      throw new CliError(`job ${jid} is neither enqueued nor running: it has ended, or the id is wrong`)
    if (!json) print(answer === 'signalled' && (await isOrphaned(hq.store, jid)) ? ORPHANED : WORDS[answer])
  })
}
