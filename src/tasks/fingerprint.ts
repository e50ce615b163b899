import { createHash } from 'node:crypto'
import { stringifyJson } from '../job/json.ts'

interface FileRow {
  args: unknown[]
  number?: number
  source?: object
}

/**
 * Returns a hash that tells a row of a file from the others, made of its raw values. Undefined for a row that is of no
 * file.
 */
export function fingerprintOf({ number, source, args }: FileRow): string | undefined {
  if (number === undefined) return undefined
  return createHash('sha256')
    .update(stringifyJson(source ?? args[0]))
    .digest('hex')
    .slice(0, 32)
}
