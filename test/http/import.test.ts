import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { BusinessFailure, type Highkiq } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import { openUpload } from '#dist/http/routes/tasks/upload.js'
import { writeSpreadsheet } from '#dist/tasks/spreadsheet/write.js'
import { all, until } from '../engine/bench.ts'
import { newApp } from '../tasks/bench.ts'
import { api, checkAnswer, served } from './api.ts'

const CSV = { 'content-type': 'text/csv' }
const products = 'sku,price\na-1,12.50\na-2,-3\n'
const manyRows = (n: number) => Array.from({ length: n }, (_, i) => `sku-${i},${i}`).join('\n')

/** Starts an upload whose body the test writes. */
function upload(url: string, headers: Record<string, string> = CSV): ClientRequest {
  const sending = request(`${url}/api/v1/tasks/import?job=Row`, { method: 'POST', headers })
  sending.on('error', () => {})
  return sending
}

async function answerOf(sending: ClientRequest): Promise<IncomingMessage> {
  const [answer] = (await once(sending, 'response')) as [IncomingMessage]
  return answer
}

test('a file as the body becomes a task with a job for each row', async () => {
  const { call, hq, work } = api()
  const rows: object[] = []
  hq.job('Row', async (_ctx, row: { sku: string; price: string }) => {
    rows.push(row)
    if (Number(row.price) < 0) throw new BusinessFailure('must not be negative', { field: 'price' })
  })
  const made = await call('POST', '/api/v1/tasks/import?job=Row&name=spring', { body: products, headers: CSV })
  expect(made.status).toBe(202)
  expect(made.body).toEqual({ id: made.headers.get('task-id'), total: 2 })
  expect(made.headers.get('location')).toBe(`/api/v1/tasks/${made.body.id}`)
  await work()
  const status = await hq.tasks.get(made.body.id).wait({ every: 10 })
  expect(status).toMatchObject({ name: 'spring', state: 'done', counts: { finished: 1, failed: 1 } })
  expect(rows).toEqual([
    { sku: 'a-1', price: '12.50' },
    { sku: 'a-2', price: '-3' },
  ])
  const report = await call('GET', `/api/v1/tasks/${made.body.id}/report`)
  expect(report.text).toContain(`a-2,-3,3,${made.body.id}:1:1,failed`)
})

test('the report uses the language of the request, and a corrected report is accepted in any language', async () => {
  const { call, hq, work } = api()
  hq.job('Row', async () => {
    throw new BusinessFailure('no')
  })
  const made = await call('POST', '/api/v1/tasks/import?job=Row', { body: 'sku\na\n', headers: CSV })
  const path = `/api/v1/tasks/${made.body.id}`
  await work()
  await hq.tasks.get(made.body.id).wait({ every: 10 })
  const asked: [query: string, languages: string, header: string][] = [
    ['', '', 'sku,row,row key,status'],
    ['', 'fr, zh-TW;q=0.1, ru-UA;q=0.9', 'sku,строка,ключ строки,статус строки'],
    ['?lang=zh', 'ru', 'sku,行号,行标识,处理状态'],
  ]
  let report = ''
  for (const [query, languages, header] of asked) {
    report = (await call('GET', `${path}/report${query}`, { headers: { 'accept-language': languages } })).text
    expect(report).toContain(header)
  }
  expect((await call('GET', `${path}/report?lang=fr`)).body.error).toMatchObject({
    code: 'INVALID_REQUEST',
    message: 'the parameter lang must be one of en, zh, ru (got "fr")',
  })
  expect((await call('POST', `${path}/retry`, { body: report, headers: CSV })).body).toMatchObject({ rows: 1 })
})

