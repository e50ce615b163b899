/** `highkiq task pause | resume | set | cancel | delete`: acting on a tracked task. */

import { type Command, Option } from 'commander'
import type { Task, TaskSettings, TaskStatus } from '../../index.ts'
import { confirm } from '../confirm.ts'
import { count, plural } from '../figures.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { goOnHint, statusText } from '../outcome.ts'
import { print, printJson } from '../output.ts'
import { existing, statusOf } from '../task.ts'
import { CliError, tolerated, wholeNumber } from '../usage.ts'

interface ActOptions extends AppOptions {
  json?: boolean
}

export function registerActs(task: Command): void {
  act(task, 'pause', 'let no more of its rows into the queue; what is there runs').action(
    acting(async (task) => task.pause()),
  )
  act(task, 'resume', 'let its rows into the queue again').action(acting(async (task) => task.resume()))
  registerSet(task)
  registerCancel(task)
  registerDelete(task)
}

function registerSet(task: Command): void {
  act(task, 'set', 'change its limits while it runs')
    .addOption(new Option('-c, --concurrency <n>', 'rows at the same time').argParser(wholeNumber))
    .addOption(
      new Option('--max-failures <n>', "how many rows may fail: a number, a share such as 5%, or 'all'").argParser(
        tolerated,
      ),
    )
    .addOption(new Option('--on-max-failures <what>', 'what happens when more fail').choices(['pause', 'cancel']))
    .addHelpText('after', '\nExamples:\n  highkiq task set 0f3a6c1e9b2d4857 -c 5 --max-failures 2%\n')
    .action((id: string, options: ActOptions & TaskSettings & { maxFailures?: TaskSettings['maxFailures'] }) => {
      const { concurrency, maxFailures, onMaxFailures } = options
      const settings: TaskSettings = {
        ...(concurrency === undefined ? {} : { concurrency }),
        ...(maxFailures === undefined ? {} : { maxFailures: maxFailures }),
        ...(onMaxFailures === undefined ? {} : { onMaxFailures }),
      }
      if (Object.keys(settings).length === 0)
        throw new CliError('set needs --concurrency, --max-failures or --on-max-failures', 2)
      return acting((task) => task.set(settings))(id, options)
    })
}

function registerCancel(task: Command): void {
  act(task, 'cancel', 'end it: rows that have not begun are cancelled, those that run are told to end')
    .option('--reason <text>', 'shown with the task')
    .option('-y, --yes', 'without asking')
    .action(async (id: string, { reason, yes, ...options }: ActOptions & { reason?: string; yes?: boolean }) => {
      await acting(async (task, status) => {
        if (status.state === 'done') throw ended(task)
        const open = status.counts.enqueued + status.counts.working
        await confirm(`cancel ${plural(open, 'row')} of ${JSON.stringify(status.name)}`, yes)
        await task.cancel(reason)
        // It may have ended while somebody was asked.
        if ((await statusOf(task)).state === 'done') throw ended(task)
      })(id, options)
    })
}

function ended({ id }: Task): CliError {
  return new CliError(`task ${id} has ended: there is nothing left to cancel`)
}

function registerDelete(task: Command): void {
  act(task, 'delete', 'forget it, its events and its file; what has not run is cancelled')
    .option('-y, --yes', 'without asking')
    .action((id: string, { yes, json, ...options }: ActOptions & { yes?: boolean }) =>
      withExistingStore(options, async (hq) => {
        const task = await existing(hq, id)
        const { name, total } = await statusOf(task)
        await confirm(`delete ${JSON.stringify(name)} with ${plural(total, 'row')}`, yes)
        await task.delete()
        if (json) printJson({ id, deleted: true })
        else print(`task ${id} is gone, with ${count(total)} events`)
      }),
    )
}

function act(task: Command, name: string, description: string): Command {
  return withAppOptions(task.command(name).description(description).argument('<id>', 'of the task')).option(
    '--json',
    'as JSON',
  )
}

/** Does it, and shows how the task stands then. */
function acting(deed: (task: Task, status: TaskStatus) => Promise<void>) {
  return (id: string, options: ActOptions) =>
    withExistingStore(options, async (hq) => {
      const task = await existing(hq, id)
      await deed(task, await statusOf(task))
      const status = await statusOf(task)
      if (options.json) printJson(status)
      else print(statusText(status))
      const hint = options.json ? undefined : goOnHint(status, options)
      if (hint) print(hint)
    })
}
