/** Routes of the locks of unique jobs. */

import { json } from '../server/answer.ts'
import { integer, text } from '../server/parameter.ts'
import { get, ok, post, type Route } from '../server/route.ts'

export const UNIQUE_LOCK_ROUTES: Route[] = [
  get('/api/v1/locks', {
    id: 'listLocks',
    summary: 'Lists locks of unique jobs, in any order',
    query: { limit: integer(1, 1000, 100, 'the most locks') },
    answers: ok('UniqueLockList', 'Locks that are held'),
    async run({ hq, query: { limit } }) {
      const items = []
      for await (const lock of hq.uniqueLocks) {
        if (items.length === limit) break
        items.push(lock)
      }
      return json({ items, next: null })
    },
  }),
  post('/api/v1/locks/{key}/release', {
    id: 'releaseLock',
    summary: 'Releases a lock if this job has it; the job stays',
    query: { jid: { ...text('the job that has the lock'), required: true } },
    answers: ok('Acted', 'The result'),
    async run({ hq, audit, path: { key = '' }, query: { jid = '' } }) {
      const isReleased = await hq.uniqueLocks.release({ key, jid })
      audit({ count: isReleased ? 1 : 0, jids: [jid] })
      return json(
        isReleased ? { done: 1, refused: 0 } : { done: 0, refused: 1, error: 'this job has no lock of this key' },
      )
    },
  }),
]
