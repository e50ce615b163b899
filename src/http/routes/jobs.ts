/** Routes of single jobs. */

import { setTimeout as sleep } from 'node:timers/promises'
import { type Highkiq, PROGRAM } from '../../app.ts'
import { pushOf } from '../../client/push-json.ts'
import type { NewJob } from '../../client/push-target.ts'
import { SetEntry } from '../../inspect/entry.ts'
import { ENDED_STATES } from '../../inspect/find.ts'
import { QueuedJob } from '../../inspect/queue.ts'
import type { JobRecord } from '../../inspect/record.ts'
import { codeOf, HighkiqError, hasCode } from '../../job/errors.ts'
import { isObject, stringifyJson } from '../../job/json.ts'
import { given } from '../../job/options.ts'
import { splitTaskJid } from '../../job/payload.ts'
import { baseQueue } from '../../job/priority.ts'
import { LANGUAGE_CODES } from '../../tasks/languages/index.ts'
import type { Seal } from '../access/seal.ts'
import { dateOf, timeOf } from '../schemas/times.ts'
import { invalid, json } from '../server/answer.ts'
import { chunksOf, jsonBody, LINES, readBody, readLines, typeOf } from '../server/body.ts'
import { KEY } from '../server/idempotency.ts'
import { flag, integer, oneOf, text } from '../server/parameter.ts'
import { type Call, del, get, ok, PUSH_ERRORS, post, type Route } from '../server/route.ts'
import { viewerOf } from '../server/viewer.ts'
import { classCollector } from './class-collector.ts'
import { inTime, keyOfEntry, keyOfQueued } from './job-key.ts'
import { detailOf, progressOf } from './job-summary.ts'
import { pushOnce } from './push-once.ts'
import { validatedPush } from './validated-push.ts'

const LONGEST_WAIT = 60

const PUSHED = { 'application/json': 'PushedJobs' }

export const JOB_ROUTES: Route[] = [
  post('/api/v1/jobs', {
    id: 'pushJobs',
    errors: [...PUSH_ERRORS, 'TOO_MANY_ROWS', 'IDEMPOTENCY_KEY_REUSED', 'UNKNOWN_JOB'],
    summary: 'Pushes a job, an array of jobs, or a stream of them, one JSON object a line',
    query: { validate: flag('the schema of the class (`validate`) checks and converts the argument of the one job') },
    body: jsonBody('NewJobs'),
    headers: KEY,
    answers: {
      200: {
        description:
          'The jobs that an earlier request with the same key pushed; or the job with this jid, or with the lock of a unique one, that was there before',
        content: PUSHED,
      },
      201: { description: 'Stored. `null` for a job that client middleware stopped.', content: PUSHED },
    },
    async run(call) {
      const isLines = LINES.includes(typeOf(call.request))
      try {
        return await (isLines ? pushLines(call) : pushBody(call))
      } catch (thrown) {
        const { pushed = [] } = ((thrown ?? {}) as Partial<HighkiqError>).details ?? {}
        call.audit({ count: (pushed as unknown[]).length })
        throw thrown
      }
    },
  }),
  get('/api/v1/jobs/{jid}', {
    id: 'getJob',
    summary: 'Returns where a job is, its event and its result',
    isComplete: true,
    query: {
      wait: integer(0, LONGEST_WAIT, 0, 'seconds to wait for its end'),
      whole: flag('returns the whole job, however long it is'),
      lang: oneOf(LANGUAGE_CODES, "language of its row's messages; default from Accept-Language, else en"),
    },
    answers: ok('Job', 'The job; its state is `unknown` when no trace of it exists'),
    async run(call) {
      const { hq, request, path, query } = call
      const { jid = '' } = path
      if (query.wait > 0) await ended(hq, jid, query.wait, request.signal)
      return json(await describe(call, jid, query.whole))
    },
  }),
  del('/api/v1/jobs/{jid}', {
    id: 'cancelJob',
    errors: ['UNKNOWN_JID'],
    summary: 'Cancels a job, wherever it is',
    query: { queue: text('the queue of the job, so that the others need not be searched') },
    answers: ok('JobCancelled', 'The result'),
    async run({ hq, path, query }) {
      const { jid = '' } = path
      const outcome = await hq.cancel(jid, query.queue === undefined ? {} : { queue: query.queue })
      if (outcome !== 'not-found') return json({ jid, outcome })
      throw new HighkiqError('UNKNOWN_JID', `no job ${jid} is waiting or running`)
    },
  }),
]

