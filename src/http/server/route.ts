/** A route: its parameters, its answers and its function. The OpenAPI document is made from the same table. */

import { parseAccept } from 'hono/utils/accept'
import type { Highkiq } from '../../app.ts'
import type { ErrorCode } from '../../job/error-codes.ts'
import { HighkiqError } from '../../job/errors.ts'
import { withoutUnreachable } from '../../job/without-unreachable.ts'
import type { LinkRights } from '../../tasks/link.ts'
import type { AuditDetails } from '../access/audit.ts'
import type { Peer } from '../access/local.ts'
import type { SchemaName } from '../schemas.ts'
import type { Parameters, Values } from './parameter.ts'
import type { ServerContext } from './server-context.ts'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** JSON Schema, or the name of one of `schemas.ts`. */
export type SchemaOf = string | Record<string, unknown>

export interface Answer {
  description: string
  /** The schema of each media type. */
  content?: Record<string, SchemaOf>
  headers?: Record<string, string>
}

/** The argument of a route's function. */
export interface Call<Query = Record<string, unknown>> {
  hq: Highkiq
  server: ServerContext
  /** The mount path of this API: '' or `/jobs`. */
  base: string
  request: Request
  url: URL
  path: Record<string, string>
  query: Query
  /** The rights of the link, when the caller came by one. */
  link: LinkRights | undefined
  /** The key by which requests of this link are counted: one for all links of a list. */
  linkHolder: string | undefined
  /** True for the submitter's own link, unless a caller from whom values are hidden requested it. */
  linkShowsHidden: boolean
  /** True for a caller who logged in by the form. */
  isByCookie: boolean
  peer: Peer
  /** The caller, as the audit names it. */
  who: string
  /** True when neither the server nor the link is read-only. */
  mayChange: boolean
  /**
   * Adds details to the audit entry of this request. The entry is written when the route answers, when it throws after it
   * has reported a `count` above 0, and when it fails with a status of 500 or more.
   */
  audit(details: AuditDetails): void
  /** Postpones the entry of this request: it is written when the returned function is called. */
  deferAudit(): () => void
}

export interface Route {
  method: Method
  /** As in OpenAPI: `/api/v1/tasks/{id}`. */
  path: string
  /** The `operationId` in the document, a verb and a noun. Pages have none. */
  id?: string
  summary: string
  /** True for pages: their errors are pages, too, and the document leaves them out. */
  page?: boolean
  /** True when the dashboard has a page with this path, too: a browser gets that page. */
  isAlsoPage?: boolean
  /**
   * Limits the route to some callers. `operator`, the default: logged-in callers. `task`: also callers with the link of
   * the task `id`. `meta`: also callers with the link to the tasks with the `meta` of the query. `all`: everybody.
   */
  access?: 'operator' | 'task' | 'meta' | 'all'
  /** True for a read that must not leave out what is on a shard that can't be reached: it is refused then. */
  isComplete?: boolean
  /** True for a route that changes nothing but is recorded in the audit. */
  audited?: boolean
  query?: Parameters
  /** The header fields that it reads, with their descriptions. */
  headers?: Record<string, string>
  body?: { content: Record<string, SchemaOf>; optional?: boolean }
  answers: Record<number, Answer>
  /** The codes below 500 that only this route answers, beside those that follow from its access and its body. */
  errors?: readonly ErrorCode[]
  run(call: Call): Response | Promise<Response>
}

/** Runs a route that changes nothing. Its lists and figures leave out shards that can't be reached, unless it `isComplete`. */
export function runRead(route: Route, call: Call): Response | Promise<Response> {
  if (route.access === 'all' || route.isComplete) return route.run(call)
  return withoutUnreachable(call.hq.store, () => route.run(call))
}

/** Returns a function that makes a route of this method. The function of the route knows the types of its query. */
function makerOf(method: Method) {
  return <P extends Parameters = Record<never, never>>(
    path: string,
    about: Omit<Route, 'method' | 'path' | 'run' | 'query'> & {
      query?: P
      run(call: Call<Values<P>>): Response | Promise<Response>
    },
  ): Route => ({ method, path, ...about }) as unknown as Route
}

export const get = makerOf('GET')
export const post = makerOf('POST')
export const patch = makerOf('PATCH')
export const del = makerOf('DELETE')

/** The codes of pushes, for `errors`. */
export const PUSH_ERRORS = [
  'INVALID_JOB',
  'INVALID_ARGS',
  'ARGS_TOO_LARGE',
  'UNIQUE_CONFLICT',
  'QUEUE_FULL',
  'UNKNOWN_BATCH',
  'BATCH_ENDED',
] as const

/** `queue` → `Queue`, for the `id` of a route. */
export const capitalized = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)

/** Describes an answer in JSON, for the document. */
export const answer = (schema: SchemaName, description: string): Answer => {
  return { description, content: { 'application/json': schema } }
}
export const ok = (schema: SchemaName, description: string): Record<number, Answer> => ({
  200: answer(schema, description),
})

/** @throws NOT_ACCEPTABLE when the client accepts none of the route's media types */
export function checkAccept(accept: string | null, { answers }: Route): void {
  const types = Object.entries(answers)
    .filter(([status]) => Number(status) < 300)
    .flatMap(([, { content }]) => Object.keys(content ?? {}))
  if (accept === null || types.length === 0) return
  const ranges = parseAccept(accept.toLowerCase()).filter(({ q }) => q > 0)
  const accepts = (type: string) =>
    ['*/*', `${type.split('/')[0]}/*`, type].some((one) => ranges.some((r) => r.type === one))
  if (!types.some(accepts)) {
    throw new HighkiqError('NOT_ACCEPTABLE', `Accept must include ${types.join(' or ')} (got ${accept})`)
  }
}
