/** Answers: JSON, errors, and the headers that all of them have. */

import { codeOf, HighkiqError, messageOf, statusOfCode } from '../../job/errors.ts'
import { stringifyJson } from '../../job/json.ts'
import { inHttpWording } from './http-wording.ts'

/** Nothing but what we serve ourselves, no inline script or style, in no frame. */
const CONTENT_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const HEADERS = {
  'content-security-policy': CONTENT_POLICY,
  'x-content-type-options': 'nosniff',
  // A link to a task has its token in the address.
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}

/** Seconds after which to try again what was refused for now. */
const RETRY_AFTER = { 429: '5', 503: '5' } as Record<number, string>

/** Dates become ISO 8601, a BigInt a whole number. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(stringifyJson(body), { status, headers: { 'content-type': 'application/json', ...headers } })
}

export interface ErrorBody {
  code: string
  message: string
  details?: Record<string, unknown>
}

/** What a client is told of anything that was thrown: of what is none of our errors nothing but that it is in the log. */
export function errorBody(thrown: unknown): ErrorBody {
  const code = codeOf(thrown)
  if (!code) return { code: 'INTERNAL_ERROR', message: 'something broke here: the log of the server tells what' }
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

/** The same answer with the headers that all have. */
export function guarded(answer: Response): Response {
  for (const [name, value] of Object.entries(HEADERS)) answer.headers.set(name, value)
  if (!answer.headers.has('cache-control')) answer.headers.set('cache-control', 'no-store')
  return answer
}

export function invalid(message: string, details?: Record<string, unknown>): HighkiqError {
  return new HighkiqError('INVALID_REQUEST', message, details)
}
