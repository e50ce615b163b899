import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { BusinessFailure, type Highkiq } from 'highkiq'
import { createHandler, serve } from 'highkiq/http'
import { expect, onTestFinished, test } from 'vitest'
import { all, gate, until } from '../engine/bench.ts'
import { type Api, api, caller, served } from './api.ts'

const CSV = { 'content-type': 'text/csv' }
/** The counts of a retry that are 0 by default. */
const NONE = { rows: 0, unchanged: 0, finished: 0, open: 0, dropped: 0, refused: 0 }
const products = 'sku,price\na-1,12.50\na-2,-3\na-3,-4\n'

/** A job that refuses prices below zero. */
function pricing(hq: Highkiq) {
  return hq.job('Row', async (_ctx, row: { sku: string; price: string }) => {
    if (Number(row.price) < 0) throw new BusinessFailure('must not be negative', { code: 'price', field: 'price' })
  })
}

/** Makes a task of `products` and waits for its end. */
async function imported(
  { call, hq, work }: Pick<Api, 'call' | 'hq' | 'work'>,
  headers = {},
  isDefined = false,
  body = products,
): Promise<string> {
  if (!isDefined) pricing(hq)
  await work()
  const made = await call('POST', '/api/v1/tasks/import?job=Row', { body, headers: { ...CSV, ...headers } })
  await hq.tasks.get(made.body.id).wait({ every: 10 })
  return made.body.id
}

const statusOf = async (hq: Highkiq, id: string) => hq.tasks.get(id).wait({ every: 10 })

test('a task is paused, changed, resumed, cancelled and deleted', async () => {
  const { call, hq, work } = api()
  const doors = gate()
  const Row = hq.job('Row', async (ctx, _n: number) => {
    await Promise.race([doors.opened, new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))])
    ctx.signal.throwIfAborted()
  })
  const { id } = await hq.tasks.create(Row, [[1], [2], [3], [4]], { concurrency: 1 })
  const path = `/api/v1/tasks/${id}`
  expect((await call('POST', `${path}/pause`)).body).toMatchObject({ id, state: 'paused' })
  const changed = await call('PATCH', path, {
    json: { name: 'spring', concurrency: 2, maxFailures: '5%', onMaxFailures: 'cancel' },
  })
  expect([changed.status, changed.body]).toMatchObject([200, { name: 'spring', state: 'paused' }])
  expect(await hq.store.tasks.find(id)).toMatchObject({
    window: 2,
    maxFailures: { percent: 5 },
    onMaxFailures: 'cancel',
  })
  for (const wrong of [
    { concurrency: 0 },
    { concurrency: '2' },
    { name: 5 },
    { colour: 'red' },
    { maxFailures: 'x' },
  ]) {
    const { status, body } = await call('PATCH', path, { json: wrong })
    expect([status, body.error.code], JSON.stringify(wrong)).toEqual([400, expect.stringMatching(/^INVALID_/)])
  }
  expect((await call('POST', `${path}/resume`)).body.state).toBe('running')
  await work()
  await until(async () => (await hq.tasks.get(id).status())?.counts.working)
  expect((await call('POST', `${path}/cancel`, { json: { reson: 'x' } })).status).toBe(400)
  const cancelled = await call('POST', `${path}/cancel`, { json: { reason: 'wrong file' } })
  expect(cancelled.body).toMatchObject({ reason: 'wrong file', counts: { enqueued: 0 } })
  await until(async () => (await call('GET', path)).body.state === 'cancelled')
  // An ended task refuses all actions.
  expect((await call('POST', `${path}/cancel`)).body.state).toBe('cancelled')
  for (const name of ['pause', 'resume']) {
    const { status, body } = await call('POST', `${path}/${name}`)
    expect([status, body.error.code]).toEqual([409, 'TASK_ENDED'])
  }
  expect((await call('DELETE', path)).status).toBe(204)
  expect((await call('GET', path)).status).toBe(404)
})

