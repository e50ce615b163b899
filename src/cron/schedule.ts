/**
 * Computes when a cron entry is due: from its spec, parsed by croner, in its time zone.
 *
 * When the clock of the zone is put forward or back, cron's own rule applies. A spec that names its times (no `*` and
 * no step in seconds, minutes and hours) runs each of them once: a skipped time runs when the clock has jumped, and a
 * time that comes twice runs the first time. Any other spec follows the wall clock: a skipped time does not run, and a
 * time that comes twice runs twice. So an entry of every quarter of an hour keeps its interval.
 *
 * `@every 90s` is due at the multiples of its interval since 1970 in UTC, whatever the zone.
 */

import { Cron as Pattern } from 'croner'
import { seconds } from '../job/duration.ts'
import { type HighkiqError, invalidOption, messageOf } from '../job/errors.ts'
import { plural } from '../job/plural.ts'

/** No two time zones are further apart. */
const DAY_AND_MORE_MS = 26 * 3_600_000
const FIRST_SPAN_MS = 60_000
const NICKNAMES = ['@hourly', '@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually']

export class Schedule {
  readonly spec: string
  readonly timeZone: string
  /** The interval of `@every`. */
  readonly #everyMs: number | undefined
  readonly #zoned: Pattern | undefined
  /** The same spec on a clock that is never put forward or back; undefined when it is not needed. */
  readonly #plain: Pattern | undefined
  readonly #wall: Intl.DateTimeFormat

  /** @throws INVALID_OPTION; the message says what is wrong and what is expected */
  constructor(spec: string, timeZone: string) {
    this.spec = spec
    this.timeZone = timeZone
    this.#wall = wallClock(timeZone)
    this.#everyMs = everyMs(spec)
    if (this.#everyMs !== undefined) return
    const isUtc = this.#wall.resolvedOptions().timeZone === 'UTC'
    this.#zoned = patternOf(spec, isUtc ? { utcOffset: 0 } : { timezone: timeZone })
    if (!isUtc && namesItsTimes(spec)) this.#plain = patternOf(spec, { utcOffset: 0 })
  }

  /** Returns the first tick after a time, both in ms; null when there is none. */
  next(after: number): number | null {
    if (this.#everyMs !== undefined) return (Math.floor(after / this.#everyMs) + 1) * this.#everyMs
    const next = this.#zoned?.nextRun(new Date(after))?.getTime() ?? null
    if (!this.#plain) return next
    // croner omits a skipped time at the end of a day (23:30 where 23:00 is followed by 00:00).
    const time = this.#plain.nextRun(new Date(this.#onTheWall(after)))?.getTime()
    if (time === undefined || (next !== null && this.#onTheWall(next) === time)) return next
    const jump = this.#jumpOver(time)
    return jump !== undefined && jump > after && (next === null || jump < next) ? jump : next
  }

  /** Returns the ticks after one time and up to another, oldest first; the newest `most` if there are more. */
  ticks(after: number, until: number, most: number): number[] {
    const first = this.#list(after, until, most + 1)
    if (first.length <= most) return first
    // There are too many ticks, so this searches back from the end until it has enough.
    for (let span = FIRST_SPAN_MS; ; ) {
      const last = this.#list(Math.max(after, until - span), until)
      if (last.length >= most) return last.slice(-most)
      span *= Math.min(Math.max((1.1 * most) / last.length, 1.5), 8)
    }
  }

  #list(after: number, until: number, most = Number.POSITIVE_INFINITY): number[] {
    const found: number[] = []
    let tick = this.next(after)
    while (tick !== null && tick <= until && found.length < most) {
      found.push(tick)
      tick = this.next(tick)
    }
    return found
  }

  /** Returns the wall-clock time of the zone, as the time at which a UTC clock shows the same. */
  #onTheWall(time: number): number {
    const shown: Record<string, number> = {}
    for (const { type, value } of this.#wall.formatToParts(time)) shown[type] = Number(value)
    const { year = 0, month = 1, day, hour, minute, second } = shown
    return Date.UTC(year, month - 1, day, hour, minute, second) + (time % 1000)
  }

  /** Returns when the clock is put forward past a wall-clock time; undefined when that time is not skipped. */
  #jumpOver(time: number): number | undefined {
    const offsetAt = (at: number) => this.#onTheWall(at) - at
    const before = offsetAt(time - DAY_AND_MORE_MS)
    const after = offsetAt(time + DAY_AND_MORE_MS)
    if (after <= before || [before, after].some((offset) => offsetAt(time - offset) === offset)) return undefined
    let [early, late] = [time - after, time - before]
    while (late - early > 1) {
      const middle = Math.floor((early + late) / 2)
      if (offsetAt(middle) === before) early = middle
      else late = middle
    }
    return late
  }
}

function namesItsTimes(spec: string): boolean {
  const fields = spec.trim().split(/\s+/)
  return fields.length === 1 ? !/hourly/i.test(spec) : !/[*?/]/.test(fields.slice(0, -3).join(' '))
}

/** Returns the interval of `@every 90s` in ms; undefined for any other spec. @throws INVALID_OPTION */
function everyMs(spec: string): number | undefined {
  const [, interval] = /^@every\s+(.*)$/i.exec(String(spec).trim()) ?? []
  if (interval === undefined) return undefined
  let length = 0
  try {
    length = seconds(interval)
  } catch {
    // The message below says what an interval is.
  }
  if (Number.isInteger(length) && length > 0) return length * 1000
  throw wrong(spec, 'its interval must be whole seconds, at least one, as in "@every 90s" or "@every 1h 30m"')
}

function wrong(spec: unknown, why: string): HighkiqError {
  return invalidOption(
    `${JSON.stringify(spec)} is not a cron spec (${why}): it has five fields, minute hour day month weekday, as in "30 3 * * mon-fri", or six with the second before them, or is ${NICKNAMES.join(', ')} or "@every 90s"`,
  )
}

function patternOf(spec: string, zone: { timezone: string } | { utcOffset: number }): Pattern {
  if (typeof spec !== 'string') throw wrong(spec, 'it must be a string')
  const fields = spec.trim().split(/\s+/)
  if (fields.some((field) => /^(CRON_)?TZ=|^[a-z_]+(\/[a-z_]+)+$|^(utc|gmt)$/i.test(field))) {
    throw wrong(spec, "it names a time zone: that is an option of its own, { timeZone: 'Europe/Berlin' }")
  }
  if (fields[0]?.startsWith('@')) {
    if (!NICKNAMES.includes(spec.trim().toLowerCase())) throw wrong(spec, 'there is no such name')
  } else if (fields.length !== 5 && fields.length !== 6) {
    throw wrong(spec, `it has ${plural(fields.length, 'field')}`)
  }
  try {
    return new Pattern(spec, { ...zone, paused: true, fixedTimeRule: 'no-wildcard', mode: '5-or-6-parts' })
  } catch (thrown) {
    // croner reports days and months one less than written, so its numbers are removed.
    throw wrong(spec, messageOf(thrown).replace(/^CronPattern: |(?<=Invalid value for \w+): .*/g, ''))
  }
}

function wallClock(timeZone: string): Intl.DateTimeFormat {
  try {
    const date = { year: 'numeric', month: 'numeric', day: 'numeric' } as const
    const time = { hourCycle: 'h23', hour: 'numeric', minute: 'numeric', second: 'numeric' } as const
    return new Intl.DateTimeFormat('en-US', { timeZone, ...date, ...time })
  } catch {
    throw invalidOption(`${JSON.stringify(timeZone)} is not a time zone: use a name such as "Europe/Berlin", or "UTC"`)
  }
}