test('a workbook in a form, after other fields, names the task', async () => {
  const { call, hq } = api()
  hq.job('Row', async () => {})
  const { folder } = newApp()
  await writeSpreadsheet(`${folder}/products.xlsx`, {
    header: ['sku', 'price'],
    rows: [
      ['a-1', 12.5],
      ['a-2', 3],
    ],
  })
  const { readFile } = await import('node:fs/promises')
  const form = new FormData()
  form.append('note', 'the first one')
  form.append('other', new Blob(['x']), 'other.txt')
  form.append('file', new Blob([await readFile(`${folder}/products.xlsx`)]), 'C:\\tmp\\Frühjahr.xlsx')
  form.append('after', 'ignored')
  const made = await call('POST', '/api/v1/tasks/import?job=Row', { body: form })
  expect(made.body).toMatchObject({ total: 2 })
  const task = hq.tasks.get(made.body.id)
  expect((await task.status())?.name).toBe('Frühjahr.xlsx')
  expect((await all(task.events())).map(({ args }) => args)).toEqual([
    [{ sku: 'a-1', price: 12.5 }],
    [{ sku: 'a-2', price: 3 }],
  ])
})

test('imports set how rows are validated, and the request describes the file', async () => {
  const validate = {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      validate: (value: unknown) => {
        const { price } = value as { price: string }
        return Number(price) > 0 ? { value } : { issues: [{ message: 'is not a price', path: ['price'] }] }
      },
    },
  }
  const jobs = (hq: Highkiq) => void hq.job('Row', async () => {})
  const { call, hq } = api({ jobs, imports: { Row: { validate } } })
  const body = products.replaceAll(',', ';')
  const made = await call('POST', '/api/v1/tasks/import?job=Row&delimiter=%3B', { body, headers: CSV })
  expect(await hq.tasks.get(made.body.id).status()).toMatchObject({ total: 2, counts: { failed: 1, enqueued: 1 } })
})

test('rowKey names the column that identifies rows in reports without row keys', async () => {
  const jobs = (hq: Highkiq) => {
    hq.job('Row', async (_ctx, { price }: { price: string }) => {
      if (price === 'x') throw new BusinessFailure('is not a price')
    })
  }
  const { call, hq, work } = api({ jobs })
  await work()
  const made = await call('POST', '/api/v1/tasks/import?job=Row&rowKey=sku', {
    body: 'sku,price\na,x\nb,2\n',
    headers: CSV,
  })
  const task = hq.tasks.get(made.body.id)
  await task.wait({ every: 10 })
  const body = 'sku,price\na,1\n'
  const again = await call('POST', `/api/v1/tasks/${task.id}/retry`, { body, headers: CSV })
  expect(again.body).toMatchObject({ rows: 1 })
  expect(await task.wait({ every: 10 })).toMatchObject({ counts: { finished: 2, failed: 0 } })
  const odd = await call('POST', '/api/v1/tasks/import?job=Row&rowKey=id', { body: 'sku\na\n', headers: CSV })
  expect([odd.status, odd.body.error.code]).toEqual([400, 'INVALID_FILE'])
})

test('an unreadable file is refused, and no task remains', async () => {
  const { call, hq } = api({ limits: { uploadBytes: 5000 } })
  hq.job('Row', async () => {})
  const codeOf = async (path: string, init: RequestInit) => {
    const { status, body } = await call('POST', `/api/v1/tasks/import?${path}`, init)
    return [status, body.error.code]
  }
  expect(await codeOf('', { body: products, headers: CSV })).toEqual([400, 'INVALID_REQUEST'])
  expect(await codeOf('job=Nothing', { body: products, headers: CSV })).toEqual([404, 'UNKNOWN_JOB'])
  expect(await codeOf('job=Row', { headers: CSV })).toEqual([400, 'INVALID_REQUEST'])
  expect(await codeOf('job=Row', { body: '', headers: CSV })).toEqual([400, 'INVALID_FILE'])
  expect(await codeOf('job=Row', { body: 'a,a\n1,2\n', headers: CSV })).toEqual([400, 'INVALID_FILE'])
  expect(await codeOf('job=Row&format=xlsx', { body: products, headers: CSV })).toEqual([400, 'INVALID_FILE'])
  expect(await codeOf('job=Row', { body: products, headers: { 'content-type': 'image/png' } })).toEqual([
    415,
    'UNSUPPORTED_TYPE',
  ])
  const large = `sku,price\n${manyRows(900)}`
  expect(await codeOf('job=Row', { body: large, headers: CSV })).toEqual([413, 'BODY_TOO_LARGE'])
  expect(await codeOf('job=Row', { body: new Blob([large]).stream(), headers: CSV })).toEqual([413, 'BODY_TOO_LARGE'])

  const formType = { 'content-type': 'multipart/form-data; boundary=xyz' }
  const part = '--xyz\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
  expect(await codeOf('job=Row', { body: `${part}${products}`, headers: formType })).toEqual([400, 'BODY_BROKEN_OFF'])
  expect(
    await codeOf('job=Row', {
      body: `${part}${products}\r\n--xyz--\r\n`,
      headers: { 'content-type': 'multipart/form-data' },
    }),
  ).toEqual([400, 'INVALID_REQUEST'])
  const none = part.replace('"file"', '"fiel"')
  expect(await codeOf('job=Row', { body: `${none}${products}\r\n--xyz--\r\n`, headers: formType })).toEqual([
    400,
    'INVALID_REQUEST',
  ])
  expect((await hq.tasks.list()).items).toEqual([])
})

