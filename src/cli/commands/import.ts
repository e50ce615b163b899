/** `highkiq import` imports a file as a tracked task and shows its progress. */

import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { type Command, Option } from 'commander'
import type { Highkiq, HighkiqError, ImportOptions, Job, Task, TaskStatus } from '../../index.ts'
import { given } from '../../job/options.ts'
import { quoted } from '../../job/shell.ts'
import type { Language } from '../../tasks/languages/index.ts'
import { reportedTask } from '../../tasks/report.ts'
import { endedOf } from '../../tasks/task.ts'
import { jobsFiles } from '../config/jobs-file.ts'
import { messageWithFlags } from '../hints.ts'
import { dryRunCode, dryRunText } from '../import-dry-run.ts'
import { setExitCode } from '../io.ts'
import { type AppOptions, sameApp, withApp, withAppOptions } from '../open-app.ts'
import { outcomeCode, rejectedOf, reportHint, resumeHint, summary } from '../outcome.ts'
import { plural, print, printJson, printResult } from '../output.ts'
import { unservedHint } from '../processes.ts'
import { flagOf, type ReadingOptions, readingOf, withReadingOptions } from '../reading.ts'
import { nextStep, sayThatTaskContinues } from '../task.ts'
import { watchTask } from '../task-progress.ts'
import { quietLog, startTaskWorker, type WorkOptions, withWorkOptions } from '../task-worker.ts'
import { type Interrupt, onInterrupt } from '../terminal.ts'
import { CliError, namesAndValues, printToStderr, reportLanguage, sheetPath, taskId } from '../usage.ts'

interface ImportCommandOptions
  extends AppOptions,
    ReadingOptions,
    WorkOptions,
    Pick<ImportOptions, (typeof CREATING)[number]> {
  job: string
  report?: string
  lang?: Language
  dryRun?: boolean
  allowDuplicate?: boolean
  resume?: string
  taskConcurrency?: number
  meta?: Record<string, string>
  wait: boolean
}

/** Options that are passed on as they are when a task is created. */
const CREATING = ['name', 'maxFailures', 'onMaxFailures', 'keepArgs', 'rowsPerJob'] as const
/** Options that only apply to a new task. */
const ONLY_NEW = [...CREATING, 'allowDuplicate', 'taskConcurrency', 'meta']
/** Options that a dry run refuses. It reads a duplicate in any case. */
const NOT_DRY = [...ONLY_NEW.filter((name) => name !== 'allowDuplicate'), 'resume', 'work', 'report', 'wait']
/** Milliseconds between two hints that no worker serves the queue. */
const REMIND_MS = 30_000

const EXAMPLES = `
Ctrl-C stops watching; the task continues.
Exit code: 0 all rows finished, 3 some rows were rejected, 1 the import failed or the task paused itself (--max-failures),
2 wrong usage. With --dry-run the exit code tells what the import would do.

To resume an interrupted import, use --resume TASK. Rows already stored are skipped.
Without -r the jobs file is jobs.ts or src/jobs.ts (or .mts, .js, .mjs).
To retry rejected rows, correct them in the report and run \`highkiq task retry ID --report FILE\`.

Examples:
  highkiq import products.csv --job ImportProduct -r jobs.ts --work
  highkiq import products.xlsx --job ImportProduct -r jobs.ts --report rejected.xlsx
  highkiq import products.xlsx --job ImportProduct -r jobs.ts --sheet 'Spring 2026' --dry-run
  highkiq import old.csv --job ImportProduct -r jobs.ts --encoding windows-1252 --columns 'Item no=sku,Unit price=price'
  highkiq import orders.ndjson --job ImportOrder -r jobs.ts --no-wait --max-failures 5% --on-max-failures cancel
  highkiq import products.csv --job ImportProduct -r jobs.ts --resume 0f3a6c1e9b2d4857
`

