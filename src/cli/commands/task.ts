/** `highkiq task` shows tracked tasks; the files beside this one add the commands that change them. */

import { type Command, Option } from 'commander'
import type { Highkiq, TaskEvent, TaskState, TaskStatus } from '../../index.ts'
import { EVENT_STATUSES, type EventStatus, TASK_STATES } from '../../index.ts'
import { stringifyJson } from '../../job/json.ts'
import { given } from '../../job/options.ts'
import { endedOf, isOver } from '../../tasks/task.ts'
import { jobsFiles } from '../config/jobs-file.ts'
import { EndedRows } from '../ended-rows.ts'
import { setExitCode } from '../io.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { outcomeCode, reasonOf, rejectedOf, reportHint, resumeHint, rowOf, statusText } from '../outcome.ts'
import { type Column, count, print, printJson, table, time } from '../output.ts'
import { type CodeOptions, codeFilter, type Reason, reasonsOf, reasonsText, withCodeOptions } from '../reasons.ts'
import {
  type FirstItems,
  type ShowOptions as ListShowOptions,
  showFirst,
  waitForRefresh,
  withShowOptions,
} from '../show.ts'
import { existing, filesOf, nextStep, statusOf, untilEnd } from '../task.ts'
import { isSelfPaused } from '../task-progress.ts'
import { quietLog, type WorkOptions, withWorkOptions } from '../task-worker.ts'
import { onInterrupt } from '../terminal.ts'
import { namesAndValues, someOf, wholeNumber } from '../usage.ts'
import { registerActions } from './task-actions.ts'
import { registerEnds } from './task-end-row.ts'
import { registerFiles } from './task-file.ts'
import { registerRetry } from './task-retry.ts'

const PAGE = 100

export function register(program: Command): void {
  // Another word for `highkiq task list`.
  registerList(program.command('tasks'), 'tasks')
  const task = program.command('task').description('show tracked tasks, their rows and why rows failed; change them')
  registerList(task.command('list'), 'task list')
  registerShow(task)
  registerEvents(task)
  registerFiles(task)
  registerRetry(task)
  registerActions(task)
  registerEnds(task)
}

// ------------------------------------------------------------------------------------------------------------ list

interface ListCommandOptions extends ListShowOptions {
  state?: TaskState
  job?: string
  search?: string
  meta?: Record<string, string>
  limit: number
}

function registerList(command: Command, words: string): void {
  withShowOptions(command.description('list tracked tasks, newest first'))
    .addOption(new Option('--state <state>', 'only tasks in this state').choices(TASK_STATES))
    .option('--job <name>', 'only tasks of this job')
    .option('--search <text>', 'only tasks whose name contains this text')
    .option('--meta <name=value>', 'only tasks with this value in their meta; may be repeated', namesAndValues)
    .addOption(new Option('--limit <n>', 'show at most n').argParser(wholeNumber).default(25))
    .addHelpText('after', `\nExamples:\n  highkiq ${words}\n  highkiq ${words} --state running --watch\n`)
    .action((options: ListCommandOptions) =>
      showFirst(options, { get: (hq) => list(hq, options), text: (tasks) => table(COLUMNS, tasks, 'no tasks') }),
    )
}

const COLUMNS: Column<TaskStatus>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name, flexible: true },
  { title: 'JOB', of: ({ job }) => job, flexible: true },
  { title: 'STATE', of: ({ state }) => state },
  { title: 'ROWS', of: ({ total }) => count(total), right: true },
  { title: 'ENDED', of: (status) => count(endedOf(status.counts)), right: true },
  { title: 'REJECTED', of: (status) => count(rejectedOf(status)), right: true },
  { title: 'CREATED', of: ({ createdAt }) => time(createdAt) },
]

async function list(
  hq: Highkiq,
  { state, job, search, meta, limit }: ListCommandOptions,
): Promise<FirstItems<TaskStatus>> {
  const found: TaskStatus[] = []
  let cursor: string | null = null
  do {
    const page = await hq.tasks.list(given({ limit: PAGE, state, job, search, meta, cursor: cursor ?? undefined }))
    found.push(...page.items)
    cursor = page.next
  } while (cursor !== null && found.length < limit)
  return { items: found.slice(0, limit), more: cursor !== null || found.length > limit }
}

// ------------------------------------------------------------------------------------------------------------ show

interface ShowOptions extends AppOptions, WorkOptions {
  watch?: boolean
}

function registerShow(task: Command): void {
  const command = task
    .command('show')
    .description('show the status of a task and why rows were rejected')
    .argument('<id>', 'id of the task')
    .option(
      '--watch',
      'show progress until the end; exit code 0 all rows finished, 3 some were rejected, 1 the task was interrupted or paused',
    )
  withAppOptions(withWorkOptions(command))
    .option('--json', 'as JSON')
    .addHelpText('after', SHOW_EXAMPLES)
    .action((id: string, given: ShowOptions) => {
      quietLog(given)
      const options = given.work ? { ...given, require: jobsFiles('task show', given.require) } : given
      return withExistingStore(options, (hq) => show(hq, id, options))
    })
}

