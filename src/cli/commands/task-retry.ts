/** `highkiq task retry`: rejected rows run once more, as they are or as a report of them was corrected. */

import { existsSync } from 'node:fs'
import { type Command, Option } from 'commander'
import type { Highkiq, Retried, RetryOptions } from '../../index.ts'
import { REJECTED_STATUSES } from '../../index.ts'
import { jobsFileOf, jobsFiles } from '../config/jobs-file.ts'
import { plural } from '../figures.ts'
import { type AppOptions, sameApp, withAppOptions, withExistingStore } from '../open-app.ts'
import { goOnHint, outcomeCode, summary } from '../outcome.ts'
import { print, printJson } from '../output.ts'
import { type ReadingOptions, readingOf, withReadingOptions } from '../reading.ts'
import { type CodeOptions, codeFilter, withCodeOptions } from '../reasons.ts'
import { existing, untilEnd } from '../task.ts'
import { CliError, someOf } from '../usage.ts'

interface RetryCommandOptions extends AppOptions, ReadingOptions, CodeOptions {
  status?: RetryOptions['status']
  report?: string
  watch?: boolean
  json?: boolean
}

const EXAMPLES = `
A report is a file of \`highkiq task report\` whose cells were corrected: columns may be moved, rows left out, but the
column "row key" and the names of the columns stay as they are. What was said of columns at the import holds here, too.
Rows pass through the job's \`validate\` again: a report's, and those that it had refused. It is in the file that -r names;
without -r that is jobs.ts or src/jobs.ts (or .mts, .js, .mjs), if there is one.

Exit code: 0 done, 3 rows were refused once more, 1 it broke, 2 wrong usage; with --watch that of the task.

Examples:
  highkiq task retry 0f3a6c1e9b2d4857
  highkiq task retry 0f3a6c1e9b2d4857 --status failed --code bad_price
  highkiq task retry 0f3a6c1e9b2d4857 --report corrected.xlsx --watch
`

export function registerRetry(task: Command): void {
  const command = task
    .command('retry')
    .description('run rejected rows once more, also with corrections')
    .argument('<id>', 'of the task')
    .addOption(
      new Option('--status <list>', 'of which status, separated by commas (default: failed,error)').argParser(
        someOf(REJECTED_STATUSES),
      ),
    )
  withCodeOptions(command, 'those').addOption(
    new Option('--report <file>', 'the rows of this corrected report instead').conflicts([
      'status',
      'code',
      'withoutCode',
      'otherCodes',
    ]),
  )
  withReadingOptions(command)
    .option('--watch', 'until the task has ended')
    .option('--json', 'as JSON')
    .addHelpText('after', EXAMPLES)
    .action((id: string, given: RetryCommandOptions) => {
      checkFile(given)
      const options = withJobs(given)
      return withExistingStore(options, (hq) => retry(hq, id, options))
    })
  withAppOptions(command)
}

function checkFile({ report, ...options }: RetryCommandOptions): void {
  if (report !== undefined && !existsSync(report)) throw new CliError(`no file ${report}`, 2)
  if (report === undefined && Object.keys(readingOf(options)).length > 0) {
    throw new CliError('how a file is read is for --report FILE', 2)
  }
}

/** Rows pass through the `validate` of their job, which is found where `highkiq import` finds it. */
function withJobs(options: RetryCommandOptions): RetryCommandOptions {
  const { require: files } = options
  if (files) return { ...options, require: jobsFiles('task retry', files) }
  const found = jobsFileOf('.')
  return found === undefined ? options : { ...options, require: [found] }
}

async function retry(hq: Highkiq, id: string, options: RetryCommandOptions): Promise<void> {
  const { status, report, watch, json } = options
  const task = await existing(hq, id)
  const retried = await task.retry({
    ...(status ? { status } : {}),
    ...codeFilter(options),
    ...(report === undefined ? {} : { report, as: readingOf(options) }),
  })
  if (retried.refused > 0) process.exitCode = 3
  if (!json) tell(retried, options)
  if (!watch) {
    if (json) printJson(retried)
    else if (retried.rows > 0) print(`watch: highkiq task show ${id} --watch${sameApp(options)}`)
    return
  }
  const ended = await untilEnd(task, (await task.status())?.name ?? id)
  if (!ended) return
  process.exitCode = outcomeCode(ended)
  if (json) printJson({ ...ended, retried })
  else print(await summary(task, ended))
  const hint = json ? undefined : goOnHint(ended, options)
  if (hint) print(hint)
}

function tell(
  { rows, unchanged, finished, open, dropped, refused, run }: Retried,
  { report, require: files }: RetryCommandOptions,
): void {
  const asItWas = unchanged > 0 ? ` (${plural(unchanged, 'of them as it was', 'of them as they were')})` : ''
  print(rows > 0 ? `${plural(rows, 'row runs', 'rows run')} again, in run ${run}${asItWas}` : 'no row to run again')
  if (finished > 0)
    print(
      `${plural(finished, 'row has finished already, and stays as it is', 'rows have finished already, and stay as they are')}`,
    )
  if (open > 0) print(`${plural(open, 'row waits or runs', 'rows wait or run')} already`)
  if (dropped > 0) print(`${plural(dropped, 'row')} can't: the arguments were not kept (keepArgs)`)
  if (refused === 0) return
  if (report !== undefined || files) {
    print(
      plural(
        refused,
        'row was refused once more, and stays as it was',
        'rows were refused once more, and stay as they were',
      ),
    )
  } else {
    const stay = plural(
      refused,
      'row that validate refused stays as it was',
      'rows that validate refused stay as they were',
    )
    print(`${stay}: to validate them again, load the file of their job with -r`)
  }
}