test('an ended task refuses actions, and a task above maxFailures says why it will pause again', async () => {
  const { call, handle, hq, work, link } = api()
  const Row = hq.job('Row', async (_ctx, _n: number) => {
    throw new BusinessFailure('no')
  })
  const rows = [[1], [2], [3], [4], [5]] as [number][]
  const { id } = await hq.tasks.create(Row, rows, { concurrency: 1, maxFailures: 1 })
  const path = `/api/v1/tasks/${id}`
  await work()
  const paused = async () => (await call('GET', path)).body.state === 'paused'
  await until(paused)
  expect((await call('GET', path)).body).toMatchObject({
    reason: 'too many rows were rejected: 2 of 2 so far',
    cause: { code: 'too-many-failures', params: { rejected: 2, ended: 2 } },
    window: 1,
    maxFailures: 1,
    onMaxFailures: 'pause',
  })
  const page = await handle(new Request(`http://localhost:7433${await link({ id })}`))
  expect(await page.text()).toContain('Paused: too many rows were rejected: 2 of 2 so far.')
  const resumed = await call('POST', `${path}/resume`)
  expect([resumed.status, resumed.body.hint]).toEqual([
    200,
    // Another row may have been rejected by now.
    expect.stringMatching(
      /^[23] rows were rejected and 1 are tolerated: the next one pauses it again, unless PATCH allows more maxFailures \(null: all\)$/,
    ),
  ])
  await until(paused)
  expect((await call('PATCH', path, { json: { maxFailures: null } })).body.maxFailures).toBe(null)
  expect((await call('POST', `${path}/resume`)).body.hint).toBe(undefined)
  await statusOf(hq, id)
  for (const name of ['pause', 'resume', 'cancel']) {
    const { status, body } = await call('POST', `${path}/${name}`)
    expect([status, body.error.code], name).toEqual([409, 'TASK_ENDED'])
  }
})

test('rejected rows run again: all, by status, by code, or with other arguments', async () => {
  const app = api()
  const { call, hq } = app
  const id = await imported(app)
  const retry = (json?: object) => call('POST', `/api/v1/tasks/${id}/retry`, json ? { json } : {})
  expect((await retry()).body).toEqual({ ...NONE, run: 2, rows: 2 })
  await statusOf(hq, id)
  expect((await retry({ status: ['error'] })).body.rows).toBe(0)
  expect((await retry({ code: 'other' })).body.rows).toBe(0)
  expect((await retry({ code: 'price' })).body).toMatchObject({ run: 3, rows: 2 })
  await statusOf(hq, id)
  const answer = await retry({ rows: [{ index: 1, args: [{ sku: 'a-2', price: '3' }] }] })
  expect([answer.status, answer.body]).toEqual([202, { ...NONE, run: 4, rows: 1 }])
  expect((await statusOf(hq, id)).counts).toMatchObject({ finished: 2, failed: 1 })
  for (const wrong of [
    { status: ['finished'] },
    { status: 'failed' },
    { code: 5 },
    { rows: [{ index: 1, args: 'a-2' }] },
    { rows: [{ args: [1] }] },
    { rows: [], code: 'price' },
    { odd: 1 },
  ]) {
    const { status, body } = await retry(wrong)
    expect([status, body.error.code], JSON.stringify(wrong)).toEqual([400, 'INVALID_REQUEST'])
  }
})

for (const format of ['csv', 'xlsx', 'ndjson'] as const) {
  test(`a corrected report in ${format} is accepted as a body or in a form, until no row is left`, async () => {
    const app = api()
    const { call, hq } = app
    const id = await imported(app)
    const report = (query = '') =>
      app.handle(new Request(`http://localhost:7433/api/v1/tasks/${id}/report?format=csv${query}`))
    const lines = (await (await report()).text()).trim().split('\r\n')
    const { openFile } = await import('#dist/tasks/spreadsheet/file.js')
    const { writeSpreadsheet } = await import('#dist/tasks/spreadsheet/write.js')
    const { newApp } = await import('../tasks/bench.ts')
    const { readFileSync, writeFileSync } = await import('node:fs')
    const { folder } = newApp()
    writeFileSync(`${folder}/report.csv`, lines.join('\r\n'))
    const { header = [], rows } = await openFile(`${folder}/report.csv`)
    const [first = [], second = []] = (await all(rows)).map(({ values }) => Object.values(values))
    const price = header.indexOf('price')
    const send = async (corrected: unknown[][], asForm: boolean) => {
      await writeSpreadsheet(`${folder}/corrected.${format}`, { header, rows: corrected })
      const bytes = readFileSync(`${folder}/corrected.${format}`)
      const form = new FormData()
      form.append('file', new Blob([bytes]), `corrected.${format}`)
      const raw = { body: bytes, headers: { 'content-type': 'application/octet-stream' } }
      return call('POST', `/api/v1/tasks/${id}/retry`, asForm ? { body: form } : raw)
    }
    const sent = await send([first.with(price, '3'), second.with(price, '-5')], false)
    expect([sent.status, sent.body]).toEqual([202, { ...NONE, run: 2, rows: 2 }])
    expect((await statusOf(hq, id)).counts).toMatchObject({ finished: 2, failed: 1 })
    expect((await send([second.with(price, '5')], true)).body.rows).toBe(1)
    expect((await statusOf(hq, id)).counts).toMatchObject({ finished: 3, failed: 0 })
    // The same report again changes nothing.
    expect((await send([second.with(price, '5')], true)).body.rows).toBe(0)
  })
}

