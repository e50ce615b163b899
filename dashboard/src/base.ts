/** Where the dashboard is mounted, '' or `/jobs`: the server wrote it into the page. */
const written = document.querySelector('meta[name="base"]')?.getAttribute('content') ?? ''

export const BASE = written.replace(/\/+$/, '')

/** `/retries` → `/jobs/retries` */
export function at(path: string): string {
  return BASE + path
}
