/** Finds jobs that other programs keep where Highkiq does not look. */

import type { Connection } from './connection.ts'
import { escapePattern } from './keys.ts'

/** Where programs keep the jobs that they have fetched. `process` is Sidekiq's identity of the one that has them. */
const PROGRAMS: { program: string; pattern: RegExp }[] = [
  { program: 'super_fetch of Sidekiq Pro', pattern: /^queue:sq\|(?<process>.+)\|[^|]+$/ },
  { program: 'go-workers', pattern: /^queue:.+:inprogress$/ },
  { program: 'sidekiq-reliable-fetch', pattern: /^working:queue:.+/ },
  { program: 'Lowkiq', pattern: /^lowkiq:/i },
]
const PAGE = 1000
/** At most this many pages of the keys are read. */
const PAGES = 200

export interface Leftover {
  program: string
  key: string
}

/** Returns the keys with such jobs. A process of Sidekiq that is alive keeps its own. */
export async function findLeftovers(connection: Connection, prefix: string): Promise<Leftover[]> {
  const found: (Leftover & { process: string | undefined })[] = []
  const pattern = `${escapePattern(prefix)}*`
  let cursor = '0'
  for (let page = 0; page < PAGES; page++) {
    const [next, keys] = await connection.call((client) => client.scan(cursor, 'MATCH', pattern, 'COUNT', PAGE))
    for (const key of keys) {
      for (const { program, pattern } of PROGRAMS) {
        const match = pattern.exec(key.slice(prefix.length))
        if (match) found.push({ program, key, process: match.groups?.process })
      }
    }
    if (next === '0') break
    cursor = next
  }
  const alive = await Promise.all(
    found.map(({ process }) => process && connection.call((client) => client.exists(prefix + process))),
  )
  return found.filter((_, i) => alive[i] !== 1).map(({ program, key }) => ({ program, key }))
}
