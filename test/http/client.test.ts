import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ApiError, createClient, type Schemas } from 'highkiq/client'
import { type HttpOptions, serve } from 'highkiq/http'
import { rolldown } from 'rolldown'
import { expect, onTestFinished, test } from 'vitest'
import { bench } from '../engine/bench.ts'

const TOKEN = 'a long secret'

/** Starts a server with a job, and makes a client of it. */
async function connected(options: HttpOptions = {}) {
  const app = bench()
  const Row = app.hq.job('Row', { retry: false }, async (_ctx, row: Record<string, string>) => {
    if (row.sku === 'b') throw new Error('rejected')
  })
  const { url, close } = await serve(app.hq, { port: 0, auth: { bearer: TOKEN }, ...options })
  onTestFinished(close)
  return { ...app, Row, url, client: createClient({ url, token: TOKEN }) }
}

test('a client pushes, reads and lists with the types of the routes', async () => {
  const { client, hq, Row } = await connected()
  const pushed = await client.post('/api/v1/jobs', { body: { class: 'Row', args: [{ sku: 'a' }], queue: 'low' } })
  if (!('jid' in pushed) || pushed.jid === null) throw new Error('no jid')
  const { state, queue }: Schemas['Job'] = await client.get('/api/v1/jobs/{jid}', { path: { jid: pushed.jid } })
  expect([state, queue]).toEqual(['queued', 'low'])
  expect((await client.get('/api/v1/queues/{name}', { path: { name: 'low' } })).size).toBe(1)
  const found = await client.get('/api/v1/jobs', { query: { state: 'queued,retry', 'args.0.sku': 'a', limit: 5 } })
  expect(found.items.map(({ state, jid }) => [state, jid])).toEqual([['queued', pushed.jid]])
  const filter: Schemas['JobsFilter'] = { state: ['queued'], args: { '0.sku': 'b' } }
  expect(await client.post('/api/v1/jobs/all/delete', { body: filter })).toMatchObject({ done: 0, ended: true })
  // Clients resolve these names in a path, encoded or not. Only programs of Ruby make such queues.
  for (const name of ['..', '~..', 'a/b?c']) {
    expect((await client.get('/api/v1/queues/{name}', { path: { name } })).name).toBe(name)
  }

  await hq.tasks.create(Row, [[{ sku: 'a' }]], { meta: { user: 7 } })
  const { items } = await client.get('/api/v1/tasks', { query: { 'meta.user': 7, state: undefined, limit: 5 } })
  expect(items.map(({ meta }) => meta)).toEqual([{ user: 7 }])
  const [task] = items
  expect(await client.delete('/api/v1/tasks/{id}', { path: { id: task?.id ?? '' } })).toBe(undefined)
})

test('a client uploads a file and downloads its report', async () => {
  const { client, hq, work } = await connected()
  const file = new Blob(['sku\na\nb\n'])
  const imported = await client.post('/api/v1/tasks/import', {
    query: { job: 'Row', keepArgs: 'all' },
    body: file,
    type: 'text/csv',
  })
  if (!('id' in imported)) throw new Error('no task')
  await work()
  await hq.tasks.get(imported.id).wait()
  const report: Response = await client.get('/api/v1/tasks/{id}/report', { path: { id: imported.id } })
  expect(await report.text()).toMatch(/^sku,[^\n]*\nb,3,[^\n]*rejected/)

  const form = new FormData()
  form.set('file', file, 'again.csv')
  const again = await client.post('/api/v1/tasks/import', { query: { job: 'Row', dryRun: true }, body: form })
  expect(again).toMatchObject({ total: 2, valid: 2, columns: ['sku'] })
})

test('a refused request throws an ApiError with the code of the server', async () => {
  const { client, url } = await connected()
  const refusal = (promise: Promise<unknown>) =>
    promise.then(
      () => expect.unreachable(),
      (thrown: ApiError) => thrown,
    )
  const unknown = await refusal(client.get('/api/v1/tasks/{id}', { path: { id: '0123456789abcdef' } }))
  expect(unknown).toBeInstanceOf(ApiError)
  expect([unknown.code, unknown.status]).toEqual(['UNKNOWN_TASK', 404])
  expect(unknown.message).toContain('0123456789abcdef')
  const wrong = await refusal(client.get('/api/v1/tasks', { query: { limit: 0 } }))
  expect([wrong.code, wrong.details]).toEqual(['INVALID_REQUEST', { parameter: 'limit' }])
  const stranger = await refusal(createClient({ url, token: 'wrong' }).get('/api/v1/stats'))
  expect([stranger.code, stranger.status]).toEqual(['UNAUTHORIZED', 401])

  for (const text of ['<h1>Bad Gateway</h1>', '{"error":"bad gateway"}', 'null']) {
    const proxied = createClient({ url, fetch: async () => new Response(text, { status: 502 }) })
    const { code, status, message } = await refusal(proxied.get('/api/v1/stats'))
    expect([code, status, message]).toEqual(['NO_ANSWER', 502, expect.stringContaining(text)])
  }
  const page = (type: string) => async () => new Response('<h1>Login</h1>', { headers: { 'content-type': type } })
  const html = createClient({ url, fetch: page('text/html; charset=utf-8') })
  const push = { body: { class: 'Row', args: [] } }
  for (const answer of [html.get('/api/v1/stats'), html.post('/api/v1/jobs', push)]) {
    expect(await refusal(answer)).toMatchObject({
      code: 'NO_ANSWER',
      status: 200,
      message: expect.stringContaining('<h1>Login</h1>'),
    })
  }
  const plain = createClient({ url, fetch: page('text/plain') })
  expect(await refusal(plain.post('/api/v1/jobs', push))).toMatchObject({ code: 'NO_ANSWER', status: 200 })
  // An empty name would lead to another route.
  const empty = client.delete('/api/v1/dead/{jid}', { path: { jid: '' } })
  await expect(empty).rejects.toThrow('/api/v1/dead/{jid}: path.jid must not be empty')
  await expect(client.get('/api/v1/stats', { signal: AbortSignal.abort() })).rejects.toMatchObject({
    name: 'AbortError',
  })
})

