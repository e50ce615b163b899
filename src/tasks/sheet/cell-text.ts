import { stringifyJson } from '../../job/json.ts'
import { dateText } from './date.ts'

/** Formats a value as the text of a cell. */
export function cellText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  if (value instanceof Date) return dateText(value)
  return typeof value === 'object' ? stringifyJson(value) : String(value)
}
