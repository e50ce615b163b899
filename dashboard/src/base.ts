/** Where the dashboard is mounted, '' or `/jobs`: the server wrote it into the page. */
const written = document.querySelector('meta[name="base"]')?.getAttribute('content') ?? ''

export const BASE = written.replace(/\/+$/, '')

/** `/retries` → `/jobs/retries` */
export function at(path: string): string {
  return BASE + path
}

/** Returns a part of a path as text; undefined when it is not validly encoded. */
export function decoded(part: string): string | undefined {
  try {
    return nameOf(decodeURIComponent(part))
  } catch {
    return undefined
  }
}

/**
 * Encodes a name as a part of a path. Browsers resolve `.` and `..`, encoded or not. So a name of one or two dots, with
 * any number of `~` before them, gets one more `~`, as the API expects. Half of a surrogate pair, which no address can hold,
 * becomes U+FFFD.
 */
export function encoded(name: string): string {
  return encodeURIComponent(name.toWellFormed()).replace(/^(?=~*\.\.?$)/, '~')
}

/** Returns the name in a part of a path that the router has already percent-decoded. */
export function nameOf(part: string): string {
  return part.replace(/^~(?=~*\.\.?$)/, '')
}

/** Encodes a text as a value in the query of an address. */
export function queryValue(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}
