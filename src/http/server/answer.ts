/** Answers: JSON and errors. */

import { codeOf, HighkiqError, messageOf, statusOfCode } from '../../job/errors.ts'
import { stringifyJson } from '../../job/json.ts'
import { inHttpWording } from './http-wording.ts'

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
