import { expect, test } from 'vitest'
import { gate, until } from '../engine/bench.ts'
import { type Api, api } from './api.ts'

type SetName = 'retry' | 'schedule' | 'dead'

const jid = (n: number) => n.toString(16).padStart(24, '0')

function textOf(n: number, more: object = {}): string {
  return JSON.stringify({
    ...{ class: 'Job', args: [n], queue: 'default', jid: jid(n), retry: true, created_at: 1_700_000_000_000 },
    ...more,
  })
}

const failed = (message: string, more: object = {}) => ({
  ...{ error_class: 'TypeError', error_message: message, failed_at: 1_700_000_000_000, retry_count: 2 },
  ...more,
})

async function fill({ hq }: Api, to: SetName, entries: [text: string, score: number][]): Promise<void> {
  await hq.store.jobs.push(
    entries.map(([text, score]) => ({ to, text, score })),
    Date.now(),
  )
}

interface Progress {
  jid: string
  key: string
}

/** Returns all entries of all pages, and the number of calls. */
async function walked({ call }: Api, path: string): Promise<{ lines: Progress[]; calls: number }> {
  const lines: Progress[] = []
  let cursor = ''
  for (let calls = 1; ; calls++) {
    const { status, body, text } = await call('GET', `${path}${path.includes('?') ? '&' : '?'}${cursor}`)
    expect(status, text).toBe(200)
    lines.push(...body.items)
    if (body.next === null) return { lines, calls }
    cursor = `cursor=${encodeURIComponent(body.next)}`
  }
}

const jidsOf = (lines: Progress[]) => lines.map(({ jid }) => Number.parseInt(jid, 16))

test('a set is listed by time, from either end, with the details of each job', async () => {
  const t = api()
  const more = failed('no user 7', { retry: 5, tags: ['vip'], error_backtrace: ['a.rb:1', 'b.rb:2'], extra: { a: 1 } })
  await fill(t, 'retry', [
    [textOf(1, more), 1_700_000_100.5],
    ...[2, 3, 4, 5].map((n): [string, number] => [textOf(n), 1_700_000_100 + n]),
  ])
  const { body } = await t.call('GET', '/api/v1/retries?limit=2')
  expect(body.items).toEqual([
    {
      jid: jid(1),
      priority: 0,
      class: 'Job',
      queue: 'default',
      preview: '[1]',
      bytes: expect.any(Number),
      tags: ['vip'],
      createdAt: '2023-11-14T22:13:20.000Z',
      enqueuedAt: null,
      key: expect.any(String),
      at: '2023-11-14T22:15:00.500Z',
      error: { class: 'TypeError', message: 'no user 7' },
      failures: 3,
      retries: 5,
      failedAt: '2023-11-14T22:13:20.000Z',
      retriedAt: null,
      task: null,
    },
    expect.objectContaining({ jid: jid(2), error: null, failures: 0, retries: 25 }),
  ])
  expect(jidsOf((await walked(t, '/api/v1/retries?limit=2')).lines)).toEqual([1, 2, 3, 4, 5])
  expect(jidsOf((await walked(t, '/api/v1/retries?desc=true&limit=2')).lines)).toEqual([5, 4, 3, 2, 1])
  const [line] = body.items
  for (const key of [`?key=${encodeURIComponent(line.key)}`, '']) {
    const detail = await t.call('GET', `/api/v1/retries/${jid(1)}${key}`)
    expect(detail.body).toMatchObject({
      ...{ ...line, key: expect.any(String) },
      args: [1],
      argsText: '[1]',
      bid: null,
      limit: null,
      locks: [],
      backtrace: ['a.rb:1', 'b.rb:2'],
      payload: { extra: { a: 1 }, retry: 5 },
    })
    expect(detail.body.payload).not.toHaveProperty('args')
  }
  for (const set of ['scheduled', 'dead']) {
    expect((await t.call('GET', `/api/v1/${set}`)).body).toEqual({ items: [], next: null, scanned: 0 })
  }
})

