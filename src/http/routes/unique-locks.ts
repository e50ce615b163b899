/** Routes of the locks of unique jobs. */

import type { UniqueLockInfo } from '../../index.ts'
import { json } from '../server/answer.ts'
import { integer, text } from '../server/parameter.ts'
import { get, ok, post, type Route } from '../server/route.ts'
import { cursor, positionOf } from './job-key.ts'
import { keyBehind, shownKeys } from './lock-key.ts'

/** A search reads about this many locks. Each page counts as LEAST_PAGE at least, so small pages are at most a hundred. */
const MOST_SEARCHED = 10_000
const LEAST_PAGE = 100

export const UNIQUE_LOCK_ROUTES: Route[] = [
  get('/api/v1/locks', {
    id: 'listLocks',
    summary: 'Lists locks of unique jobs, in any order',
    query: {
      search: text(
        'only locks whose key or jid contains this text; a search reads about 10,000 locks for a page, so a page may have no items',
      ),
      cursor,
      limit: integer(1, 1000, 100, 'locks on one page; on Redis there may be more'),
    },
    answers: ok('UniqueLockList', 'A page of locks that are held'),
    async run({ hq, server, query: { search = '', cursor, limit } }) {
      let next = await positionOf(server, 'locks', cursor)
      const keyOf = await shownKeys(server)
      const found: UniqueLockInfo[] = []
      let read = 0
      do {
        const page = await hq.uniqueLocks.page({ cursor: next ?? undefined, limit })
        const shown = page.items.map((lock) => ({ ...lock, key: keyOf(lock.key) }))
        found.push(...shown.filter(({ key, jid }) => key.includes(search) || jid.includes(search)))
        next = page.next
        read += Math.max(limit, LEAST_PAGE)
      } while (search !== '' && next !== null && found.length < limit && read < MOST_SEARCHED)
      return json({ items: found, next: next && (await server.seal()).close(next, 'locks') })
    },
  }),
  post('/api/v1/locks/{key}/release', {
    id: 'releaseLock',
    summary: 'Releases a lock if this job has it; the job stays',
    query: { jid: { ...text('the job that has the lock'), required: true } },
    answers: ok('Acted', 'The result'),
    async run({ hq, server, audit, path, query: { jid = '' } }) {
      const key = await keyBehind(server, path.key ?? '')
      const isReleased = key !== undefined && (await hq.uniqueLocks.release({ key, jid }))
      audit({ count: isReleased ? 1 : 0, jids: [jid] })
      return json(
        isReleased ? { done: 1, refused: 0 } : { done: 0, refused: 1, error: 'this job has no lock of this key' },
      )
    },
  }),
]
