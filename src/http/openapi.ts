/** The OpenAPI document, made from the routes. */

import { VERSION } from '../index.ts'
import { cached } from '../job/cached.ts'
import { type ErrorCode, STATUS } from '../job/error-codes.ts'
import { stringifyJson } from '../job/json.ts'
import { EXAMPLES } from './schemas/examples.ts'
import { SCHEMAS, type SchemaName } from './schemas.ts'
import type { Answer, Route, SchemaOf } from './server/route.ts'

/** The parameters of paths: what each is, and an example. */
const PATH_PARAMETERS: Record<string, [description: string, example: string]> = {
  jid: ['the id of a job', 'b4a577edbccf1d805744efa9'],
  bid: ['the id of a batch', 'f3b1c2d4e5a60718'],
  id: ['the id of a task; for an ordered queue, an id in it', '1f0c9a3b5d7e2468'],
  name: ['the name of a queue, an ordered queue or a cron entry', 'default'],
  identity: ['the identity of a process', 'worker-1:4242:0c9d3fb21a7e'],
  key: ['the key of a lock', 'SyncOrder:5d41402abc4b2a76'],
  class: ['the class of a job', 'HardJob'],
}

/** The login: a bearer token, or a name and a password; none is needed from this machine to a server without `auth`. */
const LOGIN = [{ bearer: [] }, { basic: [] }, {}]

const ref = (name: string) => `#/components/schemas/${name}`
const schemaOf = (schema: SchemaOf) => (typeof schema === 'string' ? { $ref: ref(schema) } : schema)

/** Returns a function that returns the document as JSON. All of it but the mount path is the same for each request. */
export function openApiDocument(routes: () => readonly Route[]): (base: string) => Promise<string> {
  const shared = cached(Number.POSITIVE_INFINITY, async () => stringifyJson(await openApiOf(routes())))
  return async (base) => {
    const servers = [{ url: base === '' ? '/' : base }]
    return `{"servers":${stringifyJson(servers)},${(await shared()).slice(1)}`
  }
}

async function openApiOf(routes: readonly Route[]): Promise<object> {
  // Loaded for the first document only.
  const { toJsonSchemaDefs } = await import('@valibot/to-json-schema')
  const paths: Record<string, Record<string, object>> = {}
  const responses: Record<string, object> = {}
  for (const route of routes) {
    if (route.page) continue
    paths[route.path] ??= {}
    ;(paths[route.path] as Record<string, object>)[route.method.toLowerCase()] = operationOf(route, responses)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Highkiq',
      version: VERSION,
      description: 'Background jobs and tracked tasks.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    security: LOGIN,
    paths,
    components: {
      responses,
      schemas: toJsonSchemaDefs(SCHEMAS, {
        target: 'draft-2020-12',
        overrideRef: ({ referenceId }) => ref(referenceId),
        ignoreActions: ['check'],
      }),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        basic: { type: 'http', scheme: 'basic' },
        link: { type: 'apiKey', in: 'query', name: 'token', description: 'token of a link, which opens one task' },
      },
    },
  }
}

/** @param responses gets the errors that the operation names */
function operationOf(route: Route, responses: Record<string, object>): object {
  const { id, summary, body, query = {}, headers = {}, answers, path, access } = route
  const parameters = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
      const [description, example] = PATH_PARAMETERS[name as string] ?? []
      return { name, in: 'path', required: true, description, example, schema: { type: 'string' } }
    }),
    ...Object.entries(query).map(([name, { description, schema, required = false, readMembers }]) => {
      return { name: readMembers ? `${name}.NAME` : name, in: 'query', required, description, schema }
    }),
    ...Object.entries(headers).map(([name, description]) => {
      return { name, in: 'header', description, schema: { type: 'string' } }
    }),
  ]
  return {
    operationId: id,
    summary,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: { required: !body.optional, content: contentOf(body.content) } } : {}),
    ...(access === 'task' ? { security: [{ link: [] }, ...LOGIN] } : {}),
    ...(access === 'all' ? { security: [] } : {}),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, answerOf(answer)])),
      ...errorsOf(route, responses),
      default: { description: 'The error', content: contentOf({ 'application/json': 'Error' }) },
    },
  }
}

/** Returns the errors below 500 by status, as references: each set of codes is described once, in `responses`. */
function errorsOf(route: Route, responses: Record<string, object>): Record<string, object> {
  const byStatus: Record<string, ErrorCode[]> = {}
  for (const code of new Set(codesOf(route))) {
    byStatus[STATUS[code]] ??= []
    byStatus[STATUS[code]]?.push(code)
  }
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, codes]) => {
      const name = codes.sort().join('.')
      responses[name] ??= {
        description: codes.map((code) => `\`${code}\``).join(', '),
        content: { 'application/json': { schema: errorSchema(codes) } },
      }
      return [status, { $ref: `#/components/responses/${name}` }]
    }),
  )
}

function codesOf({ method, access, body, answers, errors = [] }: Route): ErrorCode[] {
  const hasContent = Object.values(answers).some(({ content }) => content)
  return [
    'INVALID_REQUEST',
    'INVALID_OPTION',
    ...(access === 'all' ? [] : (['UNAUTHORIZED', 'FORBIDDEN', 'TOO_MANY_REQUESTS'] as const)),
    ...(method === 'GET' ? [] : (['READ_ONLY'] as const)),
    ...(hasContent ? (['NOT_ACCEPTABLE'] as const) : []),
    ...(body ? (['BODY_BROKEN_OFF', 'BODY_TOO_SLOW', 'BODY_TOO_LARGE', 'UNSUPPORTED_TYPE'] as const) : []),
    ...errors,
  ]
}

/** An Error with one of these codes. */
function errorSchema(codes: readonly ErrorCode[]): object {
  const code = { type: 'object', properties: { code: { type: 'string', enum: codes } } }
  return { allOf: [{ $ref: ref('Error') }, { type: 'object', properties: { error: code } }] }
}

function answerOf({ description, content, headers }: Answer): object {
  const described = Object.entries(headers ?? {}).map(([name, description]) => {
    return [name, { description, schema: { type: 'string' } }]
  })
  return {
    description,
    ...(content ? { content: contentOf(content) } : {}),
    ...(described.length > 0 ? { headers: Object.fromEntries(described) } : {}),
  }
}

function contentOf(content: Record<string, SchemaOf>): object {
  return Object.fromEntries(
    Object.entries(content).map(([type, schema]) => {
      const example = type === 'application/json' ? EXAMPLES[schema as SchemaName] : undefined
      return [type, { schema: schemaOf(schema), ...(example === undefined ? {} : { example }) }]
    }),
  )
}
