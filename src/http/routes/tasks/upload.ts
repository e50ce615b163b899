/** A file that comes with a request: as it is, or inside a form. */

import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { codeOf, HighkiqError } from '../../../job/errors.ts'
import { type FileFormat, formatByEnding } from '../../../tasks/spreadsheet/format.ts'
import { invalid } from '../../server/answer.ts'
import { checkLength, chunksOf, typeOf } from '../../server/body.ts'

export interface Upload {
  /** It fails with BODY_TOO_LARGE and BODY_BROKEN_OFF. */
  file: Readable
  name?: string
  /** As its type or its name says; undefined: its first bytes tell. */
  format?: FileFormat
}

const FORM = 'multipart/form-data'

/** Media types of files, and what they are; undefined: see its first bytes. */
export const FILE_TYPES: Record<string, FileFormat | undefined> = {
  'text/csv': 'csv',
  'text/tab-separated-values': 'csv',
  'text/plain': undefined,
  'application/vnd.ms-excel': undefined,
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/x-ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
  'application/octet-stream': undefined,
}

/** What a body may be that is a file, for the document. */
export const FILES = Object.fromEntries(
  [...Object.keys(FILE_TYPES), FORM].map((type) => [type, { type: 'string', format: 'binary' }]),
)

/** @throws BODY_TOO_LARGE, INVALID_REQUEST */
export async function openUpload(request: Request, limit: number): Promise<Upload> {
  checkLength(request, limit)
  const body = Readable.from(chunksOf(request, limit), { objectMode: false, highWaterMark: 256 * 1024 })
  const type = typeOf(request)
  if (type !== FORM) return { file: body, format: FILE_TYPES[type] }
  return fileOfForm(body, request.headers.get('content-type') as string)
}

/**
 * The first part `file` of a form, as it comes. What comes behind it is read and forgotten, for a file is whole only when
 * its form is.
 */
async function fileOfForm(body: Readable, contentType: string): Promise<Upload> {
  // Loaded when there is a form.
  const { Busboy } = await import('@fastify/busboy')
  let form: InstanceType<typeof Busboy>
  try {
    form = new Busboy({
      headers: { 'content-type': contentType },
      limits: { fieldSize: 1000, fields: 100, parts: 200, headerPairs: 100 },
    })
  } catch {
    throw invalid('a form needs its boundary in Content-Type: leave that header to your client')
  }
  return new Promise((resolve, reject) => {
    let found: Readable | undefined
    const fail = (thrown: unknown) => {
      const error = codeOf(thrown)
        ? (thrown as Error)
        : new HighkiqError('BODY_BROKEN_OFF', 'the form broke off: it has no end', undefined, { cause: thrown })
      body.unpipe(form)
      body.destroy()
      reject(error)
      found?.destroy(error)
    }
    form.on('file', (field, part, filename) => {
      if (field !== 'file' || found) {
        part.resume()
        return
      }
      found = new Readable({ read: () => part.resume(), highWaterMark: 256 * 1024 })
      const file = found
      part.on('data', (chunk: Buffer) => {
        if (!file.push(chunk)) part.pause()
      })
      part.on('error', fail)
      // Until somebody reads it, who hears of it all the same: unheard, an error would end the process.
      file.on('error', () => {})
      // Nobody reads on: the rest need not come.
      file.on('close', () => body.destroy())
      const name = filename === undefined || filename === '' ? undefined : basename(filename.replaceAll('\\', '/'))
      resolve({ file, ...(name ? { name } : {}), format: formatByEnding(name ?? '') })
    })
    form.on('finish', () => {
      if (found) found.push(null)
      else reject(invalid('the form has no file in a field `file`'))
    })
    form.on('error', fail)
    body.on('error', fail)
    body.pipe(form)
  })
}
