/** Routes that change a task: pause, resume, cancel, settings, retry and delete. */

import { type CorrectedRow, hasTooManyFailures, REJECTED_STATUSES } from '../../../index.ts'
import { HighkiqError } from '../../../job/errors.ts'
import { isObject } from '../../../job/json.ts'
import { given } from '../../../job/options.ts'
import type { Retried, RetryOptions } from '../../../tasks/retry.ts'
import { checkRetry } from '../../../tasks/retry-selection.ts'
import { openSource } from '../../../tasks/spreadsheet/source.ts'
import { spooled } from '../../../tasks/spreadsheet/spool.ts'
import type { Task, TaskSettings, TaskStatus } from '../../../tasks/task.ts'
import { invalid, json } from '../../server/answer.ts'
import { readObject, refuseMembers, typeOf } from '../../server/body.ts'
import { rowsMeant } from '../../server/delayed-retries.ts'
import { integer } from '../../server/parameter.ts'
import { type Call, type Route, route } from '../../server/route.ts'
import { READING, readingOf } from './import.ts'
import { statusOf } from './queries.ts'
import { SETTING_MEMBERS } from './task-options.ts'
import { FILES, openUpload } from './upload.ts'

/** The most seconds for which a retry can be undone. */
const MOST_UNDO_SECONDS = 60
/** The most bytes of a body that only gives a reason. */
const LONGEST_REASON = 20_000

const STATUS = { 200: { description: 'The status after the change', content: { 'application/json': 'TaskStatus' } } }

const RESUMED = { 200: { ...STATUS[200], content: { 'application/json': 'TaskResumed' } } }

function pausesAgain({ counts, maxFailures, onMaxFailures }: TaskStatus): string {
  const rejected = counts.failed + counts.error
  const then = onMaxFailures === 'pause' ? 'pauses it again' : 'cancels the rest'
  return `${rejected} rows were rejected and ${maxFailures} are tolerated: the next one ${then}, unless PATCH allows more maxFailures (null: all)`
}

/** Makes a route that changes a task and returns its status. */
function actionRoute(
  name: string,
  about: Pick<Route, 'summary' | 'access' | 'body'> & Partial<Pick<Route, 'answers'>>,
  run: (task: Task, call: Call) => Promise<void>,
  answer: (status: TaskStatus) => object = (status) => status,
): Route {
  return route({
    method: 'POST',
    path: `/api/v1/tasks/{id}/${name}`,
    answers: STATUS,
    ...about,
    async run(call) {
      const { id } = await statusOf(call.hq, call.path)
      await run(call.hq.tasks.get(id), call)
      return json(answer(await statusOf(call.hq, call.path)))
    },
  })
}