// Pushing ------------------------------------------------------------------------------------------------------

type PushCall = Call<{ validate: boolean }>
type Push = Parameters<Highkiq['push']>[0]
type Pushed = Awaited<ReturnType<Highkiq[typeof PROGRAM]['pushed']>>

/** The jid of each job so far; `existing`: the positions of those that are not stored, because jobs have their locks. */
interface Answers {
  jids: (string | null)[]
  existing: number[]
}

function answersOf(pushed: readonly Pushed[], first = 0): Answers {
  return {
    jids: pushed.map(({ jid }) => jid),
    existing: pushed.flatMap(({ existing }, i) => (existing ? first + i : [])),
  }
}

/** Returns the jids of the jobs that are stored: middleware stopped no push of them, and no job had their lock. */
function stored({ jids, existing }: Answers): string[] {
  const others = new Set(existing)
  return jids.flatMap((jid, i) => (jid === null || others.has(i) ? [] : jid))
}

/** Pushes one job or an array of jobs. */
async function pushBody({ hq, request, audit, query, server: { limits } }: PushCall): Promise<Response> {
  const body = await readBody(request, limits.bodyBytes)
  const bodies = Array.isArray(body) ? body : [body]
  const isList = bodies === body
  if (isList && query.validate) throw noValidation()
  const target = classCollector()(bodies)
  audit({ target })
  let queue: string | undefined
  const push = async (some: unknown[], newJobs: NewJobs = []): Promise<Answers> => {
    if (isList) return pushAll(hq, some, { before: { jids: [], existing: [] }, first: 0, each: 'index', newJobs })
    const checked = (push: Push) => (query.validate ? validatedPush(hq, push) : push)
    const pushed = await Promise.all(
      some.map(async (one, i) => hq[PROGRAM].pushed(await checked(pushOf(one)), newJobs[i])),
    )
    queue = pushed[0]?.queue
    return answersOf(pushed)
  }
  const answer = ({ jids, existing }: Answers, status: number) => {
    const isExisting = existing.length > 0
    const ids = stored({ jids, existing })
    const single = isList ? {} : given({ queue: queue && baseQueue(queue), jid: ids[0] })
    audit({ count: ids.length, target: { ...target, ...single } })
    if (isList) return json({ jids, ...(isExisting ? { existing } : {}) }, status)
    return isExisting ? json({ jid: jids[0], existing: true }, 200) : json({ jid: jids[0] }, status)
  }
  const key = request.headers.get('idempotency-key')
  if (key === null) return answer(await push(bodies), 201)
  const named = (i: number, jid: string) => (isObject(bodies[i]) ? { ...bodies[i], jid } : bodies[i])
  const jids = bodies.map((one) => (isObject(one) && typeof one.jid === 'string' ? one.jid : undefined))
  const { isNew, ...answers } = await pushOnce(hq, key, stringifyJson(body), {
    jids,
    push(missing, confirm) {
      const some = [...missing]
      // Only the first request with the key has these jids, so their jobs need no locks.
      if (confirm)
        return push(
          some.map(([i]) => bodies[i]),
          some.map(([i, jid]) => (jids[i] === undefined ? { jid, confirm } : undefined)),
        )
      return push(some.map(([i, jid]) => named(i, jid)))
    },
    signal: request.signal,
  })
  return answer(answers, isNew ? 201 : 200)
}

function noValidation(): HighkiqError {
  return invalid('validate=1 takes one job: push each job of a list in a request of its own', { parameter: 'validate' })
}

/** Jobs by their positions, where the key has made their jids. */
type NewJobs = readonly (NewJob | undefined)[]

