/** Tests of access to a server without a login, and of proxies in front of it. */

import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { api, caller, served } from './api.ts'

/**
 * Sends raw bytes.
 * @returns the whole answer
 */
async function raw(url: string, request: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).setEncoding('utf8')
  let answer = ''
  socket.on('data', (text: string) => {
    answer += text
  })
  socket.write(request)
  await once(socket, 'close')
  return answer
}

const statusOf = (answer: string) => Number(answer.split(' ')[1])
const TASKS = '/api/v1/tasks'

test('without a login a request with a header of a proxy is refused, and the refusal names it', async () => {
  const { call } = api()
  const guarded = api({ auth: { bearer: 'a long secret' } })
  for (const [name, value] of [
    ['via', '1.1 edge'],
    ['forwarded', 'for=127.0.0.1'],
    ['x-forwarded-for', '127.0.0.1'],
    ['x-forwarded-host', 'localhost'],
    ['x-forwarded-anything', ''],
    ['x-real-ip', '127.0.0.1'],
    ['cf-connecting-ip', '127.0.0.1'],
    ['cf-ray', '1'],
    ['client-ip', '127.0.0.1'],
    ['x-client-ip', '127.0.0.1'],
    ['true-client-ip', '127.0.0.1'],
    ['fly-client-ip', '127.0.0.1'],
    ['fastly-client-ip', '127.0.0.1'],
    ['x-envoy-external-address', '127.0.0.1'],
    ['x-amzn-trace-id', 'Root=1-0'],
    ['x-azure-clientip', '127.0.0.1'],
    ['x-original-host', 'localhost'],
  ] as const) {
    const headers = { [name]: value }
    const { status, body } = await call('GET', TASKS, { headers })
    expect([status, body.error.code], name).toEqual([403, 'FORBIDDEN'])
    expect(body.error.message).toContain(`the header ${name} says`)
    expect((await call('POST', '/api/v1/jobs', { json: { class: 'A', args: [] }, headers })).status).toBe(403)
    expect((await call('GET', '/healthz', { headers })).status).toBe(200)
    const authorized = { ...headers, authorization: 'Bearer a long secret' }
    expect((await guarded.call('GET', TASKS, { headers: authorized })).status).toBe(200)
  }
})

test('without a login a proxy that speaks HTTP/1.0, as nginx does by default, is refused', async () => {
  const { url } = await served()
  const host = new URL(url).host
  const get = (path: string, version: string, more = '') =>
    raw(url, `GET ${path} HTTP/${version}\r\nHost: ${host}\r\nConnection: close\r\n${more}\r\n`)
  expect(statusOf(await get(TASKS, '1.1'))).toBe(200)
  const refused = await get(TASKS, '1.0')
  expect(statusOf(refused)).toBe(403)
  expect(refused).toContain('HTTP/1.0')
  expect(statusOf(await raw(url, `GET ${TASKS} HTTP/1.0\r\n\r\n`))).toBe(403)
  expect(statusOf(await get(TASKS, '0.9'))).toBe(403)
  expect(statusOf(await get('/healthz', '1.0'))).toBe(200)
  const guarded = await served({ auth: { bearer: 'a long secret' } })
  const bearer = 'Authorization: Bearer a long secret\r\n'
  expect(statusOf(await raw(guarded.url, `GET ${TASKS} HTTP/1.0\r\n${bearer}\r\n`))).toBe(200)
})

test('without a login a request that a page of another host sent is refused, and the refusal names the header', async () => {
  const { call } = api()
  const guarded = api({ auth: { bearer: 'a long secret' } })
  const status = async (headers: Record<string, string>) => (await call('GET', TASKS, { headers })).status
  for (const name of ['origin', 'referer']) {
    for (const address of [
      'https://jobs.example',
      'http://jobs.example:7433',
      'http://192.0.2.7',
      'http://localhost.example',
    ]) {
      const headers = { [name]: address }
      const { status, body } = await call('GET', TASKS, { headers })
      expect([status, body.error.code], `${name} ${address}`).toEqual([403, 'FORBIDDEN'])
      expect(body.error.message).toContain(`the header ${name} names ${new URL(address).hostname}`)
      const authorized = { ...headers, authorization: 'Bearer a long secret' }
      expect((await guarded.call('GET', TASKS, { headers: authorized })).status).toBe(200)
    }
    for (const address of ['http://localhost:7433', 'http://127.0.0.1:5173', 'http://[::1]', 'http://jobs.localhost']) {
      expect(await status({ [name]: address }), `${name} ${address}`).toBe(200)
    }
  }
  // These values name no host.
  expect(await status({ origin: 'null' })).toBe(200)
  expect(await status({ referer: '/tasks' })).toBe(200)
})

const HOSTS: [host: string, status: number][] = [
  ['localhost', 200],
  ['LOCALHOST.:7433', 200],
  ['127.0.0.1', 200],
  ['127.9.9.9:80', 200],
  ['[::1]', 200],
  ['[::1]:7433', 200],
  ['[0:0:0:0:0:0:0:1]:7433', 200],
  ['[::ffff:127.0.0.1]', 200],
  ['jobs.localhost', 200],
  ['jobs.example', 403],
  ['jobs.example:7433', 403],
  ['localhost.example', 403],
  ['127.0.0.1.example', 403],
  ['127.0.0.1@jobs.example', 403],
  ['jobs.example@127.0.0.1', 403],
  ['localhost/jobs.example', 403],
  ['localhost#jobs.example', 403],
  ['localhost, jobs.example', 403],
  ['localhost jobs.example', 403],
  ['0.0.0.0', 403],
  ['[::]', 403],
  ['[::2]', 403],
  ['192.0.2.7', 403],
  ['localhost:', 200],
  ['localhost:1:2', 403],
  ['.0.0.1', 403],
  ['localhost:99999', 403],
]

test('without a login the header Host has to name this machine, and nothing else', async () => {
  const { url } = await served()
  for (const [host, status] of HOSTS) {
    const answer = await raw(url, `GET ${TASKS} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    // Node refuses a request whose header can't be part of an address.
    const allowed = status === 403 ? [403, 400] : [status]
    expect(allowed, host).toContain(statusOf(answer))
  }
})

test('an absolute request target or a second Host header gives no access', async () => {
  const { url } = await served()
  const { host } = new URL(url)
  const get = (target: string, ...hosts: string[]) =>
    raw(url, `GET ${target} HTTP/1.1\r\n${hosts.map((one) => `Host: ${one}\r\n`).join('')}Connection: close\r\n\r\n`)
  expect(statusOf(await get(`http://${host}${TASKS}`, 'jobs.example'))).toBe(403)
  expect(statusOf(await get(TASKS, 'jobs.example', host))).toBe(400)
  expect(statusOf(await get(TASKS, host, 'jobs.example'))).toBe(400)
  expect(statusOf(await get(TASKS))).toBe(400)
})

test('the client address is compared as an address, not as text', async () => {
  const { handle } = api()
  const from = async (remote: string) =>
    (await caller('http://localhost', (request) => handle(request, { remote }))('GET', TASKS)).status
  for (const here of ['127.0.0.1', '127.0.0.2', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1']) {
    expect(await from(here), here).toBe(200)
  }
  for (const afar of [
    '192.0.2.7',
    '::ffff:192.0.2.7',
    '::2',
    'fe80::1',
    '',
    'localhost.example',
    '127.0.0.1.example',
  ]) {
    expect(await from(afar), afar).toBe(403)
  }
})
