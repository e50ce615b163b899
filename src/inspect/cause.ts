/** The cause of a failure, without the parts that differ from job to job. Jobs with the same cause form one group. */

import type { JobRecord } from './record.ts'

export interface Cause {
  class: string | null
  message: string
  /** Class and message together, as the `cause` of a filter names them. */
  text: string
}

/** Only the first characters of a message count: it may be a megabyte long. */
const LONGEST = 300
const LOOKED_AT = 1000
const LEFT_OUT = '…'
/** Shorter numbers stay: they are ports, codes and sizes. */
const VARYING = new RegExp(
  [
    /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/,
    /\b0x[0-9a-f]+/,
    /\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?/,
    /\b\d{1,3}(?:\.\d{1,3}){3}\b/,
    // Hexadecimal ids and numbers of six and more digits, also with separators.
    /\b(?=[a-f]*\d)[0-9a-f]{6,}\b/,
    /(?=(?:[.,:]?\d){6})\d+(?:[.,:]\d+)*/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gi',
)

/** Returns the cause of a job's error; null when the job has none. */
export function causeOf({ errorClass, errorMessage }: Pick<JobRecord, 'errorClass' | 'errorMessage'>): Cause | null {
  if (errorClass === null && errorMessage === null) return null
  const name = errorClass?.slice(0, LONGEST) ?? null
  const message = (errorMessage ?? '').slice(0, LOOKED_AT).replace(VARYING, LEFT_OUT).slice(0, LONGEST)
  return {
    class: name,
    message,
    text: errorMessage === null ? (name ?? '') : [name, message].filter((part) => part !== null).join(': '),
  }
}
