import { signal } from '@preact/signals'
import { durationIn, PARTS, unitIn } from '../../../src/i18n/duration.ts'
import { dateFormat, relativeTimeFormat } from '../../../src/i18n/formats.ts'
import { locale, t } from '../i18n/index.ts'

const KEPT = 'highkiq-utc'

/** True to show exact times in UTC. */
export const inUtc = signal(localStorage.getItem(KEPT) === 'true')

export function tellInUtc(so: boolean): void {
  inUtc.value = so
  localStorage.setItem(KEPT, String(so))
}

const zone = () => (inUtc.value ? { timeZone: 'UTC' } : {})

function dateText(at: Date, options: Intl.DateTimeFormatOptions): string {
  return Number.isNaN(at.getTime()) ? String(at) : dateFormat(locale(), options).format(at)
}

/** 21 Nov 2026, 14:24:18 */
export function exact(at: string | Date): string {
  return dateText(new Date(at), { dateStyle: 'medium', timeStyle: 'medium', ...zone() })
}

/** Reads a date and a time without a zone, `2026-11-24T09:30`, in the time zone of the page; null for another text. */
export function dateOf(text: string): Date | null {
  const at = new Date(inUtc.value && text !== '' ? `${text}Z` : text)
  return Number.isNaN(at.getTime()) ? null : at
}

/** A smaller difference is ignored: it may be the time that the answer needed. */
const IGNORED_MS = 5000
let aheadMs = 0

/** Learns the clock of the server from an answer of this moment, since the clock of a browser may be wrong. */
export function learnClock(at: string): void {
  const difference = Date.parse(at) - Date.now()
  aheadMs = Math.abs(difference) < IGNORED_MS ? 0 : difference
}

/** Returns the time of the server in milliseconds. */
export function serverNow(): number {
  return Date.now() + aheadMs
}

const DAY_MS = 86_400_000
/** A time that is further away than this needs its year. */
const YEAR_MS = 300 * DAY_MS

/** 14:24; more than a day away with its date: 21 Nov, 14:24 */
export function clock(at: string | Date): string {
  const time = new Date(at)
  const away = Math.abs(time.getTime() - serverNow())
  const year = away >= YEAR_MS ? ({ year: 'numeric' } as const) : {}
  const date = { day: 'numeric', month: 'short', ...year } as const
  return dateText(time, {
    ...(away >= DAY_MS ? date : {}),
    ...{ hour: '2-digit', minute: '2-digit' },
    ...zone(),
  })
}

/** 21 Nov */
export function day(at: string | Date): string {
  return dateText(new Date(at), { day: 'numeric', month: 'short', timeZone: 'UTC' })
}

/** 250 → 4 min 10 s; see `durationIn`. */
export function duration(seconds: number): string {
  return durationIn(locale(), seconds)
}

/** Returns the seconds from a time to another one, both of the server; 0 without the first. */
export function secondsSince(at: string | null, end: string | undefined): number {
  return at === null ? 0 : Math.max((new Date(end ?? serverNow()).getTime() - Date.parse(at)) / 1000, 0)
}

/** 0.1334 → 133 ms; 2.345 → 2.35 s: a run time, with three digits below a minute. */
export function runTime(seconds: number): string {
  if (seconds >= 60) return duration(seconds)
  const [n, name] = seconds < 1 ? ([seconds * 1000, 'millisecond'] as const) : ([seconds, 'second'] as const)
  return unitIn(locale(), n, name, n < 10 ? 2 : n < 100 ? 1 : 0)
}

/** in 48 s; 2 min ago; now. Shows one unit. */
export function relative(at: string | Date): string {
  const seconds = (new Date(at).getTime() - serverNow()) / 1000
  if (Math.abs(seconds) < 1) return t('now')
  const [name, size] = PARTS.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1]
  return relativeTimeFormat(locale(), { numeric: 'always', style: 'short' }).format(Math.trunc(seconds / size), name)
}
