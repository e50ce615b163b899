/** Quiet hours: spans of local time in which nothing is sent. */

import { invalidOption } from '../job/errors.ts'
import { checkOptions, type OptionRule } from '../job/options.ts'

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const

/** From a time of the day to another one, on the clock of a time zone. A span that ends before it begins ends on the next day. */
export interface QuietHours {
  /** `'22:00'` */
  from: string
  /** `'07:00'`; `'24:00'` is the end of the day. */
  to: string
  /** The days on which the span begins, such as `['sat', 'sun']`; default all. */
  days?: readonly (typeof DAYS)[number][]
}

const isTime = (value: unknown) => typeof value === 'string' && /^(?:[01]\d|2[0-3]):[0-5]\d$/.test(value)
const FROM: OptionRule = [isTime, "a time of the day such as '22:00'"]
const TO: OptionRule = [(value) => isTime(value) || value === '24:00', "a time of the day such as '07:00', or '24:00'"]
const DAY_LIST: OptionRule = [
  (value) => Array.isArray(value) && value.length > 0 && value.every((day) => DAYS.includes(day)),
  `a list of ${DAYS.map((day) => `'${day}'`).join(', ')}`,
]

/** Returns a list of spans. @throws INVALID_OPTION */
export function checkQuietHours(
  where: string,
  value: QuietHours | readonly QuietHours[] | undefined,
): readonly QuietHours[] {
  if (value === undefined) return []
  const spans: readonly QuietHours[] = Array.isArray(value) ? value : [value]
  for (const span of spans) {
    checkOptions(`${where}: quietHours`, span, { from: FROM, to: TO, days: DAY_LIST })
    const { from, to } = span
    if (from === undefined || to === undefined) {
      throw invalidOption(`${where}: quietHours needs from and to, such as { from: '22:00', to: '07:00' }`)
    }
    if (from === to) {
      throw invalidOption(
        `${where}: quietHours from ${from} to ${to} cover no time: for whole days use { from: '00:00', to: '24:00' }`,
      )
    }
  }
  return spans
}

/** @throws INVALID_OPTION */
export function checkTimeZone(where: string, timeZone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone })
  } catch {
    throw invalidOption(
      `${where}: timeZone must be a name such as 'Europe/Berlin' or 'UTC' (got ${JSON.stringify(timeZone)})`,
    )
  }
}

/** Whether one of the spans contains this time, in milliseconds since 1970. */
export function isQuiet(spans: readonly QuietHours[], timeZone: string, now: number): boolean {
  if (spans.length === 0) return false
  const { day, time } = localTime(timeZone, now)
  const before = (day + 6) % 7
  return spans.some(({ from, to, days = DAYS }) => {
    const begins = (on: number) => days.includes(DAYS[on] as (typeof DAYS)[number])
    if (from < to) return begins(day) && from <= time && time < to
    return (begins(day) && from <= time) || (begins(before) && time < to)
  })
}

/** Returns the day of the week, 0 for Sunday, and the time of the day in a time zone. */
function localTime(timeZone: string, now: number): { day: number; time: string } {
  const format = new Intl.DateTimeFormat('en-GB', {
    ...{ timeZone, hourCycle: 'h23', weekday: 'short', hour: '2-digit', minute: '2-digit' },
  })
  const parts = Object.fromEntries(format.formatToParts(now).map(({ type, value }) => [type, value]))
  const weekday = String(parts.weekday).toLowerCase() as (typeof DAYS)[number]
  return { day: DAYS.indexOf(weekday), time: `${parts.hour}:${parts.minute}` }
}