export function register(program: Command): void {
  const command = program
    .command('import')
    .description('run a job for each row of a CSV, XLSX or NDJSON file and show the progress')
    .argument('<file>', 'CSV or XLSX file with a header row, or NDJSON file')
    .requiredOption('-j, --job <name>', 'job that gets each row, as an object keyed by column name')
    .addOption(flagOf('name'))
  withReadingOptions(command)
    .addOption(
      new Option('--dry-run', 'read and check the file without importing it: counts, problems, columns').conflicts(
        NOT_DRY,
      ),
    )
    .option('--allow-duplicate', 'import the file even if it was imported within the last 24 hours')
    .addOption(
      new Option('--resume <task>', 'resume an interrupted import of the same file')
        .argParser(taskId)
        .conflicts(ONLY_NEW),
    )
    .addOption(flagOf('maxFailures'))
    .addOption(flagOf('onMaxFailures'))
    .addOption(flagOf('concurrency'))
    .addOption(flagOf('keepArgs'))
    .addOption(flagOf('rowsPerJob'))
    .option('--meta <name=value>', 'stored with the task, to find it by; may be repeated', namesAndValues)
    .option('--report <out>', 'write the rejected rows to this .csv, .xlsx or .ndjson file', sheetPath)
    .addOption(reportLanguage())
  withWorkOptions(command)
    .addOption(
      new Option('--no-wait', 'do not wait for the end; print the id of the task').conflicts(['work', 'report']),
    )
    .option('--json', 'print the outcome as JSON')
    .addHelpText('after', EXAMPLES)
    .action(importFile)
  withAppOptions(command)
}

async function importFile(file: string, given: ImportCommandOptions): Promise<void> {
  if (!existsSync(file)) throw new CliError(`there is no file ${file}`, 2)
  if (given.lang && given.report === undefined) throw new CliError('--lang needs --report OUT', 2)
  const options = { ...given, require: jobsFiles('import', given.require) }
  quietLog(options)
  await withApp(options, async (hq) => {
    if (!options.allowDuplicate && !options.dryRun && !options.resume) await refuseReport(hq, file, options)
    const submission = new Submission(hq, file, options)
    if (options.dryRun) return submission.dryRun()
    await (options.wait ? submission.watch() : submission.submit())
  })
}

/** Refuses a report of an earlier task, because its rows would be imported again as new ones. @throws CliError */
async function refuseReport(hq: Highkiq, file: string, options: ImportCommandOptions): Promise<void> {
  const { columns, rowKey, ...reading } = readingOf(options)
  const id = await reportedTask(file, reading)
  if (id === undefined || !(await hq.tasks.get(id).status())) return
  const back = `highkiq task retry ${id} --report ${quoted(file)}${sameApp(options)}`
  const message = `${file} is a report of task ${id}: ${back} runs its rows again; --allow-duplicate imports them as new ones`
  throw new CliError(message, 2)
}

class Submission {
  readonly #hq: Highkiq
  readonly #file: string
  readonly #options: ImportCommandOptions
  readonly #job: Job<[row: object]>
  #adding: Promise<Task> | undefined
  #added = false

  /** @throws UNKNOWN_JOB */
  constructor(hq: Highkiq, file: string, options: ImportCommandOptions) {
    this.#hq = hq
    this.#file = file
    this.#options = options
    this.#job = hq.jobNamed(options.job) as unknown as Job<[row: object]>
  }

