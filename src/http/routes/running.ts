/** The route of running jobs. */

import type { Running } from '../../index.ts'
import type { Redaction } from '../access/redact.ts'
import { json } from '../server/answer.ts'
import { integer } from '../server/parameter.ts'
import { get, ok, type Route } from '../server/route.ts'
import { cut, summaryOf, timeOf } from './job-summary.ts'

const STANDARD = 500
const MOST = 5000

function runningOf(redaction: Redaction, running: Running) {
  const { key: _, bytes: __, ...rest } = summaryOf(redaction, running, '')
  const { process, thread, startedAt, progress } = running
  return { ...rest, process, thread, startedAt: timeOf(startedAt), progress: progress ? progressOf(progress) : null }
}

function progressOf({ done, total, note }: NonNullable<Running['progress']>) {
  return { done, ...(total === undefined ? {} : { total }), ...(note === undefined ? {} : { note: cut(note) }) }
}

export const RUNNING_ROUTES: Route[] = [
  get('/api/v1/running', {
    summary: 'Lists the running jobs, longest first, as of the last heartbeats',
    query: { limit: integer(1, MOST, STANDARD, 'the most items') },
    answers: ok('RunningList', 'The running jobs'),
    async run({ hq, server, query }) {
      const items: ReturnType<typeof runningOf>[] = []
      for await (const running of hq.running()) {
        if (items.length === query.limit) break
        items.push(runningOf(server.redaction, running))
      }
      return json({ items, next: null })
    },
  }),
]