test('the answer begins with the first rows, while the rest is still being sent', async () => {
  const { hq, url } = await served()
  hq.job('Row', async () => {})
  const sending = upload(url)
  sending.write(`sku,price\n${manyRows(3000)}\n`)
  const answer = await answerOf(sending)
  expect(answer.statusCode).toBe(202)
  const id = String(answer.headers['task-id'])
  expect(await hq.tasks.get(id).status()).toMatchObject({ state: 'adding' })
  sending.end(manyRows(500))
  expect(JSON.parse(await text(answer))).toEqual({ id, total: 3500 })
  expect((await hq.tasks.get(id).status())?.state).toBe('running')
})

test('a client that disconnects halfway leaves an interrupted task with the rows that arrived', async () => {
  const { hq, url } = await served()
  hq.job('Row', async () => {})
  const sending = upload(url)
  sending.write(`sku,price\n${manyRows(3000)}\n`)
  const answer = await answerOf(sending)
  const task = hq.tasks.get(String(answer.headers['task-id']))
  answer.on('error', () => {})
  sending.destroy()
  await until(async () => (await task.status())?.state === 'interrupted')
  const total = (await task.status())?.total ?? 0
  expect(total).toBeGreaterThanOrEqual(1000)
  expect(total).toBeLessThanOrEqual(3000)
})

test('a client that disconnects before the first rows leaves no task', async () => {
  const { hq, url, call } = await served({ limits: { uploads: 1 } })
  hq.job('Row', async () => {})
  const sending = upload(url, { 'content-type': 'multipart/form-data; boundary=xyz' })
  sending.write('--xyz\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\nsku,price\na,1\n')
  // The upload is open when the next one is refused.
  const next = () => call('POST', '/api/v1/tasks/import?job=Row', { body: products, headers: CSV })
  await until(async () => (await next()).status === 429)
  sending.destroy()
  await until(async () => (await next()).status === 202)
  expect((await hq.tasks.list()).items.map(({ state }) => state)).not.toContain('interrupted')
})

test('a form that ends inside of a part that is not the file does not end the process', async () => {
  const { call, hq } = api()
  hq.job('Row', async () => {})
  const uncaught: unknown[] = []
  const hear = (error: unknown) => uncaught.push(error)
  process.on('uncaughtException', hear)
  onTestFinished(() => void process.off('uncaughtException', hear))
  const part = (field: string) => `--xyz\r\ncontent-disposition: form-data; name="${field}"; filename="a.csv"\r\n\r\n`
  const headers = { 'content-type': 'multipart/form-data; boundary=xyz' }
  for (const before of ['', `${part('file')}${products}\r\n`]) {
    for (const field of ['other', 'file']) {
      const body = `${before}${part(field)}${products}`
      const { status, text } = await call('POST', '/api/v1/tasks/import?job=Row', { body, headers })
      expect([status, JSON.parse(text).error.code]).toEqual([400, 'BODY_BROKEN_OFF'])
    }
  }
  expect(uncaught).toEqual([])
})

