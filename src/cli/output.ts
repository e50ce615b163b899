/** Prints results to standard output: figures and tables for people, JSON for programs. */

import { stringifyJson } from '../job/json.ts'
import { count } from '../job/plural.ts'
import { io, tableWidth } from './io.ts'

export { count, duration, plural } from '../job/plural.ts'

export function print(text: string): void {
  io().stdout.write(`${text}\n`)
}

/** Prints JSON; dates become ISO 8601 and big integers become integers. */
export function printJson(value: unknown): void {
  print(stringifyJson(value))
}

/** Prints a result, as JSON if `json` is set. */
export function printResult(json: boolean | undefined, value: unknown, text: string): void {
  if (json) printJson(value)
  else print(text)
}

/** Removes control characters, because names and messages may come from strangers. */
export function plain(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ')
}

export interface Column<Row> {
  title: string
  of: (row: Row) => string
  /** Formats the cells of a table that is wider than the terminal. */
  short?: (row: Row) => string
  /** Align to the right, for numbers. */
  right?: boolean
  /** Whether its cells are cut when the table is wider than the terminal. */
  flexible?: boolean
  /** Whether it is left out when the flexible columns have no room beside it. */
  optional?: boolean
}

/** A flexible column keeps at least this many characters. */
const NARROWEST = 10

/**
 * Formats rows below the titles. After `fitTables`, a table that is wider than the terminal is cut: its columns with a
 * short form first, then its flexible columns, the widest first. If that is not enough, its optional column is left out, so
 * that the others get its room, and then the ends of its lines are cut.
 * @param none the text without rows
 */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], none = ''): string {
  if (rows.length === 0) return none
  const most = tableWidth()
  const whole = measured(columns, rows, ({ of }) => of)
  const { lines, widest } = total(whole.widest) > most ? measured(columns, rows, ({ of, short = of }) => short) : whole
  const widths = narrowed(widest, columns, most)
  if (total(widths) > most && columns.some(({ optional }) => optional)) {
    return table(
      columns.filter(({ optional }) => !optional),
      rows,
    )
  }
  return lines
    .map((line) => {
      const cells = line.map((cell, i) => {
        const to = widths[i] as number
        return padded(cut(cell, to), to, columns[i]?.right)
      })
      return cut(cells.join('  ').trimEnd(), most)
    })
    .join('\n')
}

/** Returns the cells of a table, and the width of the widest in each column. */
function measured<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  how: (column: Column<Row>) => (row: Row) => string,
) {
  const lines = [columns.map(({ title }) => title), ...rows.map((row) => columns.map((one) => plain(how(one)(row))))]
  const widest = columns.map((_, i) => lines.reduce((most, line) => Math.max(most, width(line[i] as string)), 0))
  return { lines, widest }
}

/** Returns the width of a table whose columns are so wide. */
function total(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one, 2 * (widths.length - 1))
}

/** Returns the widths of the columns of a table that is at most `most` wide, as far as its flexible columns allow. */
function narrowed<Row>(widest: readonly number[], columns: readonly Column<Row>[], most: number): number[] {
  const widths = [...widest]
  let excess = total(widths) - most
  while (excess > 0) {
    const flexible = widths.flatMap((one, i) => (columns[i]?.flexible && one > NARROWEST ? [i] : []))
    const [first, second] = flexible.sort((a, b) => (widths[b] as number) - (widths[a] as number))
    if (first === undefined) break
    const now = widths[first] as number
    const next = Math.max(second === undefined ? 0 : (widths[second] as number) - 1, NARROWEST, now - excess)
    widths[first] = next
    excess -= now - next
  }
  return widths
}

/** Cuts a text to a number of columns of the screen. */
function cut(text: string, to: number): string {
  if (width(text) <= to) return text
  let shown = ''
  let used = 0
  for (const character of text) {
    used += width(character)
    if (used >= to) break
    shown += character
  }
  return `${shown}…`
}

/** Formats labels and values as two columns. */
export function pairs(rows: readonly (readonly [label: string, value: string])[], { right = false } = {}): string {
  const labels = Math.max(...rows.map(([label]) => width(label)))
  const values = right ? Math.max(...rows.map(([, value]) => width(value))) : 0
  return rows.map(([label, value]) => `${padded(label, labels)}  ${padded(plain(value), values, right)}`).join('\n')
}

function padded(text: string, to: number, right = false): string {
  const space = ' '.repeat(Math.max(to - width(text), 0))
  return right ? space + text : text + space
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/gu

/** Returns the columns that a text takes on the screen: Chinese, Japanese and Korean characters take two. */
function width(text: string): number {
  return [...text].length + (text.match(WIDE)?.length ?? 0)
}

/** Formats a time in `timeZone`, by default this machine's: `2026-11-21 10:40:12 +01:00`, or `… UTC`. */
export function time(date: Date, timeZone?: string): string {
  return `${date.toLocaleString('sv', zoned(timeZone))} ${offset(date, timeZone)}`
}

/** Formats a time of this machine's time zone to the minute, without the year: `11-21 10:40`. */
export function shortTime(date: Date): string {
  return date.toLocaleString('sv').slice('2026-'.length, -':00'.length)
}

function offset(date: Date, timeZone: string | undefined): string {
  const parts = new Intl.DateTimeFormat('en', { timeZoneName: 'longOffset', ...zoned(timeZone) }).formatToParts(date)
  const shown = parts.find(({ type }) => type === 'timeZoneName')?.value.slice('GMT'.length)
  return shown && shown !== '+00:00' ? shown : 'UTC'
}

/** Ignores a time zone that this runtime does not know; another program may have stored it. */
function zoned(timeZone: string | undefined): { timeZone?: string } {
  try {
    return timeZone ? { timeZone: new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone } : {}
  } catch {
    return {}
  }
}

/** Formats a rate per second; below 10 with decimals, so that a slow task does not show 0. */
export function rate(perSecond: number): string {
  const text = perSecond >= 10 ? count(Math.round(perSecond)) : perSecond.toFixed(perSecond >= 1 ? 1 : 2)
  return `${text.includes('.') ? text.replace(/\.?0+$/, '') : text}/s`
}
