/** Tests of clients that send slowly or stop: how many uploads they may open, and for how long. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../engine/bench.ts'
import { type ServedApi, served } from './api.ts'

const auth = { bearer: 'a long secret' }
const headers = { authorization: 'Bearer a long secret' }

/** Sends half the body of a request; `answer` resolves with all bytes that arrive until the server closes. */
function half(
  url: string,
  path: string,
  more: Record<string, string | number>,
  body = '',
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
  socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
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
    await hq.tasks.get(id).wait()
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

test('a trickling body is abandoned; a steady body is read, however long it takes', async () => {
  const { url, hq } = await served({ auth, limits: { bodySeconds: 0.4 } })
  const slow = half(url, '/api/v1/jobs', { ...headers, 'content-type': 'application/x-ndjson' })
  const drops = setInterval(() => slow.socket.write('\n'), 50)
  const answer = await slow.answer.finally(() => clearInterval(drops))
  expect(answer).toMatch(/^HTTP\/1\.1 408 /)

  const line = `${JSON.stringify({ class: 'Job', args: ['x'.repeat(2000)] })}\n`
  const lines = 12
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
