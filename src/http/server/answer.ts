/** Answers: JSON and errors. */

import { codeOf, HighkiqError, type HintTexts, messageWithHint, statusOfCode } from '../../job/errors.ts'
import { stringifyJson } from '../../job/json.ts'

/** The Retry-After of temporary refusals, in seconds. */
const RETRY_AFTER = { 429: '5', 503: '5' } as Record<number, string>

/** Returns a JSON answer. Dates become ISO 8601, a BigInt a whole number. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  const bytes = Buffer.from(stringifyJson(body))
  const own = { 'content-type': 'application/json', 'content-length': String(bytes.length) }
  return new Response(bytes, { status, headers: { ...own, ...headers } })
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
  const details = detailsOf(thrown as HighkiqError)
  return { code, message: inHttpWording(thrown), ...(details ? { details } : {}) }
}

/** Returns the details without the hint, which the message has. */
function detailsOf({ details }: HighkiqError): Record<string, unknown> | undefined {
  if (typeof details !== 'object' || details === null) return undefined
  if (!('hint' in details)) return details
  const { option: _, value: __, hint: ___, ...others } = details
  return Object.keys(others).length === 0 ? undefined : others
}

export function errorAnswer(thrown: unknown, headers: Record<string, string> = {}): Response {
  const status = statusOfCode(codeOf(thrown) ?? 'INTERNAL_ERROR')
  const { retryAfter = RETRY_AFTER[status] } = ((thrown ?? {}) as Partial<HighkiqError>).details ?? {}
  const retry: Record<string, string> = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }
  return json({ error: errorBody(thrown) }, status, { ...headers, ...retry })
}

export function invalid(message: string, details?: Record<string, unknown>): HighkiqError {
  return new HighkiqError('INVALID_REQUEST', message, details)
}

/** The parameters of the HTTP API for the options of the library, as messages name them. */
export const HTTP_HINTS: HintTexts = {
  allowDuplicate: () => 'send it with allowDuplicate=1',
  encoding: (value) => `send encoding=${value}`,
  headerRow: (value) => (value === undefined ? 'headerRow is the row' : `send headerRow=${value}`),
  sheet: () => 'name another one with sheet',
  columns: (value) => `columns=${JSON.stringify(value)}`,
  maxRows: () => 'split it, for no more are taken here (limits)',
  keepArgs: () => 'needs keepArgs=all when the task is made',
  wait: () => 'ask with wait=1',
  partial: () => 'ask for the rest with partial=1',
  as: () => 'the server that takes the report must load its file (highkiq web -r FILE), or name that (imports)',
  ordered: (value) => `send { id, payload } to POST /api/v1/ordered/${value}`,
  unique: (name) => `name another job, for the app makes ${name} unique`,
  onConflict: () => 'use its jid',
  queue: (name) => `name queue ${name}`,
  bid: () => 'leave it out',
  format: () => 'the parameter format, or the type or name of the file,',
}

/** Returns the message of an error with the parameters of the HTTP API. */
export function inHttpWording(thrown: unknown): string {
  return messageWithHint(thrown, HTTP_HINTS)
}
