/** `highkiq task report | download` write files of a task. */

import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rename, rm, stat } from 'node:fs/promises'
import { extname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream as NodeWebStream } from 'node:stream/web'
import type { Command } from 'commander'
import { FILE_FORMATS, type Highkiq } from '../../index.ts'
import { messageOf } from '../../job/errors.ts'
import type { Language } from '../../tasks/languages/index.ts'
import { io, setExitCode } from '../io.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { rejectedOf } from '../outcome.ts'
import { count, plural, printResult } from '../output.ts'
import { existing, filesOf, statusOf } from '../task.ts'
import { onInterrupt } from '../terminal.ts'
import { CliError, reportLanguage, sheetPath } from '../usage.ts'

export function registerFiles(task: Command): void {
  withAppOptions(
    task
      .command('report')
      .description('write the rejected rows with their reasons to a file for correction')
      .argument('<id>', 'id of the task')
      .argument('<out>', '.csv, .xlsx or .ndjson file to write', sheetPath),
  )
    .option('--all', 'include all rows (needs a task that was imported with --keep-args all)')
    .addOption(reportLanguage())
    .option('--json', 'as JSON')
    .addHelpText('after', REPORT_EXAMPLES)
    .action((id: string, out: string, options: ReportCommandOptions) =>
      withExistingStore(options, (hq) => report(hq, id, out, options)),
    )
  withAppOptions(
    task
      .command('download')
      .description('write the file that an export made')
      .argument('<id>', 'id of the task')
      .argument('<out>', 'file to write; - is standard output'),
  )
    .option('--wait', 'start writing at once and wait for pages that are not finished')
    .option('--partial', 'leave out rejected pages')
    .option('--json', 'as JSON')
    .addHelpText('after', DOWNLOAD_EXAMPLES)
    .action((id: string, out: string, options: DownloadOptions) =>
      withExistingStore(options, (hq) => download(hq, id, out, options)),
    )
}

const REPORT_EXAMPLES = `
The extension of OUT chooses the format: CSV, XLSX or NDJSON.
Correct the cells and keep the row keys. Then retry the rows: highkiq task retry ID --report FILE

Examples:
  highkiq task report 0f3a6c1e9b2d4857 rejected.xlsx
  highkiq task report 0f3a6c1e9b2d4857 everything.csv --all
  highkiq task report 0f3a6c1e9b2d4857 rejected.xlsx --lang zh
`

const DOWNLOAD_EXAMPLES = `
The file is CSV, unless the export was made with another format (tasks.export(…, { format: 'xlsx' })).
OUT appears only when the file is complete. Exit code: 0 done, 3 pages were left out (--partial), 1 the download failed.

Examples:
  highkiq task download 0f3a6c1e9b2d4857 customers.xlsx
  highkiq task download 0f3a6c1e9b2d4857 customers.csv --wait
  highkiq task download 0f3a6c1e9b2d4857 - | gzip > customers.csv.gz
`

interface ReportCommandOptions extends AppOptions {
  all?: boolean
  lang?: Language
}

async function report(hq: Highkiq, id: string, out: string, { all, lang, json }: ReportCommandOptions): Promise<void> {
  const task = await existing(hq, id)
  const { rows } = await task.report(out, { ...(all ? { rows: 'all' } : {}), ...(lang ? { lang } : {}) })
  printResult(json, { path: out, rows }, `${out}: ${plural(rows, all ? 'row' : 'rejected row')}`)
}

interface DownloadOptions extends AppOptions {
  wait?: boolean
  partial?: boolean
}

async function download(hq: Highkiq, id: string, out: string, options: DownloadOptions): Promise<void> {
  const { wait, partial, json } = options
  const task = await existing(hq, id)
  await checkEnding(hq, id, out)
  const interrupt = onInterrupt()
  try {
    const { signal } = interrupt
    const file = await task.download({ ...(wait ? { wait } : {}), ...(partial ? { partial } : {}), signal })
    const bytes = Readable.fromWeb(file as NodeWebStream)
    if (out === '-') await pipeline(bytes, io().stdout, { end: false })
    else await written(out, bytes, signal)
  } catch (thrown) {
    if (!interrupt.signal.aborted) throw thrown
    setExitCode(interrupt.exitCode)
    return
  } finally {
    interrupt.release()
  }
  const missing = rejectedOf(await statusOf(task))
  if (missing > 0) setExitCode(3)
  if (out === '-') return
  const { size } = await stat(out)
  const left = missing > 0 ? `, without ${plural(missing, 'page')}` : ''
  printResult(json, { path: out, bytes: size, missing }, `${out}: ${count(size)} bytes${left}`)
}

/** Refuses an extension that differs from the export's format, because programs could not open such a file. */
async function checkEnding(hq: Highkiq, id: string, out: string): Promise<void> {
  const { exported: format } = await filesOf(hq, id)
  const ending = extname(out).slice(1).toLowerCase()
  if (format === undefined || format === ending || !(FILE_FORMATS as readonly string[]).includes(ending)) return
  throw new CliError(`OUT must end with .${format}, the format of task ${id} (got ${out})`, 2)
}

async function written(out: string, bytes: Readable, signal: AbortSignal): Promise<void> {
  const part = `${out}.${randomUUID()}.part`
  try {
    await pipeline(bytes, createWriteStream(part, { flush: true }), { signal })
    await rename(part, out)
  } catch (thrown) {
    await rm(part, { force: true }).catch(() => {})
    // Only a file system error needs words of its own.
    if (signal.aborted || (thrown as NodeJS.ErrnoException).syscall === undefined) throw thrown
    throw new CliError(`${out} can't be written (${messageOf(thrown)})`)
  }
}
