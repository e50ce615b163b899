/** Imports a file as a task. The answer begins when the first rows are stored, and ends with the last row. */

import { pipeline } from 'node:stream'
import type { Highkiq } from '../../../app.ts'
import type { Task } from '../../../index.ts'
import { hasCode } from '../../../job/errors.ts'
import { isObject } from '../../../job/json.ts'
import { given } from '../../../job/options.ts'
import type { Columns } from '../../../tasks/columns.ts'
import { describedOption, READING_OPTIONS } from '../../../tasks/import-options.ts'
import { LANGUAGE_CODES } from '../../../tasks/languages/index.ts'
import type { ImportOptions } from '../../../tasks/tasks.ts'
import type { ErrorBody } from '../../server/answer.ts'
import { errorBody, invalid, json } from '../../server/answer.ts'
import { FingerprintStream } from '../../server/fingerprint.ts'
import { claimKey, type KeyClaim, untilComplete } from '../../server/idempotency.ts'
import { flag, jsonText, membersOf, oneOf, type Parameter, text, type Values } from '../../server/parameter.ts'
import { answer, type Call, PUSH_ERRORS, post, type Route } from '../../server/route.ts'
import { viewerOf } from '../../server/viewer.ts'
import { READING, TASK_PARAMETERS } from './task-options.ts'
import { FILES, openUpload, type Upload } from './upload.ts'

/** Interval of blanks that keep proxies from closing the connection. */
const SIGN_OF_LIFE_MS = 15_000

type Reading = Pick<ImportOptions, 'format' | 'sheet' | 'delimiter' | 'headerRow' | 'encoding' | 'quote'>

/** Combines the parameters of the request with the media type and name of the file. */
export function readingOf(upload: Upload, query: Record<string, unknown>): Partial<Reading> {
  const { format = upload.format, sheet, delimiter, headerRow, encoding, quote } = query as Reading
  return given({ format, sheet, delimiter, headerRow, encoding, ...(quote ? {} : { quote }) })
}

const COLUMNS = 'a list of names, or an object { "Header of the file": "field" }, as JSON: ["sku","price"]'
const QUERY = {
  job: { ...(text('the job that handles each row') as Parameter<string>), required: true },
  ...TASK_PARAMETERS,
  ...READING,
  columns: jsonText(COLUMNS, (value) => {
    return Array.isArray(value) || isObject(value) ? (value as unknown as Columns) : undefined
  }),
  rowKey: text(describedOption(READING_OPTIONS.rowKey)),
  meta: membersOf('stored with the task, to find it by: one parameter meta.NAME=VALUE for each, at most four'),
  dryRun: flag('only reads and checks the file; nothing is pushed'),
  lang: oneOf(LANGUAGE_CODES, 'language of the problems of a dry run; default from Accept-Language, else en'),
  allowDuplicate: flag('imports the file although the same workbook was imported within 24 hours'),
}

const OPTIONS = Object.keys(TASK_PARAMETERS) as (keyof typeof TASK_PARAMETERS)[]

export const IMPORT_ROUTE: Route = post('/api/v1/tasks/import', {
  id: 'importTask',
  errors: [
    ...PUSH_ERRORS,
    'UNKNOWN_JOB',
    'INVALID_FILE',
    'TOO_MANY_ROWS',
    'ALREADY_IMPORTED',
    'IDEMPOTENCY_KEY_REUSED',
    'UNKNOWN_TASK',
    'TASK_ENDED',
    'TASK_TAKEN_OVER',
  ],
  summary: 'Creates a task from a file, with a job for each row',
  query: QUERY,
  headers: {
    'idempotency-key': 'for 24 hours the same key gives the same task; an interrupted task resumes with the same file',
  },
  body: { content: FILES },
  answers: {
    200: answer(
      'ImportResult',
      'The result of a dry run; or the complete task that an earlier request with the same key created',
    ),
    202: {
      description:
        'The first rows are stored. The body ends when all rows are. With `error` the task is interrupted, and the stored rows stay.',
      content: { 'application/json': 'TaskImported' },
      headers: { 'task-id': 'id of the task', location: 'address of its status' },
    },
  },
  async run(call) {
    const { hq, request, query, url } = call
    hq.jobNamed(query.job)
    if (!request.body) throw invalid('the request has no file: send it as the body, or as the field `file` of a form')
    const key = request.headers.get('idempotency-key')
    if (query.dryRun || key === null) return importFile(call)
    const { searchParams } = new URL(url)
    searchParams.delete('token')
    searchParams.sort()
    const about = searchParams.toString()
    const claim = await claimKey(hq, 'import', key, about)
    if (claim.to === 'whole') await checkSame(call, claim)
    if (claim.to === 'wait' || claim.to === 'whole') return thereAlready(call, claim)
    try {
      return await importFile(call, claim)
    } catch (thrown) {
      // A request with the same key was faster.
      if (!hasCode(thrown, 'TASK_TAKEN_OVER')) {
        await claim.failed()
        throw thrown
      }
      return thereAlready(call, { ...(await claimKey(hq, 'import', key, about)), to: 'wait' })
    }
  },
})

/** @throws IDEMPOTENCY_KEY_REUSED when the file differs from the known part of the file that the task was made from */
async function checkSame({ server, request }: Call<unknown>, { fingerprint }: KeyClaim): Promise<void> {
  if (!fingerprint) return
  const leave = server.uploads.enter()
  try {
    const { file } = await openUpload(request, server.limits.uploadBytes)
    const checking = pipeline(file, new FingerprintStream(fingerprint), () => {})
    for await (const _ of checking) if (checking.isChecked && !fingerprint.whole) break
  } finally {
    leave()
  }
}

