import { BusinessFailure } from 'highkiq'
import { expect, test } from 'vitest'
import { until } from '../engine/bench.ts'
import { type Api, api, apiDocument } from './api.ts'

async function finished({ call }: Api, id: string): Promise<void> {
  await until(async () => (await call('GET', `/api/v1/tasks/${id}`)).body.state === 'done')
}

test('a task is created and followed, with an event for each row', async () => {
  const app = api()
  const { call, hq, work } = app
  hq.job('Price', async (_ctx, name: string, price: number) => {
    if (price < 0) throw new BusinessFailure('must not be negative', { code: 'price', field: 'price' })
    return name.length
  })
  const args = [
    ['chair', 12],
    ['table', -3],
    ['lamp', 5],
  ]
  const made = await call('POST', '/api/v1/tasks', { json: { job: 'Price', name: 'spring', args } })
  expect([made.status, made.body.total]).toEqual([202, 3])
  const { id } = made.body
  expect(made.headers.get('location')).toBe(`/api/v1/tasks/${id}`)
  const before = (await call('GET', `/api/v1/tasks/${id}`)).body
  expect(before).toMatchObject({ id, name: 'spring', job: 'Price', state: 'running', counts: { enqueued: 3 } })
  await work()
  await finished(app, id)
  const { items, next } = (await call('GET', `/api/v1/tasks/${id}/events`)).body
  expect(next).toBe(null)
  expect(
    items.map(({ index, status, args, code, result }: Record<string, unknown>) => [index, status, args, code, result]),
  ).toEqual([
    [0, 'finished', null, null, 5],
    [1, 'failed', ['table', -3], 'price', undefined],
    [2, 'finished', null, null, 4],
  ])
  const failed = (await call('GET', `/api/v1/tasks/${id}/events?status=failed,error`)).body.items
  expect(failed.map(({ index }: { index: number }) => index)).toEqual([1])
  expect((await call('GET', `/api/v1/tasks/${id}/events?status=failed,odd`)).status).toBe(400)
})

test('the documented task options are accepted in a body and in the query of an import', async () => {
  const { call, hq } = api()
  hq.job('Row', async () => {})
  const options = {
    name: 'spring',
    queue: 'slow',
    window: 50,
    concurrency: 7,
    rowsPerJob: 3,
    maxFailures: '5%',
    onMaxFailures: 'cancel',
    keepArgs: 'all',
    keep: '2d',
    lostAfter: 90,
  }
  const document = (await apiDocument()).document as ReturnType<typeof JSON.parse>
  const { properties } = document.components.schemas.NewTask as { properties: object }
  expect(Object.keys(properties).sort()).toEqual(
    [...Object.keys(options), 'args', 'job', 'meta', 'onDone', 'onFailure'].sort(),
  )
  const { parameters } = document.paths['/api/v1/tasks/import'].post as { parameters: { name: string }[] }
  expect(parameters.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(options)))

  const body = await call('POST', '/api/v1/tasks', { json: { job: 'Row', args: [[1]], ...options } })
  const query = new URLSearchParams({ job: 'Row', ...(options as never as Record<string, string>) })
  const csv = { body: 'sku\na\n', headers: { 'content-type': 'text/csv' } }
  const file = await call('POST', `/api/v1/tasks/import?${query}`, csv)
  for (const made of [body, file]) {
    expect(made.status, made.text).toBe(202)
    expect(await hq.store.tasks.find(made.body.id)).toMatchObject({
      name: 'spring',
      queue: 'slow',
      window: 7,
      maxFailures: { percent: 5 },
      onMaxFailures: 'cancel',
      keepArgs: 'all',
      rowsPerJob: 3,
      lostAfter: 90_000,
    })
    const status = (await call('GET', `/api/v1/tasks/${made.body.id}`)).body
    expect(status).toMatchObject({ window: 7, maxFailures: '5%', onMaxFailures: 'cancel' })
  }
  const number = await call('POST', '/api/v1/tasks/import?job=Row&maxFailures=3', csv)
  expect(await hq.store.tasks.find(number.body.id)).toMatchObject({ maxFailures: { rows: 3 } })
  const wrong = await call('POST', '/api/v1/tasks/import?job=Row&window=many', csv)
  expect([wrong.status, wrong.body.error.code]).toEqual([400, 'INVALID_OPTION'])
})

test('the same key creates one task, and another body needs another key', async () => {
  const { call, hq } = api()
  hq.job('Row', async () => {})
  const make = (json: unknown, key = 'one') =>
    call('POST', '/api/v1/tasks', { json, headers: { 'idempotency-key': key } })
  const body = { job: 'Row', args: [[1], [2]], name: 'spring' }
  const answers = await Promise.all([make(body), make(body), make(body)])
  const [first] = answers
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 202])
  expect((await make(body)).body).toEqual(first?.body)
  for (const other of [
    { ...body, args: [[1], [3]] },
    { ...body, name: 'summer' },
  ]) {
    const { status, body } = await make(other)
    expect([status, body.error.code, body.error.details.task]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED', first?.body.id])
  }
  // A request that created no task can be corrected under the same key.
  expect((await make({ ...body, window: 0 }, 'two')).status).toBe(400)
  expect((await make(body, 'two')).status).toBe(202)
  expect((await hq.tasks.list()).items).toHaveLength(2)
})

