/** Times that the schemas accept. */

const FIRST_MS = Date.parse('0001-01-01T00:00:00.000Z')
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z')

/** Returns a date with a year of four digits, as ISO 8601 requires: a score may be any number. */
export function dateOf(seconds: number): Date {
  return new Date(Math.max(FIRST_MS, Math.min(LAST_MS, seconds * 1000 || 0)))
}

export function timeOf(date: Date): Date
export function timeOf(date: Date | null): Date | null
export function timeOf(date: Date | null): Date | null {
  return date && dateOf(date.getTime() / 1000)
}
