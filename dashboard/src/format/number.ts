import { numberFormat } from '../../../src/i18n/formats.ts'
import { locale } from '../i18n/index.ts'

/** 12480 → 12,480 */
export function number(n: number, digits = 0): string {
  return numberFormat(locale(), { maximumFractionDigits: digits }).format(n)
}

/** 36_000_000 → 36M, in the locale of the viewer. */
export function short(n: number): string {
  return numberFormat(locale(), { notation: 'compact', maximumFractionDigits: 1 }).format(n)
}

/** 0.025, 1.25K: for the axis of a chart, whose steps may be quarters. */
export function figure(n: number): string {
  return numberFormat(locale(), { notation: 'compact', maximumSignificantDigits: 3 }).format(n)
}

/** 0.0026 → 0.26%. Returns 0 when the whole is 0. */
export function share(part: number, whole: number): string {
  const of = whole === 0 ? 0 : part / whole
  return numberFormat(locale(), { style: 'percent', maximumFractionDigits: of !== 0 && of < 0.01 ? 2 : 1 }).format(of)
}

/** Formats a rate with more digits the smaller it is. */
export function rate(n: number): string {
  return number(n, n < 10 ? 1 : 0)
}

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

export function bytes(n: number): string {
  let unit = 0
  let value = n
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000
    unit++
  }
  return numberFormat(locale(), {
    style: 'unit',
    unit: UNITS[unit] as string,
    unitDisplay: 'narrow',
    maximumFractionDigits: value < 10 && unit > 0 ? 1 : 0,
  }).format(value)
}
