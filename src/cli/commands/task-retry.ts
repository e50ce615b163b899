/** `highkiq task retry` runs rejected rows again, unchanged or from a corrected report. */

import { existsSync } from 'node:fs'
import { type Command, Option } from 'commander'
import type { Highkiq, Retried, RetryOptions } from '../../index.ts'
import { UNSUCCESSFUL_STATUSES } from '../../index.ts'
import { jobsFileOf, jobsFiles } from '../config/jobs-file.ts'
import { setExitCode } from '../io.ts'
import { type AppOptions, sameApp, withAppOptions, withExistingStore } from '../open-app.ts'
import { outcomeCode, resumeHint, summary } from '../outcome.ts'
import { plural, print, printJson } from '../output.ts'
import { unservedHint } from '../processes.ts'
import { type ReadingOptions, readingOf, withReadingOptions } from '../reading.ts'
import { type CodeOptions, codeFilter, withCodeOptions } from '../reasons.ts'
import { statusOf, untilEnd } from '../task.ts'
import { quietLog, type WorkOptions, withWorkOptions } from '../task-worker.ts'
import { CliError, printToStderr, someOf } from '../usage.ts'

interface RetryCommandOptions extends AppOptions, ReadingOptions, CodeOptions, WorkOptions {
  status?: RetryOptions['status']
  report?: string
  watch?: boolean
}

const EXAMPLES = `
A report is a file of \`highkiq task report\` whose cells were corrected. You may move columns and leave out rows. Keep the
column "row key" and the names of the columns. The columns of the import apply to the report, too.
The job's \`validate\` checks rows of a report, and rows that it refused before, once more. It needs the file that -r names;
without -r that is jobs.ts or src/jobs.ts (or .mts, .js, .mjs), if there is one.

Exit code: 0 done, 3 rows were refused again, 1 the retry failed, 2 wrong usage; with --watch and --work that of the task.

Examples:
  highkiq task retry 0f3a6c1e9b2d4857 --work -r jobs.ts
  highkiq task retry 0f3a6c1e9b2d4857 --status failed --code bad_price
  highkiq task retry 0f3a6c1e9b2d4857 --report corrected.xlsx --watch
`

export function registerRetry(task: Command): void {
  const command = task
    .command('retry')
    .description('retry rejected rows, unchanged or from a corrected report')
    .argument('<id>', 'id of the task')
    .addOption(
      new Option('--status <list>', 'statuses to retry, separated by commas (default: failed,error)').argParser(
        someOf(UNSUCCESSFUL_STATUSES),
      ),
    )
  const report = new Option('--report <file>', 'retry the rows of this corrected report instead')
  withCodeOptions(command, 'those').addOption(report.conflicts(['status', 'code', 'withoutCode', 'otherCodes']))
  withReadingOptions(command).option('--watch', 'show the progress until the task has ended')
  withWorkOptions(command)
    .option('--json', 'as JSON')
    .addHelpText('after', EXAMPLES)
    .action((id: string, given: RetryCommandOptions) => {
      checkFile(given)
      quietLog(given)
      const options = withJobs(given)
      return withExistingStore(options, (hq) => retry(hq, id, options))
    })
  withAppOptions(command)
}

function checkFile({ report, ...options }: RetryCommandOptions): void {
  if (report !== undefined && !existsSync(report)) throw new CliError(`there is no file ${report}`, 2)
  if (report === undefined && Object.keys(readingOf(options)).length > 0) {
    throw new CliError('options for reading a file need --report FILE', 2)
  }
}

/** Finds the jobs file as `highkiq import` does, because `validate` checks the rows again. */
function withJobs(options: RetryCommandOptions): RetryCommandOptions {
  const { require: files, work } = options
  if (files || work) return { ...options, require: jobsFiles('task retry', files) }
  const found = jobsFileOf('.')
  return found === undefined ? options : { ...options, require: [found] }
}

async function retry(hq: Highkiq, id: string, options: RetryCommandOptions): Promise<void> {
  const { status, report, watch, work, json } = options
  const task = hq.tasks.get(id)
  const before = await statusOf(task)
  const retried = await task.retry({
    ...(status ? { status } : {}),
    ...codeFilter(options),
    ...(report === undefined ? {} : { report, as: readingOf(options) }),
  })
  if (retried.refused > 0) setExitCode(3)
  if (!json) tell(retried, options)
  const hint = retried.rows > 0 && !work && (await unservedHint(hq, id, before.queue, options))
  if (hint) printToStderr(hint)
  if (!watch) {
    if (json) printJson(retried)
    else if (retried.rows > 0) print(`watch: highkiq task show ${id} --watch${sameApp(options)}`)
    return
  }
  const ended = await untilEnd(hq, before, options)
  if (!ended) return
  setExitCode(outcomeCode(ended))
  if (json) printJson({ ...ended, retried })
  else print(await summary(task, ended))
  const resume = json ? undefined : resumeHint(ended, options)
  if (resume) print(resume)
}

function tell(
  { rows, unchanged, finished, open, dropped, refused, run }: Retried,
  { report, require: files }: RetryCommandOptions,
): void {
  const asItWas = unchanged > 0 ? ` (${plural(unchanged, 'of them as it was', 'of them as they were')})` : ''
  print(
    rows > 0 ? `${plural(rows, 'row runs', 'rows run')} again, in run ${run}${asItWas}` : 'there are no rows to retry',
  )
  if (finished > 0)
    print(
      `${plural(finished, 'row has already finished and does not run again', 'rows have already finished and do not run again')}`,
    )
  if (open > 0) print(`${plural(open, 'row is', 'rows are')} already waiting or running`)
  if (dropped > 0) print(`${plural(dropped, 'row')} can't run again: the arguments were not kept (keepArgs)`)
  if (refused === 0) return
  if (report !== undefined || files) {
    print(plural(refused, 'row was refused again and is unchanged', 'rows were refused again and are unchanged'))
  } else {
    const stay = plural(refused, 'row that validate refused is unchanged', 'rows that validate refused are unchanged')
    print(`${stay}: to validate again, load the jobs file with -r`)
  }
}