test('a list is filtered by class, queue, error and text, page by page, in order', async () => {
  const t = api()
  const kinds = [
    { class: 'Mail', queue: 'low', args: ['say "hi"'] },
    { class: 'Import', ...failed('timeout after 30 s') },
    { class: 'Sidekiq::ActiveJob::Wrapper', wrapped: 'Report', args: [{ job_class: 'Report', arguments: [7] }] },
  ]
  const entries = Array.from({ length: 90 }, (_, n): [string, number] => [textOf(n, kinds[n % 3]), 1000 + n])
  await fill(t, 'retry', entries)
  const found = async (query: string) => jidsOf((await walked(t, `/api/v1/retries?limit=7&${query}`)).lines)
  const every = (k: number) => Array.from({ length: 30 }, (_, i) => 3 * i + k)
  expect(await found('class=Mail')).toEqual(every(0))
  expect(await found('class=Mail&desc=1')).toEqual(every(0).reverse())
  expect(await found('queue=low')).toEqual(every(0))
  expect(await found('queue=low&class=Import')).toEqual([])
  expect(await found('class=Report')).toEqual(every(2))
  expect(await found('error=timeout')).toEqual(every(1))
  expect(await found(`error=${encodeURIComponent('TypeError: timeout after * s')}`)).toEqual(every(1))
  expect(await found('error=timeout*')).toEqual([])
  expect(await found(`search=${encodeURIComponent('say "hi"')}`)).toEqual(every(0))
  expect(await found(`search=${encodeURIComponent(JSON.stringify('say "hi"'))}`)).toEqual(every(0))
  expect(await found(`search=${jid(17)}`)).toEqual([17])
  expect(await found('search=&class=')).toHaveLength(90)
  expect(await found('search=nothing')).toEqual([])
  expect((await t.call('GET', '/api/v1/retries?search=nothing')).body).toEqual({ items: [], next: null, scanned: 90 })
})

test('errors are grouped regardless of ids in their messages, and the filter of a group finds its jobs', async () => {
  const t = api()
  const entries = Array.from({ length: 60 }, (_, n): [string, number] => {
    const message = n % 3 === 0 ? 'what? [odd*] \\ here' : `no user ${n + 100_000} at 0x${(n + 4096).toString(16)}`
    return [textOf(n, { class: n % 2 ? 'Odd' : 'Even', ...failed(message, { failed_at: 1_700_000_000_000 + n }) }), n]
  })
  await fill(t, 'dead', [...entries, [textOf(99), 99], ['no json', 100]])
  const { body } = await t.call('GET', '/api/v1/dead/errors')
  expect(body).toMatchObject({ matching: 62, scanned: 62, complete: true })
  expect(body.items).toMatchObject([
    { class: 'TypeError', message: 'no user … at …', count: 40, messages: 40, since: '2023-11-14T22:13:20.001Z' },
    { class: 'TypeError', message: 'what? [odd*] \\ here', count: 20, messages: 1 },
  ])
  expect(body.items[0].jobs.sort()).toEqual(['Even', 'Odd'])
  for (const { filter, count } of body.items) {
    const { lines } = await walked(t, `/api/v1/dead?cause=${encodeURIComponent(filter)}`)
    expect(lines, filter).toHaveLength(count)
  }
  const even = (await t.call('GET', '/api/v1/dead/errors?class=Even')).body
  expect(even).toMatchObject({ items: [{ count: 20, jobs: ['Even'] }, { count: 10 }], matching: 30, scanned: 62 })
})

