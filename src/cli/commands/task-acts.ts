/** `highkiq task retry | pause | resume | set | cancel | delete`: acting on a tracked task. */

import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Highkiq, RetryOptions, Task, TaskSettings, TaskStatus } from '../../index.ts'
import { confirm } from '../confirm.ts'
import { count, plural } from '../figures.ts'
import { type AppOptions, sameApp, withAppOptions, withExistingStore } from '../open-app.ts'
import { statusText } from '../outcome.ts'
import { print, printJson } from '../output.ts'
import { CliError, someOf, wholeNumber } from '../usage.ts'

const REJECTED = ['failed', 'error', 'cancelled'] as const

interface ActOptions extends AppOptions {
  json?: boolean
}

export function registerActs(task: Command): void {
  registerRetry(task)
  act(task, 'pause', 'let no more of its rows into the queue; what is there runs').action(
    acting(async (task) => task.pause()),
  )
  act(task, 'resume', 'let its rows into the queue again').action(acting(async (task) => task.resume()))
  registerSet(task)
  registerCancel(task)
  registerDelete(task)
}

function registerRetry(task: Command): void {
  act(task, 'retry', 'run rejected rows once more')
    .addOption(
      new Option('--status <list>', 'of which status, separated by commas (default: failed,error)').argParser(
        someOf(REJECTED),
      ),
    )
    .option('--code <code>', 'only those with this reason')
    .addHelpText(
      'after',
      '\nExamples:\n  highkiq task retry 0f3a6c1e9b2d4857\n  highkiq task retry 0f3a6c1e9b2d4857 --status failed --code bad_price\n',
    )
    .action((id: string, { status, code, json, ...options }: ActOptions & Pick<RetryOptions, 'status' | 'code'>) =>
      withExistingStore(options, async (hq) => {
        const task = await existing(hq, id)
        const retried = await task.retry({ ...(status ? { status } : {}), ...(code === undefined ? {} : { code }) })
        if (json) return printJson(retried)
        const { rows, dropped, run } = retried
        print(rows > 0 ? `${plural(rows, 'row runs', 'rows run')} again, in run ${run}` : 'no row to run again')
        if (dropped > 0) print(`${plural(dropped, 'row')} can't: the arguments were not kept (keepParams)`)
        if (rows > 0) print(`watch: highkiq task show ${id} --watch${sameApp(options)}`)
      }),
    )
}

function registerSet(task: Command): void {
  act(task, 'set', 'change its limits while it runs')
    .addOption(new Option('-c, --concurrency <n>', 'rows at the same time').argParser(wholeNumber))
    .addOption(
      new Option('--tolerate <n>', "how many rows may fail: a number, a share such as 5%, or 'all'").argParser(
        tolerated,
      ),
    )
    .addOption(new Option('--beyond <what>', 'what happens when more fail').choices(['pause', 'cancel']))
    .addHelpText('after', '\nExamples:\n  highkiq task set 0f3a6c1e9b2d4857 -c 5 --tolerate 2%\n')
    .action((id: string, options: ActOptions & TaskSettings & { tolerate?: TaskSettings['toleratedFailures'] }) => {
      const { concurrency, tolerate, beyond } = options
      const settings: TaskSettings = {
        ...(concurrency === undefined ? {} : { concurrency }),
        ...(tolerate === undefined ? {} : { toleratedFailures: tolerate }),
        ...(beyond === undefined ? {} : { beyond }),
      }
      if (Object.keys(settings).length === 0) throw new CliError('set needs --concurrency, --tolerate or --beyond', 2)
      return acting((task) => task.set(settings))(id, options)
    })
}

function registerCancel(task: Command): void {
  act(task, 'cancel', 'end it: rows that have not begun are cancelled, those that run are told to end')
    .option('--reason <text>', 'shown with the task')
    .option('-y, --yes', 'without asking')
    .action(async (id: string, { reason, yes, ...options }: ActOptions & { reason?: string; yes?: boolean }) => {
      await acting(async (task, status) => {
        const open = status.counts.enqueued + status.counts.working
        await confirm(`cancel ${plural(open, 'row')} of ${JSON.stringify(status.name)}`, yes)
        await task.cancel(reason)
      })(id, options)
    })
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
    })
}

async function existing(hq: Highkiq, id: string): Promise<Task> {
  const task = hq.tasks.get(id)
  await statusOf(task)
  return task
}

/** @throws CliError when there is no such task */
export async function statusOf(task: Task): Promise<TaskStatus> {
  const status = await task.status()
  if (!status)
    throw new CliError(`no task ${task.id}: it was deleted, or the id is wrong (highkiq task list shows them)`)
  return status
}

function tolerated(text: string): NonNullable<TaskSettings['toleratedFailures']> {
  if (text === 'all') return Number.POSITIVE_INFINITY
  if (/^\d+$/.test(text)) return Number(text)
  if (/^\d+(\.\d+)?%$/.test(text)) return text as `${number}%`
  throw new InvalidArgumentError("a number of rows, a share such as 5%, or 'all'")
}