test('an invalid corrected report changes nothing', async () => {
  const app = api({ limits: { uploadBytes: 100_000, uploads: 1 } })
  const { call, hq } = app
  const id = await imported(app, {}, false, products + 'b,1\n'.repeat(700))
  const codeOf = async (body: string, headers: Record<string, string> = CSV, query = '') => {
    const { status, body: answer } = await call('POST', `/api/v1/tasks/${id}/retry${query}`, { body, headers })
    return [status, answer.error.code, answer.error.details?.row]
  }
  expect(await codeOf(products)).toEqual([400, 'INVALID_FILE', undefined])
  expect(await codeOf('')).toEqual([400, 'INVALID_FILE', undefined])
  const key = (n: number) => `${id}:${n}:1`
  const many = Array.from({ length: 700 }, (_, n) => `a,1,${key(n + 1)}`).join('\n')
  expect(await codeOf(`sku,price,row key\n${many}\na,1,odd`)).toEqual([400, 'INVALID_FILE', 702])
  expect(await codeOf(`sku,price,row key\n${many}\na,1,${key(1)}`)).toEqual([400, 'INVALID_FILE', 702])
  expect(await codeOf(`sku,price,row key\n${many}\na,1,${key(703)}`)).toEqual([400, 'INVALID_FILE', 702])
  expect(await codeOf(`sku,price,row key\na,1,0123456789abcdef:1:1`)).toEqual([400, 'INVALID_FILE', 2])
  expect(await codeOf('x'.repeat(100_001))).toEqual([413, 'BODY_TOO_LARGE', undefined])
  expect(await codeOf('x', { 'content-type': 'image/png' })).toEqual([415, 'UNSUPPORTED_TYPE', undefined])
  expect(await codeOf('x', CSV, '?delimiter=ab')).toEqual([400, 'INVALID_REQUEST', undefined])
  expect(await hq.tasks.get(id).status()).toMatchObject({ run: 1, state: 'done', counts: { failed: 2 } })
})

test('a refused report is named as it was uploaded, not by the path of the copy on the server', async () => {
  const app = api()
  const id = await imported(app)
  const form = new FormData()
  form.append('file', new Blob([products]), 'mine.csv')
  const answer = await app.handle(
    new Request(`http://localhost:7433/api/v1/tasks/${id}/retry`, { method: 'POST', body: form }),
  )
  const { error } = (await answer.json()) as { error: { message: string } }
  const what = 'this is not the file that was downloaded: it has no column "row key". Download the rejected rows'
  expect(error.message).toBe(`mine.csv: ${what} and correct that file`)
  const plain = await app.call('POST', `/api/v1/tasks/${id}/retry`, { body: products, headers: CSV })
  expect(plain.body.error.message).toBe(`${what} and correct that file`)
})

test('a client that disconnects while it sends a corrected report changes nothing', async () => {
  const app = await served({ limits: { uploads: 1 } })
  const { call, hq, url } = app
  const id = await imported(app)
  const { text: report } = await call('GET', `/api/v1/tasks/${id}/report`)
  const sending = request(`${url}/api/v1/tasks/${id}/retry`, { method: 'POST', headers: CSV })
  sending.on('error', () => {})
  sending.write(report)
  const retry = () => call('POST', `/api/v1/tasks/${id}/retry`, { body: report, headers: CSV })
  await until(async () => (await call('POST', `/api/v1/tasks/${id}/retry`, { body: 'x', headers: CSV })).status === 429)
  expect(await hq.tasks.get(id).status()).toMatchObject({ run: 1, state: 'done' })
  sending.destroy()
  await until(async () => (await retry()).status === 202)
  expect(await statusOf(hq, id)).toMatchObject({ run: 2, counts: { failed: 2 } })
})

