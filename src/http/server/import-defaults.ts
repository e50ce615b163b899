/** The option `imports`: import options by the name of the job. */

import type { Highkiq } from '../../app.ts'
import { HighkiqError } from '../../job/errors.ts'
import { isObject } from '../../job/json.ts'
import { given, refuseUnknown } from '../../job/options.ts'
import { checkImport, IMPORT_OPTIONS } from '../../tasks/import.ts'
import { checkTaskOptions, TASK_OPTIONS } from '../../tasks/options.ts'
import { checkFormat } from '../../tasks/spreadsheet/format.ts'
import type { ImportOptions } from '../../tasks/tasks.ts'

/** Options about a single file are set by its request. */
export type ImportsOfJob = Omit<ImportOptions, 'onStart' | 'dryRun' | 'resume' | 'id'>
export type Imports = Record<string, ImportsOfJob>

const NAMES = [...IMPORT_OPTIONS, ...TASK_OPTIONS, 'allowDuplicate']

/** @throws INVALID_OPTION */
export function checkImports(hq: Highkiq, imports: unknown): Imports {
  if (!isObject(imports)) throw invalid('imports must be an object with import options by job name')
  for (const [job, options] of Object.entries(imports)) {
    const where = `imports.${job}`
    if (!isJob(hq, job)) throw invalid(`${where}: no job has this name: define it before you create the handler`)
    if (!isObject(options)) throw invalid(`${where} must be an object, such as { validate: schema }`)
    refuseUnknown(where, options, NAMES)
    checkOptions(where, options as ImportsOfJob)
  }
  return imports as Imports
}

function isJob(hq: Highkiq, name: string): boolean {
  try {
    hq.jobNamed(name)
    return true
  } catch {
    return false
  }
}

function checkOptions(where: string, options: ImportsOfJob): void {
  const { validate, format, maxRows } = options as Record<string, unknown>
  if (validate !== undefined && typeof validate !== 'function' && !isObject(validate)) {
    throw invalid(`${where}.validate must be a Standard Schema, for example from zod or valibot`)
  }
  if (maxRows !== undefined && !(typeof maxRows === 'number' && maxRows > 0)) {
    throw invalid(`${where}.maxRows must be a number above 0`)
  }
  try {
    checkImport('options', given(options as ImportOptions, IMPORT_OPTIONS))
    checkTaskOptions(options)
    if (format !== undefined) checkFormat(format as never)
  } catch (thrown) {
    throw invalid(`${where}: ${(thrown as Error).message}`)
  }
}

function invalid(message: string): HighkiqError {
  return new HighkiqError('INVALID_OPTION', message)
}
