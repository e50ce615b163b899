/** Routes of retries, scheduled, dead and finished: lists, and actions on one job, on selected ones, or on all that match. */

import { secondsOf } from '../../client/push-json.ts'
import type { BulkResult, Highkiq, JobSet, SetEntry, SweepOptions } from '../../index.ts'
import { filterOf, type JobFilter as SetFilter } from '../../inspect/filter.ts'
import { FIRST_EPOCH } from '../../job/duration.ts'
import { named } from '../access/audit.ts'
import type { Seal } from '../access/seal.ts'
import { ForLater, JobFilter, Selected, SelectedForLater } from '../schemas/jobs.ts'
import { dateOf, timeOf } from '../schemas/times.ts'
import { json } from '../server/answer.ts'
import { flag, integer, membersOf, text } from '../server/parameter.ts'
import { type Call, capitalized, del, get, ok, post, type Route } from '../server/route.ts'
import { bodyOf } from '../server/schema.ts'
import type { ServerContext } from '../server/server-context.ts'
import {
  type ActionResult,
  actedOn,
  cursor,
  entryByKey,
  entryOf,
  key,
  keyOfEntry,
  type NamedJob,
  positionOf,
  type RefusedJob,
  refusedBy,
  SEARCH_MS,
} from './job-key.ts'
import { cut, detailOf, entrySummaryOf } from './job-summary.ts'
import { sweepRoute } from './sweep.ts'

type Sweep = (set: JobSet, options: SweepOptions) => Promise<BulkResult>

export type JobSetName = 'retries' | 'scheduled' | 'dead' | 'finished'

interface Action {
  /** Describes the action on a job, as the end of a sentence. */
  summary: string
  one(entry: SetEntry, at: number): Promise<boolean>
  /** True when the action needs `at`. */
  isTimed?: boolean
  all?: Sweep
}

const retry: Action = {
  summary: 'sent to its queue now, and its retry count is decremented',
  one: (entry) => entry.retry(),
  all: (set, options) => set.retryAll(options),
}
const kill: Action = {
  summary: 'moved to the dead set',
  one: (entry) => entry.kill(),
  all: (set, options) => set.killAll(options),
}
const remove: Action = {
  summary: 'deleted',
  one: (entry) => entry.delete(),
  all: (set, options) => set.deleteAll(options),
}
const addToQueue: Action = {
  summary: 'sent to its queue now, unchanged',
  one: (entry) => entry.addToQueue(),
  all: (set, options) => set.addAllToQueue(options),
}
const reschedule: Action = {
  summary: 'moved to another time',
  // A small number would be relative to now, but this is a time in the distant past.
  one: (entry, at) => entry.reschedule(at < FIRST_EPOCH ? new Date(at * 1000) : at),
  isTimed: true,
}

const SETS: Record<JobSetName, { what: string; actions: Record<string, Action> }> = {
  retries: { what: 'jobs that failed and will be retried', actions: { retry, kill, delete: remove, reschedule } },
  scheduled: { what: 'jobs that run later', actions: { addToQueue, kill, delete: remove, reschedule } },
  dead: { what: 'jobs that used up their retries', actions: { retry, delete: remove } },
  finished: { what: 'jobs that are done and are kept', actions: { addToQueue, delete: remove } },
}

const setOf = (hq: Highkiq, word: JobSetName): JobSet => hq[word]

export const FILTER = {
  search: text(
    'text in the payload; with wildcards the whole payload must match: * any characters, ? one, [a-z] a class',
  ),
  jid: text('the id of the job'),
  class: text('the class of the job'),
  queue: text('the queue of the job'),
  tag: text('one of its tags'),
  error: text('text in `Class: message` of its error; with wildcards all of it must match'),
  errorClass: text('the class of its error'),
  cause: text('the `filter` of an error group, to find exactly its jobs'),
  args: membersOf('a value in its arguments: `args.0.customer=4711`, or `args.*.customer=4711` for any argument'),
}

/** The limits of one grouping by error. */
const GROUPING = { most: 100_000, ms: 200 }

