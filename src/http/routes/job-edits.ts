/** Routes that change the arguments of a waiting job, or push it again as a new job. */

import { PROGRAM } from '../../app.ts'
import { secondsOf } from '../../client/push-json.ts'
import type { DuplicateChanges } from '../../index.ts'
import type { DuplicateId } from '../../inspect/edit.ts'
import { SetEntry } from '../../inspect/entry.ts'
import { QueuedJob } from '../../inspect/queue.ts'
import type { JobRecord } from '../../inspect/record.ts'
import { hideSealed } from '../../job/encryption.ts'
import { HighkiqError } from '../../job/errors.ts'
import { stringifyJson } from '../../job/json.ts'
import { given } from '../../job/options.ts'
import { DuplicateChanges as ChangesBody, EditedArgs } from '../schemas/new-jobs.ts'
import { invalid, json } from '../server/answer.ts'
import { KEY } from '../server/idempotency.ts'
import { type Call, capitalized, ok, PUSH_ERRORS, post, type Route } from '../server/route.ts'
import { bodyOf } from '../server/schema.ts'
import { actedOn, entryOf, gone, inTime, isKeyOf, key, queuedOf } from './job-key.ts'
import { cut } from './job-summary.ts'
import { pushOnce } from './push-once.ts'

type JobCall = Call<{ key: string | undefined }>

/** Returns both routes of the jobs at a path, which `find` finds. */
function routesOf(path: string, noun: string, find: (call: JobCall) => Promise<JobRecord>): Route[] {
  return [
    post(`${path}/edit`, {
      id: `edit${noun}`,
      errors: [...PUSH_ERRORS, 'UNKNOWN_JID'],
      summary: 'The job gets other arguments, and keeps its place',
      query: { key },
      body: { content: { 'application/json': 'EditedArgs' } },
      answers: ok('Acted', 'The result'),
      async run(call) {
        const { args } = await bodyOf(call, EditedArgs)
        const job = await find(call)
        refuseHidden(call, job, 'args')
        const isDone = await call.hq.edit(waiting(job), args)
        call.audit({ count: isDone ? 1 : 0, ...aboutOf(job), changed: changedArgs(call, job.args, args) })
        return json(actedOn(isDone))
      },
    }),
    post(`${path}/duplicate`, {
      id: `duplicate${noun}`,
      errors: [...PUSH_ERRORS, 'UNKNOWN_JID', 'IDEMPOTENCY_KEY_REUSED'],
      summary: 'A new job with the same class, arguments and options is pushed, but for the changes in the body',
      query: { key },
      body: { content: { 'application/json': 'DuplicateChanges' }, optional: true },
      answers: ok('Duplicated', 'The new job'),
      headers: KEY,
      async run(call) {
        const changes = changesOf(await bodyOf(call, ChangesBody))
        const duplicate = async (id?: DuplicateId) => {
          const job = await find(call)
          for (const name of ['args', 'tags'] as const) if (changes[name]) refuseHidden(call, job, name)
          const jid = await call.hq[PROGRAM].duplicate(job, changes, id)
          const { args, ...others } = changes
          const changed = [...(args ? changedArgs(call, job.args, args) : []), ...Object.keys(others)]
          call.audit({ count: jid === null ? 0 : 1, ...aboutOf(job), changed, jids: jid === null ? [] : [jid] })
          return jid
        }
        const key = call.request.headers.get('idempotency-key')
        return json({ jid: key === null ? await duplicate() : await duplicateOnce(call, key, changes, duplicate) })
      },
    }),
  ]
}

/** Duplicates the job, unless an earlier request with this key has done it. Returns the id of the duplicate. */
async function duplicateOnce(
  { hq, request, url, audit }: JobCall,
  key: string,
  changes: DuplicateChanges,
  duplicate: (id: DuplicateId) => Promise<string | null>,
): Promise<string | null> {
  audit({ count: 0 })
  const { jids } = await pushOnce(hq, key, `${url.pathname}${url.search} ${stringifyJson(changes)}`, {
    jids: [undefined],
    push: async (missing, confirm) => ({
      jids: await Promise.all(Array.from(missing.values(), (jid) => duplicate({ jid, confirm }))),
      existing: [],
    }),
    signal: request.signal,
  })
  return jids[0] ?? null
}

function changesOf({ at, in: wait, ...others }: { at?: unknown; in?: number } & DuplicateChanges): DuplicateChanges {
  return given({ ...others, wait, waitUntil: at === undefined ? undefined : secondsOf(at) })
}

/** The members of an audit entry that name the job. */
function aboutOf(job: JobRecord): { class: string; queue: string } {
  return { class: cut(job.displayClass), queue: cut(job.queue) }
}

/** Returns the paths of the arguments that differ: `args.0`. */
function changedArgs({ server }: JobCall, before: unknown[], after: unknown[]): string[] {
  const shown = hideSealed(before)
  const { length } = shown.length > after.length ? shown : after
  // Redaction cuts values with too many levels, which other programs may push and JSON can't write.
  const textOf = (value: unknown) => stringifyJson([server.redaction.value(value)])
  return Array.from({ length }, (_, i) => i)
    .filter((i) => textOf(shown[i]) !== textOf(after[i]))
    .map((i) => `args.${i}`)
}

/** @throws UNKNOWN_JID */
function waiting(job: JobRecord): SetEntry | QueuedJob {
  if (job instanceof SetEntry || job instanceof QueuedJob) return job
  throw new HighkiqError('UNKNOWN_JID', `job ${cut(job.jid)} runs: only waiting and dead jobs can be edited`, {
    problem: 'running',
  })
}

/** Hidden values would be replaced by what is shown instead of them. @throws INVALID_REQUEST */
function refuseHidden({ server }: JobCall, job: JobRecord, member: 'args' | 'tags'): void {
  if (!server.redaction.hides(member, job[member])) return
  const what = member === 'args' ? 'these arguments' : 'these tags'
  throw invalid(`parts of ${what} are hidden here, so they can't be edited: edit the job in your app`, {
    problem: `hidden-${member}`,
    path: member,
  })
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
  ...routesOf('/api/v1/jobs/{jid}', 'Job', async ({ hq, server, path: { jid = '' }, query: { key }, request }) => {
    const { job } = await inTime(request.signal, (signal) => hq.find(jid, { signal }))
    if (job && (key === undefined || isKeyOf(await server.seal(), job, key))) return job
    throw gone(jid)
  }),
]
