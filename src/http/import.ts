/** A file becomes a task: the answer begins when its first rows are stored, and ends with the last. */

import type { Highkiq } from '../app.ts'
import type { Task } from '../index.ts'
import type { ErrorBody } from './answer.ts'
import { errorBody, invalid, json } from './answer.ts'
import { oneOf, requiredText, text } from './parameter.ts'
import { type Route, route } from './route.ts'
import { openUpload, UPLOAD_TYPES } from './upload.ts'

/** Lest somebody between us takes the connection for dead. */
const SIGN_OF_LIFE_MS = 15_000

export const IMPORT_ROUTE: Route = route({
  method: 'POST',
  path: '/api/v1/tasks/import',
  summary: 'Makes a task of a file: a job for each row',
  query: {
    job: requiredText('the job that each row is for'),
    name: text('of the task, for people; default the name of the file'),
    format: oneOf(['csv', 'xlsx'], 'what the file is; default: by its type, its name, or its first bytes'),
    sheet: text('of a workbook: the name of the sheet'),
    delimiter: text('of a CSV file: one character', 1),
    queue: text("default the job's queue"),
  },
  body: { content: Object.fromEntries(UPLOAD_TYPES.map((type) => [type, { type: 'string', format: 'binary' }])) },
  answers: {
    202: {
      description:
        'The first rows are stored. The body ends when the last one is; `error`: the task is interrupted, and what came before stays.',
      content: { 'application/json': 'TaskImported' },
      headers: { 'task-id': 'its id', location: 'where its status is' },
    },
  },
  async run({ hq, site, base, request, query }) {
    const { job: jobName, ...said } = query
    const job = hq.jobNamed(jobName)
    if (!request.body) throw invalid('there is no file: send it as the body, or in a form as `file`')
    const leave = site.uploads.enter()
    let first: (id: string) => void = () => {}
    const started = new Promise<string>((resolve) => {
      first = resolve
    })
    const upload = await openUpload(request, site.limits.uploadBytes).catch((thrown) => {
      leave()
      throw thrown
    })
    const importing = hq.tasks
      .import(job as never, upload.file, {
        maxRows: site.limits.rows,
        ...site.imports[jobName],
        ...known({ name: upload.name, format: upload.format }),
        ...known(said),
        onStart: ({ id }: Task) => first(id),
        dryRun: false,
      })
      .finally(() => {
        leave()
        upload.file.destroy()
      })
    const id = await Promise.race([started, importing.then((task) => task.id)])
    const body = endOf(hq, id, importing)
    const headers = { 'content-type': 'application/json', 'task-id': id, location: `${base}/api/v1/tasks/${id}` }
    return new Response(body, { status: 202, headers })
  },
})

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
      await importing.catch((thrown) => {
        error = errorBody(thrown)
        if (error.code === 'INTERNAL_ERROR') hq.log.error({ err: thrown, task: id }, 'an import failed')
      })
      clearInterval(timer)
      const status = await hq.tasks
        .get(id)
        .status()
        .catch(() => null)
      const answer = { id, total: status?.total ?? 0, ...(error ? { error } : {}) }
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

function known<T extends object>(options: T): Partial<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<T>
}
