export { encoded, queryValue } from '../../src/inspect/page-path.ts'

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

/** Returns the name in a part of a path that the router has already percent-decoded. */
export function nameOf(part: string): string {
  return part.replace(/^~(?=~*\.\.?$)/, '')
}
