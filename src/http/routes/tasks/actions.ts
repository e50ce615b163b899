/** Routes that change a task: pause, resume, cancel, settings, retry and delete. */

import { hasTooManyFailures } from '../../../index.ts'
import { HighkiqError } from '../../../job/errors.ts'
import type { Retried, RetryOptions } from '../../../tasks/retry.ts'
import { checkRetry } from '../../../tasks/retry-selection.ts'
import { openSource } from '../../../tasks/spreadsheet/source.ts'
import { spooled } from '../../../tasks/spreadsheet/spool.ts'
import type { Task, TaskStatus } from '../../../tasks/task.ts'
import { TaskCancel, TaskRetry, TaskRetryUndo, TaskSettings } from '../../schemas/tasks.ts'
import { invalid, json } from '../../server/answer.ts'
import { readObject, typeOf } from '../../server/body.ts'
import { rowsMeant } from '../../server/delayed-retries.ts'
import { integer } from '../../server/parameter.ts'
import { answer, type Call, del, ok, patch, post, type Route } from '../../server/route.ts'
import { bodyOf, refuseUnknown } from '../../server/schema.ts'
import { rulesFor } from './download.ts'
import { readingOf } from './import.ts'
import { statusWithoutMeta } from './queries.ts'
import { READING } from './task-options.ts'
import { FILES, openUpload } from './upload.ts'

/** The most seconds for which a retry can be undone. */
const MOST_UNDO_SECONDS = 60
const UNDO_SECONDS = 'seconds until the retry starts, during which it can be undone; for rows chosen by status or code'
/** The most bytes of a body that only gives a reason. */
const LONGEST_REASON = 20_000

const STATUS = ok('TaskStatus', 'The status after the change')

const RESUMED = ok('TaskResumed', 'The status after the change')

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
  return post(`/api/v1/tasks/{id}/${name}`, {
    id: `${name}Task`,
    errors: ['UNKNOWN_TASK', 'TASK_ENDED', 'TASK_BUSY'],
    answers: STATUS,
    ...about,
    async run(call) {
      const { id } = await statusWithoutMeta(call.hq, call.path)
      await run(call.hq.tasks.get(id), call)
      return json(answer(await statusWithoutMeta(call.hq, call.path)))
    },
  })
}