interface Progress {
  newJobs?: NewJobs
  /** The answers to the jobs before these. */
  before: Answers
  /** The number of the first job among all. */
  first: number
  /** Names the thing that the number of a job counts. */
  each: 'index' | 'line'
}

/**
 * Pushes all jobs in one step, or none when one of them is invalid.
 * @throws the error of the first job that fails, with its number and the ids of the stored jobs in `details`. One that leaves
 * open whether its job is stored comes before the others.
 */
async function pushAll(
  hq: Highkiq,
  bodies: unknown[],
  { before, first, each, newJobs = [] }: Progress,
): Promise<Answers> {
  const failed = (thrown: unknown, i: number, done: readonly Pushed[]) => {
    const code = codeOf(thrown)
    if (!code) return thrown
    const { message, details } = thrown as HighkiqError
    const about = { ...details, [each]: first + i, pushed: [...stored(before), ...stored(answersOf(done))] }
    return new HighkiqError(code, `${each} ${first + i}: ${message}`, about, { cause: thrown })
  }
  const pushes = bodies.map((body, i) => {
    try {
      return pushOf(body)
    } catch (thrown) {
      throw failed(thrown, i, [])
    }
  })
  const answers = await Promise.allSettled(pushes.map((push, i) => hq[PROGRAM].pushed(push, newJobs[i])))
  const done = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  const failures = answers.flatMap((answer, i) => (answer.status === 'rejected' ? [{ i, reason: answer.reason }] : []))
  const failure = failures.find(({ reason }) => hasCode(reason, 'PUSH_FAILED')) ?? failures[0]
  if (failure) throw failed(failure.reason, failure.i, done)
  return answersOf(done, before.jids.length)
}

/** Pushes while it reads, so that memory grows with the ids only. */
async function pushLines({ hq, request, audit, query, server: { limits } }: PushCall): Promise<Response> {
  if (query.validate) throw noValidation()
  if (request.headers.has('idempotency-key')) {
    throw invalid("a stream of lines can't have an Idempotency-Key: give each job its own jid")
  }
  const all: Answers = { jids: [], existing: [] }
  const { jids, existing } = all
  const classesWith = classCollector()
  let bodies: unknown[] = []
  let first = 1
  const flush = async (next: number) => {
    audit({ target: classesWith(bodies) })
    const done = await pushAll(hq, bodies, { before: all, first, each: 'line' })
    jids.push(...done.jids)
    existing.push(...done.existing)
    bodies = []
    first = next
  }
  try {
    for await (const { line, value, endsPart } of readLines(chunksOf(request, limits.uploadBytes), limits.bodyBytes)) {
      if (bodies.length === 0) first = line
      // Empty lines count, too.
      if (line !== first + bodies.length) await flush(line)
      if (jids.length + bodies.length >= limits.rows) {
        throw new HighkiqError('TOO_MANY_ROWS', `line ${line}: a stream can have at most ${limits.rows} jobs`)
      }
      bodies.push(value)
      if (endsPart) await flush(line + 1)
    }
    await flush(0)
  } catch (thrown) {
    const code = codeOf(thrown)
    if (!code || (thrown as HighkiqError).details?.pushed) throw thrown
    const { message, details } = thrown as HighkiqError
    throw new HighkiqError(code, message, { ...details, pushed: stored(all) }, { cause: thrown })
  }
  audit({ count: stored(all).length })
  return json({ jids, ...(existing.length > 0 ? { existing } : {}) }, 201)
}

// Reading ------------------------------------------------------------------------------------------------------

const FIRST_POLL_MS = 50
const LONGEST_POLL_MS = 2000

