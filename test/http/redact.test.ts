import type { JobContext } from 'highkiq'
import { expect, test } from 'vitest'
import { Collector, gate, until } from '../engine/bench.ts'
import { type Api, api } from './api.ts'

const SECRET = 'hunter2-swordfish'
const RULES = ['Password', /_token$/g]

const jid = (n: number) => n.toString(16).padStart(24, '0')

/** A job with a secret in every member that can hold one. */
const args = [
  { user: 'ann', password: SECRET },
  [{ deep: { list: [{ api_token: { any: SECRET } }] } }],
  JSON.stringify({ written: { PASSWORD: SECRET } }),
]

function textOf(n: number): string {
  const failure = { error_class: 'E', error_message: 'no', failed_at: 1_700_000_000, retry_count: 0 }
  return JSON.stringify({ class: 'Job', args, queue: 'default', jid: jid(n), my_token: SECRET, ...failure })
}

/** The same secret in everything that the server shows. */
async function everywhere(t: Api) {
  const { hq } = t
  const doors = gate()
  const begun = new Collector<unknown>()
  const Slow = hq.job('Slow', async (_ctx, ..._args: unknown[]) => {
    begun.add(1)
    await doors.opened
  })
  const Kept = hq.job('Kept', { keepResult: 60, queue: 'kept' }, async (_ctx, ..._args: unknown[]) => ({
    password: SECRET,
  }))
  const Row = hq.job('Row', { queue: 'rows', retry: false }, async (_ctx, row: { n: number; password: string }) => {
    if (row.n === 1) throw new Error('rejected')
    return { api_token: SECRET }
  })
  const Sync = hq.ordered('Sync', { shards: 1 }, async () => {
    throw new Error('not today')
  })
  hq.cron('nightly', '30 3 * * *', Slow, { args })
  await hq.cron('nightly').pause()
  const kept = await Kept.performAsync(...args)
  const task = await hq.tasks.create(
    Row,
    [1, 2].map((n) => [{ n, password: SECRET }]),
    { keepArgs: 'all' },
  )
  await Slow.performAsync(...args)
  const worker = await t.work({ queues: ['default', 'kept', 'rows'] })
  await begun.atLeast(1)
  await until(async () => (await task.status())?.state === 'done')
  await until(async () => (await hq.result(kept, { timeout: 5 })) !== undefined)
  await worker.quiet()
  await Sync.performAsync([{ id: 1, payload: { password: SECRET }, score: 1, performIn: 4e9 }])
  const now = Date.now()
  await hq.store.jobs.push(
    (['retry', 'schedule', 'dead', 'finished'] as const).flatMap((to) =>
      [1, 2, 3].map((n) => ({ to, text: textOf(n), score: 2e9 })),
    ),
    now,
  )
  await hq.store.jobs.push([{ to: 'dead', text: `{"password":"${SECRET}"`, score: 5 }], now)
  await hq.store.jobs.push([{ to: 'queue', queue: 'low', text: textOf(4), end: 'back' }], now)
  return { doors, task: task.id, kept: String(kept) }
}