test('errors with different short numbers or classes form different groups, and an action on a group affects its jobs only', async () => {
  const t = api()
  const texts = ['HTTP 500', 'HTTP 50', 'HTTP 50', 'HTTP 500: gone', 'not HTTP 50']
  await fill(t, 'dead', [
    ...texts.map((message, n): [string, number] => [textOf(n, failed(message)), n]),
    [textOf(8, { ...failed('HTTP 50'), error_class: 'TypeError2' }), 8],
  ])
  const { items } = (await t.call('GET', '/api/v1/dead/errors')).body
  const told = items.map(({ class: name, message, count, messages }: Record<string, unknown>) => [
    name,
    message,
    count,
    messages,
  ])
  expect(told[0]).toEqual(['TypeError', 'HTTP 50', 2, 1])
  expect(told.slice(1).sort()).toEqual([
    ['TypeError', 'HTTP 500', 1, 1],
    ['TypeError', 'HTTP 500: gone', 1, 1],
    ['TypeError', 'not HTTP 50', 1, 1],
    ['TypeError2', 'HTTP 50', 1, 1],
  ])
  const deleted = await t.call('POST', '/api/v1/dead/all/delete', { json: { cause: items[0].filter } })
  expect(deleted.body).toMatchObject({ done: 2, ended: true })
  expect(await t.hq.dead.size()).toBe(4)
})

test('a single job is retried, killed, deleted and rescheduled', async () => {
  const t = api()
  await fill(
    t,
    'retry',
    [1, 2, 3, 4].map((n) => [textOf(n, failed('x')), 2e9 + n]),
  )
  const { lines } = await walked(t, '/api/v1/retries')
  const key = (n: number) => `key=${encodeURIComponent((lines[n - 1] as Progress).key)}`
  const done = { done: 1, refused: 0 }
  expect((await t.call('POST', `/api/v1/retries/${jid(1)}/retry?${key(1)}`)).body).toEqual(done)
  expect((await t.queue()).map(({ jid, retry_count }) => [jid, retry_count])).toEqual([[jid(1), 1]])
  expect((await t.call('POST', `/api/v1/retries/${jid(2)}/kill`)).body).toEqual(done)
  expect((await t.set('dead')).map(({ jid }) => jid)).toEqual([jid(2)])
  expect((await t.call('DELETE', `/api/v1/retries/${jid(3)}?${key(3)}`)).body).toEqual(done)
  const at = new Date(4e12).toISOString()
  const later = await t.call('POST', `/api/v1/retries/${jid(4)}/reschedule?${key(4)}`, { json: { at } })
  expect(later.body).toEqual(done)
  expect((await t.set('retry')).map(({ jid, score }) => [jid, score])).toEqual([[jid(4), 4e9]])

  // The job has moved, or is gone.
  for (const n of [1, 4]) {
    const gone = await t.call('POST', `/api/v1/retries/${jid(n)}/kill?${key(n)}`)
    expect([gone.status, gone.body.error.code]).toEqual([404, 'UNKNOWN_JID'])
  }
  for (const wrong of ['key=odd', 'key=5', 'key=x~y']) {
    expect((await t.call('DELETE', `/api/v1/retries/${jid(4)}?${wrong}`)).status, wrong).toBe(400)
  }
  for (const wrong of [{}, { at: 'noon' }, { in: -1 }, { at, in: 5 }, { at, more: 1 }]) {
    const { status } = await t.call('POST', `/api/v1/retries/${jid(4)}/reschedule`, { json: wrong })
    expect(status, JSON.stringify(wrong)).toBe(400)
  }
  expect((await t.call('POST', `/api/v1/dead/${jid(2)}/retry`)).body).toEqual(done)
  expect((await t.call('POST', `/api/v1/dead/${jid(2)}/kill`)).status).toBe(404)

  await fill(t, 'schedule', [[textOf(7), 2e9]])
  expect((await t.call('POST', `/api/v1/scheduled/${jid(7)}/addToQueue`)).body).toEqual(done)
  expect((await t.queue()).map(({ jid }) => jid).sort()).toEqual([jid(1), jid(2), jid(7)])
})