test('another body with the same key is refused while the first task is being created, or after it was interrupted', async () => {
  const { call, hq } = api()
  hq.job('Row', async () => {})
  const make = (args: unknown[]) =>
    call('POST', '/api/v1/tasks', { json: { job: 'Row', args }, headers: { 'idempotency-key': 'one' } })
  const rows = Array.from({ length: 3000 }, (_, n) => [n])
  // The last rows are not stored.
  const endAdding = hq.store.tasks.endAdding.bind(hq.store.tasks)
  let leave = () => {}
  const left = new Promise<void>((resolve) => {
    leave = resolve
  })
  const entered = new Promise<void>((resolve) => {
    hq.store.tasks.endAdding = async (...about) => {
      resolve()
      await left
      return endAdding(...about)
    }
  })
  const first = make(rows)
  await entered
  const { status, body } = await make([[1]])
  expect([status, body.error.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED'])
  leave()
  expect([(await first).status, (await make(rows)).status]).toEqual([202, 200])
})

test('an invalid task is refused, and no task remains', async () => {
  const { call, hq } = api({ limits: { rows: 3 } })
  hq.job('Row', async () => {})
  const codeOf = async (json: unknown) => {
    const { status, body } = await call('POST', '/api/v1/tasks', { json })
    return [status, body.error.code]
  }
  expect(await codeOf({ job: 'Nothing', args: [[]] })).toEqual([404, 'UNKNOWN_JOB'])
  expect(await codeOf({ args: [[]] })).toEqual([400, 'INVALID_REQUEST'])
  expect(await codeOf([])).toEqual([400, 'INVALID_REQUEST'])
  expect(await codeOf({ job: 'Row', args: {} })).toEqual([400, 'INVALID_REQUEST'])
  expect(await codeOf({ job: 'Row', args: [[1], 2] })).toEqual([400, 'INVALID_JOB'])
  expect(await codeOf({ job: 'Row', args: [[1]], windw: 4 })).toEqual([400, 'INVALID_REQUEST'])
  const wrong = { window: 0, name: 7, keepArgs: 'some', keep: 'soon', maxFailures: 'x', onMaxFailures: 'stop' }
  for (const [name, value] of Object.entries(wrong)) {
    expect(await codeOf({ job: 'Row', args: [[1]], [name]: value }), name).toEqual([400, 'INVALID_OPTION'])
  }
  expect(await codeOf({ job: 'Row', args: [[1]], onStart: 'Row' })).toEqual([400, 'INVALID_REQUEST'])
  expect(await codeOf({ job: 'Row', args: [[1], [2], [3], [4]] })).toEqual([413, 'TOO_MANY_ROWS'])
  expect((await call('GET', '/api/v1/tasks')).body).toEqual({ items: [], next: null })
})

test('tasks and events are listed in pages', async () => {
  const { call, hq } = api()
  const Row = hq.job('Row', async () => {})
  const Other = hq.job('Other', async () => {})
  const ids: string[] = []
  for (const job of [Row, Other, Row, Row, Row])
    ids.unshift((await hq.tasks.create(job as typeof Row, [[], [], [], [], []])).id)
  const walk = async (path: string, limit: number) => {
    const pages: Record<string, unknown>[][] = []
    for (let next: string | null = ''; next !== null; ) {
      const { body } = await call('GET', `${path}?limit=${limit}${next ? `&cursor=${encodeURIComponent(next)}` : ''}`)
      pages.push(body.items)
      next = body.next
    }
    return pages.filter((page) => page.length > 0)
  }
  const tasks = await walk('/api/v1/tasks', 2)
  expect(tasks.map((page) => page.length)).toEqual([2, 2, 1])
  expect(new Set(tasks.flat().map(({ id }) => id))).toEqual(new Set(ids))
  const events = await walk(`/api/v1/tasks/${ids[0]}/events`, 2)
  expect(events.flat().map(({ index }) => index)).toEqual([0, 1, 2, 3, 4])
  expect((await call('GET', '/api/v1/tasks?job=Other')).body.items).toHaveLength(1)
  expect((await call('GET', '/api/v1/tasks?state=paused')).body.items).toEqual([])
})

test('rows are searched by arguments and messages, a bounded number at a time', async () => {
  const { hq, call } = api()
  const Row = hq.job('Row', async (_ctx, _row: { sku: string }) => {})
  const rows = Array.from(
    { length: 5100 },
    (_, n) => [{ sku: n === 5090 ? 'Ünique' : `sku-${n}` }] as [{ sku: string }],
  )
  const task = await hq.tasks.create(Row, rows)
  const search = async (query: string) => (await call('GET', `/api/v1/tasks/${task.id}/events?${query}`)).body
  const [of17] = (await search('search=SKU-17&limit=2')).items
  await hq.tasks.message(of17.jid, 'No shelf for it')
  expect((await search('search=SKU-17&limit=2')).items.map(({ index }: { index: number }) => index)).toEqual([17, 170])
  // A request reads at most 5,000 rows, and fewer when that takes long.
  const found: { index: number }[] = []
  const read: number[] = []
  for (
    let from: string | null = '', page: { items: { index: number }[]; next: string | null };
    from !== null;
    from = page.next
  ) {
    page = await search(`search=ünique${from && `&cursor=${from}`}`)
    found.push(...page.items)
    if (page.next !== null) read.push(Number(page.next))
  }
  expect(found.map(({ index }) => index)).toEqual([5090])
  expect(read[0]).toBeLessThan(5000)
  expect((await search('search=no+shelf&limit=1')).items[0].index).toBe(17)
  expect(await search('search=sku&status=failed')).toEqual({ items: [], next: null })
})

test('a poll returns progress and the rows that were rejected since the last poll, in any order', async () => {
  const { call, hq, work, clock } = api()
  const order: (() => void)[] = []
  const opened = [0, 1, 2, 3].map((n) => new Promise<void>((resolve) => (order[n] = resolve)))
  const Row = hq.job('Row', async (_ctx, n: number) => {
    await opened[n]
    if (n !== 2) throw new BusinessFailure(`no ${n}`)
  })
  const { id } = await hq.tasks.create(Row, [[0], [1], [2], [3]])
  await work({ concurrency: 4 })
  let next = ''
  const poll = async () => {
    const { body } = await call('GET', `/api/v1/tasks/${id}?include=rejected${next ? `&after=${next}` : ''}`)
    next = body.rejected.next
    return body.rejected.items.map(({ index }: { index: number }) => index)
  }
  expect(await poll()).toEqual([])
  order[3]?.()
  await until(async () => (await hq.tasks.get(id).status())?.counts.failed === 1)
  expect(await poll()).toEqual([3])
  // A row may appear twice for a while.
  clock.ahead += 60
  await poll()
  expect(await poll()).toEqual([])
  for (const n of [0, 1, 2]) order[n]?.()
  await until(async () => (await hq.tasks.get(id).status())?.state === 'done')
  expect(await poll()).toEqual([0, 1])
  clock.ahead += 60
  await poll()
  await poll()
  clock.ahead -= 600
  expect(await hq.tasks.get(id).retry({ rows: [{ index: 1 }] })).toMatchObject({ rows: 1 })
  await until(async () => (await hq.tasks.get(id).status())?.state === 'done')
  expect(await poll()).toContain(1)
  expect((await call('GET', `/api/v1/tasks/${id}?include=rejected&after=odd`)).status).toBe(400)
  expect((await call('GET', `/api/v1/tasks/${id}`)).body.rejected).toBe(undefined)
})

test('many rejected rows are returned over several polls, without gaps', async () => {
  const { call, hq } = api()
  hq.client.use(async () => null)
  const Row = hq.job('Row', async (_ctx, _n: number) => {})
  const { id } = await hq.tasks.create(
    Row,
    Array.from({ length: 350 }, (_, n) => [n] as [number]),
  )
  const seen = new Set<number>()
  let next = ''
  for (let poll = 0; poll < 5; poll++) {
    const { body } = await call('GET', `/api/v1/tasks/${id}?include=rejected${next ? `&after=${next}` : ''}`)
    next = body.rejected.next
    for (const { index } of body.rejected.items) seen.add(index)
  }
  expect(seen.size).toBe(350)
})

test('the report exists in each format, with a file name that every browser reads', async () => {
  const app = api()
  const { call, hq, work } = app
  hq.job('Row', async (_ctx, n: number) => {
    if (n % 2) throw new BusinessFailure(`no ${n}`, { code: 'odd' })
  })
  const json = { job: 'Row', name: 'Früh"jahr/ 2', args: [[1], [2], [3]] }
  const { id } = (await call('POST', '/api/v1/tasks', { json })).body
  await work()
  await finished(app, id)
  const csv = await call('GET', `/api/v1/tasks/${id}/report`)
  expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  expect(csv.headers.get('content-disposition')).toBe(
    `attachment; filename="Fr_h_jahr_ 2 - rejected.csv"; filename*=UTF-8''Fr%C3%BCh_jahr_%202%20-%20rejected.csv`,
  )
  expect(csv.text.trim().split('\r\n')).toHaveLength(3)
  const lines = (await call('GET', `/api/v1/tasks/${id}/report?format=ndjson`)).text.trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).arguments)).toEqual(['[1]', '[3]'])
  const xlsx = await call('GET', `/api/v1/tasks/${id}/report?format=xlsx`)
  expect(xlsx.text.slice(0, 2)).toBe('PK')
  const head = await call('HEAD', `/api/v1/tasks/${id}/report?format=xlsx`)
  expect([head.status, head.text]).toEqual([200, ''])
  expect((await call('GET', `/api/v1/tasks/${id}/report?format=pdf`)).status).toBe(400)
  expect((await call('GET', '/api/v1/tasks/0000000000000000/report')).status).toBe(404)
})
