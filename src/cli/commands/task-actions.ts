/** `highkiq task pause | resume | set | cancel | delete` change a tracked task. */

import { type Command, Option } from 'commander'
import type { Task, TaskSettings, TaskStatus } from '../../index.ts'
import { given } from '../../job/options.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { resumeHint, statusText } from '../outcome.ts'
import { count, plural, print, printResult } from '../output.ts'
import { existing, statusOf } from '../task.ts'
import { confirm } from '../terminal.ts'
import { CliError, maxFailures, namesAndValues, wholeNumber } from '../usage.ts'

export function registerActions(task: Command): void {
  command(task, 'pause', 'stop enqueueing rows of the task; rows in the queue still run').action(
    action(async (task) => task.pause()),
  )
  command(task, 'resume', 'enqueue rows of the task again').action(action(async (task) => task.resume()))
  registerSet(task)
  registerCancel(task)
  registerDelete(task)
  registerRevokeLinks(task)
}

function registerSet(task: Command): void {
  command(task, 'set', 'change limits of the task while it runs')
    .option('-c, --concurrency <n>', 'rows that run at the same time', wholeNumber)
    .option('--max-failures <n>', "rows that may fail: a number, a share such as 5%, or 'all'", maxFailures)
    .addOption(new Option('--on-max-failures <what>', 'action when more rows fail').choices(['pause', 'cancel']))
    .addHelpText('after', '\nExamples:\n  highkiq task set 0f3a6c1e9b2d4857 -c 5 --max-failures 2%\n')
    .action((id: string, options: AppOptions & TaskSettings) => {
      const settings: TaskSettings = given(options, ['concurrency', 'maxFailures', 'onMaxFailures'])
      if (Object.keys(settings).length === 0)
        throw new CliError('set needs --concurrency, --max-failures or --on-max-failures', 2)
      return action((task) => task.set(settings))(id, options)
    })
}

function registerCancel(task: Command): void {
  command(task, 'cancel', 'cancel the task: waiting rows are cancelled, running handlers see ctx.signal abort')
    .option('--reason <text>', 'reason to show with the task')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (id: string, { reason, yes, ...options }: AppOptions & { reason?: string; yes?: boolean }) => {
      await action(async (task, status) => {
        if (status.state === 'done') throw ended(task)
        const open = status.counts.enqueued + status.counts.working
        await confirm(`cancel ${plural(open, 'row')} of ${JSON.stringify(status.name)}`, yes)
        await task.cancel(reason)
        // The task may have ended during the question.
        if ((await statusOf(task)).state === 'done') throw ended(task)
      })(id, options)
    })
}

function ended({ id }: Task): CliError {
  return new CliError(`task ${id} has ended: no row is left to cancel`)
}

function registerDelete(task: Command): void {
  command(task, 'delete', 'delete the task with its events and files; waiting rows are cancelled')
    .option('-y, --yes', 'do not ask for confirmation')
    .action((id: string, { yes, json, ...options }: AppOptions & { yes?: boolean }) =>
      withExistingStore(options, async (hq) => {
        const task = await existing(hq, id)
        const { name, total } = await statusOf(task)
        await confirm(`delete ${JSON.stringify(name)} with ${plural(total, 'row')}`, yes)
        await task.delete()
        printResult(json, { id, deleted: true }, `task ${id} is deleted, with ${count(total)} events`)
      }),
    )
}

function registerRevokeLinks(task: Command): void {
  const added = task.command('revoke-links').description('end all links to a task, or to a list of tasks by their meta')
  withAppOptions(added)
    .argument('[id]', 'id of the task')
    .option(
      '--meta <name=value>',
      'end links to the list of the tasks with exactly this meta; may be repeated',
      namesAndValues,
    )
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  highkiq task revoke-links 0f3a6c1e9b2d4857\n  highkiq task revoke-links --meta user=7\n',
    )
    .action((id: string | undefined, { meta, json, ...options }: AppOptions & { meta?: Record<string, string> }) => {
      if ((id === undefined) === (meta === undefined)) {
        throw new CliError('revoke-links needs the id of a task or --meta, not both', 2)
      }
      return withExistingStore(options, async (hq) => {
        if (meta) await hq.tasks.revokeLinks(meta)
        else await (await existing(hq, id as string)).revokeLinks()
        const what = meta ? `the list with ${new URLSearchParams(meta)}` : `task ${id}`
        printResult(json, { ...(meta ? { meta } : { id }), revoked: true }, `all links to ${what} are revoked`)
      })
    })
}

function command(task: Command, name: string, description: string): Command {
  const added = task.command(name).description(description).argument('<id>', 'id of the task')
  return withAppOptions(added).option('--json', 'as JSON')
}

/** Runs an action on a task and prints the status afterwards. */
function action(change: (task: Task, status: TaskStatus) => Promise<void>) {
  return (id: string, options: AppOptions) =>
    withExistingStore(options, async (hq) => {
      const task = await existing(hq, id)
      await change(task, await statusOf(task))
      const status = await statusOf(task)
      printResult(options.json, status, statusText(status))
      const hint = options.json ? undefined : resumeHint(status, options)
      if (hint) print(hint)
    })
}