/** Waits until the job has ended, or the time is over. A stored result ends it at once, otherwise it polls. */
async function ended(hq: Highkiq, jid: string, seconds: number, left: AbortSignal): Promise<void> {
  const over = new AbortController()
  const signal = AbortSignal.any([over.signal, left])
  const end = performance.now() + seconds * 1000
  const resolved = hq.result(jid, { timeout: seconds, signal }).then(
    () => true,
    (thrown) => codeOf(thrown) === 'JOB_FAILED',
  )
  const polled = async () => {
    for (let pause = FIRST_POLL_MS; performance.now() < end; pause = Math.min(pause * 2, LONGEST_POLL_MS)) {
      if (ENDED_STATES.has((await hq.find(jid, { signal })).state)) return
      await sleep(Math.min(pause, Math.max(end - performance.now(), 0)), undefined, { signal })
    }
  }
  const never = new Promise<never>(() => {})
  try {
    await Promise.race([polled(), resolved.then((isOver) => (isOver ? undefined : never))])
  } catch (thrown) {
    if (!signal.aborted) throw thrown
  } finally {
    over.abort()
    await resolved
  }
}

async function describe(
  { hq, server, ...from }: Pick<Call, 'hq' | 'server' | 'request' | 'url' | 'base'>,
  jid: string,
  whole: boolean,
) {
  const { result: found, ...where } = await findInTime(hq, jid, from.request.signal)
  const { state, queue, job, event, gaveUp, progress, startedAt = null, finishedAt = null } = where
  const { result = found, failure } = await outcomeOf(hq, jid)
  const { redaction } = server
  const seen = job && redaction.record(job)
  const { language: lang } = viewerOf(from)
  const worded = event && lang !== 'en' ? await hq.tasks.event(jid, { lang }) : event
  const shownEvent = worded && redaction.event(worded)
  return {
    jid,
    // A job with a stored result is not unknown.
    state: state === 'unknown' && (result !== undefined || failure) ? 'ended' : state,
    gaveUp,
    queue,
    class: seen?.displayClass ?? event?.job ?? null,
    args: seen ? redaction.value(seen.displayArgs) : (shownEvent?.args ?? null),
    tags: seen?.tags ?? [],
    createdAt: timeOf(seen?.createdAt ?? null),
    enqueuedAt: timeOf(seen?.enqueuedAt ?? null),
    failedAt: timeOf(seen?.failedAt ?? null),
    startedAt: timeOf(startedAt),
    finishedAt: timeOf(finishedAt),
    retryCount: seen?.retryCount ?? null,
    errorClass: seen?.errorClass ?? null,
    errorMessage: seen?.errorMessage ?? null,
    job: job && (await detailOf({ hq, server }, job, { ...keyAndTimeOf(await server.seal(), job), whole })),
    task: event ? splitTaskJid(jid) : null,
    event: shownEvent,
    result: result === undefined ? null : redaction.value(result),
    failure: failure ? { ...redaction.value(failure), message: redaction.message(failure.message) } : null,
    progress: progressOf(redaction, progress),
  }
}

/** Finds a job. When it has to search everywhere, it stops at the time limit of a search. */
async function findInTime(hq: Highkiq, jid: string, left: AbortSignal) {
  try {
    return { ...(await inTime(left, (signal) => hq.find(jid, { signal }))), gaveUp: false }
  } catch (thrown) {
    if (!hasCode(thrown, 'SEARCH_TOO_LONG')) throw thrown
    const event = await hq.tasks.event(jid)
    const unknown = { startedAt: null, finishedAt: undefined, result: undefined, progress: undefined }
    return { state: 'unknown' as const, queue: null, job: null, event, gaveUp: true, ...unknown }
  }
}

/** Returns the key and time of a job; a running job has neither. */
function keyAndTimeOf(seal: Seal, job: JobRecord): { key: string; at: Date | null } {
  if (job instanceof SetEntry) return { key: keyOfEntry(seal, job, false), at: dateOf(job.score) }
  return { key: job instanceof QueuedJob ? keyOfQueued(seal, job) : '', at: null }
}

async function outcomeOf(hq: Highkiq, jid: string): Promise<{ result?: unknown; failure?: { message: string } }> {
  try {
    return { result: await hq.result(jid, { timeout: 0 }) }
  } catch (thrown) {
    const code = codeOf(thrown)
    if (code === 'NO_RESULT') return {}
    if (code !== 'JOB_FAILED') throw thrown
    const { message, details } = thrown as HighkiqError
    return { failure: { message, ...details } }
  }
}
