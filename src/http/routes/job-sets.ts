/** Routes of retries, scheduled and dead: what is in them, and acting on one job, on some, or on all that are meant. */

import type { Highkiq, JobSet, SetEntry } from '../../index.ts'
import { filterOf, type JobFilter } from '../../inspect/filter.ts'
import { FIRST_EPOCH } from '../../job/duration.ts'
import { isObject } from '../../job/json.ts'
import { named } from '../access/audit.ts'
import type { Seal } from '../access/seal.ts'
import { invalid, json } from '../server/answer.ts'
import { readObject, refuseMembers } from '../server/body.ts'
import { flag, integer, text } from '../server/parameter.ts'
import { type Call, type Route, route } from '../server/route.ts'
import { count, list, object, orNull, type Schema, text as textSchema, time } from '../server/schema.ts'
import type { ServerContext } from '../server/server-context.ts'
import { cursor, entryOf, key, keyOfEntry, type NamedJob, positionOf } from './job-key.ts'
import { cut, dateOf, detailOf, entrySummaryOf, timeOf } from './job-summary.ts'
import { secondsOf } from './jobs.ts'
import { type ActionResult, actOnSelected } from './selection.ts'
import { type Sweep, sweepRoute } from './sweep.ts'

export type JobSetName = 'retries' | 'scheduled' | 'dead'

interface Action {
  /** In words, of one job. */
  summary: string
  one(entry: SetEntry, at: number): Promise<boolean>
  /** `at` has to be said. */
  isTimed?: boolean
  all?: Sweep
}

const retry: Action = {
  summary: 'sent to its queue now; the retry is taken off its count',
  one: (entry) => entry.retry(),
  all: (set, options) => set.retryAll(options),
}
const kill: Action = {
  summary: 'put among the dead',
  one: (entry) => entry.kill(),
  all: (set, options) => set.killAll(options),
}
const remove: Action = {
  summary: 'deleted',
  one: (entry) => entry.delete(),
  all: (set, options) => set.deleteAll(options),
}
const addToQueue: Action = {
  summary: 'sent to its queue now, as it is',
  one: (entry) => entry.addToQueue(),
  all: (set, options) => set.addAllToQueue(options),
}
const reschedule: Action = {
  summary: 'put off',
  // A small number would be counted from now, and what is meant here is a time long past.
  one: (entry, at) => entry.reschedule(at < FIRST_EPOCH ? new Date(at * 1000) : at),
  isTimed: true,
}

const SETS: Record<JobSetName, { what: string; acts: Record<string, Action> }> = {
  retries: { what: 'jobs that failed and run again', acts: { retry, kill, delete: remove, reschedule } },
  scheduled: { what: 'jobs that run later', acts: { addToQueue, kill, delete: remove, reschedule } },
  dead: { what: 'jobs that run no more', acts: { retry, delete: remove } },
}

const setOf = (hq: Highkiq, word: JobSetName): JobSet => hq[word]

export const FILTER = {
  search: text('somewhere in its payload; with * the whole of it: * any characters, ? one, [a-z] one of some'),
  class: text('the class of the job'),
  error: text('somewhere in `Class: message` of its error; with * the whole of it'),
  cause: text('the `filter` of an error group: exactly its jobs'),
  queue: text('its queue'),
}

/** How long a look at causes may take, and how many it sees. */
const GROUPING = { most: 100_000, ms: 200 }