test('an entry that is not a job is refused when it is sent to a queue, and stays', async () => {
  const t = api()
  await fill(t, 'dead', [['{"args":[]}', 5]])
  const [line] = (await walked(t, '/api/v1/dead')).lines
  const key = `key=${encodeURIComponent(line?.key ?? '')}`
  const { status, body } = await t.call('POST', `/api/v1/dead/-/retry?${key}`)
  expect([status, body.error.code]).toEqual([400, 'INVALID_JOB'])
  // An action on several jobs has the code and the details of the first refusal, too.
  const refusal = { done: 0, refused: 1, code: 'INVALID_JOB', details: { problem: 'unreadable' } }
  const selected = await t.call('POST', '/api/v1/dead/retry', { json: { jobs: [{ jid: '-', key: line?.key }] } })
  expect(selected.body).toEqual({ ...refusal, error: body.error.message })
  const all = await t.call('POST', '/api/v1/dead/all/retry', { json: {} })
  expect(all.body).toEqual({ ...refusal, error: body.error.message, ended: true })
  expect((await t.call('DELETE', `/api/v1/dead/-?${key}`)).body.done).toBe(1)
  expect(await t.set('dead')).toEqual([])
})

test('actions on selected jobs work with and without keys, and missing jobs are counted', async () => {
  const t = api()
  await fill(
    t,
    'dead',
    Array.from({ length: 40 }, (_, n) => [textOf(n), n < 20 ? 5 : n]),
  )
  const { lines } = await walked(t, '/api/v1/dead?limit=7')
  const some = (...numbers: number[]) => lines.filter((line) => numbers.includes(Number.parseInt(line.jid, 16)))
  const { status, body } = await t.call('POST', '/api/v1/dead/delete', {
    json: {
      jobs: [...some(1, 2, 19, 25), { jid: jid(30), key: undefined }, { jid: 'nobody', key: undefined }].map(
        ({ jid, key }) => ({ jid, key }),
      ),
    },
  })
  expect([status, body]).toEqual([200, { done: 5, refused: 1, error: 'job nobody was not found', problem: 'gone' }])
  expect(await t.hq.dead.size()).toBe(35)
  const again = await t.call('POST', '/api/v1/dead/retry', {
    json: { jobs: some(1, 3).map(({ jid, key }) => ({ jid, key })) },
  })
  expect(again.body).toMatchObject({ done: 1, refused: 1 })
  expect((await t.queue()).map(({ jid }) => jid)).toEqual([jid(3)])

  await fill(t, 'schedule', [[textOf(50), 2e9]])
  const jobs = [{ jid: jid(50) }]
  const at = new Date(3e12).toISOString()
  expect((await t.call('POST', '/api/v1/scheduled/reschedule', { json: { jobs, at } })).body.done).toBe(1)
  expect((await t.set('schedule'))[0]?.score).toBe(3e9)
  for (const wrong of [
    {},
    { jobs: 5 },
    { jobs: [5] },
    { jobs: [{ jid: 5 }] },
    { jobs, at },
    { jobs: Array(1001).fill(jobs[0]) },
  ]) {
    expect((await t.call('POST', '/api/v1/dead/delete', { json: wrong })).status).toBe(400)
  }
})

test('each of many similar jobs with the same time has a key of its own', async () => {
  const t = api()
  const count = 5000
  const args = ['the same', { for: 'all' }]
  await fill(
    t,
    'schedule',
    Array.from({ length: count }, (_, n) => [textOf(n, { args }), 2e9]),
  )
  // In the middle of the set, from either end, and by a search.
  const places = ['limit=500&desc=true', 'limit=500', `search=${jid(2600)}`]
  const gone: string[] = []
  for (const place of places) {
    const { lines } = await walked(t, `/api/v1/scheduled?${place}`)
    const line = lines[Math.floor(lines.length / 2)] as Progress
    gone.push(line.jid)
    const { body } = await t.call('DELETE', `/api/v1/scheduled/${line.jid}?key=${encodeURIComponent(line.key)}`)
    expect(body, place).toEqual({ done: 1, refused: 0 })
  }
  const left = new Set((await walked(t, '/api/v1/scheduled?limit=500')).lines.map((line) => line.jid))
  expect(left.size).toBe(count - places.length)
  for (const one of gone) expect(left.has(one)).toBe(false)
})