  async dryRun(): Promise<void> {
    const { columns, json } = this.#options
    const run = await this.#hq.tasks.import(this.#job, this.#file, { ...readingOf(this.#options), dryRun: true })
    for (const problem of run.problems) if (problem.error) problem.message = messageWithFlags(problem.error)
    setExitCode(dryRunCode(run))
    printResult(json, run, dryRunText(basename(this.#file), run, columns))
  }

  async submit(): Promise<void> {
    const task = await this.#add()
    if (this.#options.json) printJson({ id: task.id, total: (await task.status())?.total })
    else print(task.id)
  }

  async watch(): Promise<void> {
    const { json, work } = this.#options
    const interrupt = this.#onCtrlC()
    let task: Task | undefined
    try {
      const started = new Promise<Task>((resolve) => {
        this.#adding = this.#add(resolve)
      })
      task = await Promise.race([started, this.#adding as Promise<Task>])
      // A refused import must not run jobs.
      await (work ? startTaskWorker(this.#hq, this.#queue, this.#options) : this.#warnWithoutWorker(task))
      const status = await this.#untilEnd(task, interrupt.signal)
      const report = await this.#report(task)
      setExitCode(outcomeCode(status))
      if (json) printJson({ ...status, ...(report ? { report } : {}) })
      else await this.#printOutcome(task, status, report)
    } catch (thrown) {
      if (!interrupt.signal.aborted || !task) throw thrown
      setExitCode(interrupt.exitCode)
      await sayThatTaskContinues(task, this.#options)
    } finally {
      interrupt.release()
    }
  }

  async #add(onStart?: (task: Task) => void): Promise<Task> {
    const { allowDuplicate, resume, taskConcurrency: concurrency, meta } = this.#options
    const about: ImportOptions = {
      ...readingOf(this.#options),
      ...given(this.#options, CREATING),
      ...given({ resume, concurrency, meta, onStart, allowDuplicate: allowDuplicate || undefined }),
    }
    try {
      const task = await this.#hq.tasks.import(this.#job, this.#file, { ...about, dryRun: false })
      this.#added = true
      return task
    } catch (thrown) {
      throw await this.#withNextStep(thrown)
    }
  }

  /** Adds the command that runs the rows of the first import. */
  async #withNextStep(thrown: unknown): Promise<unknown> {
    const { code, details } = thrown as HighkiqError
    if (code !== 'ALREADY_IMPORTED') return thrown
    const status = await this.#hq.tasks.get((details as { task: string }).task).status()
    if (!status || status.finishedAt) return thrown
    return new CliError(`${messageWithFlags(thrown)}; ${await nextStep(this.#hq, status, this.#file, this.#options)}`)
  }

  /** Resolves when the task has ended; rejects at once when the file can't be read to its end. */
  async #untilEnd(task: Task, interrupted: AbortSignal): Promise<TaskStatus> {
    const broken = new AbortController()
    const signal = AbortSignal.any([interrupted, broken.signal])
    const silence = this.#options.work ? () => {} : this.#remind(task)
    const watching = watchTask(task, { title: this.#options.name ?? basename(this.#file), signal })
    try {
      await Promise.race([this.#adding, watching])
      const status = await watching
      await this.#adding
      // The task paused while rows were being added: its counts have changed since.
      return status.state === 'paused' ? ((await task.status()) ?? status) : status
    } finally {
      silence()
      broken.abort()
      await watching.catch(() => {})
    }
  }

  get #queue(): string {
    return this.#job.definition.options.queue ?? 'default'
  }

  async #warnWithoutWorker({ id }: Task): Promise<void> {
    const hint = await unservedHint(this.#hq, id, this.#queue, this.#options)
    if (hint) printToStderr(hint)
  }

  /** Repeats the hint while no row ends. Returns the function that stops it. */
  #remind(task: Task): () => void {
    let seen = 0
    const check = async () => {
      const status = await task.status()
      const ended = status ? endedOf(status.counts) : 0
      if (ended === seen) await this.#warnWithoutWorker(task)
      seen = ended
    }
    // The watcher of the task reports a store that can't be reached.
    const timer = setInterval(() => void check().catch(() => {}), REMIND_MS)
    return () => clearInterval(timer)
  }

  /** The first Ctrl-C lets the file be read to its end, because leaving earlier would lose the rest of its rows. */
  #onCtrlC(): Interrupt {
    return onInterrupt((abort) => {
      if (this.#adding && !this.#added) {
        printToStderr('reading the rest of the file first, so that no row is lost; press Ctrl-C again to stop at once')
        void this.#adding.then(abort, abort)
      } else {
        abort()
      }
    })
  }

  async #report(task: Task): Promise<{ path: string; rows: number } | undefined> {
    const { report: path, lang } = this.#options
    return path === undefined ? undefined : { path, ...(await task.report(path, lang ? { lang } : {})) }
  }

  async #printOutcome(
    task: Task,
    status: TaskStatus,
    report: { path: string; rows: number } | undefined,
  ): Promise<void> {
    const encoding = (await this.#adding)?.encoding ?? 'utf-8'
    if (encoding !== 'utf-8') print(`${basename(this.#file)} was read as ${encoding}`)
    print(await summary(task, status))
    const hint = resumeHint(status, this.#options)
    if (hint) print(hint)
    if (report) print(`${report.path}: ${plural(report.rows, 'rejected row')}`)
    else if (rejectedOf(status) > 0) print(reportHint(task, this.#options))
  }
}