test('a form that ends early before its file is read fails this request only', async () => {
  const head = '--xyz\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\nsku,price\n'
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Buffer.from(head)),
    pull: (controller) => controller.error(new Error('gone')),
  })
  const headers = { 'content-type': 'multipart/form-data; boundary=xyz' }
  const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
  const { file } = await openUpload(new Request('http://localhost/', init), 1000)
  await until(() => file.closed)
  await expect(text(file)).rejects.toMatchObject({ code: 'BODY_BROKEN_OFF' })
})

test('an error after the first rows is reported at the end of the answer', async () => {
  for (const [limits, rows, code] of [
    [{ rows: 2500 }, 3000, 'TOO_MANY_ROWS'],
    [{ uploadBytes: 100_000 }, 20_000, 'BODY_TOO_LARGE'],
  ] as const) {
    const { hq, url } = await served({ limits })
    hq.job('Row', async () => {})
    const sending = upload(url)
    sending.write(`sku,price\n${manyRows(1500)}\n`)
    const answer = await answerOf(sending)
    expect(answer.statusCode).toBe(202)
    sending.end(manyRows(rows))
    const said = await text(answer)
    const id = String(answer.headers['task-id'])
    expect(JSON.parse(said), code).toMatchObject({
      id,
      total: expect.any(Number),
      error: { code, details: { task: id } },
    })
    const headers = new Headers(answer.headers as Record<string, string>)
    await checkAnswer('POST', '/api/v1/tasks/import', new Response(null, { status: 202, headers }), said)
    expect((await hq.tasks.get(id).status())?.state).toBe('interrupted')
  }
})

