/** Words durations in the language of a reader. */

import { numberFormat } from './formats.ts'

export const PARTS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

/** 16 s, 2 min: formats by language only, since some regions write "2 mins" and "16 secs". */
export function unitIn(locale: string, n: number, name: string, digits = 0): string {
  const isShort = name !== 'second'
  const [language = 'en'] = locale.split('-')
  const parts = numberFormat(language, {
    ...{ style: 'unit', unit: name, maximumFractionDigits: digits },
    unitDisplay: isShort ? 'short' : 'narrow',
  }).formatToParts(n)
  // "16s" in English.
  const isTight = language !== 'zh' && !isShort && !parts.some(({ type }) => type === 'literal')
  return parts.map(({ type, value }) => (type === 'unit' && isTight ? `\u00a0${value}` : value)).join('')
}

/**
 * 250 → 4 min 10 s: the two largest units. Below ten seconds with one decimal, below a tenth of a second in
 * milliseconds.
 */
export function durationIn(locale: string, seconds: number): string {
  if (seconds > 0 && seconds < 0.1) return unitIn(locale, seconds * 1000, 'millisecond', seconds < 0.01 ? 1 : 0)
  if (seconds < 10) return unitIn(locale, seconds, 'second', 1)
  const whole = Math.round(seconds)
  const first = PARTS.findIndex(([, size]) => whole >= size)
  const parts: string[] = []
  let rest = whole
  for (const [name, size] of PARTS.slice(first, first + 2)) {
    const n = Math.floor(rest / size)
    rest -= n * size
    if (n > 0) parts.push(unitIn(locale, n, name))
  }
  return parts.join(' ')
}
