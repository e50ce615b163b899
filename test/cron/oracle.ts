/**
 * When a spec is due, told without the library that the product uses: every minute of the period is shown on the zone's
 * clock and compared with the fields. Five fields of `*`, numbers, lists, ranges and steps.
 */

const MINUTE = 60_000
const DAY = 1440 * MINUTE
/** No clock is set back further; what it showed before must be known. */
const BEFORE = 26 * 60 * MINUTE

interface Fields {
  minutes: ReadonlySet<number>
  hours: ReadonlySet<number>
  days: ReadonlySet<number>
  months: ReadonlySet<number>
  weekdays: ReadonlySet<number>
  anyDay: boolean
  /** Names its times: each runs once, however often the clock shows it, and also when the clock jumps over it. */
  fixed: boolean
}

/** The ticks from a time up to another one. */
export function expectedTicks(spec: string, zone: string, from: number, to: number): number[] {
  const fields = parse(spec)
  const ticks: number[] = []
  const first = Math.ceil((from - BEFORE) / MINUTE) * MINUTE
  /** The latest minute that the zone's clock has shown. */
  let latest = shown(zone, first) - 1
  for (let at = first; at <= to; at += MINUTE) {
    const minute = shown(zone, at)
    let due = !fields.fixed && matches(fields, minute)
    if (fields.fixed) for (let one = latest + 1; one <= minute; one++) due ||= matches(fields, one)
    latest = Math.max(latest, minute)
    if (due && at >= from) ticks.push(at)
  }
  return ticks
}

/** When the zone's clock is put forward or back, in a period. */
export function changes(zone: string, from: number, to: number): number[] {
  const offset = (at: number) => shown(zone, at) * MINUTE - at
  const found: number[] = []
  for (let at = from; at < to; at += DAY) {
    let [early, late] = [at, at + DAY]
    if (offset(early) === offset(late)) continue
    while (late - early > MINUTE) {
      const middle = early + Math.floor((late - early) / 2 / MINUTE) * MINUTE
      if (offset(middle) === offset(early)) early = middle
      else late = middle
    }
    found.push(late)
  }
  return found
}

const clocks = new Map<string, Intl.DateTimeFormat>()
const remembered = new Map<string, number>()

/** What the zone's clock shows, as the number of the minute at which a clock of UTC shows it. */
export function shown(zone: string, at: number): number {
  const key = `${zone} ${at}`
  const known = remembered.get(key)
  if (known !== undefined) return known
  let clock = clocks.get(zone)
  if (!clock) {
    clock = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
    })
    clocks.set(zone, clock)
  }
  const parts = Object.fromEntries(clock.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day, hour, minute } = parts
  const number = Date.UTC(year, month - 1, day, hour, minute) / MINUTE
  remembered.set(key, number)
  return number
}

function matches(fields: Fields, minute: number): boolean {
  const date = new Date(minute * MINUTE)
  const inMonth = fields.days.has(date.getUTCDate())
  const inWeek = fields.weekdays.has(date.getUTCDay())
  return (
    fields.minutes.has(date.getUTCMinutes()) &&
    fields.hours.has(date.getUTCHours()) &&
    fields.months.has(date.getUTCMonth() + 1) &&
    (fields.anyDay ? inMonth && inWeek : inMonth || inWeek)
  )
}

function parse(spec: string): Fields {
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = spec.split(' ')
  return {
    minutes: numbers(minute, 0, 59),
    hours: numbers(hour, 0, 23),
    days: numbers(day, 1, 31),
    months: numbers(month, 1, 12),
    weekdays: new Set([...numbers(weekday, 0, 7)].map((n) => n % 7)),
    anyDay: day === '*' || weekday === '*',
    fixed: !/[*/]/.test(minute + hour),
  }
}

function numbers(field: string, least: number, most: number): Set<number> {
  const found = new Set<number>()
  for (const part of field.split(',')) {
    const [range = '', step = '1'] = part.split('/')
    const [low, high = low] = range === '*' ? [least, most] : range.split('-').map(Number)
    for (let n = Number(low); n <= Number(high); n += Number(step)) found.add(n)
  }
  return found
}
