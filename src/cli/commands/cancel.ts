/** `highkiq cancel`: a job that should not run (any more). */

import type { Command } from 'commander'
import type { CancelAnswer } from '../../index.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { print, printJson } from '../output.ts'
import { CliError, positiveSecondsOrInfinity } from '../usage.ts'

interface CancelOptions extends AppOptions {
  queue?: string
  budget?: number
  json?: boolean
}

const WORDS: Record<Exclude<CancelAnswer, 'not-found'>, string> = {
  removed: 'removed: it had not begun',
  signalled: 'signalled: it runs, and its handler is told (ctx.signal)',
  marked: 'marked: not found so far; no Highkiq worker will run it to its end',
}

const EXAMPLES = `
Examples:
  highkiq cancel 5f9c3b0a7d2e41c68b1a90ff
  highkiq cancel 5f9c3b0a7d2e41c68b1a90ff --queue low
`

export function register(program: Command): void {
  withAppOptions(
    program
      .command('cancel')
      .description('cancel a job, wherever it is: waiting, scheduled, to be retried, running')
      .argument('<jid>', 'its id'),
  )
    .option('-q, --queue <name>', 'the queue that it is in: the others are not searched')
    .option('--budget <seconds>', 'to look for it; default 10', positiveSecondsOrInfinity)
    .option('--json', 'as JSON')
    .addHelpText('after', EXAMPLES)
    .action(cancel)
}

function cancel(jid: string, { json, queue, budget, ...options }: CancelOptions): Promise<void> {
  return withExistingStore(options, async (hq) => {
    const about = { ...(queue === undefined ? {} : { queue }), ...(budget === undefined ? {} : { budget }) }
    const answer = await hq.cancel(jid, about)
    if (json) printJson({ jid, answer })
    if (answer === 'not-found') throw new CliError(`no job ${jid} waits or runs: it has ended, or the id is wrong`)
    if (!json) print(WORDS[answer])
  })
}
