/** `highkiq cron`: what runs by the clock. */

import type { Command } from 'commander'
import type { Cron, CronInfo } from '../../index.ts'
import { all, type LookOptions, look, withLookOptions } from '../look.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { type Column, print, printJson, table, time } from '../output.ts'
import { CliError } from '../usage.ts'

interface ActOptions extends AppOptions {
  json?: boolean
  yes?: boolean
}

export function register(program: Command): void {
  const cron = program.command('cron').description('what runs by the clock: see it, run it now, pause it')
  withLookOptions(cron.command('list').description('the entries, when they ran and when they run next'))
    .addHelpText('after', '\nExamples:\n  highkiq cron list\n  highkiq cron list --json\n')
    .action((options: LookOptions) => look(options, { get: (hq) => all(hq.crons()), text }))

  registerAct(cron, 'run', 'push its job now; prints its id. With -r where a function makes its arguments', run)
  registerAct(cron, 'pause', 'not due until resumed, whatever is deployed', async (entry) => {
    await entry.pause()
    return { said: `${entry.name} is paused` }
  })
  registerAct(cron, 'resume', 'due again, from now on', async (entry) => {
    await entry.resume()
    return { said: `${entry.name} goes on` }
  })
  registerAct(cron, 'remove', 'forget an entry that no app defines any more', remove).option(
    '--yes',
    'also one that a worker defines',
  )
}

async function remove(entry: Cron, { yes }: ActOptions): Promise<{ said: string }> {
  const info = await entry.info()
  if (!info) throw new CliError(`no cron entry is named ${entry.name} (highkiq cron list shows them)`)
  if (info.defined && !yes) {
    throw new CliError(
      `a worker defines ${entry.name}, or did a minute ago: while one lives, it comes back as new${info.paused ? ', and not paused' : ''}. Take it out of the code first, or ${info.paused ? 'leave it paused' : `pause it (highkiq cron pause ${entry.name})`}; --yes removes it all the same`,
    )
  }
  await entry.remove()
  return { said: `${entry.name} is removed` }
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
  if (!defined) return 'no worker that lives defines it'
  return nextAt ? time(nextAt, timeZone) : 'never'
}

function text(entries: CronInfo[]): string {
  return entries.length > 0 ? table(COLUMNS, entries) : 'no entries: a worker enters those of its app when it starts'
}

function registerAct(
  cron: Command,
  name: string,
  description: string,
  act: (entry: Cron, options: ActOptions) => Promise<{ said: string; jid?: string }>,
): Command {
  return withAppOptions(cron.command(name).description(description).argument('<name>', 'of the entry'))
    .option('--json', 'as JSON')
    .addHelpText('after', `\nExamples:\n  highkiq cron ${name} nightly\n`)
    .action((entry: string, options: ActOptions) =>
      withExistingStore(options, async (hq) => {
        const { said, jid } = await act(hq.cron(entry), options)
        if (!options.json) print(said)
        else printJson(jid === undefined ? await hq.cron(entry).info() : { jid })
      }),
    )
}

async function run(entry: Cron): Promise<{ said: string; jid: string }> {
  const jid = await entry.runNow()
  if (jid === null) throw new CliError('not pushed: client middleware stopped it')
  return { said: jid, jid }
}