test('an action applies to a whole set, or to the jobs that a filter selects', async () => {
  const t = api()
  const entries = Array.from({ length: 250 }, (_, n): [string, number] => [
    textOf(n, { class: n % 5 ? 'Many' : 'Few', ...failed('x') }),
    2e9 + n,
  ])
  await fill(t, 'retry', entries)
  const act = async (path: string, json?: object) => (await t.call('POST', `/api/v1/${path}`, { json })).body
  expect(await act('retries/all/retry', { class: 'Few' })).toEqual({ done: 50, refused: 0, ended: true })
  expect(await t.hq.queue('default').size()).toBe(50)
  expect(await act('retries/all/kill', { search: jid(1) })).toEqual({ done: 1, refused: 0, ended: true })
  expect(await act('dead/all/retry')).toEqual({ done: 1, refused: 0, ended: true })
  expect(await act('retries/all/delete', {})).toEqual({ done: 199, refused: 0, ended: true })
  expect(await t.hq.retries.size()).toBe(0)
  await fill(t, 'schedule', entries.slice(0, 3))
  expect(await act('scheduled/all/addToQueue')).toEqual({ done: 3, refused: 0, ended: true })
  // A misspelt filter must not select all jobs.
  for (const wrong of [{ clas: 'A' }, { class: 5 }, { class: '' }, { class: null }]) {
    expect(await act('retries/all/delete', wrong), JSON.stringify(wrong)).toMatchObject({
      error: { code: 'INVALID_REQUEST' },
    })
  }
})

test('an action on a set streams its progress, and stops when the client disconnects', async () => {
  const t = api()
  const entries = (from: number) =>
    Array.from({ length: 1000 }, (_, n): [string, number] => [textOf(from + n, failed('x')), 2e9 + n])
  await fill(t, 'retry', entries(0))
  const ask = () =>
    t.handle(
      new Request('http://localhost:7433/api/v1/retries/all/retry', {
        method: 'POST',
        headers: { accept: 'application/x-ndjson' },
      }),
    )
  const whole = await ask()
  expect(whole.headers.get('content-type')).toBe('application/x-ndjson')
  const lines = (await whole.text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines[0]).toEqual({ done: 0, refused: 0, ended: false })
  expect(lines.at(-1)).toEqual({ done: 1000, refused: 0, ended: true })

  await fill(t, 'retry', entries(1000))
  const doors = gate()
  let pushed = 0
  t.hq.client.use(async (_, next) => {
    if (++pushed > 300) await doors.opened
    return next()
  })
  const half = await ask()
  const reader = (half.body as ReadableStream<Uint8Array>).getReader()
  await reader.read()
  await until(() => pushed > 300)
  await reader.cancel()
  doors.open()
  // Jobs in progress are finished; later jobs are not touched.
  await until(async () => (await t.hq.queue('default').size()) === 1400)
  await t.hq.store.jobSets.size('retry')
  expect(pushed).toBe(400)
  expect(await t.hq.retries.size()).toBe(600)
})

