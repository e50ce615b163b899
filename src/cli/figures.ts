/** Formats numbers for people. */

import { count } from '../job/plural.ts'

export { count, plural } from '../job/plural.ts'

/** Formats a rate per second; below 10 with decimals, so that a slow task does not show 0. */
export function rate(perSecond: number): string {
  const text = perSecond >= 10 ? count(Math.round(perSecond)) : perSecond.toFixed(perSecond >= 1 ? 1 : 2)
  return `${text.includes('.') ? text.replace(/\.?0+$/, '') : text}/s`
}

/** Formats seconds with at most two units: `75` → `1 min 15 s`. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return 'for ever'
  if (seconds < 9.95 && seconds > 0.05 && !Number.isInteger(seconds)) return `${Number(seconds.toFixed(1))} s`
  const whole = Math.round(seconds)
  const units: [number, string][] = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor((whole % 86_400) / 3600), 'h'],
    [Math.floor((whole % 3600) / 60), 'min'],
    [whole % 60, 's'],
  ]
  const first = units.findIndex(([n]) => n > 0)
  if (first < 0) return '0 s'
  const shown = units.slice(first, first + 2).filter(([n]) => n > 0)
  return shown.map(([n, unit]) => `${count(n)} ${unit}`).join(' ')
}
