/** Sends requests to the API. */

import { at } from '../base.ts'
import { loadRefusals } from '../i18n/index.ts'

export class ApiError extends Error {
  readonly code: string
  readonly status: number
  readonly details: Readonly<Record<string, unknown>>
  constructor(code: string, message: string, status: number, details: Record<string, unknown> = {}) {
    super(message)
    this.details = details
    this.code = code
    this.status = status
  }
}

export type Query = Record<string, string | number | boolean | undefined | null>

/** `/queues`, { limit: 5 } → `/jobs/api/v1/queues?limit=5` */
export function urlOf(path: string, query: Query = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value))
  }
  return `${at(`/api/v1${path}`)}${search.size > 0 ? `?${search}` : ''}`
}

/** Sends a GET request. @throws ApiError; code `UNREACHABLE` without an answer, `NO_ANSWER` when something else answered */
export async function ask<Answer>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Answer> {
  return read(await reach(urlOf(path, query), signal ? { signal } : {}))
}

/** Returns why a stream does not open, which an EventSource does not tell; undefined when it opens. */
export async function refusalOf(path: string, query: Query): Promise<ApiError | undefined> {
  const leave = new AbortController()
  try {
    const answer = await reach(urlOf(path, query), { signal: leave.signal })
    return answer.ok ? undefined : errorOf(await answer.text(), answer.status)
  } catch (thrown) {
    return thrown as ApiError
  } finally {
    leave.abort()
  }
}

/** Sends a request that changes something. @throws ApiError */
export async function sendRequest<Answer>(
  method: 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
  query: Query = {},
): Promise<Answer> {
  const json = body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  return read(await reach(urlOf(path, query), { method, ...json }))
}

/** Sends a body that is JSON text, so that its digits stay as they were written. @throws ApiError */
export async function sendText<Answer>(
  path: string,
  text: string,
  query: Query = {},
  more: Record<string, string> = {},
): Promise<Answer> {
  const headers = { 'content-type': 'application/json', ...more }
  return read(await reach(urlOf(path, query), { method: 'POST', headers, body: text }))
}

/** Sends a file. @throws ApiError */
export async function sendFile<Answer>(
  path: string,
  query: Query,
  file: File,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const body = new FormData()
  body.set('file', file)
  return read(await reach(urlOf(path, query), { method: 'POST', body, headers }))
}

/**
 * Sends a request for a long action and yields its progress line by line; aborting stops the action. @throws ApiError
 */
export async function* streamAction<Line>(path: string, body: unknown, signal: AbortSignal): AsyncGenerator<Line> {
  const headers = { 'content-type': 'application/json', accept: 'application/x-ndjson' }
  const answer = await reach(urlOf(path), { method: 'POST', headers, body: JSON.stringify(body), signal })
  if (!answer.ok || !answer.body) {
    await read(answer)
    return
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield JSON.parse(line) as Line
  }
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { credentials: 'same-origin', ...init })
  } catch (thrown) {
    if (init.signal?.aborted) throw thrown
    throw new ApiError('UNREACHABLE', String((thrown as Error).message ?? thrown), 0)
  }
}

async function read<Answer>(answer: Response): Promise<Answer> {
  const { ok, status } = answer
  if (status === 204) return undefined as Answer
  const text = await answer.text().catch((thrown: unknown) => {
    throw new ApiError('NO_ANSWER', String(thrown), status)
  })
  if (!ok) throw await errorOf(text, status)
  try {
    return JSON.parse(text) as Answer
  } catch {
    // Perhaps it is the login page of a proxy.
    throw new ApiError('NO_ANSWER', text.slice(0, 300), status)
  }
}

/** An error as an answer has it. */
export interface ErrorAnswer {
  code: string
  message: string
  details?: Record<string, unknown>
}

/** Loads the texts of refusals, and then returns the error of an answer. */
export async function apiErrorOf({ code, message, details }: ErrorAnswer, status = 0): Promise<ApiError> {
  await loadRefusals()
  return new ApiError(code, message, status, details)
}

async function errorOf(text: string, status: number): Promise<ApiError> {
  let answer: ErrorAnswer | undefined
  try {
    answer = (JSON.parse(text) as { error?: ErrorAnswer }).error
  } catch {}
  return apiErrorOf(answer ?? { code: 'NO_ANSWER', message: text.slice(0, 300) }, status)
}
