import { type HighkiqError, invalidOption } from './errors.ts'

/** `'90s'`, `'5m'`, `'2h'`, `'1d'`, `'1h 30m'`, or an object such as `{ minutes: 5 }`. */
export type Duration = string | { days?: number; hours?: number; minutes?: number; seconds?: number }

const UNIT: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }
const NAMED: Record<string, number> = { seconds: 1, minutes: 60, hours: 3600, days: 86_400, weeks: 604_800 }

/** Numbers below this are seconds from now, numbers above it are seconds since the epoch, as in Sidekiq. */
export const FIRST_EPOCH = 1_000_000_000
/** Numbers from here on are probably milliseconds: as seconds they would be in the year 5138. */
const FIRST_MILLISECONDS = 1e11

/**
 * Returns when a job is due, in seconds since the epoch, from a number (see FIRST_EPOCH), a duration from now, or a Date.
 * @throws INVALID_OPTION
 */
export function dueAt(when: number | Date | Duration, nowMs: number): number {
  if (when instanceof Date) {
    const at = when.getTime() / 1000
    if (Number.isNaN(at)) throw invalid('an invalid Date')
    return at
  }
  if (typeof when !== 'number') return nowMs / 1000 + seconds(when)
  if (!Number.isFinite(when)) throw invalid(String(when))
  refuseMilliseconds(when)
  return when < FIRST_EPOCH ? nowMs / 1000 + when : when
}

/** @throws INVALID_OPTION for a time so far ahead that it is probably in milliseconds */
export function refuseMilliseconds(seconds: number): void {
  if (seconds < FIRST_MILLISECONDS) return
  throw invalidOption(
    `a time must be in seconds (got ${seconds}, which looks like milliseconds: divide it by 1000, or give a Date)`,
  )
}

/** A longer time in milliseconds would fit into no store. */
export const LONGEST_SECONDS = 365_000 * 86_400
export const LONGEST = '365,000 days'

/** Returns a duration in seconds. @throws INVALID_OPTION */
export function seconds(duration: number | Duration): number {
  const sum = secondsOf(duration)
  if (Math.abs(sum) <= LONGEST_SECONDS) return sum
  throw invalidOption(`a duration must be at most ${LONGEST}, as in '5m' (got ${JSON.stringify(duration)})`)
}

/** Returns a duration in milliseconds; NaN: it is none. */
export function millisecondsOf(duration: unknown): number {
  try {
    return Math.round(seconds(duration as Duration) * 1000)
  } catch {
    return Number.NaN
  }
}

function secondsOf(duration: number | Duration): number {
  if (typeof duration === 'number') {
    if (!Number.isFinite(duration)) throw invalid(String(duration))
    return duration
  }
  if (typeof duration === 'string') return fromText(duration)
  if (typeof duration !== 'object' || duration === null) throw invalid(String(duration))
  const members = Object.entries(duration)
  if (members.length === 0) throw invalid(JSON.stringify(duration))
  let sum = 0
  for (const [name, amount] of members) {
    const unit = NAMED[name]
    if (unit === undefined || typeof amount !== 'number' || !Number.isFinite(amount))
      throw invalid(`${name}: ${amount}`)
    sum += amount * unit
  }
  return sum
}

function fromText(text: string): number {
  const parts = text.trim().split(/\s+(?=\d)|(?<=[a-z])(?=\d)/i)
  return parts.reduce((sum, part) => {
    const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*([smhdw])$/i.exec(part) ?? []
    if (amount === undefined || unit === undefined) throw invalid(JSON.stringify(text))
    return sum + Number(amount) * (UNIT[unit.toLowerCase()] as number)
  }, 0)
}

function invalid(what: string): HighkiqError {
  return invalidOption(`${what} is not a time: use seconds (300), '5m', '1h 30m', { minutes: 5 } or a Date`)
}
