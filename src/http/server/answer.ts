/** Answers: JSON and errors. */

import { codeOf, HighkiqError, messageOf, statusOfCode } from '../../job/errors.ts'
import { stringifyJson } from '../../job/json.ts'

/** The Retry-After of temporary refusals, in seconds. */
const RETRY_AFTER = { 429: '5', 503: '5' } as Record<number, string>

/** Returns a JSON answer. Dates become ISO 8601, a BigInt a whole number. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  const bytes = Buffer.from(stringifyJson(body))
  const length = String(bytes.length)
  return new Response(bytes, {
    status,
    headers: { 'content-type': 'application/json', 'content-length': length, ...headers },
  })
}

export interface ErrorBody {
  code: string
  message: string
  details?: Record<string, unknown>
}

/** Returns the error that a client sees. Unexpected errors are hidden: only the log has them. */
export function errorBody(thrown: unknown): ErrorBody {
  const code = codeOf(thrown)
  if (!code) return { code: 'INTERNAL_ERROR', message: 'internal error: see the log of the server' }
  const { details } = thrown as { details?: unknown }
  return {
    code,
    message: inHttpWording(messageOf(thrown)),
    ...(typeof details === 'object' && details !== null ? { details: details as Record<string, unknown> } : {}),
  }
}

export function errorAnswer(thrown: unknown, headers: Record<string, string> = {}): Response {
  const status = statusOfCode(codeOf(thrown) ?? 'INTERNAL_ERROR')
  const { retryAfter = RETRY_AFTER[status] } = ((thrown ?? {}) as Partial<HighkiqError>).details ?? {}
  return json({ error: errorBody(thrown) }, status, {
    ...headers,
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
  })
}

export function invalid(message: string, details?: Record<string, unknown>): HighkiqError {
  return new HighkiqError('INVALID_REQUEST', message, details)
}

/** How messages of the library name an option, and how a client of the HTTP API sets it. */
export const HTTP_WORDING: readonly (readonly [option: string | RegExp, parameter: string])[] = [
  ['or set allowDuplicate: true', 'or send it with allowDuplicate=1'],
  ['say encoding: ', 'send encoding='],
  ['say headerRow: ', 'send headerRow='],
  ['leave it out (columns: ', 'leave it out (columns='],
  ['split it, or allow more with maxRows', 'split it, for no more are taken here (limits)'],
  ["needs keepArgs: 'all' when the task is made", 'needs keepArgs=all when the task is made'],
  ['or download with wait', 'or ask with wait=1'],
  ['ask for the rest with partial', 'ask for the rest with partial=1'],
  [
    'define it with its validate, or name that (as: { validate })',
    'the server that takes the report must load its file (highkiq web -r FILE), or name that (imports)',
  ],
  [/push { id, payload } with hq\.ordered\('(.+)'\)\.performAsync/, 'send { id, payload } to POST /api/v1/ordered/$1'],
  ['the option format says', 'the parameter format, or the type or name of the file, says'],
]

/** Words a message of the library for a client of the HTTP API. */
export function inHttpWording(message: string): string {
  return HTTP_WORDING.reduce((text, [option, parameter]) => text.replace(option, parameter), message)
}