test('redacted members leave the server on no route', async () => {
  const t = api({ redact: RULES })
  const { doors, task, kept } = await everywhere(t)
  const paths = [
    ...['retries', 'scheduled', 'dead', 'finished'].flatMap((set) => [
      `/${set}?limit=2`,
      `/${set}/errors`,
      ...[1, 2].map((n) => `/${set}/${jid(n)}?whole=true`),
    ]),
    ...['', '/low', '/low/jobs', `/low/jobs/${jid(4)}?whole=true`].map((path) => `/queues${path}`),
    ...['/processes', '/running', '/cron', '/ordered', '/ordered/Sync/waiting', '/ordered/Sync/ids/1'],
    ...['', '?include=rejected', '/events', '/reasons?samples=5'].map((path) => `/tasks/${task}${path}`),
    ...[kept, jid(1), jid(4)].map((one) => `/jobs/${one}`),
  ]
  const seen: string[] = []
  for (const path of paths) {
    const { status, text } = await t.call('GET', `/api/v1${path}`)
    expect(status, `${path} ${text}`).toBe(200)
    expect(text, path).not.toContain(SECRET)
    expect(Buffer.from(text.replace(/.*"next":"([^"]*)".*/s, '$1'), 'base64url').toString(), path).not.toContain(SECRET)
    if (text.includes('[redacted]')) seen.push(path)
  }
  // Each of these shows the secret without rules.
  const hidden = paths.filter((path) =>
    /retries|scheduled|dead|finished|jobs|running|cron|waiting|ids|rejected|events/.test(path),
  )
  expect(seen.sort()).toEqual(hidden.filter((path) => !path.endsWith('/errors')).sort())
  const line = (await t.call('GET', `/api/v1/retries/${jid(1)}`)).body
  expect(line).toMatchObject({ args: [{ user: 'ann', password: '[redacted]' }, [{ deep: {} }], expect.any(String)] })
  expect(line.payload).toMatchObject({ my_token: '[redacted]', class: 'Job' })
  doors.open()
})

test('without rules everything is shown', async () => {
  const t = api()
  await t.hq.store.jobs.push([{ to: 'dead', text: textOf(1), score: 5 }], Date.now())
  expect((await t.call('GET', '/api/v1/dead')).text).toContain(SECRET)
  expect((await t.call('GET', `/api/v1/dead/${jid(1)}`)).text).toContain(SECRET)
})

test("redacted values can't be found by searching for them", async () => {
  const t = api({ redact: RULES })
  const now = Date.now()
  await t.hq.store.jobs.push([{ to: 'dead', text: textOf(1), score: 5 }], now)
  await t.hq.store.jobs.push([{ to: 'queue', queue: 'low', text: textOf(4), end: 'back' }], now)
  const { id } = await t.hq.tasks.create(
    t.hq.job('Row', async (_ctx, _row: object) => {}),
    [[{ password: SECRET }]],
  )
  for (const search of ['hunter2', `*${SECRET}*`, SECRET.slice(0, 3)]) {
    for (const path of ['/dead', '/queues/low/jobs', `/tasks/${id}/events`]) {
      expect((await t.call('GET', `/api/v1${path}?search=${search}`)).body.items, path).toEqual([])
    }
    expect((await t.call('POST', '/api/v1/dead/all/delete', { json: { search } })).body.done).toBe(0)
  }
  expect((await t.call('GET', '/api/v1/dead?search=ann')).body.items).toHaveLength(1)
  expect((await t.call('GET', '/api/v1/queues/low/jobs?search=ann')).body.items).toHaveLength(1)
  // Actions use the real job.
  expect((await t.call('POST', `/api/v1/dead/${jid(1)}/retry`)).body.done).toBe(1)
  expect((await t.queue()).at(-1)?.args).toEqual(args)
})

test('a list refuses the cursor or key of another list, and the refusal shows no hidden value', async () => {
  const t = api({ redact: ['password'] })
  const text = (n: number) => JSON.stringify({ class: 'J', args: [{ password: SECRET }], jid: jid(n), queue: 'low' })
  const dead = [1, 2, 3].map((n) => ({ to: 'dead' as const, text: text(n), score: 5 }))
  await t.hq.store.jobs.push(dead, Date.now())
  for (const n of [4, 5]) await t.raw(text(n), 'low')
  const bid = await t.hq.batch({}, () => t.hq.push({ class: 'J', args: [] }))
  const listed = async (path: string) => (await t.call('GET', `/api/v1${path}?limit=1`)).body
  const { items, next } = await listed('/dead')
  const sealed = [
    items[0].key.split('~')[2],
    next,
    (await listed('/jobs')).next,
    (await listed('/queues/low/jobs')).next,
  ]
  const lists = ['dead', 'jobs', 'queues/low/jobs', 'running', 'limits', 'locks', `batches/${bid}/members`, 'retries']
  let refused = 0
  for (const path of lists) {
    for (const cursor of sealed) {
      expect(cursor).toEqual(expect.any(String))
      const { status, text } = await t.call('GET', `/api/v1/${path}?cursor=${cursor}`)
      expect(text, path).not.toContain(SECRET)
      if (status === 400) refused++
    }
  }
  // Each is taken by its own list alone: that of dead jobs also by retries, and the key by none.
  expect(refused).toBe(lists.length * sealed.length - 4)
})

test('a redact function decides about each member and item; when it throws, the value is hidden', async () => {
  const redact = (key: string, value: unknown) => {
    if (key === 'broken') throw new Error('oh')
    if (key === 'gone') return undefined
    return typeof value === 'string' && /^\d{16}$/.test(value) ? `…${value.slice(-4)}` : value
  }
  const t = api({ redact })
  const args = ['4111111111111111', { card: '5555555555554444', broken: 1, gone: 2, n: 3 }]
  await t.hq.push({ class: 'Pay', args })
  const { items } = (await t.call('GET', '/api/v1/queues/default/jobs')).body
  const shown = { card: '…4444', broken: '[redacted]', gone: '[redacted]', n: 3 }
  expect(JSON.parse(items[0].preview)).toEqual(['…1111', shown])
})

test('wrong redact rules are refused when the handler is created', () => {
  for (const redact of [5, 'password', [5], [''], {}, null]) {
    expect(() => api({ redact: redact as never }), JSON.stringify(redact)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION' }),
    )
  }
})

test('a retried row gets its real arguments, not the redacted ones', async () => {
  const seen: unknown[] = []
  const t = api({
    redact: RULES,
    jobs: (hq) =>
      void hq.job('Row', { retry: false }, async (_ctx, row: unknown) => {
        seen.push(row)
        if (seen.length === 1) throw new Error('rejected')
      }),
  })
  const row = { password: SECRET, big: 9_007_199_254_740_993n }
  const task = await t.hq.tasks.create(t.hq.jobNamed('Row'), [[row], ['another']])
  await t.work({ concurrency: 1 })
  await until(async () => (await task.status())?.state === 'done')
  const { body } = await t.call('GET', `/api/v1/tasks/${task.id}/events?status=error`)
  expect(body.items[0].args[0].password).toBe('[redacted]')
  const retry = (json: object) => t.call('POST', `/api/v1/tasks/${task.id}/retry`, { json })
  expect((await retry({ rows: [{ index: 0 }, { index: 1 }] })).body).toMatchObject({
    rows: 1,
    unchanged: 1,
    finished: 1,
  })
  await until(async () => (await task.status())?.counts.finished === 2)
  expect(seen).toEqual([row, 'another', row])
})

test('how much a search has scanned does not tell whether a hidden value matches', async () => {
  const t = api({ redact: RULES })
  const count = 20_500
  // A call scans 20,000 jobs, the newest first.
  const textAt = (n: number) => {
    const password = n === count - 100 ? SECRET : 'another'
    return JSON.stringify({ class: 'Job', args: [{ password }], queue: 'low', jid: jid(n) })
  }
  for (let from = 0; from < count; from += 500) {
    const texts = Array.from({ length: 500 }, (_, i) => textAt(from + i))
    await t.hq.store.jobs.push(
      texts.map((text) => ({ to: 'queue', queue: 'low', text, end: 'back' }) as const),
      Date.now(),
    )
  }
  const found = async (search: string) => {
    const { items, next, scanned } = (await t.call('GET', `/api/v1/queues/low/jobs?limit=1&search=${search}`)).body
    return { items, isEnd: next === null, scanned }
  }
  expect(await found('hunter2')).toEqual({ items: [], isEnd: false, scanned: 20_000 })
  expect(await found('hunter3')).toEqual({ items: [], isEnd: false, scanned: 20_000 })
  // A job that the viewer may find still ends the page.
  expect(await found(jid(count - 200))).toMatchObject({ items: [{ jid: jid(count - 200) }], scanned: 200 })
})

test('JSON in a message of an error or of a handler is redacted wherever the message is shown', async () => {
  const t = api({ redact: RULES })
  // The text was cut.
  const refusal = `refused: {"user":"ann","password":"${SECRET}`
  const fail = async (ctx: JobContext) => {
    ctx.message(refusal)
    throw new Error(refusal)
  }
  const Kept = t.hq.job('Kept', { keepResult: 60, retry: 0 }, fail)
  const Row = t.hq.job('Row', { retry: 0 }, async (ctx, _row: object) => fail(ctx))
  const Sync = t.hq.ordered('Sync', { shards: 1 }, fail)
  const kept = String(await Kept.performAsync())
  const { id } = await t.hq.tasks.create(Row, [[{ n: 1 }]])
  await Sync.performAsync([{ id: 1, payload: { n: 1 } }])
  await t.work()
  const get = async (path: string) => (await t.call('GET', `/api/v1${path}`)).text
  await until(async () => (await t.hq.tasks.get(id).status())?.state === 'done')
  await until(async () => (await get(`/jobs/${kept}`)).includes('"state":"dead"'))
  await until(async () => (await get('/ordered/Sync/ids/1')).includes('refused'))
  for (const path of [
    ...['/dead', '/dead/errors', `/dead/${kept}`, `/jobs/${kept}`, '/jobs?state=dead', '/jobs?state=rejected'],
    ...['', '/events', '/reasons?samples=1', '/report'].map((part) => `/tasks/${id}${part}`),
    ...[`/tasks/${id}?include=rejected`, '/ordered/Sync/ids/1', '/ordered/Sync/waiting'],
  ]) {
    const text = await get(path)
    expect(text, path).not.toContain(SECRET)
    if (path !== `/tasks/${id}`) expect(text, path).toContain('[redacted]')
  }
})

test('a rule for the messages of errors also hides the messages of handlers', async () => {
  const t = api({ redact: ['error_message'] })
  const Job = t.hq.job('Job', { retry: 0 }, async (ctx) => {
    ctx.message(SECRET)
    throw new Error('no')
  })
  const jid = String(await Job.performAsync())
  await t.work()
  await until(async () => (await t.hq.find(jid)).state === 'dead')
  const { job } = (await t.call('GET', `/api/v1/jobs/${jid}`)).body
  expect(job.messages).toEqual([{ at: expect.any(String), text: '[redacted]' }])
})

test('the key of a lock is shown encrypted, so that no guess of arguments can be checked by it', async () => {
  const t = api({ redact: RULES })
  const Once = t.hq.job('Once', { unique: true, queue: 'low' }, async (_ctx, _row: object) => {})
  const one = String(await Once.performAsync({ password: SECRET }))
  const { key = '' } = (await t.hq.uniqueLocks.page()).items[0] ?? {}
  expect(key).toMatch(/^[\w-]{22}$/)
  for (const path of ['/locks', '/queues/low/jobs', `/queues/low/jobs/${one}`, `/jobs/${one}`]) {
    expect((await t.call('GET', `/api/v1${path}`)).text, path).not.toContain(key)
  }
  expect((await t.call('GET', `/api/v1/queues/low/jobs?search=${key}`)).body.items).toEqual([])
  const [lock] = (await t.call('GET', '/api/v1/locks')).body.items
  const detail = (await t.call('GET', `/api/v1/queues/low/jobs/${one}`)).body
  expect(detail.locks).toEqual([lock.key])
  expect(detail.payload.hk_unique).toBe('success:[redacted]')
  const release = async (name: string) =>
    (await t.call('POST', `/api/v1/locks/${encodeURIComponent(name)}/release?jid=${one}`)).body.done
  expect(await release(key)).toBe(0)
  expect(await release(lock.key)).toBe(1)
  expect((await t.hq.uniqueLocks.page()).items).toEqual([])
})

test('only the size is shown of an entry that is not a job', async () => {
  const t = api({ redact: RULES })
  const texts = [JSON.stringify({ password: SECRET }), JSON.stringify([SECRET]), SECRET]
  const entries = texts.map((text, n) => ({ to: 'dead' as const, text, score: n }))
  await t.hq.store.jobs.push(entries, Date.now())
  const { items } = (await t.call('GET', '/api/v1/dead')).body
  const jobs = items.map(({ jid, key }: { jid: string; key: string }) => ({ jid, key }))
  const answers = [
    await t.call('POST', '/api/v1/dead/retry', { json: { jobs } }),
    await t.call('POST', '/api/v1/dead/all/retry', { json: {} }),
    await t.call('POST', `/api/v1/dead/-/retry?key=${encodeURIComponent(jobs[0].key)}`),
  ]
  for (const { text } of answers) expect(text).not.toContain(SECRET)
  expect(answers.map(({ body }) => body.refused ?? body.error.code)).toEqual([3, 3, 'INVALID_JOB'])
})

test('a function hides the keys of limits and the descriptions of batches', async () => {
  const isShown = (key: string) => key !== 'key' && key !== 'description'
  const t = api({ redact: (key, value) => (isShown(key) ? value : undefined) })
  const { opened, open } = gate()
  const begun = new Collector<unknown>()
  const Mail = t.hq.job('Mail', { limit: { concurrency: 1, by: (to) => to } }, async (_ctx, _to: string) => {
    begun.add(1)
    await opened
  })
  const bid = await t.hq.batch({ description: SECRET, data: { n: 1 } }, () => Mail.performAsync(SECRET))
  await t.work()
  await begun.atLeast(1)
  const limits = await t.call('GET', '/api/v1/limits')
  expect(limits.body.items).toMatchObject([{ name: 'Mail', key: '[redacted]', used: 1 }])
  for (const path of ['/batches', `/batches/${bid}`]) {
    const { text } = await t.call('GET', `/api/v1${path}`)
    expect(text, path).toContain('"description":"[redacted]"')
    expect(text, path).toContain('"data":{"n":1}')
    expect(text, path).not.toContain(SECRET)
  }
  open()
})