function routesOf(word: JobSetName): Route[] {
  const { what, acts } = SETS[word]
  const path = `/api/v1/${word}`
  const names = Object.entries(acts)
  return [
    route({
      method: 'GET',
      path,
      summary: `Lists ${what}, by time`,
      query: {
        ...FILTER,
        desc: flag('the latest first'),
        cursor,
        limit: integer(1, 500, 50, 'items of one answer'),
      },
      answers: {
        200: {
          description: 'A page. One that is narrowed may have no items, and go on all the same.',
          content: { 'application/json': 'SetLineList' },
        },
      },
      run: ({ hq, server, query }) => pageOf(server, setOf(hq, word), query),
    }),
    route({
      method: 'GET',
      path: `${path}/errors`,
      summary: `What ${what} failed of, the most frequent first`,
      query: FILTER,
      answers: {
        200: { description: 'As far as a short look sees', content: { 'application/json': 'ErrorGroups' } },
      },
      async run({ hq, server, query }) {
        const shown = server.redaction.text
        const { items, ...about } = await setOf(hq, word).errors(GROUPING, { shown, search: filterOf(query, shown) })
        return json({
          items: items.map((group) => ({
            ...group,
            since: timeOf(group.since),
            jobs: group.jobs.map((job) => cut(job)),
          })),
          ...about,
        })
      },
    }),
    // Before those of one job: `all` is none.
    ...names.flatMap(([name, { summary, all }]) =>
      all ? [sweepRoute(`${path}/all/${name}`, `All that are meant are ${summary}`, (hq) => setOf(hq, word), all)] : [],
    ),
    ...names.map(([name, act]) =>
      route({
        method: 'POST',
        path: `${path}/${name}`,
        summary: `Each of these jobs is ${act.summary}`,
        body: { content: { 'application/json': act.isTimed ? 'SelectedForLater' : 'Selected' } },
        answers: ACTED,
        run: (call) => actOnSome(call, setOf(call.hq, word), act),
      }),
    ),
    route({
      method: 'GET',
      path: `${path}/{jid}`,
      summary: 'One of them: all that is known of it',
      query: { key, whole: flag('nothing is cut, however long it is') },
      answers: { 200: { description: 'The job', content: { 'application/json': 'JobDetail' } } },
      async run({ hq, server, path, query, request }) {
        const named = { jid: path.jid ?? '', key: query.key }
        const entry = await entryOf(server, setOf(hq, word), named, request.signal)
        const about = {
          key: keyOfEntry(await server.seal(), entry, false),
          at: dateOf(entry.score),
          whole: query.whole,
        }
        return json(detailOf(server.redaction, entry, about))
      },
    }),
    ...names
      .filter(([, { isTimed }]) => !isTimed)
      .map(([name, act]) =>
        route({
          method: name === 'delete' ? 'DELETE' : 'POST',
          path: name === 'delete' ? `${path}/{jid}` : `${path}/{jid}/${name}`,
          summary: `The job is ${act.summary}`,
          query: { key },
          answers: ACTED,
          run: (call) => actOnOne(call, setOf(call.hq, word), act),
        }),
      ),
    ...names
      .filter(([, { isTimed }]) => isTimed)
      .map(([name, act]) =>
        route({
          method: 'POST',
          path: `${path}/{jid}/${name}`,
          summary: `The job is ${act.summary}`,
          query: { key },
          body: { content: { 'application/json': 'ForLater' } },
          answers: ACTED,
          run: (call) => actOnOne(call, setOf(call.hq, word), act),
        }),
      ),
  ]
}

const ACTED = { 200: { description: 'What became of it', content: { 'application/json': 'Acted' } } }

interface PageQuery extends JobFilter {
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
  const options = { after: await positionOf(server, cursor), limit, desc }
  const search = filterOf(filter, server.redaction.text)
  const { items, next, scanned } = search
    ? await set.search(search, options)
    : { scanned: undefined, ...(await set.page(options)) }
  const isAlone = (i: number) => {
    const score = items[i]?.score
    return !search && items[i - 1]?.score !== score && items[i + 1]?.score !== score && i > 0 && i < items.length - 1
  }
  return json({
    items: items.map((entry, i) => entrySummaryOf(server.redaction, entry, keyOfEntry(seal, entry, isAlone(i)))),
    next: next === null ? null : seal.close(next),
    scanned: scanned ?? items.length,
  })
}

// Acting -------------------------------------------------------------------------------------------------------

async function actOnOne(call: Call<{ key: string | undefined }>, set: JobSet, act: Action): Promise<Response> {
  const { server, path, query, request } = call
  const at = act.isTimed ? whenOf(await readObject(request, server.limits.bodyBytes), call) : 0
  const entry = await entryOf(server, set, { jid: path.jid ?? '', key: query.key }, request.signal)
  const isDone = await act.one(entry, at)
  call.audit({ count: isDone ? 1 : 0, class: cut(entry.displayClass) })
  return json(isDone ? { done: 1, refused: 0 } : { done: 0, refused: 1, error: 'somebody else was faster' })
}