test('hostile entries are listed, shown and deleted like any other', async () => {
  const t = api()
  const html = '<img src=x onerror=alert(1)>'
  const rtl = '\u202e\u2066gnp.exe\u0000\u0007'
  const texts = [
    textOf(1, { class: html, queue: html, tags: [html, 5, null], ...failed(html, { error_class: html }) }),
    textOf(2, { class: rtl, args: [rtl], ...failed(rtl) }),
    textOf(3, { args: ['x'.repeat(1_000_000)], ...failed('y'.repeat(1_000_000)) }),
    textOf(4, { class: { a: 1 }, args: 'no list', queue: 7, retry: 'often', error_class: 5, error_message: [] }),
    'this is no JSON <b>',
    '"a text"',
    '[1,2]',
    '{}',
    '',
    textOf(5, { jid: '', hk_task: 'x', created_at: 'soon', failed_at: 1e300, retry_count: 'many' }),
    textOf(6, { jid: 'j'.repeat(5000), error_backtrace: 'eJw=' }),
    `{"class":"Deep","jid":"${jid(8)}","args":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
    `{"class":"Sidekiq::ActiveJob::Wrapper","jid":"${jid(9)}","args":[{"job_class":"D","arguments":${'['.repeat(20_000)}${']'.repeat(20_000)}}]}`,
    textOf(10, { many: Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`m${n}`, n])) }),
  ]
  await fill(
    t,
    'dead',
    texts.map((text, n) => [text, n % 2 ? n : Number.POSITIVE_INFINITY]),
  )
  const { body, text } = await t.call('GET', '/api/v1/dead')
  expect(body.items).toHaveLength(texts.length)
  expect(text.length).toBeLessThan(40_000)
  for (const line of body.items) {
    expect(line.preview.length).toBeLessThanOrEqual(300)
    expect(line.error?.message.length ?? 0).toBeLessThanOrEqual(300)
    const path = `/api/v1/dead/${encodeURIComponent(line.jid || '-')}?key=${encodeURIComponent(line.key)}`
    const detail = await t.call('GET', path)
    expect(detail.status, detail.text.slice(0, 300)).toBe(200)
    expect(detail.text.length).toBeLessThan(400_000)
    const whole = await t.call('GET', `${path}&whole=true`)
    expect(whole.status).toBe(200)
    if (line.jid === jid(3)) {
      expect([detail.body.args, detail.body.argsText.length]).toEqual([null, 65_536])
      expect(whole.body.args[0]).toHaveLength(1_000_000)
      expect(whole.body.error.message).toHaveLength(1_000_000)
    }
  }
  expect((await t.call('GET', '/api/v1/dead/errors')).status).toBe(200)
  const jobs = body.items.map(({ jid, key }: Progress) => ({ jid, key }))
  expect((await t.call('POST', '/api/v1/dead/delete', { json: { jobs } })).body).toEqual({
    done: texts.length,
    refused: 0,
  })
})

test('a cursor reveals nothing about jobs, and a forged cursor is refused', async () => {
  const t = api()
  await fill(
    t,
    'retry',
    Array.from({ length: 9 }, (_, n) => [
      textOf(n, { class: 'SecretPlan', args: ['x'.repeat(n === 3 ? 9000 : 5)] }),
      5,
    ]),
  )
  const { lines, calls } = await walked(t, '/api/v1/retries?limit=1')
  expect([lines.length, calls]).toEqual([9, 9])
  const { body } = await t.call('GET', '/api/v1/retries?limit=4')
  expect(Buffer.from(body.next, 'base64url').toString('latin1')).not.toContain('SecretPlan')
  for (const cursor of ['odd', '5:', body.next.slice(1), '.gone']) {
    const wrong = await t.call('GET', `/api/v1/retries?cursor=${cursor}`)
    expect([wrong.status, wrong.body.error.code]).toEqual([400, 'INVALID_REQUEST'])
  }
})

test('a key is refused together with another job id', async () => {
  const t = api()
  await fill(
    t,
    'retry',
    [1, 2].map((n): [string, number] => [textOf(n), 2e9 + n]),
  )
  await fill(t, 'retry', [[textOf(3, { jid: 'long'.repeat(200) }), 2e9 + 3]])
  const lines = (await walked(t, '/api/v1/retries')).lines
  const [first, , long] = lines as [Progress, Progress, Progress]
  const other = await t.call('DELETE', `/api/v1/retries/${jid(2)}?key=${encodeURIComponent(first.key)}`)
  expect([other.status, other.body.error.code]).toEqual([400, 'INVALID_REQUEST'])
  const jobs = [{ jid: jid(2), key: first.key }]
  expect((await t.call('POST', '/api/v1/retries/kill', { json: { jobs } })).body).toMatchObject({ done: 0, refused: 1 })
  expect(await t.hq.retries.size()).toBe(3)
  // Lists cut a very long id, which still identifies the job.
  const { body } = await t.call('POST', '/api/v1/retries/kill', { json: { jobs: [{ jid: long.jid, key: long.key }] } })
  expect(body.done).toBe(1)

  await t.hq.push({ class: 'Job', args: [], jid: jid(7) })
  const [queued] = (await walked(t, '/api/v1/queues/default/jobs')).lines
  const key = encodeURIComponent(queued?.key ?? '')
  expect((await t.call('DELETE', `/api/v1/queues/default/jobs/${jid(8)}?key=${key}`)).status).toBe(400)
  expect((await t.queue()).map(({ jid }) => jid)).toEqual([jid(7)])
})

test('a time in the distant past is absolute, not relative to now', async () => {
  const t = api()
  for (const [at, score] of [
    ['1990-01-01T00:00:00Z', 631_152_000],
    [631_152_000, 631_152_000],
    ['1969-12-31T23:59:00Z', -60],
  ]) {
    await t.hq.scheduled.clear()
    await fill(t, 'schedule', [[textOf(1), 2e9]])
    const { body } = await t.call('POST', `/api/v1/scheduled/${jid(1)}/reschedule`, { json: { at } })
    expect(body.done).toBe(1)
    expect((await t.set('schedule'))[0]?.score, String(at)).toBe(score)
  }
})

test('a rescheduled job can be moved back to exactly its old time, unless it has moved since', async () => {
  const t = api()
  const dues = [2e9 + 0.123456, 2e9 + 0.1234561, 5e8]
  await fill(
    t,
    'schedule',
    dues.map((due, n): [string, number] => [textOf(n), due]),
  )
  // Another job with the same id is due later: it is not selected.
  await fill(t, 'schedule', [[textOf(0, { args: ['same'] }), 2.5e9]])
  const { lines } = await walked(t, '/api/v1/scheduled')
  const jobs = [jid(0), jid(1), jid(2)].map((id) => {
    const { key } = lines.find((line) => line.jid === id) as Progress
    return { jid: id, key }
  })
  const { body } = await t.call('POST', '/api/v1/scheduled/reschedule', { json: { jobs, at: 3e9 } })
  expect(body).toMatchObject({ done: 3, refused: 0 })
  const moved: { jid: string; key: string; was: number }[] = body.moved
  expect(moved.map(({ was }) => was).sort()).toEqual([...dues].sort())

  const ran = await t.hq.scheduled.fetch(3e9, jid(1))
  await ran[0]?.reschedule(2.9e9)
  const back = []
  for (const { jid, key, was } of moved) {
    const json = { jobs: [{ jid, key }], at: was }
    back.push((await t.call('POST', '/api/v1/scheduled/reschedule', { json })).body.done)
  }
  expect(back.sort()).toEqual([0, 1, 1])
  const scores = (await t.set('schedule')).map(({ score }) => score)
  expect(scores.sort()).toEqual([dues[0], dues[2], 2.5e9, 2.9e9].sort())
})

test('a finished job is listed, found with its result, run again and deleted, but not edited', async () => {
  const t = api()
  const job = t.hq.job('Kept', { keepFinished: true }, async (_ctx, n: number) => ({ n }))
  const [one, two] = [await job.performAsync(1), await job.performAsync(2)] as [string, string]
  const worker = await t.work()
  await expect.poll(() => t.hq.finished.size()).toBe(2)
  await worker.stop()
  const { items } = (await t.call('GET', '/api/v1/finished')).body
  expect(items.map(({ jid }: { jid: string }) => jid).sort()).toEqual([one, two].sort())
  const found = (await t.call('GET', `/api/v1/jobs/${one}`)).body
  expect(found).toMatchObject({ state: 'succeeded', result: { n: 1 }, job: { at: expect.any(String) } })
  expect((await t.call('GET', `/api/v1/finished/${one}`)).body.payload).toMatchObject({ hk_result: { n: 1 } })
  expect((await t.call('POST', `/api/v1/finished/${one}/edit`, { json: { args: [9] } })).status).toBe(400)
  expect((await t.call('POST', `/api/v1/finished/${one}/addToQueue`)).body).toMatchObject({ done: 1 })
  expect((await t.call('DELETE', `/api/v1/finished/${two}`)).body).toMatchObject({ done: 1 })
  expect([await t.hq.finished.size(), await t.hq.queue('default').size()]).toEqual([0, 1])
})
