/** Finds jobs that other programs keep where Highkiq does not look. */

import type { Redis } from 'ioredis'
import type { Connection } from './connection.ts'
import { escapePattern } from './keys.ts'

/**
 * Where programs keep the jobs that they have fetched. `process` is Sidekiq's identity of the one that has them. `adopt` is
 * the command that moves them.
 */
const PROGRAMS: { program: string; pattern: RegExp; adopt?: string }[] = [
  { program: 'super_fetch of Sidekiq Pro', pattern: /^queue:sq\|(?<process>.+)\|[^|]+$/ },
  { program: 'go-workers', pattern: /^queue:.+:inprogress$/, adopt: 'go-workers' },
  { program: 'sidekiq-reliable-fetch', pattern: /^working:queue:.+/ },
  { program: 'Lowkiq', pattern: /^lowkiq:/i, adopt: 'lowkiq' },
]
const PAGE = 1000
/** The doctor reads at most this many pages of the keys. */
const PAGES = 200

export interface Leftover {
  program: string
  key: string
  adopt: string | undefined
}

/** Returns the keys with such jobs. A process of Sidekiq that is alive keeps its own. */
export async function findLeftovers(connection: Connection, prefix: string): Promise<Leftover[]> {
  const queues = await connection.call((client) => client.smembers(`${prefix}queues`))
  const own = new Set(queues.map((queue) => `${prefix}queue:${queue}`))
  const found: (Leftover & { process: string | undefined })[] = []
  for (const key of await scanKeys((work) => connection.call(work), `${escapePattern(prefix)}*`, PAGES)) {
    // A queue may have such a name.
    if (own.has(key)) continue
    for (const { program, pattern, adopt } of PROGRAMS) {
      const match = pattern.exec(key.slice(prefix.length))
      if (match) found.push({ program, key, adopt, process: match.groups?.process })
    }
  }
  const alive = await Promise.all(
    found.map(({ process }) => process && connection.call((client) => client.exists(prefix + process))),
  )
  return found.filter((_, i) => alive[i] !== 1)
}

/** Returns the keys that match a pattern, each once; reads at most a number of pages of all keys. */
export async function scanKeys(
  call: (work: (client: Redis) => Promise<[string, string[]]>) => Promise<[string, string[]]>,
  pattern: string,
  pages = Number.POSITIVE_INFINITY,
): Promise<Set<string>> {
  const found = new Set<string>()
  let cursor = '0'
  for (let page = 0; page < pages; page++) {
    const [next, keys] = await call((client) => client.scan(cursor, 'MATCH', pattern, 'COUNT', PAGE))
    for (const key of keys) found.add(key)
    if (next === '0') break
    cursor = next
  }
  return found
}