test('corrected rows are validated with the schema of their job', async () => {
  const validate = {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      validate: (value: unknown) =>
        Number((value as { price: string }).price) > -4 ? { value } : { issues: [{ message: 'is far too low' }] },
    },
  }
  const app = api({ jobs: pricing, imports: { Row: { validate } } })
  const id = await imported(app, {}, true)
  const { text } = await app.call('GET', `/api/v1/tasks/${id}/report`)
  const retry = (body: string) => app.call('POST', `/api/v1/tasks/${id}/retry`, { body, headers: CSV })
  expect((await retry(text)).body).toMatchObject({ rows: 1, refused: 1 })
})

test('a plain retry validates refused rows again; a report needs the schema', async () => {
  const validate = {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      validate: () => ({ issues: [{ message: 'never' }] }),
    },
  }
  const app = api({ jobs: pricing, imports: { Row: { validate } } })
  const id = await imported(app, {}, true)
  const { total } = (await app.call('GET', `/api/v1/tasks/${id}`)).body
  const none = { run: 1, rows: 0, refused: total }
  expect((await app.call('POST', `/api/v1/tasks/${id}/retry`)).body).toMatchObject(none)
  const { text } = await app.call('GET', `/api/v1/tasks/${id}/report`)
  const blind = caller('http://localhost', (request) =>
    createHandler(app.another().hq)(request, { remote: '127.0.0.1' }),
  )
  expect((await blind('POST', `/api/v1/tasks/${id}/retry`)).body).toMatchObject(none)
  const answer = await blind('POST', `/api/v1/tasks/${id}/retry`, { body: text, headers: CSV })
  expect(answer.body.error).toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringContaining('highkiq web -r FILE'),
  })
  expect(answer.status).toBeLessThan(500)
})

test('of two simultaneous retries one is refused', async () => {
  const app = api()
  const { call, hq } = app
  const id = await imported(app)
  const both = await Promise.all([1, 2].map(() => call('POST', `/api/v1/tasks/${id}/retry`)))
  expect(both.map(({ status }) => status).sort()).toEqual([202, 409])
  expect(both.find(({ status }) => status === 409)?.body.error.code).toBe('TASK_BUSY')
  expect(await statusOf(hq, id)).toMatchObject({ run: 2, counts: { failed: 2, finished: 1 } })
})

test('an unknown, deleted or malformed task id is a 404 on every route', async () => {
  const app = api()
  const { call, hq } = app
  const deleted = await imported(app)
  await hq.tasks.get(deleted).delete()
  const odd = ['0000000000000000', deleted, 'x', '0123456789ABCDEF', '..%2f..', `${deleted}0`, '%00']
  const routes = [
    'GET ',
    'DELETE ',
    'PATCH ',
    ...['retry', 'pause', 'resume', 'cancel'].map((name) => `POST /${name}`),
    ...['events', 'reasons', 'report', 'download', 'stream', 'link'].map((name) => `GET /${name}`),
  ]
  for (const id of odd) {
    for (const route of routes) {
      const [method = '', rest = ''] = route.split(' ')
      const { status, body } = await call(method, `/api/v1/tasks/${id}${rest}`, method === 'PATCH' ? { json: {} } : {})
      expect([status, body.error.code], `${method} ${id}${rest}`).toEqual([404, 'UNKNOWN_TASK'])
    }
  }
})