const SHOW_EXAMPLES = `
Examples:
  highkiq task show 0f3a6c1e9b2d4857
  highkiq task show 0f3a6c1e9b2d4857 --watch
  highkiq task show 0f3a6c1e9b2d4857 --work -r jobs.ts      run the jobs of its queue here, as import --work does
`

async function show(hq: Highkiq, id: string, options: ShowOptions): Promise<void> {
  const task = await existing(hq, id)
  let status = await statusOf(task)
  if (options.watch) {
    const ended = await untilEnd(hq, status, options)
    if (!ended) return
    status = ended
    setExitCode(outcomeCode(status))
  }
  const reasons: Reason[] = rejectedOf(status) > 0 ? await reasonsOf(task) : []
  if (options.json) {
    printJson({ ...status, reasons })
    return
  }
  print(statusText(status))
  if (reasons.length > 0) print(`\n${reasonsText(reasons)}\n`)
  const hint = resumeHint(status, options)
  if (hint) print(hint)
  if (status.state === 'interrupted') {
    const { imported } = await filesOf(hq, id)
    if (imported) print(`its file was not read to the end; ${await nextStep(hq, status, imported, options)}`)
  }
  if (status.finishedAt && rejectedOf(status) > 0) print(reportHint(task, options))
}

// ---------------------------------------------------------------------------------------------------------- events

interface EventsOptions extends AppOptions, CodeOptions {
  status?: EventStatus[]
  limit?: number
  watch?: boolean
}

function registerEvents(task: Command): void {
  const command = task
    .command('events')
    .description('list the events of a task, one for each row')
    .argument('<id>', 'id of the task')
    .option('--status <list>', 'only events with these statuses, separated by commas', someOf(EVENT_STATUSES))
  withCodeOptions(withAppOptions(command), 'rejected ones')
    .option('--limit <n>', 'show at most n events (default: all)', wholeNumber)
    .option('--json', 'as JSON')
    .addOption(
      new Option(
        '--watch',
        'show each row when it ends, until the task ends (with --json one line each); exit code as that of task show --watch',
      ).conflicts('otherCodes'),
    )
    .addHelpText('after', EVENTS_EXAMPLES)
    .action((id: string, options: EventsOptions) =>
      withExistingStore(options, (hq) => (options.watch ? watchEvents : events)(hq, id, options)),
    )
}

const EVENTS_EXAMPLES = `
Examples:
  highkiq task events 0f3a6c1e9b2d4857 --status failed,error --limit 20
  highkiq task events 0f3a6c1e9b2d4857 --status failed,error --watch
`

/** Prints event by event, because a task may have more events than fit into memory. */
async function events(hq: Highkiq, id: string, options: EventsOptions): Promise<void> {
  const { status, limit = Infinity, json } = options
  const task = await existing(hq, id)
  let n = 0
  for await (const event of task.events({ status, ...codeFilter(options) })) {
    if (n >= limit) break
    // One item of a JSON array, one event a line.
    print(json ? (n === 0 ? '[' : ',') + stringifyJson(event) : eventText(event))
    n++
  }
  if (json) print(n === 0 ? '[]' : ']')
}

/** Prints the rows that have ended, and each further one once, when it ends. */
async function watchEvents(hq: Highkiq, id: string, options: EventsOptions): Promise<void> {
  const { status: statuses, code, withoutCode, limit = Infinity, json } = options
  const matches = (event: TaskEvent) =>
    (statuses === undefined || statuses.includes(event.status)) &&
    (code === undefined || event.code === code) &&
    (!withoutCode || (event.status !== 'finished' && event.code === null))
  const task = await existing(hq, id)
  let status = await statusOf(task)
  const rows = new EndedRows(hq, status)
  const interrupt = onInterrupt()
  let left = limit
  try {
    for (;;) {
      for await (const event of rows.read(status)) {
        if (!matches(event)) continue
        print(json ? stringifyJson(event) : eventText(event))
        if (--left <= 0) return
      }
      if (isOver(status) || isSelfPaused(status)) break
      if (!(await waitForRefresh(interrupt.signal))) {
        setExitCode(interrupt.exitCode)
        return
      }
      status = await statusOf(task)
    }
    setExitCode(outcomeCode(status))
  } finally {
    interrupt.release()
  }
}

function eventText(event: TaskEvent): string {
  const place = count(rowOf(event)).padStart(9)
  const said = event.messages.length > 0 && event.status !== 'finished' ? reasonOf(event) : ''
  return `${place}  ${event.status.padEnd(9)}  ${said}`.trimEnd()
}
