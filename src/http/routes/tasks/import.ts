/** A file becomes a task: the answer begins when its first rows are stored, and ends with the last. */

import { pipeline } from 'node:stream'
import type { Highkiq } from '../../../app.ts'
import type { Task } from '../../../index.ts'
import { hasCode } from '../../../job/errors.ts'
import { isObject } from '../../../job/json.ts'
import { given } from '../../../job/options.ts'
import type { Columns } from '../../../tasks/columns.ts'
import { FILE_FORMATS } from '../../../tasks/spreadsheet/format.ts'
import type { ImportOptions } from '../../../tasks/tasks.ts'
import type { ErrorBody } from '../../server/answer.ts'
import { errorBody, invalid, json } from '../../server/answer.ts'
import { FingerprintStream } from '../../server/fingerprint.ts'
import { inHttpWording } from '../../server/http-wording.ts'
import { claimKey, type KeyClaim, untilComplete } from '../../server/idempotency.ts'
import { count, flag, jsonText, oneOf, requiredText, text, type Values } from '../../server/parameter.ts'
import { type Call, type Route, route } from '../../server/route.ts'
import { TASK_PARAMETERS } from './task-options.ts'
import { FILES, openUpload, type Upload } from './upload.ts'

/** Lest somebody between us takes the connection for dead. */
const SIGN_OF_LIFE_MS = 15_000

/** How a file is read, as a request may say it. */
export const READING = {
  format: oneOf(FILE_FORMATS, 'what the file is; default: by its type, its name, or its first bytes'),
  sheet: text('of a workbook: the name of the sheet'),
  delimiter: text('of a CSV file: one character', 1),
  headerRow: count('the row that holds the names of the columns; default: the first that is not blank'),
  quote: flag('of a CSV file: false if a quote is a character like any other', true),
  encoding: text('of a CSV or NDJSON file, where it is not clear: for instance windows-1252'),
}

type Reading = Pick<ImportOptions, 'format' | 'sheet' | 'delimiter' | 'headerRow' | 'encoding' | 'quote'>

/** What the request says of its file, and what the file itself does. */
export function readingOf(upload: Upload, query: Record<string, unknown>): Partial<Reading> {
  const { format = upload.format, sheet, delimiter, headerRow, encoding, quote } = query as Reading
  return given({ format, sheet, delimiter, headerRow, encoding, ...(quote ? {} : { quote }) })
}

const COLUMNS = 'a list of names, or an object { "Header of the file": "field" }, in JSON: ["sku","price"]'
const QUERY = {
  job: requiredText('the job that each row is for'),
  ...TASK_PARAMETERS,
  ...READING,
  columns: jsonText(COLUMNS, (value) => {
    return Array.isArray(value) || isObject(value) ? (value as unknown as Columns) : undefined
  }),
  rowKey: text('the column that tells rows apart: a corrected report without row keys finds its rows by it'),
  dryRun: flag('only reads and checks the file: nothing is pushed'),
  allowDuplicate: flag('also when the same workbook was imported within 24 hours'),
}

const OPTIONS = Object.keys(TASK_PARAMETERS) as (keyof typeof TASK_PARAMETERS)[]

export const IMPORT_ROUTE: Route = route({
  method: 'POST',
  path: '/api/v1/tasks/import',
  summary: 'Makes a task of a file: a job for each row',
  query: QUERY,
  headers: {
    'idempotency-key': 'the same key gives the same task, for 24 hours: one that broke off goes on with the same file',
  },
  body: { content: FILES },
  answers: {
    200: {
      description: 'What a dry run found; or the task that the same key has made, all rows of which are stored',
      content: { 'application/json': 'ImportLook' },
    },
    202: {
      description:
        'The first rows are stored. The body ends when the last one is; `error`: the task is interrupted, and what came before stays.',
      content: { 'application/json': 'TaskImported' },
      headers: { 'task-id': 'its id', location: 'where its status is' },
    },
  },
  async run(call) {
    const { hq, request, query, url } = call
    hq.jobNamed(query.job)
    if (!request.body) throw invalid('there is no file: send it as the body, or in a form as `file`')
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
      // Two came at once, and the other one was faster.
      if (!hasCode(thrown, 'TASK_TAKEN_OVER')) {
        await claim.failed()
        throw thrown
      }
      return thereAlready(call, { ...(await claimKey(hq, 'import', key, about)), to: 'wait' })
    }
  },
})

