import { dateText } from './cell-text.ts'
import type { DateStyle } from './date-style.ts'

const DAY = 86_400_000
const FROM_1900 = Date.UTC(1899, 11, 31)
const FROM_1904 = Date.UTC(1904, 0, 1)

/** Formats a number that a workbook shows as a date or time; returns '#NUM!' when there is no such date. */
export function serialText(serial: number, style: DateStyle, from1904: boolean): string {
  if (style === 'elapsed') return elapsedText(serial)
  // Day 60 is 29 February 1900, a day that only Lotus 1-2-3 knew.
  const days = from1904 || serial < 60 ? serial : serial - 1
  const date = new Date((from1904 ? FROM_1904 : FROM_1900) + Math.round(days * DAY))
  const year = date.getUTCFullYear()
  // Day 0 of a workbook's calendar means that only a time was entered. In the 1904 calendar it is a date as well.
  const isTime = from1904 ? style === 'time' : true
  if (isTime && Math.abs(serial) < 1 && Math.round(serial * DAY) >= 0) return dateText(date).slice(11) || '00:00:00'
  // Excel has no such dates and shows ####.
  return year >= 1900 && year <= 9999 ? dateText(date) : '#NUM!'
}

/** Returns the number of days by which a workbook that counts from 1900 stores a date. */
export function serialOf(date: Date): number {
  const days = (date.getTime() - FROM_1900) / DAY
  // A fraction of a day is exact to less than a millisecond.
  return Math.round((days >= 60 ? days + 1 : days) * 1e10) / 1e10
}

/** Formats a number of days as 'HH:mm:ss'; the hours may exceed 24. */
function elapsedText(days: number): string {
  const seconds = Math.round(Math.abs(days) * 86_400)
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  if (!Number.isSafeInteger(seconds)) return '#NUM!'
  return (days < 0 && seconds > 0 ? '-' : '') + parts.map((part) => String(part).padStart(2, '0')).join(':')
}

/** Formats a date or time that a cell holds as ISO 8601 text; returns undefined for any other text. */
export function isoText(text: string): string | undefined {
  const [, day, time] = /^(\d{4}-\d\d-\d\d)?(?:T?(\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?Z?$/.exec(text.trim()) ?? []
  if (day === undefined && time === undefined) return undefined
  const date = dateText(new Date(`${day ?? '1970-01-01'}T${time ?? '00:00'}Z`))
  return day === undefined ? date.slice(11) || '00:00:00' : date || undefined
}
