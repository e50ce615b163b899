/**
 * The client of the HTTP API, for browsers and Node. It imports nothing when it runs.
 *
 * @module highkiq/client
 */

import type { ErrorCode } from '../job/error-codes.ts'
import type { FileBody, Paths, Schemas } from './paths.generated.ts'

export type { ErrorCode, FileBody, Paths, Schemas }

export interface ClientOptions {
  /** Where the API is mounted: `https://shop.example/jobs`. Default: the origin of the page. */
  url?: string
  /** The bearer token of a login, or the token of a link. */
  token?: string
  /** Header fields of every request. */
  headers?: Record<string, string>
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/** What every request takes. */
export interface RequestOptions {
  headers?: Record<string, string>
  /** Ends the request. */
  signal?: AbortSignal
  /** The media type of a file or a text in `body`, for example `text/csv`. */
  type?: string
}

/** The server refused a request, or sent no complete answer of Highkiq. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** `NO_ANSWER`: something else answered, for example a proxy, or the answer was cut off. */
  readonly code: ErrorCode | 'NO_ANSWER'
  readonly status: number
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    code: ApiError['code'],
    message: string,
    status: number,
    details: Record<string, unknown> = {},
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.code = code
    this.status = status
    this.details = details
  }
}

type Method = 'get' | 'post' | 'patch' | 'delete'
type PathsOf<M extends Method> = { [Path in keyof Paths]: M extends keyof Paths[Path] ? Path : never }[keyof Paths]
type Operation<M extends Method, Path extends keyof Paths> = M extends keyof Paths[Path] ? Paths[Path][M] : never
type OptionsOf<O> = O extends { options: infer Options } ? Options & RequestOptions : never
type ArgsOf<Options> = Record<never, never> extends Options ? [options?: Options] : [options: Options]

/**
 * Sends a request to a route, and returns what its JSON answer holds. A file or a stream of events is returned as the
 * Response, whose body the caller reads.
 * @throws ApiError, and what `fetch` throws without an answer
 */
type Send<M extends Method> = <Path extends PathsOf<M>>(
  path: Path,
  ...args: ArgsOf<OptionsOf<Operation<M, Path>>>
) => Promise<Operation<M, Path> extends { answer: infer Answer } ? Answer : never>

export type Client = { [M in Method]: Send<M> }

interface Sent extends RequestOptions {
  path?: Record<string, string | number>
  query?: Record<string, unknown>
  body?: unknown
}

/**
 * Makes a client of the HTTP API.
 *
 * @example
 * const highkiq = createClient({ url: 'https://shop.example/jobs', token })
 * const { jid } = await highkiq.post('/api/v1/jobs', { body: { class: 'HardJob', args: [1] } })
 */
export function createClient(options: ClientOptions = {}): Client {
  const base = (options.url ?? '').replace(/\/+$/, '')
  const { fetch: send = (url, init) => fetch(url, init) } = options
  const login: Record<string, string> = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }
  const sender =
    (method: Method) =>
    async (route: string, { path = {}, query = {}, body, headers, signal, type }: Sent = {}): Promise<unknown> => {
      const isJson = type === undefined && isPlain(body)
      const mediaType = isJson ? 'application/json' : type
      const response = await send(base + pathOf(route, path) + searchOf(query), {
        method: method.toUpperCase(),
        headers: {
          accept: 'application/json, */*;q=0.5',
          ...(mediaType === undefined ? {} : { 'content-type': mediaType }),
          ...login,
          ...options.headers,
          ...headers,
        },
        ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : (body as FileBody) }),
        ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
        ...(signal ? { signal } : {}),
        // A client that follows a redirect may send a GET instead.
        ...(method === 'get' ? {} : { redirect: 'manual' as const }),
      })
      return read(method, response, signal)
    }
  const client = { get: sender('get'), post: sender('post'), patch: sender('patch'), delete: sender('delete') }
  return client as unknown as Client
}

/** Whether a body is sent as JSON: a plain object or an array. */
function isPlain(body: unknown): boolean {
  if (Array.isArray(body)) return true
  return typeof body === 'object' && body !== null && Object.getPrototypeOf(body) === Object.prototype
}

/** The server reads a name of one or two dots with one more `~`, because clients resolve `.` and `..`. */
function pathOf(route: string, values: Record<string, string | number>): string {
  return route.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined || value === '') throw new TypeError(`${route}: path.${name} must not be empty`)
    return encodeURIComponent(String(value).replace(/^~*\.\.?$/, '~$&'))
  })
}

function searchOf(query: Record<string, unknown>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  return search.size > 0 ? `?${search}` : ''
}

/** @throws ApiError */
async function read(method: Method, response: Response, signal?: AbortSignal): Promise<unknown> {
  const { status, headers, redirected, url } = response
  const isRead = method === 'get'
  const isRedirect = response.type === 'opaqueredirect' || (status >= 300 && status < 400)
  if (!isRead && (redirected || isRedirect)) {
    await response.body?.cancel()
    const to = headers.get('location') ?? (redirected ? url : undefined)
    const where = to === undefined ? '' : ` to ${to}`
    const advice = 'set url to where the API is, and log in where a proxy asks for it'
    throw new ApiError('NO_ANSWER', `the request was redirected${where}: ${advice}`, status)
  }
  if (!response.ok) throw errorOf(status, await response.text())
  if (status === 204) return undefined
  const type = headers.get('content-type')?.toLowerCase() ?? ''
  if (type.startsWith('application/json')) {
    try {
      return JSON.parse(await response.text())
    } catch (cause) {
      if (signal?.aborted) throw cause
      const advice = isRead
        ? 'send the request again'
        : 'the server may have executed the request: check before you send it again'
      const message = `the answer with status ${status} was cut off or is not JSON: ${advice}`
      throw new ApiError('NO_ANSWER', message, status, {}, { cause })
    }
  }
  if (isRead ? type.startsWith('text/html') : !type.startsWith('application/x-ndjson')) {
    throw errorOf(status, await response.text())
  }
  return response
}

function errorOf(status: number, text: string): ApiError {
  try {
    const { code, message, details } = (JSON.parse(text) as Schemas['Error']).error
    if (typeof code === 'string') return new ApiError(code as ErrorCode, message, status, details)
  } catch {
    // No JSON of Highkiq.
  }
  return new ApiError('NO_ANSWER', `${status} without an answer of Highkiq: ${text.slice(0, 300)}`, status)
}
