import type { Highkiq } from 'highkiq'
import { expect, test } from 'vitest'
import { api, apiDocument } from './api.ts'

test('the document is valid OpenAPI 3.1 with valid schemas', async () => {
  const { document, ajv } = await apiDocument()
  expect(document.openapi).toBe('3.1.0')
  for (const name of Object.keys(document.components.schemas)) {
    expect(ajv.getSchema(name), name).toBeTypeOf('function')
  }
  for (const [path, methods] of Object.entries(document.paths)) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    for (const operation of Object.values(methods) as { parameters?: { in: string; name: string }[] }[]) {
      const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path')
      expect(inPath.map(({ name }) => name)).toEqual(named)
    }
  }
})

test('every operation has a name of its own, its errors, and an example of its body that is valid', async () => {
  const { document, ajv } = await apiDocument()
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  const names = operations.map(({ operationId }) => operationId)
  expect(new Set(names).size).toBe(operations.length)
  for (const { operationId, responses, requestBody, security } of operations) {
    expect(operationId).toMatch(/^[a-z]+[A-Za-z]+$/)
    expect(responses['400'], operationId).toBeDefined()
    // An operation without a login refuses nobody.
    expect(responses['401'] === undefined, operationId).toBe(security?.length === 0)
    const { schema, example } = requestBody?.content?.['application/json'] ?? {}
    if (!schema) continue
    expect(example, operationId).toBeDefined()
    expect(ajv.validate(JSON.parse(JSON.stringify(schema).replaceAll('#/components/schemas/', '')), example)).toBe(true)
  }
})

test('the document and /healthz need no login, also from other machines', async () => {
  const { handle } = api({ auth: { bearer: 'secret' } })
  const health = await handle(new Request('https://jobs.example/healthz'))
  expect([health.status, await health.json()]).toEqual([200, { status: 'ok' }])
  expect((await handle(new Request('https://jobs.example/api/v1/openapi.json'))).status).toBe(200)
})

test('a wrong request is answered with a status and a stable code', async () => {
  const { call, handle } = api()
  const codeOf = async (method: string, path: string, init?: Parameters<typeof call>[2]) => {
    const { status, body } = await call(method, path, init)
    return [status, body.error.code]
  }
  expect(await codeOf('GET', '/api/v1/nothing')).toEqual([404, 'UNKNOWN_ROUTE'])
  expect(await codeOf('GET', '/api/v1/tasks/')).toEqual([404, 'UNKNOWN_ROUTE'])
  expect(await codeOf('GET', '/api/v1/tasks/%ff')).toEqual([400, 'INVALID_REQUEST'])
  expect(await codeOf('GET', '/api/v1/tasks/1234')).toEqual([404, 'UNKNOWN_TASK'])
  expect(await codeOf('GET', '/api/v1/tasks?limit=0')).toEqual([400, 'INVALID_REQUEST'])
  expect(await codeOf('GET', '/api/v1/tasks?limit=1e2')).toEqual([400, 'INVALID_REQUEST'])
  expect(await codeOf('GET', '/api/v1/tasks?state=odd')).toEqual([400, 'INVALID_REQUEST'])
  expect(await codeOf('GET', '/api/v1/tasks?cursor=odd')).toEqual([400, 'INVALID_REQUEST'])
  expect(await codeOf('GET', '/api/v1/tasks?colour=red')).toEqual([400, 'INVALID_REQUEST'])
  const csv = { headers: { accept: 'text/csv, application/json;q=0' } }
  expect(await codeOf('GET', '/api/v1/tasks', csv)).toEqual([406, 'NOT_ACCEPTABLE'])
  const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'class=A' }
  expect(await codeOf('POST', '/api/v1/jobs', form)).toEqual([415, 'UNSUPPORTED_TYPE'])
  const packed = { headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' }, body: '{}' }
  expect(await codeOf('POST', '/api/v1/jobs', packed)).toEqual([415, 'UNSUPPORTED_TYPE'])
  // A request without a body may have the header all the same.
  const { status } = await call('GET', '/api/v1/tasks', { headers: { 'content-encoding': 'gzip' } })
  expect(status).toBe(200)
  const broken = { headers: { 'content-type': 'application/json' }, body: '{"class":' }
  expect(await codeOf('POST', '/api/v1/jobs', broken)).toEqual([400, 'INVALID_REQUEST'])
  const latin = { headers: { 'content-type': 'application/json' }, body: new Uint8Array([34, 228, 34]) }
  expect(await codeOf('POST', '/api/v1/jobs', latin)).toEqual([400, 'INVALID_REQUEST'])

  const put = await call('PUT', '/api/v1/jobs', { json: {} })
  expect([put.status, put.headers.get('allow'), put.body.error.code]).toEqual([
    405,
    'GET, HEAD, POST',
    'METHOD_NOT_ALLOWED',
  ])
  const head = await handle(new Request('http://localhost/api/v1/tasks', { method: 'HEAD' }))
  expect([head.status, await head.text()]).toEqual([200, ''])
})

