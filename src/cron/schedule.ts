/**
 * When a cron entry is due: its spec, read by croner, in its time zone.
 *
 * Where the zone's clock is put forward or back, cron's own rule holds. A spec that names its times (no `*` and no step
 * in seconds, minutes and hours) runs each of them once: a time that is skipped runs when the clock has jumped, one that
 * comes twice runs the first time. Any other spec goes with the clock on the wall: what is skipped does not run, what
 * comes twice runs twice, so that every quarter of an hour stays that.
 */

import { Cron as Pattern } from 'croner'
import { HighkiqError, messageOf } from '../job/errors.ts'
import { plural } from '../job/plural.ts'

/** No zone is further from another one. */
const DAY_AND_MORE_MS = 26 * 3_600_000
const FIRST_SPAN_MS = 60_000
const NICKNAMES = ['@hourly', '@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually']

export class Schedule {
  readonly spec: string
  readonly timeZone: string
  readonly #zoned: Pattern
  /** The same spec on a clock that is never put forward or back, if there is need of it. */
  readonly #plain: Pattern | undefined
  readonly #wall: Intl.DateTimeFormat

  /** @throws INVALID_OPTION with what is wrong and how it should be */
  constructor(spec: string, timeZone: string) {
    this.spec = spec
    this.timeZone = timeZone
    this.#wall = wallClock(timeZone)
    const isUtc = this.#wall.resolvedOptions().timeZone === 'UTC'
    this.#zoned = patternOf(spec, isUtc ? { utcOffset: 0 } : { timezone: timeZone })
    if (!isUtc && namesItsTimes(spec)) this.#plain = patternOf(spec, { utcOffset: 0 })
  }

  /** The first tick after a time (both in ms); null when there is none any more. */
  next(after: number): number | null {
    const next = this.#zoned.nextRun(new Date(after))?.getTime() ?? null
    if (!this.#plain) return next
    // croner leaves out a skipped time when the day is over with it (23:30 where 23:00 is followed by 00:00).
    const time = this.#plain.nextRun(new Date(this.#onTheWall(after)))?.getTime()
    if (time === undefined || (next !== null && this.#onTheWall(next) === time)) return next
    const jump = this.#jumpOver(time)
    return jump !== undefined && jump > after && (next === null || jump < next) ? jump : next
  }

  /** The ticks after a time up to another one, oldest first; of more than `most` the newest ones. */
  ticks(after: number, until: number, most: number): number[] {
    const first = this.#list(after, until, most + 1)
    if (first.length <= most) return first
    // There are more than are wanted: as far back from the end as it takes.
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

  /** What the zone's clock shows, as the time at which a clock of UTC shows it. */
  #onTheWall(time: number): number {
    const shown: Record<string, number> = {}
    for (const { type, value } of this.#wall.formatToParts(time)) shown[type] = Number(value)
    const { year = 0, month = 1, day, hour, minute, second } = shown
    return Date.UTC(year, month - 1, day, hour, minute, second) + (time % 1000)
  }

  /** When the clock is put forward over a time on the wall; undefined when that time comes. */
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

function patternOf(spec: string, zone: { timezone: string } | { utcOffset: number }): Pattern {
  const wrong = (why: string) =>
    new HighkiqError(
      'INVALID_OPTION',
      `${JSON.stringify(spec)} is no cron spec (${why}): it has five fields, minute hour day month weekday, as in "30 3 * * mon-fri", or six with the second before them, or is ${NICKNAMES.join(', ')}`,
    )
  if (typeof spec !== 'string') throw wrong('a text is wanted')
  const fields = spec.trim().split(/\s+/)
  if (fields.some((field) => /^(CRON_)?TZ=|^[a-z_]+(\/[a-z_]+)+$|^(utc|gmt)$/i.test(field))) {
    throw wrong("it names a time zone: that is an option of its own, { timeZone: 'Europe/Berlin' }")
  }
  if (fields[0]?.startsWith('@')) {
    if (!NICKNAMES.includes(spec.trim().toLowerCase())) throw wrong('there is no such name')
  } else if (fields.length !== 5 && fields.length !== 6) {
    throw wrong(`it has ${plural(fields.length, 'field')}`)
  }
  try {
    return new Pattern(spec, { ...zone, paused: true, fixedTimeRule: 'no-wildcard', mode: '5-or-6-parts' })
  } catch (thrown) {
    // Its numbers of days and months are one less than what was written.
    throw wrong(messageOf(thrown).replace(/^CronPattern: |(?<=Invalid value for \w+): .*/g, ''))
  }
}

function wallClock(timeZone: string): Intl.DateTimeFormat {
  try {
    const number = 'numeric'
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: number,
      month: number,
      day: number,
      hour: number,
      minute: number,
      second: number,
    })
  } catch {
    throw new HighkiqError(
      'INVALID_OPTION',
      `${JSON.stringify(timeZone)} is no time zone: use a name such as "Europe/Berlin", or "UTC"`,
    )
  }
}