test('a task can be cancelled while its file is still being sent', async () => {
  const { call, hq, url } = await served()
  hq.job('Row', async () => {})
  const rows = (n: number) => Array.from({ length: n }, (_, i) => `sku-${i},${i}\n`).join('')
  const sending = request(`${url}/api/v1/tasks/import?job=Row`, { method: 'POST', headers: CSV })
  sending.on('error', () => {})
  sending.write(`sku,price\n${rows(3000)}`)
  const [answer] = (await once(sending, 'response')) as [IncomingMessage]
  const id = String(answer.headers['task-id'])
  const cancelled = await call('POST', `/api/v1/tasks/${id}/cancel`)
  expect(cancelled.body.counts.enqueued).toBe(0)
  sending.end(rows(3000))
  expect(JSON.parse(await text(answer))).toMatchObject({ id, error: { code: 'TASK_ENDED' } })
  const status = await statusOf(hq, id)
  expect([status.state, status.counts.cancelled]).toEqual(['cancelled', status.total])
})

test('a link can send corrected rows and cancel, and nothing else', async () => {
  const app = api({ origin: 'https://jobs.example', auth: { bearer: 'secret' } })
  const { call, hq } = app
  const operator = { authorization: 'Bearer secret' }
  const id = await imported(app, operator)
  const path = `/api/v1/tasks/${id}`
  const { token } = (await call('GET', `${path}/link`, { headers: operator })).body
  const report = (await call('GET', `${path}/report?token=${token}`)).text
  const retry = await call('POST', `${path}/retry?token=${token}`, { body: report.replace('-3', '3'), headers: CSV })
  expect([retry.status, retry.body.rows]).toEqual([202, 2])
  expect((await statusOf(hq, id)).counts.failed).toBe(1)
  for (const init of [{}, { json: {} }, { json: { status: ['failed'] } }]) {
    expect((await call('POST', `${path}/retry?token=${token}`, init)).status).toBe(403)
  }
  for (const [method, rest] of [
    ['POST', '/pause'],
    ['POST', '/resume'],
    ['DELETE', ''],
    ['PATCH', ''],
  ] as const) {
    expect((await call(method, `${path}${rest}?token=${token}`)).status, rest).toBe(401)
  }
  expect((await call('POST', `${path}/cancel?token=x`)).status).toBe(401)
  // The task has ended.
  expect((await call('POST', `${path}/cancel?token=${token}`)).status).toBe(409)
  expect((await call('POST', `${path}/retry`, { headers: operator })).body.rows).toBe(1)
})

test('reasons are counted by code, with sample rows', async () => {
  const { call, hq, work } = api()
  const Row = hq.job('Row', { retry: false }, async (_ctx, n: number) => {
    if (n > 90) throw new Error('broke')
    if (n % 3 === 0) throw new BusinessFailure(`no ${n}`, { code: 'three' })
    if (n % 5 === 0) throw new BusinessFailure(`not ${n}`)
  })
  const task = await hq.tasks.create(
    Row,
    Array.from({ length: 100 }, (_, n) => [n + 1] as [number]),
  )
  await work()
  await task.wait({ every: 10 })
  const reasons = async (query = '') => (await call('GET', `/api/v1/tasks/${task.id}/reasons${query}`)).body.items
  const three = { status: 'failed', code: 'three', count: 30 }
  expect((await reasons())[0]).toEqual({ ...three, samples: [] })
  const [first, second] = await reasons('?samples=2')
  expect(first).toEqual({
    ...three,
    samples: [
      { index: 2, number: null, message: 'no 3' },
      { index: 5, number: null, message: 'no 6' },
    ],
  })
  expect(second).toMatchObject({ code: null, count: 12, samples: [{ message: 'not 5' }, { message: 'not 10' }] })
  const coded = await call('GET', `/api/v1/tasks/${task.id}/events?status=failed&code=three&limit=2`)
  expect(coded.body.items.map(({ index }: { index: number }) => index)).toEqual([2, 5])

  // The filter for rows without a code reads and retries only those.
  const events = (query: string) => call('GET', `/api/v1/tasks/${task.id}/events?status=failed&limit=500&${query}`)
  const uncoded = (await events('withoutCode=true')).body.items
  expect(uncoded).toHaveLength(12)
  expect(uncoded.every(({ code }: { code: string | null }) => code === null)).toBe(true)
  expect((await events('otherCodes=true')).body.items).toEqual([])
  expect((await events('withoutCode=true&code=three')).status).toBe(400)
  // Only the most frequent ones, with the number of all.
  const { items, total } = (await call('GET', `/api/v1/tasks/${task.id}/reasons?limit=1`)).body
  expect([items.map(({ code }: { code: string }) => code), total]).toEqual([['three'], 3])
  expect((await call('GET', `/api/v1/tasks/${task.id}/reasons?limit=0`)).status).toBe(400)
  const retry = (json: object) => call('POST', `/api/v1/tasks/${task.id}/retry`, { json })
  expect((await retry({ status: ['failed'], code: null, otherCodes: true })).status).toBe(400)
  expect((await retry({ status: ['failed'], otherCodes: true })).body).toMatchObject({ rows: 0 })
  expect((await retry({ status: ['failed'], code: null })).body).toMatchObject({ rows: 12 })
})

