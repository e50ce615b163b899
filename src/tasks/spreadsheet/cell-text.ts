import { stringifyJson } from '../../job/json.ts'

/** Formats a value as the text of a cell. */
export function cellText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  if (value instanceof Date) return dateText(value)
  return typeof value === 'object' ? stringifyJson(value) : String(value)
}

/**
 * Formats a date of a cell: 'YYYY-MM-DD', with 'THH:mm:ss' if it has a time part; in UTC, to the nearest second.
 * @returns '' for an invalid Date
 */
export function dateText(date: Date): string {
  // A spreadsheet counts in fractions of a day, which miss the second by a millisecond now and then.
  const rounded = new Date(Math.round(date.getTime() / 1000) * 1000)
  if (Number.isNaN(rounded.getTime())) return ''
  const [day, time] = rounded.toISOString().slice(0, -5).split('T')
  return time === '00:00:00' ? `${day}` : `${day}T${time}`
}

/** The value of a cell with a formula whose result is not in the file. */
export const NO_RESULT = '#NO RESULT!'

/** The errors that Excel shows in a cell with a formula, and `NO_RESULT`. */
const ERROR = /^#(?:N\/A|REF!|DIV\/0!|VALUE!|NAME\?|NULL!|NUM!|SPILL!|CALC!|FIELD!|BLOCKED!|GETTING_DATA|NO RESULT!)$/

/** Returns whether a cell of a workbook holds the error of a formula. */
export function isFormulaError(value: unknown): value is string {
  return typeof value === 'string' && value[0] === '#' && ERROR.test(value)
}

/** Sets the field `__proto__` of a row: an assignment to that name makes no field. */
export function setProtoField(row: object, value: unknown): void {
  Object.defineProperty(row, '__proto__', { value, enumerable: true, configurable: true, writable: true })
}