/** Answers a repeated request whose task exists or is being created: its file is not read. */
async function thereAlready({ hq, base, request }: Call<unknown>, { id, to, task }: KeyClaim): Promise<Response> {
  // The body may have been read by a failed attempt.
  if (!request.bodyUsed) await request.body?.cancel()
  const headers = headersOf(base, id)
  if (to === 'whole') return json({ id, total: task?.total ?? 0 }, 200, headers)
  return new Response(endOf(hq, id, untilComplete(hq, id, request.signal)), { status: 202, headers })
}

/** @throws the errors that occur before the first rows are stored */
async function importFile(call: Call<Values<typeof QUERY>>, claim?: KeyClaim): Promise<Response> {
  const { hq, query, audit } = call
  const { job, dryRun } = query
  hq.jobNamed(job)
  audit({ job, ...(dryRun ? { dryRun } : {}) })
  const opened = await openFile(call, claim)
  return dryRun ? checkFile(call, opened) : createTask(call, opened, claim)
}

/** A file of a request, and the options with which it is read. */
interface OpenedFile {
  upload: Upload
  /** The bytes of the file, which go through `fingerprint` if there is one. */
  file: Upload['file']
  fingerprint: FingerprintStream | undefined
  options: Partial<ImportOptions>
  /** Ends the upload. */
  over(): void
}

async function openFile({ server, request, query }: Call<Values<typeof QUERY>>, claim?: KeyClaim): Promise<OpenedFile> {
  const leave = server.uploads.enter()
  const upload = await openUpload(request, server.limits.uploadBytes).catch((thrown) => {
    leave()
    throw thrown
  })
  const fingerprint = claim && pipeline(upload.file, new FingerprintStream(claim.fingerprint), () => {})
  const file = fingerprint ?? upload.file
  const { job, columns, rowKey } = query
  const options = {
    maxRows: server.limits.rows,
    ...server.imports[job],
    ...given({ name: upload.name, columns, rowKey }),
    ...given(query, [...OPTIONS, 'meta']),
    ...readingOf(upload, query),
  }
  const over = () => {
    leave()
    file.destroy()
    upload.file.destroy()
  }
  return { upload, file, fingerprint, options, over }
}

/** Answers a dry run. */
async function checkFile(call: Call<Values<typeof QUERY>>, { file, options, over }: OpenedFile): Promise<Response> {
  const { hq, query } = call
  const { language: lang } = viewerOf(call)
  const job = hq.jobNamed(query.job) as never
  const result = await hq.tasks.import(job, file, { ...options, dryRun: true, lang }).finally(over)
  for (const problem of result.problems) if (problem.error) Object.assign(problem, errorBody(problem.error))
  return json(result)
}

/** Creates the task, and answers when its first rows are stored. */
async function createTask(
  { hq, base, request, query, who, audit }: Call<Values<typeof QUERY>>,
  { upload, file, fingerprint, options, over }: OpenedFile,
  claim?: KeyClaim,
): Promise<Response> {
  let first: (id: string) => void = () => {}
  const started = new Promise<string>((resolve) => {
    first = resolve
  })
  const length = Number(request.headers.get('content-length') ?? Number.NaN)
  const bytes = Number.isSafeInteger(length) ? length : undefined
  const about = {
    allowDuplicate: query.allowDuplicate,
    onStart: ({ id }: Task) => first(id),
    dryRun: false as const,
    file: given({ name: upload.name, bytes, by: who }),
    ...(claim && (claim.to === 'continue' ? { resume: claim.id } : { id: claim.id })),
  }
  const made = async () => {
    await claim
      ?.made(fingerprint?.fingerprint)
      .catch((err) => hq.log.warn({ err }, 'an Idempotency-Key could not be kept'))
  }
  const importing = hq.tasks
    .import(hq.jobNamed(query.job) as never, file, { ...options, ...about })
    .then(async (task) => {
      await made()
      return task
    })
    .finally(over)
  // The error is handled at the end of the answer, or by the race below.
  importing.catch(() => {})
  // The first rows are stored already, if the file is the same.
  if (claim?.to === 'continue') void fingerprint?.checked.then(() => first(claim.id)).catch(() => {})
  const id = await Promise.race([started, importing.then((task) => task.id)])
  await made()
  audit({ id })
  return new Response(endOf(hq, id, importing), { status: 202, headers: headersOf(base, id) })
}

function headersOf(base: string, id: string): Record<string, string> {
  return { 'content-type': 'application/json', 'task-id': id, location: `${base}/api/v1/tasks/${id}` }
}

/** Sends blanks, which JSON ignores, while rows are being stored, and then the result. */
function endOf(hq: Highkiq, id: string, importing: Promise<unknown>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let timer: NodeJS.Timeout | undefined
  return new ReadableStream({
    async start(controller) {
      timer = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(' '))
      }, SIGN_OF_LIFE_MS).unref()
      let error: ErrorBody | undefined
      const task = await importing.catch((thrown) => {
        error = errorBody(thrown)
        if (error.code === 'INTERNAL_ERROR') hq.log.error({ err: thrown, task: id }, 'an import failed')
      })
      clearInterval(timer)
      const status = await hq.tasks
        .get(id)
        .status()
        .catch(() => null)
      const { encoding } = (task ?? {}) as Partial<Task>
      const answer = {
        id,
        total: status?.total ?? 0,
        ...(encoding && encoding !== 'utf-8' ? { encoding } : {}),
        ...(error ? { error } : {}),
      }
      try {
        controller.enqueue(encoder.encode(await json(answer).text()))
        controller.close()
      } catch {
        // The client has disconnected.
      }
    },
    cancel: () => clearInterval(timer),
  })
}
