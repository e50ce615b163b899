/** Tests of clients that send or read slowly, or stop: how many requests they may keep open, and for how long. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { serve } from 'highkiq/http'
import { expect, onTestFinished, test } from 'vitest'
import { bench, until } from '../engine/bench.ts'
import { api, type ServedApi, served } from './api.ts'

const auth = { bearer: 'a long secret' }
const headers = { authorization: 'Bearer a long secret' }

/** Sends half the body of a request; `answer` resolves with all bytes that arrive until the server closes. */
function half(
  url: string,
  path: string,
  more: Record<string, string | number>,
  body = '',
  method = 'POST',
): { socket: Socket; answer: Promise<string> } {
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname).setEncoding('utf8')
  onTestFinished(() => void socket.destroy())
  let text = ''
  socket.on('data', (some: string) => {
    text += some
  })
  socket.on('error', () => {})
  const lines = Object.entries({ host, 'content-length': 1_000_000, ...more }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
  return { socket, answer: once(socket, 'close').then(() => text) }
}

/** Makes a task with a rejected row, and a link to it. */
async function rejected({ hq, call, work }: ServedApi) {
  const Row = hq.job('Row', { retry: false }, async (_ctx, _row: { sku: string }) => {
    throw new Error('rejected')
  })
  const worker = await work()
  const make = async (sku: string) => {
    const { id } = await hq.tasks.import(Row, Buffer.from(`sku\n${sku}\n`), { name: 'rows.csv' })
    await hq.tasks.get(id).wait({ every: 10 })
    const { token } = (await call('GET', `/api/v1/tasks/${id}/link`, { headers })).body
    return { id, retry: `/api/v1/tasks/${id}/retry?token=${token}`, report: `sku,row key\nb,${id}:0:1\n` }
  }
  const tasks = [await make('1'), await make('2'), await make('3')] as const
  await worker.stop()
  return tasks
}

const csv = { 'content-type': 'text/csv' }

test.each([
  ['a file', '/api/v1/tasks/import?job=Row', 'text/csv', 'sku\na\n'],
  ['JSON', '/api/v1/jobs', 'application/json', '{'],
  ['lines', '/api/v1/jobs', 'application/x-ndjson', '{"class":"Job","args":[]}\n'],
  ['ordered lines', '/api/v1/ordered/Sync', 'application/x-ndjson', '{"id":1}\n'],
])('%s that stops coming is given up, and the connection closed', async (_, path, type, body) => {
  const { hq, url, log } = await served({ auth, limits: { bodySeconds: 0.3 } })
  hq.job('Row', async () => {})
  hq.ordered('Sync', () => {})
  const began = performance.now()
  const answer = await half(url, path, { ...headers, 'content-type': type }, body).answer
  expect(answer).toMatch(/^HTTP\/1\.1 (408|202) /)
  expect(answer).toContain('BODY_TOO_SLOW')
  expect(performance.now() - began).toBeGreaterThan(290)
  expect(log.lines.filter(({ level }) => level === 'error')).toEqual([])
})

test('a slow body is abandoned without a login, too: the login form', async () => {
  const { url } = await served({ auth, limits: { bodySeconds: 0.3 } })
  const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }
  expect(await half(url, '/login', { ...form, 'content-length': 1000 }, 'token=').answer).toMatch(/^HTTP\/1\.1 408 /)
})

test.each(['GET', 'HEAD'])('a body of a %s is not waited for', async (method) => {
  const { url } = await served({ auth })
  const { socket, answer } = half(url, '/healthz', {}, '', method)
  const drops = setInterval(() => socket.write('x'), 50)
  expect(await answer.finally(() => clearInterval(drops))).toMatch(/^HTTP\/1\.1 200 /)
})

