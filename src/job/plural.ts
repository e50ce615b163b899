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
