/** `1234567` → `1,234,567`. By hand, for the first use of Intl costs each process 40 ms. */
export function count(n: number): string {
  return String(n).replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, ',')
}

/** `1 row`, `2,000 rows`. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`
}

/** `1234567` → `1 MB`. */
export function megabytes(bytes: number): string {
  return `${count(Math.round(bytes / 1e6))} MB`
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