test('a trickling body is abandoned; a steady body is read, however long it takes', async () => {
  const { url, hq } = await served({ auth, limits: { bodySeconds: 0.4 } })
  const slow = half(url, '/api/v1/jobs', { ...headers, 'content-type': 'application/x-ndjson' })
  const drops = setInterval(() => slow.socket.write('\n'), 50)
  const answer = await slow.answer.finally(() => clearInterval(drops))
  expect(answer).toMatch(/^HTTP\/1\.1 408 /)

  const line = `${JSON.stringify({ class: 'Job', args: ['x'.repeat(2000)] })}\n`
  const lines = 6
  const steady = half(url, '/api/v1/jobs', {
    ...{ ...headers, 'content-type': 'application/x-ndjson', connection: 'close' },
    'content-length': lines * line.length,
  })
  for (let n = 0; n < lines; n++) {
    steady.socket.write(line)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  expect(await steady.answer).toMatch(/^HTTP\/1\.1 201 /)
  expect(await hq.queue('default').size()).toBe(lines)
})

test('links have their own upload limit, with one upload for each link', async () => {
  const api = await served({ auth, limits: { uploads: 2, bodySeconds: 60 } })
  const [one, two, three] = await rejected(api)
  const { call, url } = api
  const send = async ({ retry, report }: typeof one) =>
    (await call('POST', retry, { body: report, headers: csv })).status
  /** Sends half a body, and waits until the upload counts as open. */
  const hold = async (task: typeof one): Promise<Socket> => {
    for (;;) {
      const { socket, answer } = half(url, task.retry, { ...csv, expect: '100-continue' }, 'sku')
      let isRefused = false
      void answer.then(() => {
        isRefused = true
      })
      // The server has received the first half.
      await once(socket, 'data')
      // This request counts for a moment, in which the other one may be refused.
      while (!isRefused) if ((await send(task)) === 429) return socket
    }
  }
  const held = await hold(one)
  expect(await send(two)).toBe(202)
  await hold(two)
  expect(await send(three)).toBe(429)
  // Logged-in callers have a limit of their own.
  const importing = (body: string) =>
    call('POST', '/api/v1/tasks/import?job=Row', { body, headers: { ...headers, ...csv } })
  expect((await Promise.all([importing('sku\n4\n'), importing('sku\n5\n')])).map(({ status }) => status)).toEqual([
    202, 202,
  ])
  held.destroy()
  await until(async () => (await send(one)) === 202)
})

test('linkBodySeconds limits a body by a link, even if it arrives steadily', async () => {
  const { url, hq, ...rest } = await served({ auth, limits: { linkBodySeconds: 0.3 } })
  const [one] = await rejected({ url, hq, ...rest })
  const line = `${'x'.repeat(9999)}\n`
  const slow = half(url, one.retry, { ...csv, 'content-length': 1e9 }, 'sku,row key\n')
  const lines = setInterval(() => slow.socket.write(line), 20)
  expect(await slow.answer.finally(() => clearInterval(lines))).toMatch(/^HTTP\/1\.1 408 [\s\S]*BODY_TOO_SLOW/)

  // A caller with a login may take longer.
  const rows = 6
  const importing = half(
    url,
    '/api/v1/tasks/import?job=Row',
    { ...headers, ...csv, connection: 'close', 'content-length': 4 + rows * line.length },
    'sku\n',
  )
  for (let n = 0; n < rows; n++) {
    importing.socket.write(line)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  expect(await importing.answer).toMatch(/^HTTP\/1\.1 202 [\s\S]*"total":6/)
})

/** Opens a report and does not read it. */
const unread = async ({ handle }: Pick<ReturnType<typeof api>, 'handle'>, path: string) => {
  const { status, body } = await handle(new Request(`http://localhost:7433${path}`))
  return { status, body: body as ReadableStream<Uint8Array> }
}

test('a file that its client does not read is broken off, and frees its slot', async () => {
  const t = api({ limits: { downloads: 1, unreadSeconds: 0.2 } })
  const { id } = await t.hq.tasks.create(
    t.hq.job('Row', async () => {}),
    [[]],
  )
  const path = `/api/v1/tasks/${id}/report`
  const { body } = await unread(t, path)
  expect((await t.call('GET', path)).status).toBe(429)
  await until(async () => (await t.call('GET', path)).status === 200)
  await expect(new Response(body).text()).rejects.toThrow('does not read')
})

test('links have their own limit of downloads, of which one link or list has a tenth', async () => {
  const t = api({ auth: () => true, limits: { downloads: 11 } })
  const Row = t.hq.job('Row', async () => {})
  const make = async () => {
    const { id } = await t.hq.tasks.create(Row, [[]], { meta: { user: 7 } })
    return { id, report: `/api/v1/tasks/${id}/report`, own: new URL(await t.link({ id }), 'http://x').search }
  }
  const [one, two] = [await make(), await make()]
  const { url } = (await t.call('GET', '/api/v1/tasks/link?meta.user=7')).body
  const list = await (await t.handle(new Request(`http://localhost:7433${url}`))).text()
  const listed = (id: string) => new RegExp(`href="/tasks/${id}([^"]+)"`).exec(list)?.[1] ?? ''
  const open = async (path: string) => (await unread(t, path)).status
  const opened = async (path: string) => [await open(path), await open(path), await open(path)]
  expect(await opened(one.report + one.own)).toEqual([200, 200, 429])
  expect(await open(two.report + two.own)).toBe(200)
  // The tasks of a list share what one link has.
  expect(await open(one.report + listed(one.id))).toBe(200)
  expect(await opened(two.report + listed(two.id))).toEqual([200, 429, 429])
  expect(await opened(one.report)).toEqual([200, 200, 200])
})

test('a connection whose client does not read an answer is closed', async () => {
  const { hq } = bench()
  const jid = '0123456789abcdef01234567'
  // Larger than the buffers in between.
  const text = JSON.stringify({ class: 'Job', args: ['x'.repeat(15_000_000)], queue: 'low', jid })
  await hq.store.jobs.push([{ to: 'dead', text, score: 5 }], Date.now())
  const { server, close } = await serve(hq, { port: 0, limits: { unreadSeconds: 0.2 } })
  onTestFinished(close)
  const { port } = server.address() as { port: number }
  const socket = connect(port, '127.0.0.1').pause()
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  const connections = () =>
    new Promise<number>((resolve, reject) => server.getConnections((error, n) => (error ? reject(error) : resolve(n))))
  const answered = once(server, 'request')
  socket.write(`GET /api/v1/dead/${jid}?whole=1 HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
  await answered
  expect(await connections()).toBe(1)
  await until(async () => (await connections()) === 0)
})
