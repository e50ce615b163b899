/** `highkiq job` shows everything about one job. */

import type { Command } from 'commander'
import type { Highkiq } from '../../index.ts'
import { type JobView, viewOf } from '../job.ts'
import { textOf } from '../job-text.ts'
import { type ShowOptions, show, withShowOptions } from '../show.ts'
import { CliError } from '../usage.ts'

const EXAMPLES = `
Secrets are hidden as in lists: an encrypted argument is shown as [encrypted]. The search reads all queues and job sets.

Examples:
  highkiq job 5f9c3b0a7d2e41c68b1a90ff
  highkiq job 5f9c3b0a7d2e41c68b1a90ff --watch
`

export function register(program: Command): void {
  withShowOptions(
    program
      .command('job')
      .description('everything about one job: where it is, its error, times, task, batch, locks and limit')
      .argument('<jid>', 'id of the job'),
  )
    .addHelpText('after', EXAMPLES)
    .action((jid: string, options: ShowOptions) => show(options, { get: reader(jid), text: textOf }))
}

/** Refuses a job that was never seen; one that ends while it is watched is shown as gone. */
function reader(jid: string): (hq: Highkiq) => Promise<JobView> {
  let seen = false
  return async (hq) => {
    const view = await viewOf(hq, jid)
    seen ||= view.state !== 'unknown' || view.failure !== null || view.result !== undefined
    if (seen) return view
    throw new CliError(`there is no job ${jid}: it has ended, or the id is wrong`)
  }
}
