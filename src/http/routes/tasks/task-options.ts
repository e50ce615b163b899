/** The options of an import as query parameters. */

import { describedOption, type ImportOption, NEW_TASK_OPTIONS, READING_OPTIONS } from '../../../tasks/import-options.ts'
import type { ImportOptions } from '../../../tasks/tasks.ts'
import { flag, integer, oneOf, type Parameter, text } from '../../server/parameter.ts'

type ReadingName = Exclude<keyof typeof READING_OPTIONS, 'columns' | 'rowKey' | 'maxRows'>
type TaskOptionName = keyof typeof NEW_TASK_OPTIONS

const { columns: _, rowKey: __, maxRows: ___, ...reading } = READING_OPTIONS

/** The options that describe a file. A server limits its rows itself. */
export const READING = {
  ...made(reading, readingParameter),
  delimiter: text(describedOption(READING_OPTIONS.delimiter), 1),
} as { [Name in ReadingName]: Parameter<ImportOptions[Name]> }

/** The options of a new task. Digits become a number unless the kind is 'text'. The task itself checks the values. */
export const TASK_PARAMETERS = made(NEW_TASK_OPTIONS, (option, name) => ({
  description: describedOption(option),
  schema: { $ref: `#/components/schemas/NewTask/properties/${name}` },
  read(value) {
    if (value === null) return undefined
    const isNumber = option.kind !== 'text' && /^\d+(\.\d+)?$/.test(value)
    return isNumber ? Number(value) : value
  },
})) as { [Name in TaskOptionName]: Parameter<ImportOptions[Name]> }

function made(
  options: Record<string, ImportOption>,
  parameter: (option: ImportOption, name: string) => Parameter<unknown>,
): Record<string, Parameter<unknown>> {
  return Object.fromEntries(Object.entries(options).map(([name, option]) => [name, parameter(option, name)]))
}

function readingParameter(option: ImportOption): Parameter<unknown> {
  const { kind } = option
  const description = describedOption(option)
  if (Array.isArray(kind)) return oneOf(kind as string[], description)
  if (kind === 'count') return integer(1, undefined, undefined, description)
  return kind === 'flag' ? flag(description, option.default === '`true`') : text(description)
}
