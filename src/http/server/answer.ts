/** Answers: JSON and errors. */

import { codeOf, HighkiqError, statusOfCode } from '../../job/errors.ts'
import { stringifyJson } from '../../job/json.ts'
import { messageWithParameters } from './hints.ts'

/** The Retry-After of temporary refusals, in seconds. */
const RETRY_AFTER = { 429: '5', 503: '5' } as Record<number, string>

/** Returns a JSON answer. Dates become ISO 8601, a BigInt a whole number. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return jsonText(stringifyJson(body), status, headers)
}

/** Returns an answer with a text that is JSON. */
export function jsonText(text: string, status = 200, headers: Record<string, string> = {}): Response {
  const bytes = Buffer.from(text)
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
  return { code, message: messageWithParameters(thrown), ...(details ? { details } : {}) }
}

/** Returns the error that callers without a login see: of a failure of the server only its code and a plain sentence. */
export function withoutServerDetails(thrown: unknown): unknown {
  const code = codeOf(thrown)
  if (!code || statusOfCode(code) < 500) return thrown
  const isTemporary = statusOfCode(code) === 503
  return new HighkiqError(code, isTemporary ? "the server can't answer now: try again later" : FAILED)
}

const FAILED = 'the server could not do this: its log says why'

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
