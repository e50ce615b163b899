/** Answers: JSON, errors, and security headers. */

import { codeOf, HighkiqError, messageOf, statusOfCode } from '../../job/errors.ts'
import { stringifyJson } from '../../job/json.ts'
import { inHttpWording } from './http-wording.ts'

/** Allows only resources of this server, no inline scripts or styles, and no frames. */
const CONTENT_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const HEADERS = {
  'content-security-policy': CONTENT_POLICY,
  'x-content-type-options': 'nosniff',
  // The URL of a task link contains its token.
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}

/** The Retry-After of temporary refusals, in seconds. */
const RETRY_AFTER = { 429: '5', 503: '5' } as Record<number, string>

/** Returns a JSON answer. Dates become ISO 8601, a BigInt a whole number. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(stringifyJson(body), { status, headers: { 'content-type': 'application/json', ...headers } })
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

/** Adds the security headers to an answer. */
export function guarded(answer: Response): Response {
  for (const [name, value] of Object.entries(HEADERS)) answer.headers.set(name, value)
  if (!answer.headers.has('cache-control')) answer.headers.set('cache-control', 'no-store')
  return answer
}

export function invalid(message: string, details?: Record<string, unknown>): HighkiqError {
  return new HighkiqError('INVALID_REQUEST', message, details)
}