test('a retry with undoSeconds can be undone until it begins, and not after', async () => {
  const app = api()
  const { call, hq } = app
  const id = await imported(app)
  const delayed = (query = 'undoSeconds=1', json: object = { status: ['failed'] }) =>
    call('POST', `/api/v1/tasks/${id}/retry?${query}`, { json })
  const undo = async (undo: string) => (await call('POST', `/api/v1/tasks/${id}/retry/undo`, { json: { undo } })).body

  const first = await delayed()
  expect([first.status, first.body.rows]).toEqual([202, 2])
  expect(await undo(first.body.undo)).toEqual({ undone: true })
  expect(await undo(first.body.undo)).toEqual({ undone: true })
  const second = await delayed()
  expect((await hq.tasks.get(id).status())?.run).toBe(1)
  // This retry begins later than the first one would have.
  await until(async () => ((await hq.tasks.get(id).status())?.run ?? 0) > 1)
  expect((await statusOf(hq, id)).run).toBe(2)
  expect(await undo(second.body.undo)).toEqual({ undone: false })
  for (const [query, json] of [
    ['undoSeconds=61', {}],
    ['undoSeconds=1', { rows: [{ index: 1 }] }],
  ] as const) {
    expect((await delayed(query, json)).body.error.code).toBe('INVALID_REQUEST')
  }
  expect((await delayed('undoSeconds=1', { code: null, otherCodes: true })).status).toBe(400)
  const unknown = await undo('0123456789abcdef')
  expect(unknown.error.code).toBe('UNKNOWN_RETRY')
  // The first request must not store anything under that key.
  expect(await undo('0123456789abcdef')).toEqual(unknown)
})

test('a port in use is refused with what to do, and keeps the code of Node', async () => {
  const { hq } = api()
  const { url, close } = await serve(hq, { port: 0 })
  const port = Number(new URL(url).port)
  await expect(serve(hq, { port })).rejects.toMatchObject({
    code: 'EADDRINUSE',
    message: expect.stringContaining(`port ${port} of 127.0.0.1 is in use`),
  })
  await close()
})

test('a closing server cancels delayed retries, and logs a warning with their number', async () => {
  const app = api()
  const { hq, log } = app
  const id = await imported(app)
  const { url, close } = await serve(hq, { port: 0 })
  const call = caller(url, (request) => fetch(request))
  const delayed = () => call('POST', `/api/v1/tasks/${id}/retry?undoSeconds=1`, { json: {} })
  const [first, second, third] = await Promise.all([delayed(), delayed(), delayed()])
  expect([first?.status, second?.status, third?.status]).toEqual([202, 202, 202])
  await call('POST', `/api/v1/tasks/${id}/retry/undo`, { json: { undo: first?.body.undo } })
  await close()
  expect(log.lines.filter(({ level }) => level === 'warn')).toMatchObject([
    { message: expect.stringContaining('2 delayed retries'), about: { tasks: [id], count: 2 } },
  ])
  // The app stays open past the time at which they would have begun.
  await sleep(1200)
  expect((await hq.tasks.get(id).status())?.run).toBe(1)
})

