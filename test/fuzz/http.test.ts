/**
 * Malformed requests to the HTTP API. Each gets an answer that the OpenAPI document describes, below 500, without a stack and
 * without a value that `redact` hides; the server goes on, and needs less than a second of CPU for it.
 */

import { connect } from 'node:net'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { checkAnswer } from '../http/api.ts'
import {
  byteEdits,
  editedBytes,
  editedJson,
  editedText,
  FUZZ_TIME,
  fuzz,
  type Json,
  jsonEdits,
  rarely,
  STACK,
} from './fuzz.ts'
import { JID, LOGIN, type Operation, operations, SECRET, type World, world } from './world.ts'

const all = await operations()

const ODD_TEXTS = [
  '',
  '0',
  '-1',
  '1e9',
  '9'.repeat(400),
  'x'.repeat(3000),
  '__proto__',
  'constructor',
  '\0',
  '\n',
  '\ud800',
  '%',
  '../..',
  '~..',
  '*',
  '[]',
  '{"a":1}',
  '2026-12-31T23:00:00Z',
  '+275760-09-14',
  '30d',
  '999999999999d',
  'a,,b',
]
const odd = fc.oneof(fc.constantFrom(...ODD_TEXTS), fc.string({ unit: 'binary', maxLength: 12 }))

/** Parts of a request: which operation, what is chosen for its parameters, and how all of it is edited. */
const malformed = fc.record({
  operation: fc.constantFrom(...all),
  /** For each parameter: whether it is there, which valid value, and an odd one in place of it. */
  choices: fc.array(fc.record({ given: fc.nat(9), which: fc.nat(), odd: rarely(10, odd) }), {
    minLength: 20,
    maxLength: 20,
  }),
  body: fc.nat(),
  json: jsonEdits([
    'args',
    'queue',
    'at',
    'in',
    'unique',
    'jid',
    'class',
    'meta',
    'key',
    '__proto__',
    'priority',
    'retry',
  ]),
  bytes: fc.oneof({ arbitrary: fc.constant([]), weight: 4 }, byteEdits(['"', '{', '[', ',', '\n', '\0', '--', '\r\n'])),
  method: rarely(15, fc.constantFrom('GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS')),
  path: fc.oneof(
    { arbitrary: fc.constant([]), weight: 8 },
    byteEdits(['/', '%', '%00', '%ff', '..', '//', '?', '&', '=', '.']),
  ),
  unknown: rarely(25, fc.tuple(odd, odd)),
  headers: rarely(
    6,
    fc.dictionary(
      fc.constantFrom(
        'accept',
        'accept-language',
        'content-type',
        'content-encoding',
        'idempotency-key',
        'last-event-id',
        'origin',
        'sec-fetch-site',
        'referer',
        'cookie',
        'x-forwarded-for',
        'if-none-match',
        'range',
        'authorization',
      ),
      fc.constantFrom(
        '',
        '*/*',
        'text/html',
        'application/json',
        'text/csv',
        'multipart/form-data',
        'multipart/form-data; boundary=x',
        'gzip',
        'a',
        'null',
        'x'.repeat(4000),
        '1-abc',
        'http://localhost',
        'zh;q=nan',
        'Bearer x',
        'Basic :',
        'bytes=0-',
        '\xe9',
      ),
      { maxKeys: 1 },
    ),
  ),
  login: fc.oneof(
    { arbitrary: fc.constant('bearer' as const), weight: 8 },
    fc.constantFrom('task', 'read', 'list', 'none'),
  ),
})
type Malformed = typeof malformed extends fc.Arbitrary<infer Value> ? Value : never

