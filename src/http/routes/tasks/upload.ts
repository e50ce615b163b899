/** A file in a request: as the body, or inside a form. */

import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { codeOf, HighkiqError } from '../../../job/errors.ts'
import { type FileFormat, formatByEnding } from '../../../tasks/spreadsheet/format.ts'
import { invalid } from '../../server/answer.ts'
import { checkLength, chunksOf, typeOf } from '../../server/body.ts'

export interface Upload {
  /** Fails with BODY_TOO_LARGE and BODY_BROKEN_OFF. */
  file: Readable
  name?: string
  /** The format from its media type or name; undefined when the first bytes have to decide. */
  format?: FileFormat
}

const FORM = 'multipart/form-data'

/** The format of each media type; undefined when the first bytes have to decide. */
const FILE_TYPES: Record<string, FileFormat | undefined> = {
  'text/csv': 'csv',
  'text/tab-separated-values': 'csv',
  'text/plain': undefined,
  'application/vnd.ms-excel': undefined,
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/x-ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
  'application/octet-stream': undefined,
}

/** The media types of a file, for the document. */
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
 * Returns the first part `file` of a form as a stream. The rest of the form is read and ignored, since the file is
 * complete only when the form is.
 */
async function fileOfForm(body: Readable, contentType: string): Promise<Upload> {
  // Loaded for the first form only.
  const { Busboy } = await import('@fastify/busboy')
  let form: InstanceType<typeof Busboy>
  try {
    form = new Busboy({
      headers: { 'content-type': contentType },
      limits: { fieldSize: 1000, fields: 100, parts: 200, headerPairs: 100 },
    })
  } catch {
    throw invalid('the Content-Type of a form must have a boundary: let your client set this header')
  }
  return new Promise((resolve, reject) => {
    let found: Readable | undefined
    const fail = (thrown: unknown) => {
      const error = codeOf(thrown)
        ? (thrown as Error)
        : new HighkiqError('BODY_BROKEN_OFF', 'the connection closed before the end of the form', undefined, {
            cause: thrown,
          })
      body.unpipe(form)
      body.destroy()
      reject(error)
      found?.destroy(error)
    }
    form.on('file', (field, part, filename) => {
      // A form that ends inside of any part makes that part fail; without a listener this would end the process.
      part.on('error', fail)
      if (field !== 'file' || found) {
        part.resume()
        return
      }
      found = new Readable({ read: () => part.resume(), highWaterMark: 256 * 1024 })
      const file = found
      part.on('data', (chunk: Buffer) => {
        if (!file.push(chunk)) part.pause()
      })
      // Without a listener an error would end the process. The reader of the file still receives it.
      file.on('error', () => {})
      // The file is no longer read, so the rest of the body is not needed.
      file.on('close', () => body.destroy())
      const name = filename === undefined || filename === '' ? undefined : basename(filename.replaceAll('\\', '/'))
      resolve({ file, ...(name ? { name } : {}), format: formatByEnding(name ?? '') })
    })
    form.on('finish', () => {
      if (found) found.push(null)
      else reject(invalid('the form must have a file in the field `file`'))
    })
    form.on('error', fail)
    body.on('error', fail)
    body.pipe(form)
  })
}
