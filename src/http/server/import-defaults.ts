/** The option `imports`: import options by the name of the job. */

import type { Highkiq } from '../../app.ts'
import { invalidOption } from '../../job/errors.ts'
import { isObject } from '../../job/json.ts'
import { given } from '../../job/options.ts'
import { checkImport, READING, READING_NAMES } from '../../tasks/import.ts'
import { checkTaskOptions } from '../../tasks/options.ts'
import type { ImportOptions } from '../../tasks/tasks.ts'

/** Options about a single file are set by its request. */
export type ImportsOfJob = Omit<ImportOptions, 'onStart' | 'dryRun' | 'resume' | 'id' | 'file'>
export type Imports = Record<string, ImportsOfJob>

/** @throws INVALID_OPTION */
export function checkImports(hq: Highkiq, imports: Imports): Imports {
  for (const [job, options] of Object.entries(imports)) {
    const where = `imports.${job}`
    if (!isJob(hq, job)) throw invalidOption(`${where}: no job has this name: define it before you create the handler`)
    if (!isObject(options)) throw invalidOption(`${where} must be an object, such as { validate: schema }`)
    checkTaskOptions(where, options, { ...READING, allowDuplicate: 'flag' })
    checkImport(where, given(options as ImportOptions, READING_NAMES))
  }
  return imports
}

function isJob(hq: Highkiq, name: string): boolean {
  try {
    hq.jobNamed(name)
    return true
  } catch {
    return false
  }
}
