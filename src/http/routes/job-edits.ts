/** Routes that change the arguments of a waiting job, or push it again as a new job. */

import type { QueuedJob, SetEntry } from '../../index.ts'
import { stringifyJson } from '../../job/json.ts'
import { EditedArgs } from '../schemas/jobs.ts'
import { invalid, json } from '../server/answer.ts'
import { type Call, capitalized, ok, PUSH_ERRORS, post, type Route } from '../server/route.ts'
import { bodyOf } from '../server/schema.ts'
import { entryOf, key, queuedOf } from './job-key.ts'
import { cut } from './job-summary.ts'

type JobCall = Call<{ key: string | undefined }>

/** Returns both routes of the jobs at a path, which `find` finds. */
function routesOf(path: string, noun: string, find: (call: JobCall) => Promise<SetEntry | QueuedJob>): Route[] {
  return [
    post(`${path}/edit`, {
      id: `edit${noun}`,
      errors: [...PUSH_ERRORS, 'UNKNOWN_JID'],
      summary: 'The job gets other arguments; a job of a queue goes to its end',
      query: { key },
      body: { content: { 'application/json': 'EditedArgs' } },
      answers: ok('Acted', 'The result'),
      async run(call) {
        const { args } = await bodyOf(call, EditedArgs)
        const job = await find(call)
        refuseHidden(call, job)
        const isDone = await call.hq.edit(job, args)
        call.audit({ count: isDone ? 1 : 0, class: cut(job.displayClass) })
        return json(isDone ? { done: 1, refused: 0 } : { done: 0, refused: 1, error: 'another request was faster' })
      },
    }),
    post(`${path}/duplicate`, {
      id: `duplicate${noun}`,
      errors: [...PUSH_ERRORS, 'UNKNOWN_JID'],
      summary: 'A new job with the same class, arguments and options is pushed',
      query: { key },
      answers: ok('Duplicated', 'The new job'),
      async run(call) {
        const job = await find(call)
        const jid = await call.hq.duplicate(job)
        call.audit({ count: jid === null ? 0 : 1, class: cut(job.displayClass), jids: jid === null ? [] : [jid] })
        return json({ jid })
      },
    }),
  ]
}

/** Hidden values would be replaced by what is shown instead of them. @throws INVALID_REQUEST */
function refuseHidden({ server: { redaction } }: JobCall, { args }: SetEntry | QueuedJob): void {
  if (!redaction.isOn || stringifyJson(redaction.value(args)) === stringifyJson(args)) return
  throw invalid('parts of these arguments are hidden here, so they can not be edited: edit the job in your app')
}

export const JOB_EDIT_ROUTES: Route[] = [
  ...(['retries', 'scheduled', 'dead', 'finished'] as const).flatMap((set) =>
    routesOf(`/api/v1/${set}/{jid}`, `${capitalized(set)}Job`, ({ hq, server, path, query, request }) =>
      entryOf(server, hq[set], { jid: path.jid ?? '', key: query.key }, request.signal),
    ),
  ),
  ...routesOf('/api/v1/queues/{name}/jobs/{jid}', 'QueueJob', ({ hq, server, path, query, request }) =>
    queuedOf(server, hq.queue(path.name ?? ''), { jid: path.jid ?? '', key: query.key }, request.signal),
  ),
]