test('a body above its limit is refused, with or without Content-Length', async () => {
  const { call } = api({ limits: { bodyBytes: 1000 } })
  const large = JSON.stringify({ class: 'A', args: ['x'.repeat(1000)] })
  const type = { 'content-type': 'application/json' }
  const said = await call('POST', '/api/v1/jobs', { body: large, headers: { ...type, 'content-length': '1020' } })
  expect([said.status, said.body.error.code]).toEqual([413, 'BODY_TOO_LARGE'])
  const unsaid = await call('POST', '/api/v1/jobs', { body: new Blob([large]).stream(), headers: type })
  expect([unsaid.status, unsaid.body.error.code]).toEqual([413, 'BODY_TOO_LARGE'])
  expect((await call('POST', '/api/v1/jobs', { json: { class: 'A', args: [] } })).status).toBe(201)
})

test('an unexpected error is logged, and hidden from the client', async () => {
  const { call, hq, log } = api()
  hq.client.use(() => {
    throw new Error('password of the database: tiger')
  })
  const { status, body, text } = await call('POST', '/api/v1/jobs', { json: { class: 'A', args: [] } })
  expect([status, body.error.code]).toEqual([500, 'INTERNAL_ERROR'])
  expect(text).not.toContain('tiger')
  expect(JSON.stringify(log.lines.map(({ about }) => String(about.err)))).toContain('tiger')
})

test('wrong options are refused when the handler is created', () => {
  const wrong = (options: object) => {
    expect(() => api(options), JSON.stringify(options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  }
  wrong({ auht: {} })
  wrong({ auth: {} })
  wrong({ auth: { bearer: '' } })
  wrong({ auth: { bearer: ['a', ''] } })
  wrong({ auth: { basic: { user: 'ann' } } })
  wrong({ auth: { basic: null } })
  wrong({ auth: { basic: { user: 'an:n', password: 'x' } } })
  wrong({ auth: { bearer: 'a', baisc: { user: 'ann', password: 'x' } } })
  for (const auth of [null, true, 'secret', ['secret'], 5]) wrong({ auth })
  for (const secret of ['', 5, null]) wrong({ secret })
  for (const basePath of ['jobs', 'jobs/', 5, '/a b', '/a?b', null]) wrong({ basePath })
  for (const limits of [null, 5, [], { uploads: 0 }, { uploads: '4' }, { rowz: 5 }]) wrong({ limits })
  for (const imports of [null, [], 5, { Row: { allowDuplicate: true } }]) wrong({ imports })
  const jobs = (hq: Highkiq) => void hq.job('Row', async () => {})
  for (const Row of [
    null,
    { validat: {} },
    { validate: 5 },
    { validate: {} },
    { columns: [] },
    { format: 'pdf' },
    { maxRows: '5' },
    { concurrency: 0 },
    { dryRun: true },
    { onStart: () => {} },
  ]) {
    wrong({ jobs, imports: { Row } })
  }
  api({ jobs, imports: { Row: { allowDuplicate: true, columns: ['sku'], format: 'csv', maxFailures: '5%' } } })
  for (const basePath of ['', '/', '/jobs', '/jobs/', '/a/b']) api({ basePath })
})
