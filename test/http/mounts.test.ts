import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { connect, createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { serve as serveHono } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import express from 'express'
import fastify from 'fastify'
import type { Highkiq } from 'highkiq'
import { createHandler, nodeListener } from 'highkiq/http'
import { Hono } from 'hono'
import { expect, onTestFinished, test } from 'vitest'
import { bench } from '../engine/bench.ts'
import { caller } from './api.ts'

/** Checks a mounted API; `base` is its mount path. */
async function works(hq: Highkiq, origin: string, base: string): Promise<void> {
  // The document has paths without the base.
  const at = caller(origin + base, (request) => fetch(request))
  hq.job('Row', async () => {})
  const pushed = await at('POST', '/api/v1/jobs', { json: { class: 'A', args: [1] } })
  expect([pushed.status, (await hq.find(pushed.body.jid)).state]).toEqual([201, 'queued'])
  const headers = { 'content-type': 'text/csv' }
  const made = await at('POST', '/api/v1/tasks/import?job=Row', { body: 'sku\na\nb\n', headers })
  expect(made.body).toEqual({ id: made.headers.get('task-id'), total: 2 })
  expect(made.headers.get('location')).toBe(`${base}/api/v1/tasks/${made.body.id}`)
  const form = new FormData()
  form.append('file', new Blob(['sku\na\n']), 'a.csv')
  expect((await at('POST', '/api/v1/tasks/import?job=Row', { body: form })).body.total).toBe(1)
  const broken = await at('POST', '/api/v1/jobs', { body: '{', headers: { 'content-type': 'application/json' } })
  expect([broken.status, broken.body.error.code]).toEqual([400, 'INVALID_REQUEST'])
  expect((await at('GET', '/api/v1/tasks?limit=0')).status).toBe(400)
  const { url } = (await at('GET', `/api/v1/tasks/${made.body.id}/link`)).body
  const page = await fetch(origin + url)
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('of 2 rows are processed')])
  const leave = new AbortController()
  const stream = await fetch(`${origin}${base}/api/v1/tasks/${made.body.id}/stream`, { signal: leave.signal })
  const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
  let told = ''
  while (!told.includes('event: status')) told += new TextDecoder().decode((await reader.read()).value)
  leave.abort()
  await reader.cancel().catch(() => {})
  expect((await at('GET', '/api/v1/tasks')).body.items).toHaveLength(2)
}

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('in node:http', async () => {
  const { hq } = bench()
  await works(hq, await listen(nodeListener(hq)), '')
})

test('in node:http2', async () => {
  const { hq } = bench()
  const server = createHttp2Server(nodeListener(hq) as never).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  onTestFinished(() => {
    client.close()
    server.close()
  })
  const call = async (method: string, path: string, body?: string) => {
    const headers = { ':method': method, ':path': path, 'content-type': 'application/json' }
    const stream = client.request(headers, { endStream: body === undefined })
    if (body !== undefined) stream.end(body)
    const [{ ':status': status }] = await once(stream, 'response')
    let text = ''
    for await (const chunk of stream.setEncoding('utf8')) text += chunk
    return { status, body: JSON.parse(text) }
  }
  const pushed = await call('POST', '/api/v1/jobs', '{"class":"A","args":[1]}')
  expect([pushed.status, (await hq.find(pushed.body.jid)).state]).toEqual([201, 'queued'])
  expect((await call('GET', '/api/v1/queues/default')).body).toMatchObject({ size: 1 })
  expect((await call('POST', '/api/v1/queues/default/clear')).body).toEqual({ done: 1 })
})

test('in Hono', async () => {
  const { hq } = bench()
  const handle = createHandler(hq, { basePath: '/jobs' })
  const app = new Hono().all('/jobs/*', (c) => handle(c.req.raw, { remote: getConnInfo(c).remote.address }))
  const server = serveHono({ fetch: app.fetch, port: 0, hostname: '127.0.0.1', overrideGlobalObjects: false })
  onTestFinished(() => {
    server.close()
    if ('closeAllConnections' in server) server.closeAllConnections()
  })
  if (!server.listening) await once(server, 'listening')
  await works(hq, `http://127.0.0.1:${(server.address() as AddressInfo).port}`, '/jobs')
})

test('in Express, mounted anywhere, also behind body parsers', async () => {
  const { hq } = bench()
  const app = express().use(express.json()).use('/jobs', nodeListener(hq))
  app.use((_request, response) => void response.status(418).end())
  const origin = await listen(app as RequestListener)
  const broken = await fetch(`${origin}/elsewhere`)
  expect(broken.status).toBe(418)
  const plain = express().use('/jobs', nodeListener(hq))
  await works(hq, await listen(plain as RequestListener), '/jobs')
  const call = caller(`${origin}/jobs`, (request) => fetch(request))
  const { status, body } = await call('POST', '/api/v1/jobs', { json: { class: 'Parsed', args: [{ a: 1 }] } })
  expect([status, (await hq.find(body.jid)).payload?.args]).toEqual([201, [{ a: 1 }]])
})

test('behind body parsers a login form works, and a rounded number is refused', async () => {
  const { hq } = bench()
  const token = 'a token of 20 characters'
  const app = express().use(express.json(), express.urlencoded({ extended: false }))
  app.use('/jobs', nodeListener(hq, { auth: { bearer: token } }))
  const origin = await listen(app as RequestListener)
  const form = new URLSearchParams({ token, to: '/jobs/' })
  const login = await fetch(`${origin}/jobs/login`, {
    method: 'POST',
    body: form,
    headers: { origin },
    redirect: 'manual',
  })
  expect(login.status).toBe(303)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const push = (n: string) =>
    fetch(`${origin}/jobs/api/v1/jobs`, { method: 'POST', body: `{"class":"J","args":[${n}]}`, headers })
  expect((await push('9007199254740991')).status).toBe(201)
  const refused = await push('123456789012345678901')
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('mount highkiq in front')])
})

test('in Fastify', async () => {
  const { hq } = bench()
  const app = fastify({ forceCloseConnections: true })
  onTestFinished(() => app.close())
  const listener = nodeListener(hq, { basePath: '/jobs' })
  await app.register(async (scope) => {
    // Bodies are passed on unparsed.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _body, done) => done(null))
    scope.all('/jobs/*', async (request, reply) => {
      reply.hijack()
      await listener(request.raw, reply.raw)
    })
  })
  await works(hq, await app.listen({ port: 0, host: '127.0.0.1' }), '/jobs')
})
