/** Where the dashboard is mounted, '' or `/jobs`: the server wrote it into the page. */
const written = document.querySelector('meta[name="base"]')?.getAttribute('content') ?? ''

export const BASE = written.replace(/\/+$/, '')

/** `/retries` → `/jobs/retries` */
export function at(path: string): string {
  return BASE + path
}

/** A part of an address as a text; undefined where somebody typed, or cut off, what is no encoding. */
export function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

/** A name as a part of an address. Half of a surrogate pair, which no address can hold, becomes U+FFFD. */
export function encoded(name: string): string {
  return encodeURIComponent(name.toWellFormed())
}
