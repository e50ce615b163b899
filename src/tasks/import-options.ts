/**
 * The options of imports and tasks that people set. Flags of the command line, query parameters and the OpenAPI document
 * are made from these two tables. A test compares the tables of docs/import.md and docs/tasks.md with them.
 */

import type { OptionKind } from '../job/options.ts'
import { FILE_FORMATS } from './spreadsheet/format.ts'

export interface ImportOption {
  /**
   * How a flag and a query parameter are parsed, and the check of the value, unless TASK_OPTIONS has a stricter one. null: it is
   * parsed by its name, and not checked here.
   */
  kind: OptionKind
  /** What it means, in Markdown. */
  meaning: string
  default?: string
  /** Its flag of `highkiq import`, if it has one. */
  flag?: string
}

/** The options that say how a file is read. */
export const READING_OPTIONS = {
  format: { kind: FILE_FORMATS, default: 'detected', meaning: 'format of the file', flag: '-f, --format <format>' },
  columns: {
    kind: null,
    default: 'all',
    meaning:
      "names in order (`['sku', 'price']`), or columns to pick and rename (`{ 'Item no': 'sku' }`); in NDJSON a list picks keys",
    flag: '--columns <list>',
  },
  encoding: {
    kind: 'text',
    default: 'detected',
    meaning: 'encoding of CSV and NDJSON, such as `windows-1252` or `shift_jis`',
    flag: '--encoding <name>',
  },
  delimiter: {
    kind: 'text',
    default: 'detected',
    meaning: 'delimiter of CSV, one character',
    flag: '--delimiter <character>',
  },
  sheet: {
    kind: null,
    default: 'the first that is not hidden',
    meaning: 'worksheet to read: its name, or its number from 0',
    flag: '--sheet <sheet>',
  },
  headerRow: {
    kind: 'count',
    default: 'the first non-empty row',
    meaning: 'row of a CSV file or workbook with the names of the columns, from 1',
    flag: '--header-row <n>',
  },
  quote: {
    kind: 'flag',
    default: '`true`',
    meaning: 'whether quotes in CSV have a meaning; in plain TSV they are ordinary characters',
    flag: '--no-quote',
  },
  rowKey: {
    kind: 'text',
    meaning: 'column with unique values; it finds the rows of a corrected report whose row keys are lost',
    flag: '--row-key <column>',
  },
  maxRows: {
    kind: 'count',
    default: '1,000,000',
    meaning: 'the most rows of a file; with more the import throws `TOO_MANY_ROWS`',
    flag: '--max-rows <n>',
  },
} as const satisfies Record<string, ImportOption>

/** The options of a new task, but for the jobs that run at its end. */
export const NEW_TASK_OPTIONS = {
  name: {
    kind: 'text',
    default: 'the name of the file, or of the job',
    meaning: 'name of the task for people',
    flag: '-n, --name <name>',
  },
  queue: { kind: 'text', default: 'the queue of the job', meaning: 'queue of the rows' },
  window: { kind: 'count', default: 'see above', meaning: 'the most rows in the queue and running at the same time' },
  concurrency: {
    kind: 'count',
    meaning: 'the most rows that run at the same time, over all workers',
    flag: '--task-concurrency <n>',
  },
  rowsPerJob: {
    kind: 'count',
    meaning: 'rows that one call of the handler gets, as a list (1 to 1000); not of `export`',
    flag: '--rows-per-job <k>',
  },
  maxFailures: {
    kind: null,
    default: 'all',
    meaning: 'rows that may be `failed` or `error`: a number, or a share such as `5%`',
    flag: '--max-failures <n>',
  },
  onMaxFailures: {
    kind: ['pause', 'cancel'],
    default: '`pause`',
    meaning: 'action when more rows fail; `cancel` cancels the rest',
    flag: '--on-max-failures <what>',
  },
  keepArgs: {
    kind: ['rejected', 'all', 'none'],
    default: '`rejected`',
    meaning: 'rows whose arguments are kept after their end, for retries and the report; also `all`, `none`',
    flag: '--keep-args <which>',
  },
  keep: { kind: null, default: '30 days', meaning: 'time after its end until a worker deletes the task' },
  lostAfter: {
    kind: null,
    default: 'an hour',
    meaning: 'time without progress after which a worker looks for lost rows',
  },
} as const satisfies Record<string, ImportOption>

/** Returns the kind of each option. */
export function kindsOf<Name extends string>(options: Record<Name, ImportOption>): Record<Name, OptionKind> {
  return Object.fromEntries(Object.entries<ImportOption>(options).map(([name, { kind }]) => [name, kind])) as Record<
    Name,
    OptionKind
  >
}

/** Returns the description of an option without Markdown, for a flag or a parameter. */
export function describedOption({ meaning, default: standard }: ImportOption): string {
  return `${meaning}${standard === undefined ? '' : ` (default: ${standard})`}`.replaceAll('`', '')
}
