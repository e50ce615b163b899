/** Downloads: the file of an export, and the report of a task's rejected rows. */

import { LANGUAGE_CODES } from '../../../tasks/languages/index.ts'
import { FILE_FORMATS, type FileFormat } from '../../../tasks/spreadsheet/format.ts'
import type { TaskStatus } from '../../../tasks/task.ts'
import type { Redaction } from '../../access/redact.ts'
import { refusalOfCaller, watchCaller } from '../../server/caller-watch.ts'
import { fileStream } from '../../server/file-stream.ts'
import { flag, oneOf } from '../../server/parameter.ts'
import { type Call, get, type Route } from '../../server/route.ts'
import { viewerOf } from '../../server/viewer.ts'
import { aboutOf, statusWithoutMeta } from './queries.ts'

const TYPES: Record<FileFormat, string> = {
  csv: 'text/csv; charset=utf-8',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  ndjson: 'application/x-ndjson',
}

const FILE = {
  description: 'The file',
  content: {
    'text/csv': { type: 'string' },
    [TYPES.xlsx]: { type: 'string', format: 'binary' },
    [TYPES.ndjson]: { type: 'string', description: 'one JSON object a line' },
  },
  headers: { 'content-disposition': 'its name' },
}

export const FILE_ROUTES: Route[] = [
  get('/api/v1/tasks/{id}/report', {
    id: 'getTaskReport',
    errors: ['UNKNOWN_TASK'],
    summary: 'Returns the rejected rows with their reasons, in a file that can be corrected and sent to retry',
    access: 'task',
    query: {
      format: oneOf(FILE_FORMATS, 'default csv'),
      rows: oneOf(['rejected', 'all'], 'default rejected; all needs a task that keeps all its arguments'),
      lang: oneOf(LANGUAGE_CODES, 'language of its own columns and messages; default from Accept-Language, else en'),
    },
    headers: { 'accept-language': 'the language of the report when `lang` is not given' },
    answers: { 200: FILE },
    async run(call) {
      const { hq, path, query } = call
      const { format = 'csv', rows = 'rejected' } = query
      const { language: lang } = viewerOf(call)
      const task = await statusWithoutMeta(hq, path)
      const file = { format, part: rows === 'all' ? ' - rows' : ' - rejected' }
      const rules = rulesFor(call)
      const show = rules && { show: rules.value, showMessage: rules.message }
      return send(call, task, file, () => hq.tasks.get(task.id).report({ format, rows, lang, ...show }))
    },
  }),
  get('/api/v1/tasks/{id}/download', {
    id: 'downloadExport',
    errors: ['UNKNOWN_TASK', 'NOT_AN_EXPORT', 'TASK_NOT_DONE', 'EXPORT_INCOMPLETE'],
    summary: 'Returns the file of an export, which is made while it is read',
    access: 'task',
    query: {
      wait: flag('starts at once, and waits for pages that are not finished'),
      partial: flag('leaves out rejected pages instead of refusing'),
    },
    answers: { 200: FILE },
    async run(call) {
      const { hq, path, query } = call
      const task = await statusWithoutMeta(hq, path)
      const format = (await aboutOf(hq, task.id)).export ?? 'csv'
      const rules = rulesFor(call)
      const show = rules && { show: rules.value }
      return send(call, task, { format }, (signal) => hq.tasks.get(task.id).download({ ...query, ...show, signal }))
    },
  }),
]

/** Returns the rules of `redact` for a caller; undefined for the submitter's own link, which shows the whole file. */
export function rulesFor({ server, linkShowsHidden }: Pick<Call, 'server' | 'linkShowsHidden'>): Redaction | undefined {
  const { redaction } = server
  return redaction.isOn && !linkShowsHidden ? redaction : undefined
}

/** Answers with a file. It counts as open until its client has read it, no longer reads it, or may not read on. */
async function send(
  call: Call<unknown>,
  { id, name }: TaskStatus,
  { format, part }: { format: FileFormat; part?: string },
  open: (signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>,
): Promise<Response> {
  const { server, request } = call
  const leave = server.downloads.enter(call.linkHolder)
  const ending = new AbortController()
  const onEnd = () => {
    leave()
    // A download that waits for a page stops waiting.
    ending.abort()
  }
  try {
    const content = await open(AbortSignal.any([request.signal, ending.signal]))
    const watch = watchCaller(call, id)
    const { unreadSeconds } = server.limits
    const body = fileStream(content, { unreadSeconds, refusal: watch && refusalOfCaller(watch), onEnd })
    return fileOf(body, format, name, part)
  } catch (thrown) {
    onEnd()
    throw thrown
  }
}

/**
 * Returns the answer with the file. Its whole name has at most MOST_NAME characters.
 * @param part the part of the task that the file holds
 */
function fileOf(content: ReadableStream<Uint8Array>, format: FileFormat, name: string, part = ''): Response {
  const isNamed = part === '' && name.toLowerCase().endsWith(`.${format}`)
  const end = `${part}${isNamed ? name.slice(-format.length - 1) : `.${format}`}`
  const stem = isNamed ? name.slice(0, -format.length - 1) : name
  const file = firstOf(stem, MOST_NAME - end.length) + end
  const headers = { 'content-type': TYPES[format], 'content-disposition': attachment(file) }
  return new Response(content, { headers })
}

/**
 * The most characters of a file's name. Encoded they are up to 12 times as many bytes, and a proxy takes a header of 4
 * kB.
 */
const MOST_NAME = 150

/** Returns the first characters of a text, and cuts no surrogate pair. */
function firstOf(text: string, most: number): string {
  return Array.from(text.slice(0, 2 * most))
    .slice(0, most)
    .join('')
}

/** Returns a Content-Disposition that every browser reads: RFC 6266, with an ASCII name as a fallback. */
export function attachment(name: string): string {
  const safe = name.replace(/[\\/:*?"<>|\p{Cc}]/gu, '_')
  const ascii = safe.replace(/[^\x20-\x7e]/g, '_')
  const encoded = encodeURIComponent(safe.toWellFormed()).replace(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