/** @throws IDEMPOTENCY_KEY_REUSED: it is another file than the one that the task was made of, as far as that is known */
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

/** What the key stands for is there, or on its way: the file need not come again. */
async function thereAlready({ hq, base, request }: Call<unknown>, { id, to, task }: KeyClaim): Promise<Response> {
  // It may have been read in vain before.
  if (!request.bodyUsed) await request.body?.cancel()
  const headers = headersOf(base, id)
  if (to === 'whole') return json({ id, total: task?.total ?? 0 }, 200, headers)
  return new Response(endOf(hq, id, untilComplete(hq, id, request.signal)), { status: 202, headers })
}

/** @throws what is wrong before the first rows are stored */
async function importFile(
  { hq, server, base, request, query, audit }: Call<Values<typeof QUERY>>,
  claim?: KeyClaim,
): Promise<Response> {
  const { job: name, dryRun, allowDuplicate, columns, rowKey } = query
  const job = hq.jobNamed(name) as never
  audit({ job: name, ...(dryRun ? { dryRun } : {}) })
  const leave = server.uploads.enter()
  const upload = await openUpload(request, server.limits.uploadBytes).catch((thrown) => {
    leave()
    throw thrown
  })
  const fingerprint = claim && pipeline(upload.file, new FingerprintStream(claim.fingerprint), () => {})
  const file = fingerprint ?? upload.file
  const over = () => {
    leave()
    file.destroy()
    upload.file.destroy()
  }
  const options = {
    maxRows: server.limits.rows,
    ...server.imports[name],
    ...given({ name: upload.name, columns, rowKey }),
    ...given(query, OPTIONS),
    ...readingOf(upload, query),
  }
  if (dryRun) {
    const look = await hq.tasks.import(job, file, { ...options, dryRun: true }).finally(over)
    for (const problem of look.problems) problem.message = inHttpWording(problem.message)
    return json(look)
  }
  let first: (id: string) => void = () => {}
  const started = new Promise<string>((resolve) => {
    first = resolve
  })
  const about = { allowDuplicate, onStart: ({ id }: Task) => first(id), dryRun: false as const }
  const named = claim && (claim.to === 'continue' ? { resume: claim.id } : { id: claim.id })
  const made = async () => {
    await claim
      ?.made(fingerprint?.fingerprint)
      .catch((err) => hq.log.warn({ err }, 'an Idempotency-Key could not be kept'))
  }
  const importing = hq.tasks
    .import(job, file, { ...options, ...about, ...named })
    .then(async (task) => {
      await made()
      return task
    })
    .finally(over)
  // Heard at the end of the answer, or here by the race.
  importing.catch(() => {})
  // Its first rows are there, if the file is the same.
  if (claim?.to === 'continue')
    void fingerprint?.checked.then(
      () => first(claim.id),
      () => {},
    )
  const id = await Promise.race([started, importing.then((task) => task.id)])
  await made()
  audit({ id })
  return new Response(endOf(hq, id, importing), { status: 202, headers: headersOf(base, id) })
}

function headersOf(base: string, id: string): Record<string, string> {
  return { 'content-type': 'application/json', 'task-id': id, location: `${base}/api/v1/tasks/${id}` }
}

/** Blanks while rows are being stored, which are nothing in JSON; then what became of it. */
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
        // Nobody listens any more.
      }
    },
    cancel: () => clearInterval(timer),
  })
}