export const TASK_ACTION_ROUTES: Route[] = [
  post('/api/v1/tasks/{id}/retry', {
    id: 'retryTask',
    errors: [
      'UNKNOWN_TASK',
      'UNKNOWN_JOB',
      'INVALID_FILE',
      'INVALID_ARGS',
      'ARGS_TOO_LARGE',
      'TOO_MANY_ROWS',
      'TASK_BUSY',
      'TASK_NOT_DONE',
    ],
    summary: 'Retries rejected rows: unchanged, with other arguments, or from a corrected report',
    access: 'task',
    query: {
      ...READING,
      undoSeconds: integer(0, MOST_UNDO_SECONDS, 0, UNDO_SECONDS),
    },
    body: { content: { 'application/json': 'TaskRetry', ...FILES }, optional: true },
    answers: { 202: answer('TaskRetryAnswer', 'The rows run again, with `undoSeconds` after that delay') },
    async run(call) {
      const { hq, server, path, request, link } = call
      const { id, job } = await statusWithoutMeta(hq, path)
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
      const options = (await bodyOf(call, TaskRetry, 'retry')) as RetryOptions
      const { validate } = server.imports[job] ?? {}
      const as = validate ? { as: { validate } } : {}
      const task = hq.tasks.get(id)
      if (undoSeconds === 0) return retried(await task.retry({ ...options, ...as, ...viewOf(call) }))
      checkRetry(options)
      if (options.rows) throw invalid("undoSeconds can't be used with `rows`: leave it out")
      const writeAudit = call.deferAudit()
      const delayed = await server.delayedRetries.add(id, undoSeconds, async () => {
        try {
          call.audit({ count: (await task.retry({ ...options, ...as })).rows })
        } catch (thrown) {
          call.audit({ incomplete: true })
          throw thrown
        } finally {
          writeAudit()
        }
      })
      return json({ ...delayed, rows: rowsMeant(await task.reasons(), options) }, 202)
    },
  }),
  post('/api/v1/tasks/{id}/retry/undo', {
    id: 'undoTaskRetry',
    errors: ['UNKNOWN_TASK', 'UNKNOWN_RETRY'],
    summary: 'Undoes a retry with `undoSeconds` that has not started',
    body: { content: { 'application/json': 'TaskRetryUndo' } },
    answers: ok('TaskRetryUndone', 'Reports whether the retry is undone'),
    async run(call) {
      const { id } = await statusWithoutMeta(call.hq, call.path)
      const { undo } = await bodyOf(call, TaskRetryUndo, 'undo')
      return json({ undone: await call.server.delayedRetries.undo(id, undo) })
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
    async (task, call) => {
      await task.cancel((await bodyOf(call, TaskCancel, 'cancel', LONGEST_REASON)).reason)
    },
    (status) => {
      if (status.state !== 'done') return status
      throw new HighkiqError('TASK_ENDED', `task ${status.id} has ended and can't be cancelled`)
    },
  ),
  patch('/api/v1/tasks/{id}', {
    id: 'updateTask',
    errors: ['UNKNOWN_TASK', 'TASK_ENDED'],
    summary: 'Changes the name and the limits of a task while it runs',
    body: { content: { 'application/json': 'TaskSettings' } },
    answers: STATUS,
    async run({ hq, server, path, request }) {
      const { id } = await statusWithoutMeta(hq, path)
      const settings = await readObject(request, server.limits.bodyBytes)
      refuseUnknown(TaskSettings, settings, 'a task')
      await hq.tasks.get(id).set(settings)
      return json(await statusWithoutMeta(hq, path))
    },
  }),
  del('/api/v1/tasks/{id}', {
    id: 'deleteTask',
    errors: ['UNKNOWN_TASK'],
    summary: 'Deletes a task with its events; a running task is cancelled first',
    answers: { 204: { description: 'The task is deleted' } },
    async run({ hq, path }) {
      const { id } = await statusWithoutMeta(hq, path)
      await hq.tasks.get(id).delete()
      return new Response(null, { status: 204 })
    },
  }),
]

/** Names the uploaded file in a message instead of the server's copy, whose path on the server is not shown. */
function withUploadName(thrown: unknown, copy: string, name: string | undefined): unknown {
  if (!(thrown instanceof HighkiqError) || !thrown.message.startsWith(copy)) return thrown
  const message = `${name === undefined ? '' : `${name}: `}${thrown.message.slice(copy.length)}`
  return new HighkiqError(thrown.code, message, thrown.details, { cause: thrown.cause })
}

/** Returns what the caller sees of arguments, so that a corrected row replaces no value that is hidden from the caller. */
function viewOf(call: Call): Pick<RetryOptions, 'show'> {
  const rules = rulesFor(call)
  return rules ? { show: rules.value } : {}
}

/** Stores the file first, so that a slow upload does not slow down the task. */
async function retryReport(call: Call, id: string, job: string): Promise<Retried> {
  const { hq, server, request, query, linkHolder } = call
  const leave = server.uploads.enter(linkHolder)
  try {
    const { validate, columns, artifacts } = server.imports[job] ?? {}
    const upload = await openUpload(request, server.limits.uploadBytes)
    try {
      const file = await spooled(await openSource(upload.file), artifacts)
      try {
        return await hq.tasks.get(id).retry({
          report: file.path as string,
          ...viewOf(call),
          as: {
            maxRows: server.limits.rows,
            ...(validate ? { validate } : {}),
            ...(columns ? { columns } : {}),
            ...readingOf(upload, query),
          },
        })
      } catch (thrown) {
        throw withUploadName(thrown, `${file.path}: `, upload.name)
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
