/** `highkiq task finish | fail` end a row whose handler called `ctx.defer`. */

import type { Command } from 'commander'
import type { Highkiq } from '../../index.ts'
import type { EndedRow } from '../../tasks/deferred.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { printResult } from '../output.ts'
import { CliError } from '../usage.ts'
import { argument } from './enqueue.ts'

export function registerEnds(task: Command): void {
  command(task, 'finish', 'end a row whose handler called ctx.defer: it is finished')
    .argument('[result]', 'its result as JSON; anything else is passed as a string')
    .action((jid: string, result: string | undefined, options: AppOptions) =>
      end(jid, options, (hq) => hq.tasks.finish(jid, result === undefined ? undefined : argument(result))),
    )
  command(task, 'fail', 'end a row whose handler called ctx.defer: it has failed')
    .argument('<message>', 'message of the row')
    .option('--code <code>', 'code of the reason')
    .action((jid: string, message: string, { code, ...options }: AppOptions & { code?: string }) =>
      end(jid, options, (hq) => hq.tasks.fail(jid, message, code)),
    )
}

function command(task: Command, name: string, description: string): Command {
  const added = task.command(name).description(description).argument('<jid>', 'id of the row')
  return withAppOptions(added).option('--json', 'as JSON')
}

/** Prints how the row ended. A row that had ended before is an error, so that scripts see it. */
function end(jid: string, options: AppOptions, change: (hq: Highkiq) => Promise<EndedRow>): Promise<void> {
  return withExistingStore(options, async (hq) => {
    const row = await change(hq)
    const code = row.code === null ? '' : ` (${row.code})`
    const before = row.changed ? '' : ' had ended before: it'
    printResult(options.json, { jid, ...row }, `row ${jid}${before} is ${row.status}${code}`)
    if (!row.changed) throw new CliError(`row ${jid} was not changed`)
  })
}