async function actOnSome(call: Call, set: JobSet, act: Action): Promise<Response> {
  const { server, request } = call
  const { jobs, ...rest } = await readObject(request, server.limits.bodyBytes)
  const at = act.isTimed ? whenOf(rest, call) : 0
  if (!act.isTimed) refuseMembers(rest, 'it', ['jobs'])
  const chosen = jobsOf(jobs)
  const acted: ActionResult = { done: 0, refused: 0 }
  const seal = await server.seal()
  const moved: Moved[] = []
  const one = async (entry: SetEntry) => {
    const isDone = await act.one(entry, at)
    if (isDone && act.isTimed) moved.push(movedOf(seal, entry, at))
    return isDone
  }
  try {
    await actOnSelected(server, set, chosen, one, acted, request.signal)
  } finally {
    call.audit({ count: acted.done, jids: named(chosen.map(({ jid }) => jid)) })
  }
  return json(act.isTimed ? { ...acted, moved } : acted)
}

interface Moved {
  jid: string
  key: string
  was: number
}

/** What can put it back, for as long as nobody else has moved it, and it has not run. */
function movedOf(seal: Seal, { jid, text, score }: SetEntry, at: number): Moved {
  return { jid: cut(jid), key: keyOfEntry(seal, { score: at, text, jid }, false), was: score }
}

const MOST_JOBS = 1000

/** @throws INVALID_REQUEST */
function jobsOf(jobs: unknown): NamedJob[] {
  const isNamed = (job: unknown): job is NamedJob =>
    isObject(job) && typeof job.jid === 'string' && (job.key === undefined || typeof job.key === 'string')
  if (!Array.isArray(jobs) || !jobs.every(isNamed))
    throw invalid('`jobs` is a list of { jid, key }, as lines have them')
  if (jobs.length > MOST_JOBS) throw invalid(`at most ${MOST_JOBS} jobs at a time: for more there is …/all/…`)
  for (const job of jobs) refuseMembers(job, 'a job', ['jid', 'key'])
  return jobs
}

/** Seconds since the epoch. @throws INVALID_REQUEST */
function whenOf(body: Record<string, unknown>, { hq }: Pick<Call, 'hq'>): number {
  refuseMembers(body, 'it', ['jobs', 'at', 'in'])
  const { at, in: wait } = body
  if ((at === undefined) === (wait === undefined)) throw invalid('say when: `at`, or `in` so many seconds')
  if (at !== undefined) return secondsOf(at)
  if (typeof wait === 'number' && Number.isFinite(wait) && wait >= 0) return hq.now() / 1000 + wait
  throw invalid('`in` is a number of seconds')
}

export const JOB_SET_ROUTES: Route[] = (Object.keys(SETS) as JobSetName[]).flatMap(routesOf)

export const JOB_SET_SCHEMAS: Record<string, Schema> = {
  ErrorGroups: object({
    items: list(
      object({
        class: orNull(textSchema),
        message: {
          ...textSchema,
          description: 'numbers of more than five digits, ids, times and addresses are left out',
        },
        count,
        messages: { ...count, description: 'the number of different messages; counting stops at 1,000' },
        jobs: { ...list(textSchema), description: 'classes of jobs that failed of it' },
        since: { ...orNull(time), description: 'when the first of them failed' },
        filter: { ...textSchema, description: 'as the parameter `cause` it finds exactly these' },
      }),
    ),
    matching: { ...count, description: 'of those that were looked at, how many are meant, with an error or without' },
    scanned: count,
    complete: { type: 'boolean', description: 'all were looked at' },
  }),
  Selected: object({ jobs: list(object({ jid: textSchema, key: textSchema }, ['key'])) }),
  SelectedForLater: object(
    {
      jobs: list(object({ jid: textSchema, key: textSchema }, ['key'])),
      at: { type: ['string', 'number'] },
      in: count,
    },
    ['at', 'in'],
  ),
  ForLater: object({ at: { type: ['string', 'number'] }, in: count }, ['at', 'in']),
  JobFilter: object(
    { search: textSchema, class: textSchema, error: textSchema, cause: textSchema, queue: textSchema },
    ['search', 'class', 'error', 'cause', 'queue'],
  ),
}