function routesOf(word: JobSetName): Route[] {
  const { what, actions } = SETS[word]
  const path = `/api/v1/${word}`
  const names = Object.entries(actions)
  const noun = capitalized(word)
  return [
    get(path, {
      id: `list${noun}`,
      summary: `Lists ${what}, by time`,
      query: { ...FILTER, desc: flag('latest first'), cursor, limit: integer(1, 500, 50, 'items on one page') },
      answers: ok('JobSetEntryList', 'A page. A filtered page may have no items although `next` is set.'),
      run: ({ hq, server, query }) => pageOf(server, setOf(hq, word), query),
    }),
    get(`${path}/errors`, {
      id: `list${noun}Errors`,
      summary: `Groups ${what} by error, the most frequent first`,
      query: FILTER,
      answers: ok('ErrorGroups', 'The groups that were found within 200 ms'),
      async run({ hq, server, query }) {
        const { view } = server.redaction
        const { items, ...about } = await setOf(hq, word).errors(GROUPING, { ...view, search: filterOf(query, view) })
        const groups = items.map(({ since, jobs, ...group }) => {
          return { ...group, since: timeOf(since), jobs: jobs.map((job) => cut(job)) }
        })
        return json({ items: groups, ...about })
      },
    }),
    // These come before the routes of one job, since `all` is not a job id.
    ...names.flatMap(([name, { summary, all }]) =>
      all
        ? [
            sweepRoute(
              `${path}/all/${name}`,
              `${name}All${noun}`,
              `All matching jobs are ${summary}`,
              { name: 'JobFilter', schema: JobFilter },
              ({ hq, server }, filter) => {
                const search = filterOf(filter, server.redaction.view)
                const where = search ? { where: ({ text }: { text: string }) => search.matches(text) } : {}
                return (options) => all(setOf(hq, word), { ...where, ...options })
              },
            ),
          ]
        : [],
    ),
    ...names.map(([name, act]) =>
      post(`${path}/${name}`, {
        id: `${name}Selected${noun}`,
        summary: `Each of these jobs is ${act.summary}`,
        body: { content: { 'application/json': act.isTimed ? 'SelectedForLater' : 'Selected' } },
        answers: ACTED,
        run: (call) => actOnSome(call, setOf(call.hq, word), act),
      }),
    ),
    get(`${path}/{jid}`, {
      id: `get${noun}Job`,
      errors: ['UNKNOWN_JID'],
      summary: 'Returns one job with all details',
      query: { key, whole: flag('returns the whole job, however long it is') },
      answers: ok('JobDetail', 'The job'),
      async run({ hq, server, path, query, request }) {
        const named = { jid: path.jid ?? '', key: query.key }
        const entry = await entryOf(server, setOf(hq, word), named, request.signal)
        const key = keyOfEntry(await server.seal(), entry, false)
        return json(await detailOf({ hq, server }, entry, { key, at: dateOf(entry.score), whole: query.whole }))
      },
    }),
    ...names.map(([name, act]) => {
      const isDelete = name === 'delete'
      return (isDelete ? del : post)(isDelete ? `${path}/{jid}` : `${path}/{jid}/${name}`, {
        id: `${name}${noun}Job`,
        errors: ['UNKNOWN_JID', 'INVALID_JOB'],
        summary: `The job is ${act.summary}`,
        query: { key },
        ...(act.isTimed ? { body: { content: { 'application/json': 'ForLater' } } } : {}),
        answers: ACTED,
        run: (call) => actOnOne(call, setOf(call.hq, word), act),
      })
    }),
  ]
}

const ACTED = ok('Acted', 'The result')

interface PageQuery extends SetFilter {
  desc: boolean
  cursor: string | undefined
  limit: number
}

