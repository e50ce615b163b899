import { dateText } from './date.ts'

const DAY = 86_400_000
const FROM_1900 = Date.UTC(1899, 11, 31)
const FROM_1904 = Date.UTC(1904, 0, 1)

/** A number that a workbook shows as a date, as text; '#NUM!' when there is no such date. */
export function serialText(serial: number, from1904: boolean): string {
  // Day 60 is the 29 February 1900, which there was in Lotus 1-2-3 alone.
  const days = from1904 || serial < 60 ? serial : serial - 1
  const date = new Date((from1904 ? FROM_1904 : FROM_1900) + Math.round(days * DAY))
  const year = date.getUTCFullYear()
  // Day 0 of the calendar of a workbook: only a time was entered.
  if (year === 1899) return dateText(date).slice('1899-12-31T'.length) || '00:00:00'
  // Excel has no such dates and shows ####.
  return year >= 1900 && year <= 9999 ? dateText(date) : '#NUM!'
}