test('uploads above the limit are refused with 429', async () => {
  const { hq, url, call } = await served({ limits: { uploads: 2 } })
  hq.job('Row', async () => {})
  const open = [upload(url), upload(url)]
  for (const sending of open) sending.write(`sku,price\n${manyRows(1500)}\n`)
  const answers = await Promise.all(open.map(answerOf))
  const third = () => call('POST', '/api/v1/tasks/import?job=Row', { body: products, headers: CSV })
  const refused = await third()
  expect([refused.status, refused.body.error.code]).toEqual([429, 'TOO_MANY_REQUESTS'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  for (const sending of open) sending.end()
  await Promise.all(answers.map(text))
  expect((await third()).status).toBe(202)
})

test('NDJSON is read line by line, and the request sets columns and formats', async () => {
  const { call, hq } = api()
  hq.job('Row', async () => {})
  const params = async (query: string, body: NonNullable<RequestInit['body']>, type = 'text/csv') => {
    const made = await call('POST', `/api/v1/tasks/import?job=Row${query}`, { body, headers: { 'content-type': type } })
    expect(made.status, made.text).toBe(202)
    return (await all(hq.tasks.get(made.body.id).events())).map(({ args }) => args?.[0])
  }
  const lines = '{"sku":"a","tags":["x"]}\n{"sku":"b"}\n'
  expect(await params('', lines, 'application/x-ndjson')).toEqual([{ sku: 'a', tags: ['x'] }, { sku: 'b' }])
  expect(await params('', lines, 'application/octet-stream')).toHaveLength(2)
  const form = new FormData()
  form.append('file', new Blob([lines]), 'rows.jsonl')
  const { body } = await call('POST', '/api/v1/tasks/import?job=Row', { body: form })
  expect(body.total).toBe(2)
  const columns = (value: unknown) => `&columns=${encodeURIComponent(JSON.stringify(value))}`
  expect(await params(columns({ sku: 'id' }), products)).toEqual([{ id: 'a-1' }, { id: 'a-2' }])
  expect(await params(columns(['id', 'cost']), products)).toEqual([
    { id: 'a-1', cost: '12.50' },
    { id: 'a-2', cost: '-3' },
  ])
  const latin = Buffer.from('name\nK\u00e4se\n', 'latin1')
  expect(await params('&encoding=windows-1252', latin)).toEqual([{ name: 'Käse' }])
  for (const wrong of ['&columns=sku', '&columns=5', columns({ colour: 'id' }), columns([]), '&encoding=klingon']) {
    const refused = await call('POST', `/api/v1/tasks/import?job=Row${wrong}`, { body: products, headers: CSV })
    expect([refused.status, refused.body.error.code], wrong).toEqual([400, expect.stringMatching(/^INVALID_/)])
  }
  const said = async (query: string, body: string) => {
    const refused = await call('POST', `/api/v1/tasks/import?job=Row${query}`, { body, headers: CSV })
    return refused.body.error.message
  }
  expect(await said('&columns=sku,price', products)).toBe(
    'the parameter columns must be a list of names, or an object { "Header of the file": "field" }, as JSON: ["sku","price"] (got "sku,price")',
  )
  const noted = 'sku,price\na-1,12.50\na-2,x,ask Bob\n'
  expect(await said('', noted)).toContain('leave it out (columns={"sku":"sku","price":"price"} takes only these)')
})

test('rowsPerJob puts several rows into one job', async () => {
  const { call, hq } = api()
  hq.job('Rows', async () => {})
  const lines = '{"n":1}\n{"n":2}\n{"n":3}\n'
  const headers = { 'content-type': 'application/x-ndjson' }
  const made = await call('POST', '/api/v1/tasks/import?job=Rows&rowsPerJob=2', { body: lines, headers })
  expect(made.status).toBe(202)
  const args = [[[1]], [[2]], [[3]]]
  const json = { 'content-type': 'application/json' }
  const body = JSON.stringify({ job: 'Rows', args, rowsPerJob: 3 })
  const other = await call('POST', '/api/v1/tasks', { body, headers: json })
  expect(other.status).toBe(202)
  const texts = await hq.store.jobs.peek('default', 0, 10)
  expect(texts.map((text) => JSON.parse(text).args)).toEqual([[[{ n: 1 }, { n: 2 }]], [[{ n: 3 }]], [[[1], [2], [3]]]])
  for (const wrong of ['0', '1001', 'x', '1.5']) {
    const refused = await call('POST', `/api/v1/tasks/import?job=Rows&rowsPerJob=${wrong}`, { body: lines, headers })
    expect([refused.status, refused.body.error.code], wrong).toEqual([400, expect.stringMatching(/^INVALID_/)])
  }
})

test('a dry run reports what an import would do, and changes nothing', async () => {
  const { call, hq } = api({ limits: { rows: 3 } })
  hq.job('Row', async () => {})
  const dry = (body: string) => call('POST', '/api/v1/tasks/import?job=Row&dryRun=1', { body, headers: CSV })
  const { status, body } = await dry(products)
  expect(status).toBe(200)
  expect(body).toMatchObject({
    format: 'csv',
    columns: ['sku', 'price'],
    complete: true,
    total: 2,
    valid: 2,
    invalid: 0,
  })
  expect(body.preview[0]).toEqual({ row: 2, value: { sku: 'a-1', price: '12.50' } })
  // One row too many.
  const large = (await dry(`${products}a-3,1\na-4,1\n`)).body
  expect(large).toMatchObject({
    complete: false,
    problems: [{ code: 'TOO_MANY_ROWS', details: { row: 5, maxRows: 3 } }],
  })
  expect(large.problems[0].message).toMatch(/no more are taken here \(limits\)$/)
  expect((await dry('')).status).toBe(400)
  expect((await call('POST', '/api/v1/tasks/import?job=None&dryRun=1', { body: products, headers: CSV })).status).toBe(
    404,
  )
  expect((await hq.tasks.list()).items).toEqual([])
})

test('the same workbook is refused the second time, unless allowDuplicate is set', async () => {
  const { call, hq } = api()
  hq.job('Row', async () => {})
  const { folder } = newApp()
  await writeSpreadsheet(`${folder}/products.xlsx`, { header: ['sku'], rows: [['a-1']] })
  const body = readFileSync(`${folder}/products.xlsx`)
  const headers = { 'content-type': 'application/octet-stream' }
  const send = (query = '') => call('POST', `/api/v1/tasks/import?job=Row${query}`, { body, headers })
  const first = await send()
  const second = await send()
  expect([second.status, second.body.error.code]).toEqual([409, 'ALREADY_IMPORTED'])
  expect(second.body.error.details.task).toBe(first.body.id)
  expect(second.body.error.message).toMatch(/look there, or send it with allowDuplicate=1$/)
  expect((await send('&allowDuplicate=1')).status).toBe(202)
})

const keyed = (key: string, more: object = {}) => ({
  body: products,
  headers: { ...CSV, 'idempotency-key': key, ...more },
})

test('the same Idempotency-Key gives the same task', async () => {
  const { call, hq } = api()
  hq.job('Row', async () => {})
  const first = await call('POST', '/api/v1/tasks/import?job=Row', keyed('one'))
  const again = await call('POST', '/api/v1/tasks/import?job=Row', keyed('one'))
  expect([first.status, again.status]).toEqual([202, 200])
  expect(again.body).toEqual(first.body)
  expect(again.headers.get('task-id')).toBe(first.body.id)
  const other = await call('POST', '/api/v1/tasks/import?job=Row', keyed('two'))
  expect(other.body.id).not.toBe(first.body.id)
  const different = await call('POST', '/api/v1/tasks/import?job=Row&name=x', keyed('one'))
  expect([different.status, different.body.error.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED'])
  // A different file, a longer one, a shorter one, and the same one in a form.
  for (const body of [products.replace('12', '13'), `${products}a-3,1\n`, products.slice(0, -5)]) {
    const another = await call('POST', '/api/v1/tasks/import?job=Row', { ...keyed('one'), body })
    expect([another.status, another.body.error.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED'])
  }
  const form = new FormData()
  form.append('file', new Blob([products]), 'products.csv')
  const headers = { 'idempotency-key': 'one' }
  expect((await call('POST', '/api/v1/tasks/import?job=Row', { body: form, headers })).body).toEqual(first.body)
  for (const wrong of ['x'.repeat(201), 'a b']) {
    expect((await call('POST', '/api/v1/tasks/import?job=Row', keyed(wrong))).status).toBe(400)
  }
  // A request that created no task can be corrected under the same key.
  const bad = await call('POST', '/api/v1/tasks/import?job=Row', { ...keyed('three'), body: 'a,a\n1,2\n' })
  expect(bad.status).toBe(400)
  expect((await call('POST', '/api/v1/tasks/import?job=Row', keyed('three'))).body.total).toBe(2)
  await hq.tasks.get(first.body.id).delete()
  const deleted = await call('POST', '/api/v1/tasks/import?job=Row', keyed('one'))
  expect([deleted.status, deleted.body.error.code]).toEqual([404, 'UNKNOWN_TASK'])
  expect((await hq.tasks.list()).items).toHaveLength(2)
})

test('of two simultaneous requests with one key one creates the task, and both return it', async () => {
  const { call, hq } = api()
  hq.job('Row', async () => {})
  const body = `sku,price\n${manyRows(3000)}`
  const send = () => call('POST', '/api/v1/tasks/import?job=Row', { ...keyed('one'), body })
  const answers = await Promise.all([send(), send(), send()])
  const [first] = answers
  for (const { status, body, text } of answers) {
    expect(status, text).toBeLessThan(203)
    expect(body).toEqual({ id: first?.body.id, total: 3000 })
  }
  expect((await hq.tasks.list()).items).toMatchObject([{ total: 3000, state: 'running' }])
})

test('a repeated request that is refused before the first one has stored rows leads to no second task', async () => {
  const { hq, url, call } = await served({ limits: { uploads: 2 } })
  hq.job('Row', async () => {})
  const send = (init: object, query = '') => call('POST', `/api/v1/tasks/import?job=Row${query}`, init)
  const first = upload(url, { ...CSV, 'idempotency-key': 'one' })
  first.write('sku,price\n')
  const other = upload(url)
  other.write('sku,price\n')
  // Both uploads are open when a third one is refused.
  await until(async () => (await send({ body: products, headers: CSV }, '&dryRun=1')).status === 429)
  expect((await send(keyed('one'))).status).toBe(429)
  other.destroy()
  let third = await send(keyed('one'))
  await until(async () => {
    if (third.status === 429) third = await send(keyed('one'))
    return third.status !== 429
  })
  first.end(products.replace('sku,price\n', ''))
  expect(JSON.parse(await text(await answerOf(first)))).toEqual(third.body)
  expect(third.body.total).toBe(2)
  expect((await hq.tasks.list()).items.map(({ id }) => id)).toEqual([third.body.id])
  expect((await send(keyed('one'))).body).toEqual(third.body)
  expect((await send({ ...keyed('one'), body: products.replace('12', '13') })).status).toBe(422)
})

test('a repeated request waits for the first upload, and its own file is not read', async () => {
  const { hq, url } = await served()
  hq.job('Row', async () => {})
  const sending = upload(url, { ...CSV, 'idempotency-key': 'one' })
  sending.write(`sku,price\n${manyRows(3000)}\n`)
  const answer = await answerOf(sending)
  const body = `sku,price\n${manyRows(3500)}`
  const repeat = await fetch(`${url}/api/v1/tasks/import?job=Row`, { ...keyed('one'), body, method: 'POST' })
  sending.end(manyRows(500))
  const { id, total } = JSON.parse(await text(answer))
  expect([repeat.status, repeat.headers.get('task-id')]).toEqual([202, id])
  expect(await repeat.json()).toEqual({ id, total })
})

test('a repeated request resumes where the first one ended, in this process or in one that died', async () => {
  const { call, hq, url, another } = await served()
  hq.job('Row', async () => {})
  const sku = (i: number) => `sku-${i},${i}`
  const body = `sku,price\n${manyRows(5000)}`
  const complete = async (key: string, id: string, send = call) => {
    const repeat = await send('POST', '/api/v1/tasks/import?job=Row', { ...keyed(key), body })
    expect([repeat.status, repeat.body]).toEqual([202, { id, total: 5000 }])
    const seen = await all(hq.tasks.get(id).events())
    expect(seen.map(({ args }) => Object.values(args?.[0] as object).join())).toEqual(
      Array.from({ length: 5000 }, (_, i) => sku(i)),
    )
    const whole = await send('POST', '/api/v1/tasks/import?job=Row', { ...keyed(key), body })
    expect([whole.status, whole.body]).toEqual([200, { id, total: 5000 }])
  }
  const sending = upload(url, { ...CSV, 'idempotency-key': 'one' })
  sending.write(`sku,price\n${manyRows(3000)}\n`)
  const answer = await answerOf(sending)
  const id = String(answer.headers['task-id'])
  answer.on('error', () => {})
  sending.destroy()
  await until(async () => (await hq.tasks.get(id).status())?.state === 'interrupted')
  // Rows are missing although the task is paused.
  await hq.tasks.get(id).pause()
  // A different file is refused, and none of its rows are stored.
  const wrong = await call('POST', '/api/v1/tasks/import?job=Row', { ...keyed('one'), body: body.replace('1', '2') })
  expect([wrong.status, wrong.body.error.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED'])
  await complete('one', id)

  // A separate server process, which is killed.
  const server = spawn(process.execPath, [fileURLToPath(new URL('server.js', import.meta.url)), another().url])
  onTestFinished(() => void server.kill('SIGKILL'))
  const [origin] = (await once(server.stdout, 'data')) as [Buffer]
  const second = upload(origin.toString().trim(), { ...CSV, 'idempotency-key': 'two' })
  second.write(`sku,price\n${manyRows(3000)}\n`)
  const begun = await answerOf(second)
  begun.on('error', () => {})
  const other = String(begun.headers['task-id'])
  await until(async () => ((await hq.tasks.get(other).status())?.total ?? 0) >= 2000)
  server.kill('SIGKILL')
  await once(server, 'exit')
  expect((await hq.tasks.get(other).status())?.state).toBe('adding')
  await complete('two', other)
})
