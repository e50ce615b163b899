/** Routes that end a deferred row, for webhooks and other systems. */

import { HighkiqError, hasCode } from '../../job/errors.ts'
import type { EndedRow } from '../../tasks/deferred.ts'
import { RowFail, RowFinish } from '../schemas/tasks.ts'
import { json } from '../server/answer.ts'
import { type Call, ok, post, type Route } from '../server/route.ts'
import { bodyOf } from '../server/schema.ts'

const ENDED = ok('RowEnded', 'How the row ended, now or before')

/** Ends the row and returns its status. @throws UNKNOWN_JID, NOT_DEFERRED */
async function ended({ path: { jid = '' }, audit }: Call, end: (jid: string) => Promise<EndedRow>): Promise<Response> {
  try {
    const row = await end(jid)
    audit({ count: row.changed ? 1 : 0 })
    return json({ jid, ...row })
  } catch (thrown) {
    if (!hasCode(thrown, 'UNKNOWN_TASK')) throw thrown
    throw new HighkiqError('UNKNOWN_JID', `no row ${jid}: its task was deleted, or it was never tracked`)
  }
}

export const DEFERRED_ROUTES: Route[] = [
  post('/api/v1/jobs/{jid}/finish', {
    id: 'finishRow',
    errors: ['UNKNOWN_JID', 'NOT_DEFERRED'],
    summary: 'Ends a row whose handler called ctx.defer: it is finished',
    body: { content: { 'application/json': 'RowFinish' }, optional: true },
    answers: ENDED,
    async run(call) {
      const { result } = await bodyOf(call, RowFinish, 'finish')
      return ended(call, (jid) => call.hq.tasks.finish(jid, result))
    },
  }),
  post('/api/v1/jobs/{jid}/fail', {
    id: 'failRow',
    errors: ['UNKNOWN_JID', 'NOT_DEFERRED'],
    summary: 'Ends a row whose handler called ctx.defer: it has failed',
    body: { content: { 'application/json': 'RowFail' } },
    answers: ENDED,
    async run(call) {
      const { message, code } = await bodyOf(call, RowFail, 'fail')
      return ended(call, (jid) => call.hq.tasks.fail(jid, message, code))
    },
  }),
]