test('an export is downloaded while it is made, when it is complete, or partially', async () => {
  const { call, handle, hq, work } = api({ limits: { downloads: 1 } })
  const doors = gate()
  const Page = hq.job('Page', async (_ctx, n: number) => {
    if (n === 1) await doors.opened
    if (n === 2) throw new BusinessFailure('no page')
    return Array.from({ length: 500 }, () => ({ id: n, name: 'x'.repeat(200) }))
  })
  const { id } = await hq.tasks.export(Page, [0, 1, 2, 3], { name: 'all.csv' })
  const path = `/api/v1/tasks/${id}/download`
  const codeOf = async (query = '') => {
    const { status, body } = await call('GET', path + query)
    return [status, body.error.code]
  }
  expect(await codeOf()).toEqual([409, 'TASK_NOT_DONE'])
  expect((await call('GET', `/api/v1/tasks/${id}`)).body.export).toBe('csv')
  const live = await handle(new Request(`http://localhost:7433${path}?wait=1&partial=1`))
  expect(live.headers.get('content-disposition')).toContain('filename="all.csv"')
  const reader = (live.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream() as never)
    .getReader() as ReadableStreamDefaultReader<string>
  expect((await call('GET', `${path}?wait=1`)).status).toBe(429)
  await work({ concurrency: 4 })
  const begun = (await reader.read()).value as string
  expect(begun).toMatch(/^id,name\r\n0,x/)
  doors.open()
  let rest = begun
  for (let next = await reader.read(); !next.done; next = await reader.read()) rest += next.value
  const pages = rest
    .trim()
    .split('\r\n')
    .map((line) => line[0])
  expect(pages.join('')).toBe(`i${'0'.repeat(500)}${'1'.repeat(500)}${'3'.repeat(500)}`)
  await statusOf(hq, id)
  expect(await codeOf()).toEqual([409, 'EXPORT_INCOMPLETE'])
  expect((await call('GET', `${path}?partial=true`)).text).toBe(rest)
  expect((await call('HEAD', `${path}?partial=true&wait=true`)).status).toBe(200)
  // A client that disconnected or finished does not count.
  expect((await call('GET', `${path}?partial=1&wait=1`)).status).toBe(200)
  const Row = hq.job('Row', async () => {})
  const other = await hq.tasks.create(Row, [[]])
  const none = await call('GET', `/api/v1/tasks/${other.id}/download`)
  expect([none.status, none.body.error.code]).toEqual([409, 'NOT_AN_EXPORT'])
})

test('a report of all rows exists for tasks that keep their arguments', async () => {
  const { call, hq, work } = api()
  pricing(hq)
  await work()
  for (const [keepArgs, status] of [
    ['all', 200],
    ['rejected', 400],
  ] as const) {
    const json = { job: 'Row', args: [[{ price: '1' }], [{ price: '-1' }]], keepArgs }
    const { id } = (await call('POST', '/api/v1/tasks', { json })).body
    await statusOf(hq, id)
    const report = await call('GET', `/api/v1/tasks/${id}/report?rows=all`)
    expect(report.status).toBe(status)
    if (status === 200) expect(report.text.trim().split('\r\n')).toHaveLength(3)
  }
})

test('a stream whose client never reads its socket is closed, and frees its slot', async () => {
  const { hq, url } = await served({ limits: { streams: 1, unreadSeconds: 0.5 } })
  const Row = hq.job('Row', async () => {})
  const task = await hq.tasks.create(Row, [[]])
  const path = `/api/v1/tasks/${task.id}/stream`
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1').pause()
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
  const status = async () => {
    const leave = new AbortController()
    const answer = await fetch(url + path, { signal: leave.signal })
    leave.abort()
    return answer.status
  }
  await until(async () => (await status()) === 429)
  // The status is large, since the buffers in between hold a few megabytes.
  let told = 0
  await until(async () => {
    await task.set({ name: String(told++).padEnd(1_000_000, 'x') })
    return (await status()) === 200
  })
  const closed = once(socket, 'close')
  socket.resume()
  await closed
})

test('a stream whose client never reads is closed', async () => {
  const { handle, hq, call } = api({ limits: { streams: 1, unreadSeconds: 0.2 } })
  const Row = hq.job('Row', async () => {})
  const { id } = await hq.tasks.create(Row, [[]])
  const path = `/api/v1/tasks/${id}/stream`
  const { body } = await handle(new Request(`http://localhost:7433${path}`))
  expect((await call('GET', path)).status).toBe(429)
  const opened = async () => {
    const answer = await handle(new Request(`http://localhost:7433${path}`))
    await answer.body?.cancel()
    return answer.status === 200
  }
  await until(async () => {
    await sleep(20)
    return opened()
  })
  await expect(
    (async () => {
      for await (const _ of body as unknown as AsyncIterable<Uint8Array>);
    })(),
  ).rejects.toThrow('does not read')
})