test('a push that a proxy redirects throws NO_ANSWER, also when a JSON answer follows', async () => {
  const { client: direct, url, hq } = await connected()
  const proxy = createServer((request, response) => {
    response.writeHead(302, { location: url + request.url }).end()
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => void proxy.close())
  const { port } = proxy.address() as AddressInfo
  const client = createClient({ url: `http://127.0.0.1:${port}`, token: TOKEN })
  await direct.post('/api/v1/jobs', { body: { class: 'Row', args: [1] } })
  const pushed = client.post('/api/v1/jobs', { body: { class: 'Row', args: [2] } })
  await expect(pushed).rejects.toMatchObject({
    ...{ code: 'NO_ANSWER', status: 302 },
    message: expect.stringContaining(`redirected to ${url}/api/v1/jobs`),
  })
  // An app's own fetch that follows redirects in any case.
  const own = createClient({
    ...{ url: `http://127.0.0.1:${port}`, token: TOKEN },
    fetch: (to, init) => fetch(to, { ...init, redirect: 'follow' }),
  })
  await expect(own.post('/api/v1/jobs', { body: { class: 'Row', args: [3] } })).rejects.toMatchObject({
    code: 'NO_ANSWER',
  })
  expect((await hq.stats()).enqueued).toBe(1)
})

test.each<[string, (half: string) => string | ReadableStream]>([
  ['ends early', (half) => half],
  [
    'breaks off',
    () =>
      new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated: other side closed')) }),
  ],
])('an answer that %s throws NO_ANSWER, which says that a push may be stored', async (_, cut) => {
  const { client: direct, url } = await connected()
  const client = createClient({
    ...{ url, token: TOKEN },
    async fetch(to, init) {
      const response = await fetch(to, init)
      const text = await response.text()
      return new Response(cut(text.slice(0, text.length / 2)), response)
    },
  })
  await expect(client.post('/api/v1/jobs', { body: { class: 'Row', args: [] } })).rejects.toMatchObject({
    ...{ name: 'ApiError', code: 'NO_ANSWER', status: 201, cause: expect.any(Error) },
    message: expect.stringContaining('the server may have executed the request: check before you send it again'),
  })
  expect((await direct.get('/api/v1/queues/{name}', { path: { name: 'default' } })).size).toBe(1)
  await expect(client.get('/api/v1/stats')).rejects.toMatchObject({
    ...{ code: 'NO_ANSWER', status: 200, message: expect.stringContaining('send the request again') },
  })
})

test('a signal that ends the reading of an answer throws its AbortError', async () => {
  const { url } = await connected()
  const ending = new AbortController()
  const client = createClient({
    ...{ url, token: TOKEN },
    async fetch(to, init) {
      const stop = (controller: ReadableStreamDefaultController) => {
        ending.abort()
        controller.error(ending.signal.reason)
      }
      return new Response(new ReadableStream({ pull: stop }), await fetch(to, init))
    },
  })
  await expect(client.get('/api/v1/stats', { signal: ending.signal })).rejects.toMatchObject({ name: 'AbortError' })
})

test('a wrong route, parameter, body or answer does not compile', () => {
  const wrong = (client: ReturnType<typeof createClient>) => [
    // @ts-expect-error no such route
    client.get('/api/v1/job'),
    // @ts-expect-error the route takes no POST
    client.post('/api/v1/stats'),
    // @ts-expect-error the id is missing
    client.get('/api/v1/tasks/{id}'),
    // @ts-expect-error no such state
    client.get('/api/v1/tasks', { query: { state: 'odd' } }),
    // @ts-expect-error no such parameter
    client.get('/api/v1/tasks', { query: { colour: 'red' } }),
    // @ts-expect-error args is missing
    client.post('/api/v1/jobs', { body: { class: 'Row' } }),
    // @ts-expect-error no such member
    client.get('/api/v1/stats').then((stats) => stats.colour),
    // @ts-expect-error no such code
    new ApiError('NO_SUCH_CODE', '', 400),
  ]
  expect(wrong).toBeTypeOf('function')
})

test('a bundle for browsers has the client and nothing else', async () => {
  const { client, url } = await connected()
  const folder = new URL('../../dist/http-client/index.js', import.meta.url)
  const bundle = await rolldown({ input: folder.pathname, platform: 'browser' })
  const { output } = await bundle.generate({ format: 'esm', minify: true })
  await bundle.close()
  const [{ code, imports, dynamicImports }] = output
  expect([output.length, imports, dynamicImports]).toEqual([1, [], []])
  expect(code).not.toMatch(/node:|process\.|Buffer\b|require\(/)
  expect(code.length).toBeLessThan(3000)

  const bundled = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as typeof import('highkiq/client')
  const mine = bundled.createClient({ url, token: TOKEN })
  await mine.post('/api/v1/jobs', { body: { class: 'Row', args: [{ sku: 'a' }] } })
  expect((await client.get('/api/v1/queues')).items).toMatchObject([{ name: 'default', size: 1 }])
})