async function pageOf(
  server: ServerContext,
  set: JobSet,
  { desc, cursor, limit, ...filter }: PageQuery,
): Promise<Response> {
  const seal = await server.seal()
  const options = { after: await positionOf(server, 'job set', cursor), limit, desc }
  const search = filterOf(filter, server.redaction.view)
  const { items, next, scanned } = search
    ? await set.search(search, options)
    : { scanned: undefined, ...(await set.page(options)) }
  const isAlone = (i: number) => {
    const score = items[i]?.score
    return !search && items[i - 1]?.score !== score && items[i + 1]?.score !== score && i > 0 && i < items.length - 1
  }
  return json({
    items: items.map((entry, i) => entrySummaryOf(server.redaction, entry, keyOfEntry(seal, entry, isAlone(i)))),
    next: next === null ? null : seal.close(next, 'job set'),
    scanned: scanned ?? items.length,
  })
}

// Acting -------------------------------------------------------------------------------------------------------

async function actOnOne(call: Call<{ key: string | undefined }>, set: JobSet, act: Action): Promise<Response> {
  const { server, path, query, request } = call
  const at = act.isTimed ? whenOf(await bodyOf(call, ForLater), call) : 0
  const entry = await entryOf(server, set, { jid: path.jid ?? '', key: query.key }, request.signal)
  const isDone = await act.one(entry, at)
  call.audit({ count: isDone ? 1 : 0, class: cut(entry.displayClass) })
  return json(actedOn(isDone))
}

async function actOnSome(call: Call, set: JobSet, act: Action): Promise<Response> {
  const { server, request } = call
  const { jobs, ...time } = await bodyOf(call, act.isTimed ? SelectedForLater : Selected)
  const at = act.isTimed ? whenOf(time, call) : 0
  const acted: ActionResult = { done: 0, refused: 0 }
  const seal = await server.seal()
  const moved: Moved[] = []
  const one = async (entry: SetEntry) => {
    const isDone = await act.one(entry, at)
    if (isDone && act.isTimed) moved.push(movedOf(seal, entry, at))
    return isDone
  }
  try {
    await actOnSelected(server, set, jobs, one, acted, request.signal)
  } finally {
    call.audit({ count: acted.done, jids: named(jobs.map(({ jid }) => jid)) })
  }
  return json(act.isTimed ? { ...acted, moved } : acted)
}

interface Moved {
  jid: string
  key: string
  was: number
}

/** Returns what a client needs to move the job back, unless it has moved again or run. */
function movedOf(seal: Seal, { jid, text, score }: SetEntry, at: number): Moved {
  return { jid: cut(jid), key: keyOfEntry(seal, { score: at, text, jid }, false), was: score }
}

/** Returns seconds since the epoch. @throws INVALID_REQUEST */
function whenOf({ at, in: wait = 0 }: { at?: string | number; in?: number }, { hq }: Pick<Call, 'hq'>): number {
  return at === undefined ? hq.now() / 1000 + wait : secondsOf(at)
}

const AT_ONCE = 10

/** A job that can't be moved does not stop the others. `acted` is updated while they are done. */
async function actOnSelected(
  server: ServerContext,
  set: JobSet,
  jobs: readonly NamedJob[],
  act: (entry: SetEntry) => Promise<boolean>,
  acted: ActionResult,
  signal: AbortSignal,
): Promise<void> {
  const seal = await server.seal()
  const keyless = jobs.filter(({ key }) => key === undefined).map(({ jid }) => jid)
  const found = keyless.length > 0 ? await set.among(new Set(keyless), SEARCH_MS) : new Map<string, SetEntry>()
  const refuse = (why: RefusedJob) => {
    acted.refused++
    if (acted.error === undefined) Object.assign(acted, why)
  }
  const rest = jobs.values()
  const work = async () => {
    for (const { jid, key } of rest) {
      signal.throwIfAborted()
      try {
        const entry = key === undefined ? found.get(jid) : await entryByKey(seal, set, { jid, key })
        if (!entry) refuse({ error: `job ${jid.slice(0, 100)} was not found`, problem: 'gone' })
        else if (await act(entry)) acted.done++
        else refuse({ error: `another request was faster with job ${jid.slice(0, 100)}`, problem: 'overtaken' })
      } catch (thrown) {
        refuse(refusedBy(thrown))
      }
    }
  }
  // Waits for all workers before it throws, so that nothing runs after that.
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, work))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

export const JOB_SET_ROUTES: Route[] = (Object.keys(SETS) as JobSetName[]).flatMap(routesOf)
