import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { gate, until } from '../engine/bench.ts'
import { api, served } from './api.ts'
import { eventsOf, type Told } from './events.ts'

async function all(response: Response): Promise<Told[]> {
  const told: Told[] = []
  for await (const one of eventsOf(response)) told.push(one)
  return told
}

test('a task stream sends each change, at most four a second, and ends with done', async () => {
  const { handle, hq, work } = api()
  const Row = hq.job('Row', async (_ctx, _n: number) => sleep(5))
  const { id } = await hq.tasks.create(
    Row,
    Array.from({ length: 60 }, (_, n) => [n] as [number]),
  )
  const response = await handle(new Request(`http://localhost/api/v1/tasks/${id}/stream`))
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  const began = performance.now()
  await work({ concurrency: 1 })
  const told = await all(response)
  const seconds = (performance.now() - began) / 1000
  expect(told.at(-1)?.event).toBe('done')
  const statuses = told.filter(({ event }) => event === 'status')
  expect(statuses.length).toBeGreaterThanOrEqual(2)
  expect(statuses.length).toBeLessThanOrEqual(seconds * 4 + 2)
  const states = told.map(({ data }) => JSON.parse(data as string))
  expect(states[0]).toMatchObject({ id, counts: { finished: expect.any(Number) } })
  expect(states.at(-1)).toMatchObject({ state: 'done', counts: { finished: 60 } })
  expect(new Set(statuses.map(({ id }) => id)).size).toBe(statuses.length)
})

test('a task stream resumes after a reconnect, and answers 204 once the client knows the end', async () => {
  const { handle, hq, work } = api()
  const doors = gate()
  const Row = hq.job('Row', async () => doors.opened)
  const { id } = await hq.tasks.create(Row, [[]])
  const open = (seen?: string, signal?: AbortSignal) => {
    const headers: RequestInit['headers'] = seen ? { 'last-event-id': seen } : {}
    return handle(new Request(`http://localhost/api/v1/tasks/${id}/stream`, { headers, ...(signal ? { signal } : {}) }))
  }
  const first = await eventsOf(await open()).next()
  expect(first.value?.event).toBe('status')
  const again = eventsOf(await open(first.value?.id))
  const news = again.next()
  await work()
  doors.open()
  // The client receives only what is new.
  expect(JSON.parse((await news).value?.data as string).counts.enqueued).toBe(0)
  await until(async () => (await hq.tasks.get(id).status())?.state === 'done')
  const ended = await all(await open())
  expect(ended.map(({ event }) => event)).toEqual(['status', 'done'])
  expect((await open(ended.at(-1)?.id)).status).toBe(204)
  expect((await handle(new Request('http://localhost/api/v1/tasks/0000000000000000/stream'))).status).toBe(404)
})

test('a task is polled once for all its watchers', async () => {
  const { handle, hq } = api()
  const Row = hq.job('Row', async () => {})
  const { id } = await hq.tasks.create(Row, [[]])
  let looks = 0
  const { store } = hq
  const task = store.tasks.find.bind(store.tasks)
  store.tasks.find = (name) => {
    looks++
    return task(name)
  }
  const streams = await Promise.all(
    Array.from({ length: 30 }, () => handle(new Request(`http://localhost/api/v1/tasks/${id}/stream`))),
  )
  const opened = looks
  await sleep(600)
  expect(looks - opened).toBeLessThan(5)
  for (const { body } of streams) await body?.cancel()
  await sleep(300)
  const closed = looks
  await sleep(400)
  expect(looks).toBe(closed)
})

test('open streams are limited, and a closed stream frees its slot', async () => {
  const { url, hq } = await served({ limits: { streams: 1 } })
  const Row = hq.job('Row', async () => {})
  const { id } = await hq.tasks.create(Row, [[]])
  const path = `${url}/api/v1/tasks/${id}/stream`
  const leave = new AbortController()
  const first = await fetch(path, { signal: leave.signal })
  expect(first.status).toBe(200)
  expect((await fetch(path)).status).toBe(429)
  leave.abort()
  await until(async () => {
    const { status, body } = await fetch(path)
    await body?.cancel()
    return status === 200
  })
})

test('a client that never reads keeps no more than the newest status', async () => {
  const { handle, hq } = api()
  const Row = hq.job('Row', async () => {})
  const { id } = await hq.tasks.create(Row, [[]])
  const response = await handle(new Request(`http://localhost/api/v1/tasks/${id}/stream`))
  const { store } = hq
  const task = store.tasks.find.bind(store.tasks)
  let total = 1
  store.tasks.find = async (name) => {
    const record = await task(name)
    return record && { ...record, total: ++total }
  }
  await sleep(1600)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const seen: string[] = []
  for (let i = 0; i < 3; i++) seen.push(new TextDecoder().decode((await reader.read()).value))
  await reader.cancel()
  const totals = seen.flatMap((text) => [...text.matchAll(/"total":(\d+)/g)].map(([, n]) => Number(n)))
  // The first status and the newest one, and none in between.
  expect(totals.length).toBeLessThanOrEqual(3)
  expect(totals.at(-1)).toBeGreaterThanOrEqual(5)
})

test('bodies have backpressure in both directions', async () => {
  const { hq } = api()
  const { adapt } = (await import('#dist/http/node.js')) as { adapt: typeof import('../../src/http/node.ts').adapt }
  let made = 0
  const [aborted, done] = [gate(), gate()]
  const handle = async (request: Request) => {
    request.signal.addEventListener('abort', aborted.open)
    // The client reads nothing.
    if (request.method === 'POST') await done.opened
    const body = new ReadableStream({
      pull(controller) {
        made += 64 * 1024
        controller.enqueue(new Uint8Array(64 * 1024))
      },
    })
    return new Response(request.method === 'POST' ? null : body)
  }
  const listener = adapt(hq, handle, 60)
  const server = createServer(listener).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  const { port } = server.address() as { port: number }

  const socket = connect(port, '127.0.0.1')
  let read = () => 0
  server.once('connection', (connection) => {
    read = () => connection.bytesRead
  })
  socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000000\r\n\r\n')
  const chunk = Buffer.alloc(1_000_000)
  for (let i = 0; i < 50; i++) socket.write(chunk)
  await sleep(300)
  expect(read()).toBeLessThan(2_000_000)
  done.open()
  socket.destroy()

  const [answer] = (await once(get({ port, host: '127.0.0.1', agent: false }), 'response')) as [IncomingMessage]
  await sleep(300)
  const before = made
  await sleep(200)
  expect(made).toBe(before)
  expect(made).toBeLessThan(20_000_000)
  // The signal of the request aborts when the client disconnects.
  answer.destroy()
  await aborted.opened
})