export const TASK_ACTION_ROUTES: Route[] = [
  route({
    method: 'POST',
    path: '/api/v1/tasks/{id}/retry',
    summary: 'Retries rejected rows: unchanged, with other arguments, or from a corrected report',
    access: 'task',
    query: {
      ...READING,
      undoSeconds: integer(
        0,
        MOST_UNDO_SECONDS,
        0,
        'seconds until the retry starts, during which it can be undone; for rows chosen by status or code',
      ),
    },
    body: { content: { 'application/json': 'TaskRetry', ...FILES }, optional: true },
    answers: {
      202: {
        description: 'The rows run again, with `undoSeconds` after that delay',
        content: { 'application/json': 'TaskRetryAnswer' },
      },
    },
    async run(call) {
      const { hq, server, path, request, link } = call
      const { id, job } = await statusOf(hq, path)
      const type = typeOf(request)
      const retried = (rows: Retried) => {
        call.audit({ count: rows.rows })
        return json(rows, 202)
      }
      const isFile = request.body !== null && type !== 'application/json' && type !== ''
      const { undoSeconds } = call.query
      if (isFile && undoSeconds > 0) throw invalid("undoSeconds can't be used with a report: leave it out")
      if (isFile) return retried(await retryReport(call, id, job))
      if (link) {
        throw new HighkiqError('FORBIDDEN', 'a link can retry rows only from a corrected report: send it as the body')
      }
      const options = retryOf(await readObject(request, server.limits.bodyBytes))
      const { validate } = server.imports[job] ?? {}
      const as = validate ? { as: { validate } } : {}
      const task = hq.tasks.get(id)
      if (undoSeconds === 0) return retried(await task.retry({ ...options, ...as }))
      checkRetry(options)
      if (options.rows) throw invalid("undoSeconds can't be used with `rows`: leave it out")
      const told = call.deferAudit()
      const delayed = await server.delayedRetries.add(id, undoSeconds, async () => {
        call.audit({ count: (await task.retry({ ...options, ...as })).rows })
        told()
      })
      return json({ ...delayed, rows: rowsMeant(await task.reasons(), options) }, 202)
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/tasks/{id}/retry/undo',
    summary: 'Undoes a retry with `undoSeconds` that has not started',
    body: { content: { 'application/json': 'TaskRetryUndo' } },
    answers: {
      200: { description: 'Reports whether the retry is undone', content: { 'application/json': 'TaskRetryUndone' } },
    },
    async run({ hq, server, path, request }) {
      const { id } = await statusOf(hq, path)
      const body = await readObject(request, server.limits.bodyBytes)
      refuseMembers(body, 'undo', ['undo'])
      const { undo } = body
      if (typeof undo !== 'string' || !/^[0-9a-f]{16}$/.test(undo))
        throw invalid('`undo` must be the token from the answer to the retry')
      return json({ undone: await server.delayedRetries.undo(id, undo) })
    },
  }),
  actionRoute('pause', { summary: 'Pauses the task: no further row starts, running rows finish' }, (task) =>
    task.pause(),
  ),
  actionRoute(
    'resume',
    { summary: 'Resumes the task', answers: RESUMED },
    (task) => task.resume(),
    (status) => (hasTooManyFailures(status) ? { ...status, hint: pausesAgain(status) } : status),
  ),
  actionRoute(
    'cancel',
    {
      summary: 'Cancels the task: waiting rows are cancelled, running rows receive a cancellation',
      access: 'task',
      body: { content: { 'application/json': 'TaskCancel' }, optional: true },
    },
    async (task, { request }) => {
      const body = await readObject(request, LONGEST_REASON)
      refuseMembers(body, 'cancel', ['reason'])
      const { reason } = body
      if (reason !== undefined && typeof reason !== 'string') throw invalid('`reason` must be a string')
      await task.cancel(reason)
    },
    (status) => {
      if (status.state !== 'done') return status
      throw new HighkiqError('TASK_ENDED', `task ${status.id} has ended and can't be cancelled`)
    },
  ),
  route({
    method: 'PATCH',
    path: '/api/v1/tasks/{id}',
    summary: 'Changes the name and the limits of a task while it runs',
    body: { content: { 'application/json': 'TaskSettings' } },
    answers: STATUS,
    async run({ hq, server, path, request }) {
      const { id } = await statusOf(hq, path)
      const settings = await readObject(request, server.limits.bodyBytes)
      refuseMembers(settings, 'a task', Object.keys(SETTING_MEMBERS))
      await hq.tasks.get(id).set(settings as TaskSettings)
      return json(await statusOf(hq, path))
    },
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/tasks/{id}',
    summary: 'Deletes a task with its events; a running task is cancelled first',
    answers: { 204: { description: 'The task is deleted' } },
    async run({ hq, path }) {
      const { id } = await statusOf(hq, path)
      await hq.tasks.get(id).delete()
      return new Response(null, { status: 204 })
    },
  }),
]

/** @throws INVALID_REQUEST; `retry` checks the rest */
function retryOf(body: Record<string, unknown>): RetryOptions {
  refuseMembers(body, 'retry', ['status', 'code', 'otherCodes', 'rows'])
  const { status, code, otherCodes, rows } = body
  if (status !== undefined && !(Array.isArray(status) && status.every((one) => REJECTED_STATUSES.includes(one)))) {
    throw invalid(`\`status\` must be a list of ${REJECTED_STATUSES.join(', ')}`)
  }
  if (code !== undefined && code !== null && typeof code !== 'string') {
    throw invalid('`code` must be a string, or null for rows without a code')
  }
  if (otherCodes !== undefined && typeof otherCodes !== 'boolean') throw invalid('`otherCodes` must be true or false')
  if (rows === undefined) return given({ status, code, otherCodes }) as RetryOptions
  if (status !== undefined || code !== undefined || otherCodes !== undefined) {
    throw invalid("`rows` can't be combined with `status`, `code` or `otherCodes`")
  }
  const isRow = (row: unknown) =>
    isObject(row) && Number.isSafeInteger(row.index) && (row.args === undefined || Array.isArray(row.args))
  if (!Array.isArray(rows) || !rows.every(isRow)) {
    throw invalid('`rows` must be a list of { index, args: […] }, or { index } to keep the arguments')
  }
  return { rows: rows.map(({ index, args }) => given({ index, args }) as CorrectedRow) }
}

/** Stores the file first, so that a slow upload does not slow down the task. */
async function retryReport({ hq, server, request, query, link }: Call, id: string, job: string): Promise<Retried> {
  const leave = server.uploads.enter(link && id)
  try {
    const { validate, columns, artifacts } = server.imports[job] ?? {}
    const upload = await openUpload(request, server.limits.uploadBytes)
    try {
      const file = await spooled(await openSource(upload.file), artifacts)
      try {
        return await hq.tasks.get(id).retry({
          report: file.path as string,
          as: {
            maxRows: server.limits.rows,
            ...(validate ? { validate } : {}),
            ...(columns ? { columns } : {}),
            ...readingOf(upload, query),
          },
        })
      } finally {
        await file.close()
      }
    } finally {
      upload.file.destroy()
    }
  } finally {
    leave()
  }
}
