import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { Highkiq, HighkiqOptions } from 'highkiq'
import { createHandler, type FetchHandler, type HttpOptions, serve } from 'highkiq/http'
import { expect, onTestFinished } from 'vitest'
import { type Bench, bench } from '../engine/bench.ts'

interface Described {
  content?: Record<string, { schema: object; example?: unknown }>
  headers?: Record<string, object>
}
interface Operation {
  operationId?: string
  security?: object[]
  requestBody?: Described
  responses: Record<string, Described & { $ref?: string }>
}
interface Document {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object>; responses: Record<string, Described> }
}

/** Any JSON value. */
type Json = ReturnType<typeof JSON.parse>

export interface Answer {
  status: number
  headers: Headers
  text: string
  /** The parsed body of a JSON answer. */
  body: Json
}

/** An app and its handler. Answers are checked against the OpenAPI document. */
export interface Api extends Bench {
  handle: FetchHandler
  call(method: string, path: string, init?: RequestInit & { json?: unknown }): Promise<Answer>
  /** Returns the path of a task's link. For servers without a login. */
  link(task: { id: string }): Promise<string>
}

/** Makes an app with the jobs that `jobs` defines, and its API. Calls go directly to the handler, as from this machine. */
export function api(
  options: HttpOptions & { origin?: string; jobs?: (hq: Highkiq) => void; app?: HighkiqOptions } = {},
): Api {
  const { origin = 'http://localhost:7433', jobs = () => {}, app: appOptions, ...rest } = options
  const app = bench(appOptions)
  jobs(app.hq)
  const handler = createHandler(app.hq, rest)
  const handle: FetchHandler = (request, from = { remote: '127.0.0.1' }) => handler(request, from)
  const call = caller(origin, (request) => handle(request))
  return { ...app, handle, call, link: linkBy(call) }
}

export interface ServedApi extends Bench {
  url: string
  call: Api['call']
  link: Api['link']
}

/** Makes the same with a real server. */
export async function served(options: HttpOptions = {}): Promise<ServedApi> {
  const app = bench()
  const { url, close } = await serve(app.hq, { port: 0, ...options })
  onTestFinished(close)
  const call = caller(url, (request) => fetch(request))
  return { ...app, url, call, link: linkBy(call) }
}

const linkBy =
  (call: Api['call']): Api['link'] =>
  async ({ id }) =>
    (await call('GET', `/api/v1/tasks/${id}/link`)).body.url

/** Returns a function that calls the API and checks the answer. */
export function caller(origin: string, handle: (request: Request) => Promise<Response>): Api['call'] {
  return async (method, path, { json, ...init } = {}) => {
    const headers = new Headers(init.headers)
    if (json !== undefined) headers.set('content-type', 'application/json')
    const body = json === undefined ? init.body : JSON.stringify(json)
    const duplex = body instanceof ReadableStream ? { duplex: 'half' } : {}
    const request = new Request(origin + path, { ...init, ...duplex, method, headers, body } as RequestInit)
    const response = await handle(request)
    const text = await response.text()
    await checkAnswer(method, path, response, text)
    const isJson = response.headers.get('content-type') === 'application/json' && text !== ''
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
  }
}

// The document is the same for every app.
let known: Promise<{ document: Document; ajv: Ajv2020 }> | undefined

export function apiDocument(): Promise<{ document: Document; ajv: Ajv2020 }> {
  known ??= (async () => {
    const handle = createHandler({} as never)
    const response = await handle(new Request('http://localhost/api/v1/openapi.json'))
    const document = (await response.json()) as Document
    const ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true })
    formats.default(ajv)
    ajv.addFormat('binary', true)
    for (const [name, schema] of Object.entries(document.components.schemas)) ajv.addSchema(alone(schema), name)
    return { document, ajv }
  })()
  return known
}

/** Returns a schema whose references work outside the document. */
const alone = (schema: object): object => JSON.parse(JSON.stringify(schema).replaceAll('"#/components/schemas/', '"'))

/** The compiled schemas of the document: compiling takes longer than a request. */
const validators = new Map<object, ValidateFunction>()

/** Checks an answer against the document. @throws what differs */
export async function checkAnswer(method: string, path: string, response: Response, text: string): Promise<void> {
  const { document, ajv } = await apiDocument()
  const { status, headers } = response
  expect(headers.get('content-security-policy'), 'every answer has a policy').toMatch(/^default-src 'none'/)
  const type = headers.get('content-type')?.split(';')[0] ?? ''
  const operation = operationOf(document, method, path.split('?')[0] as string)
  const known = operation?.responses[status]
  // The document has every answer of an operation below 500, with its codes.
  if (operation && !known)
    expect(status, `${method} ${path} has no answer ${status}: ${text}`).toBeGreaterThanOrEqual(500)
  const named = known?.$ref && document.components.responses[known.$ref.replace('#/components/responses/', '')]
  const described = named || (known ?? operation?.responses.default)
  for (const name of Object.keys(described?.headers ?? {})) expect(headers.has(name), `header ${name}`).toBe(true)
  const { schema } = described ? (described.content?.[type] ?? {}) : { schema: { $ref: '#/components/schemas/Error' } }
  if (!schema) {
    expect(text, `${method} ${path} ${status} has a body of type ${type}, which the document does not know`).toBe('')
    return
  }
  if (type !== 'application/json' || method === 'HEAD') return
  const validate = validators.get(schema) ?? ajv.compile(alone(schema))
  validators.set(schema, validate)
  if (validate(JSON.parse(text))) return
  throw new Error(`${method} ${path} ${status}: ${ajv.errorsText(validate.errors)}\n${text}`)
}

function operationOf(document: Document, method: string, path: string): Operation | undefined {
  const operations = Object.entries(document.paths)
    .filter(([pattern]) => new RegExp(`^${pattern.replace(/\{\w+\}/g, '[^/]+')}$`).test(path))
    .sort(([a], [b]) => a.split('{').length - b.split('{').length)
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase()
  return operations.map(([, methods]) => methods[verb]).find(Boolean)
}