/** Returns valid values of a parameter. */
function valuesOf({ name, schema, example }: Operation['parameters'][number], path: string, w: World): string[] {
  if (name === 'id') return path.includes('/ordered') ? ['1', '2'] : [w.task]
  const known: Record<string, string[]> = {
    jid: [JID, `${w.task}00000001`],
    bid: [w.bid],
    name: [path.includes('/ordered') ? 'Sync' : path.includes('/cron') ? 'nightly' : 'low'],
    class: ['HardJob', 'Row'],
    job: ['HardJob', 'Row'],
    columns: ['["sku"]'],
    // At most a second of waiting for the end of a job.
    wait: ['0', '1'],
  }
  if (known[name]) return known[name]
  if (schema.enum) return schema.enum
  if (schema.pattern) return [/\^\((\w+)/.exec(schema.pattern)?.[1] ?? 'a']
  if (schema.type === 'integer')
    return [`${schema.minimum ?? 0}`, `${schema.maximum ?? 7}`, `${(schema.minimum ?? 0) + 1}`]
  if (schema.type === 'boolean') return ['true', 'false', '']
  return [...(schema.examples ?? []), ...(example ? [example] : []), 'a', 'low', '2026-12-31T23:00:00Z']
}

const CSV = 'sku,password\na,x\nb,y\n'
const FORM = `--x\r\nContent-Disposition: form-data; name="file"; filename="rows.csv"\r\nContent-Type: text/csv\r\n\r\n${CSV}\r\n--x--\r\n`

function bodyOf({ operation, body, json, bytes }: Malformed): { type?: string; content?: Buffer } {
  const [type, example] = operation.bodies[body % operation.bodies.length] ?? []
  if (type === undefined) return {}
  const isForm = type === 'multipart/form-data'
  const lines = () => `${editedJson({ class: 'HardJob', args: [1], id: '1', payload: 1 }, json)}\n`.repeat(3)
  const text = type.includes('x-www-form')
    ? 'token=a'
    : /json/.test(type)
      ? example === undefined
        ? lines()
        : editedJson(example as Json, json)
      : isForm
        ? FORM
        : CSV
  return { type: isForm ? `${type}; boundary=x` : type, content: editedBytes(text, bytes) }
}

function requestOf(g: Malformed, w: World): [path: string, init: RequestInit] {
  const { operation, choices, unknown, login } = g
  let path = operation.path
  const query: [string, string][] = []
  const headers: Record<string, string> = {}
  for (const [i, parameter] of operation.parameters.entries()) {
    const { given, which, odd } = choices[i % choices.length] as Malformed['choices'][number]
    const values = valuesOf(parameter, path, w)
    const value = odd ?? (values[which % values.length] as string)
    const encoded = encodeURIComponent(value.toWellFormed())
    if (parameter.in === 'path') path = path.replace(`{${parameter.name}}`, encoded)
    else if (parameter.in === 'query' && given < 4)
      query.push([parameter.name.replace('NAME', 'user'), value.toWellFormed()])
    else if (parameter.in === 'header' && given < 2) headers[parameter.name] = value.replace(/[^\x20-\x7e]/g, '')
  }
  if (unknown) query.push([unknown[0].toWellFormed(), unknown[1].toWellFormed()])
  if (login !== 'bearer' && login !== 'none') query.push(['token', w.tokens[login]])
  const search = query.length > 0 ? `?${new URLSearchParams(query)}` : ''
  const edited = `/${editedText(path.slice(1), g.path)}${search}`.replace(/[^\x21-\x7e]/g, (one) =>
    encodeURIComponent(one.toWellFormed()),
  )
  const { type, content } = bodyOf(g)
  if (type) headers['content-type'] = type
  Object.assign(headers, login === 'bearer' ? LOGIN : {}, g.headers ?? {})
  const method = g.method ?? operation.method
  const hasBody = content !== undefined && method !== 'GET' && method !== 'HEAD'
  return [edited, { method, headers, redirect: 'manual', ...(hasBody ? { body: new Uint8Array(content) } : {}) }]
}

/** Checks one answer. Of a stream only the beginning is read. */
async function check({ url }: World, path: string, init: RequestInit): Promise<void> {
  const ending = new AbortController()
  const before = process.cpuUsage()
  const response = await fetch(url + path, { ...init, signal: ending.signal })
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  const text = isStream ? '' : await response.text()
  if (isStream) {
    await response.body?.getReader().read()
    ending.abort()
  }
  const { user, system } = process.cpuUsage(before)
  const about = `${init.method} ${path} ${response.status} ${text}`
  expect(response.status, about).toBeLessThan(500)
  expect(text, about).not.toContain(SECRET)
  expect(text, about).not.toMatch(STACK)
  if (!isStream) await checkAnswer(init.method as string, path, response, text)
  // A large collection of garbage may fall into any request.
  expect(user + system, about).toBeLessThan(3_000_000)
}

/** Collects errors and rejections that nobody handles: they would end a process. */
function unhandled(): unknown[] {
  const found: unknown[] = []
  const add = (thrown: unknown) => void found.push(thrown)
  for (const event of ['uncaughtException', 'unhandledRejection']) {
    process.on(event, add)
    onTestFinished(() => void process.off(event, add))
  }
  return found
}

test('malformed requests get an answer below 500 that tells no secret', { timeout: FUZZ_TIME }, async () => {
  const errors = unhandled()
  const requests = fc.array(malformed, { minLength: 25, maxLength: 25 })
  await fuzz({ percent: 30, perRun: 25 }, requests, async (requests) => {
    const w = await world()
    for (const one of requests) await check(w, ...requestOf(one, w))
    expect((await fetch(`${w.url}/healthz`)).status).toBe(200)
    expect(w.t.log.lines.filter(({ level }) => level === 'error')).toEqual([])
    expect(errors).toEqual([])
    await w.close()
  })
})

test('malformed bytes on a connection end it, and no other', { timeout: FUZZ_TIME }, async () => {
  const errors = unhandled()
  const w = await world()
  const { port, host } = new URL(w.url)
  const whole = (rest: string) =>
    `POST /api/v1/tasks/import?job=Row HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer a long secret\r\n${rest}`
  const requests = [
    whole(`Content-Type: text/csv\r\nContent-Length: ${CSV.length}\r\n\r\n${CSV}`),
    whole(`Content-Type: multipart/form-data; boundary=x\r\nContent-Length: ${FORM.length}\r\n\r\n${FORM}`),
    whole(`Content-Type: text/csv\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nsku\na\n\r\n0\r\n\r\n`),
    `GET /api/v1/jobs?limit=1 HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer a long secret\r\n\r\nGET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
  ]
  const edits = byteEdits(['\r\n', '\r\n\r\n', ':', ' ', '\0', '/', '0', '--x', 'HTTP/1.0', '@', ';', 'chunked'])
  await fuzz({ percent: 5 }, fc.tuple(fc.constantFrom(...requests), edits), async ([request, edits]) => {
    const answer = await new Promise<string>((resolve) => {
      let text = ''
      const socket = connect(Number(port), '127.0.0.1').setEncoding('latin1')
      socket.on('data', (some) => {
        text += some
      })
      socket.on('error', () => {})
      socket.on('close', () => resolve(text))
      socket.end(editedBytes(request, edits))
    })
    for (const [, status] of answer.matchAll(/^HTTP\/1\.1 (\d+)/gm)) expect(Number(status), answer).toBeLessThan(500)
    expect(answer).not.toContain(SECRET)
    expect(answer).not.toMatch(STACK)
    expect((await fetch(`${w.url}/healthz`)).status).toBe(200)
    expect(errors).toEqual([])
  })
  expect(w.t.log.lines.filter(({ level }) => level === 'error')).toEqual([])
  await w.close()
})
