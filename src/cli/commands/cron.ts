/** `highkiq cron` lists the cron entries, runs them now, pauses, resumes and removes them. */

import type { Command } from 'commander'
import type { Cron, CronInfo } from '../../index.ts'
import { all } from '../../job/json.ts'
import { quoted } from '../../job/shell.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { type Column, print, printJson, table, time } from '../output.ts'
import { type ShowOptions, show, withShowOptions } from '../show.ts'
import { CliError } from '../usage.ts'

interface ActionOptions extends AppOptions {
  yes?: boolean
}

export function register(program: Command): void {
  const cron = program.command('cron').description('list cron entries, run them now, pause and resume them')
  withShowOptions(cron.command('list').description('list the entries with their last and next runs'))
    .addHelpText('after', '\nExamples:\n  highkiq cron list\n  highkiq cron list --json\n')
    .action((options: ShowOptions) =>
      show(options, {
        get: (hq) => all(hq.crons()),
        text: (entries) => table(COLUMNS, entries, 'no entries: a worker adds those of its app when it starts'),
      }),
    )

  registerAction(
    cron,
    'run',
    'push the job of an entry now and print its id (needs -r when a function makes the arguments)',
    run,
  )
  registerAction(cron, 'pause', 'stop an entry until you resume it; deploys do not resume it', async (entry) => {
    await entry.pause()
    return { message: `${entry.name} is paused` }
  })
  registerAction(cron, 'resume', 'let a paused entry run again; missed ticks are not made up', async (entry) => {
    await entry.resume()
    return { message: `${entry.name} is resumed` }
  })
  registerAction(cron, 'remove', 'remove an entry that no app defines any more', remove).option(
    '--yes',
    'remove it even if a worker still defines it',
  )
}

async function remove(entry: Cron, { yes }: ActionOptions): Promise<{ message: string }> {
  const info = await entry.known()
  if (info.defined && !yes) {
    throw new CliError(
      `a running worker defines ${entry.name} and would add it again as new${info.paused ? ', not paused' : ''}. Remove it from the code first, or ${info.paused ? 'leave it paused' : `pause it (highkiq cron pause ${quoted(entry.name)})`}; --yes removes it now`,
    )
  }
  await entry.remove()
  return { message: `${entry.name} is removed` }
}

const COLUMNS: Column<CronInfo>[] = [
  { title: 'NAME', of: ({ name }) => name },
  { title: 'SPEC', of: ({ spec }) => spec },
  { title: 'ZONE', of: ({ timeZone }) => timeZone },
  { title: 'JOB', of: ({ job }) => job },
  { title: 'LAST', of: ({ lastAt, timeZone }) => (lastAt ? time(lastAt, timeZone) : 'never') },
  { title: 'NEXT', of: nextOf },
]

function nextOf({ paused, defined, nextAt, timeZone }: CronInfo): string {
  if (paused) return 'paused'
  if (!defined) return 'no running worker defines it'
  return nextAt ? time(nextAt, timeZone) : 'never'
}

function registerAction(
  cron: Command,
  name: string,
  description: string,
  action: (entry: Cron, options: ActionOptions) => Promise<{ message: string; jid?: string }>,
): Command {
  return withAppOptions(cron.command(name).description(description).argument('<name>', 'name of the entry'))
    .option('--json', 'as JSON')
    .addHelpText('after', `\nExamples:\n  highkiq cron ${name} nightly\n`)
    .action((entry: string, options: ActionOptions) =>
      withExistingStore(options, async (hq) => {
        const { message, jid } = await action(hq.cron(entry), options)
        if (!options.json) print(message)
        else printJson(jid === undefined ? await hq.cron(entry).info() : { jid })
      }),
    )
}

async function run(entry: Cron): Promise<{ message: string; jid: string }> {
  const jid = await entry.runNow()
  if (jid === null) throw new CliError('the job was not pushed: client middleware filtered it')
  return { message: jid, jid }
}
