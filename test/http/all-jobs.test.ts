import { BusinessFailure } from 'highkiq'
import type { AuditEntry } from 'highkiq/http'
import { expect, test, vi } from 'vitest'
import { gate, until } from '../engine/bench.ts'
import { type Api, api } from './api.ts'

const jid = (n: number) => n.toString(16).padStart(24, '0')

function textOf(n: number, more: object = {}): string {
  return JSON.stringify({ class: 'Job', args: [{ customer: n }], queue: 'default', jid: jid(n), retry: true, ...more })
}

async function fill({ hq }: Api, to: 'retry' | 'schedule' | 'dead', entries: [text: string, score: number][]) {
  await hq.store.jobs.push(
    entries.map(([text, score]) => ({ to, text, score })),
    Date.now(),
  )
}

const failed = { class: 'Mail', error_class: 'Refused', error_message: 'no such box', failed_at: 1_700_000_000_000 }

/** A job in each of four states; two of them belong to customer 4711. */
async function furnish(t: Api): Promise<void> {
  await fill(t, 'schedule', [[textOf(1), 4e9]])
  await fill(t, 'retry', [[textOf(4711, { ...failed, tags: ['vip'] }), 3e9]])
  await t.raw(textOf(3, { queue: 'low', enqueued_at: 1_700_000_000_000 }), 'low')
  await fill(t, 'dead', [
    [textOf(5), 1000],
    [textOf(6, { args: [{ customer: '4711' }] }), 2000],
  ])
}

/** Returns the items of all pages: an answer that took long ends before the last job. */
async function itemsOf<T>({ call }: Api, query: string): Promise<{ items: T[]; scanned: number }> {
  const found: { items: T[]; scanned: number } = { items: [], scanned: 0 }
  for (let cursor = ''; ; ) {
    const { status, body, text } = await call('GET', `/api/v1/jobs?${query}${cursor}`)
    expect(status, text).toBe(200)
    found.items.push(...body.items)
    found.scanned += body.scanned
    if (body.next === null) return found
    cursor = `&cursor=${encodeURIComponent(body.next)}`
  }
}

interface Item {
  jid: string
  state: string
  key: string
  queue: string
}

async function listed(t: Api, query: string): Promise<string[]> {
  const { items } = await itemsOf<Item>(t, `limit=1&${query}`)
  return items.map(({ state, jid }) => `${state} ${Number.parseInt(jid, 16)}`)
}

test('jobs of all states are listed in one list, and each has a key for the routes of its state', async () => {
  const t = api()
  await furnish(t)
  const { items, scanned } = await itemsOf<Item>(t, '')
  expect(scanned).toBe(5)
  expect(items).toMatchObject([
    { state: 'retry', class: 'Mail', error: { class: 'Refused', message: 'no such box' }, tags: ['vip'] },
    { state: 'dead', jid: jid(6), at: '1970-01-01T00:33:20.000Z' },
    { state: 'dead', jid: jid(5) },
    { state: 'scheduled', jid: jid(1), at: '2096-10-02T07:06:40.000Z', error: null, process: null },
    { state: 'queued', queue: 'low', at: '2023-11-14T22:13:20.000Z' },
  ])
  const paths: Record<string, string> = {
    scheduled: 'scheduled',
    retry: 'retries',
    queued: 'queues/low/jobs',
    dead: 'dead',
  }
  for (const { state, jid, key } of items) {
    const path = `/api/v1/${paths[state]}/${jid}?key=${encodeURIComponent(key)}`
    expect((await t.call('GET', path)).body, path).toMatchObject({ jid })
  }
})

test('the list is narrowed by state, arguments, tag, error, time and text, page by page', async () => {
  const t = api()
  await furnish(t)
  const all = {
    '': ['retry 4711', 'dead 6', 'dead 5', 'scheduled 1', 'queued 3'],
    'state=dead,retry': ['retry 4711', 'dead 6', 'dead 5'],
    'args.0.customer=4711': ['retry 4711', 'dead 6'],
    'args.*.customer=4711&state=dead': ['dead 6'],
    'tag=vip': ['retry 4711'],
    'errorClass=Refused&class=Mail': ['retry 4711'],
    'queue=low': ['queued 3'],
    [`jid=${jid(5)}`]: ['dead 5'],
    'search=4711': ['retry 4711', 'dead 6'],
    'from=2023-01-01T00:00:00Z&until=1700000001': ['queued 3'],
    'search=nothing': [],
  }
  for (const [query, found] of Object.entries(all)) expect(await listed(t, query), query).toEqual(found)
  const wrong = {
    'state=died': 'the parameter state must be one of retry, dead',
    'from=noon': 'the parameter from must be a time in ISO 8601, or seconds since the epoch (got "noon")',
    'args.customer=7': 'args: a path must be the position of an argument and names in it',
    'arg.0=7': 'unknown parameter "arg.0" (known: state',
    'cursor=x': 'the parameter cursor must be the `next` of the previous page',
  }
  for (const [query, message] of Object.entries(wrong)) {
    const { status, body } = await t.call('GET', `/api/v1/jobs?${query}`)
    expect([status, body.error.message], query).toEqual([400, expect.stringContaining(message)])
  }
  // The lists of sets take the same filter.
  const { body } = await t.call('GET', '/api/v1/dead?args.0.customer=4711')
  expect(body.items.map(({ jid }: Item) => Number.parseInt(jid, 16))).toEqual([6])
})

test('the jobs of each state are counted, all of them and those that match', async () => {
  const t = api()
  await furnish(t)
  const { items } = (await t.call('GET', '/api/v1/jobs/counts?args.0.customer=4711')).body
  const counts = items.map(({ state, size, matching, complete }: Record<string, unknown>) => [
    state,
    size,
    matching,
    complete,
  ])
  expect(counts).toEqual([
    ['retry', 1, 1, true],
    ['dead', 2, 1, true],
    ['rejected', null, 0, true],
    ['morgue', 0, 0, true],
    ['scheduled', 1, 0, true],
    ['limited', 0, 0, true],
    ['backlog', 0, 0, true],
    ['queued', 1, 0, true],
    ['ordered', 0, 0, true],
    ['running', 0, 0, true],
    ['succeeded', 0, 0, true],
    ['finished', null, 0, true],
  ])
  expect((await t.call('GET', '/api/v1/jobs/counts?state=dead')).body.items).toMatchObject([{ size: 2, matching: 2 }])
})

test('an action applies to all jobs that match in the named states, and is recorded', async () => {
  const audit: AuditEntry[] = []
  const t = api({ audit: (entry) => audit.push(entry) })
  await furnish(t)
  const filter = { state: ['retry', 'dead'], args: { '0.customer': 4711 } }
  const { body } = await t.call('POST', '/api/v1/jobs/all/retry', { json: filter })
  expect(body).toEqual({ done: 2, refused: 0, ended: true })
  expect((await t.queue()).map(({ jid }) => Number.parseInt(jid, 16)).sort()).toEqual([4711, 6])
  expect(audit).toMatchObject([{ action: 'POST /api/v1/jobs/all/retry', count: 2, details: { filter } }])
  const lines = await t.call('POST', '/api/v1/jobs/all/delete', {
    json: { state: ['queued'], queue: 'low' },
    headers: { accept: 'application/x-ndjson' },
  })
  expect(JSON.parse(lines.text.trim().split('\n').at(-1) as string)).toEqual({ done: 1, refused: 0, ended: true })
  const wrong: [path: string, json: object, message: string][] = [
    ['retry', {}, '`state` must be a list of states'],
    ['retry', { state: ['scheduled'] }, 'retry applies to jobs of the states retry, dead'],
    ['delete', { state: ['dead'], class: '' }, '`class` must be a non-empty string'],
    ['delete', { state: ['dead'], args: {} }, '`args` must be an object with values by their names'],
    ['delete', { state: ['dead'], clas: 'x' }, 'a filter has no member "clas"'],
    ['delete', { state: ['dead'], from: 'noon' }, '`from` must be a time in ISO 8601'],
  ]
  for (const [action, json, message] of wrong) {
    for (const accept of ['application/json', 'application/x-ndjson']) {
      const { status, text } = await t.call('POST', `/api/v1/jobs/all/${action}`, { json, headers: { accept } })
      expect([status, JSON.parse(text).error.message], JSON.stringify(json)).toEqual([
        400,
        expect.stringContaining(message),
      ])
    }
  }
  expect(await t.hq.dead.size()).toBe(1)
})

test('rejected rows are found by arguments and reason, counted and retried, and finished rows of tasks that keep them', async () => {
  const t = api()
  let isFixed = false
  const Row = t.hq.job('Row', { queue: 'rows' }, async (_ctx, { customer }: { customer: number }) => {
    if (customer === 4711 && !isFixed) throw new BusinessFailure('no such box', { code: 'box' })
  })
  const rows = [[{ customer: 1 }], [{ customer: 4711 }]] as [{ customer: number }][]
  const kept = await t.hq.tasks.create(Row, rows, { keepArgs: 'all' })
  const plain = await t.hq.tasks.create(Row, rows)
  await t.work({ queues: ['rows'] })
  for (const task of [kept, plain]) await task.wait({ every: 10 })
  const found = async (query: string) => {
    const { items } = await itemsOf<Item & { error: object; task: object }>(t, query)
    return items.sort((a, b) => (a.jid < b.jid ? -1 : 1))
  }
  const rejected = [`${kept.id}00000001`, `${plain.id}00000001`].sort()
  expect(await found('args.0.customer=4711')).toMatchObject(
    rejected.map((jid) => ({
      ...{ state: 'rejected', jid, class: 'Row', queue: 'rows', error: { class: 'box', message: 'no such box' } },
      task: { id: jid.slice(0, 16), index: 1 },
    })),
  )
  for (const query of ['state=rejected', 'error=such', 'errorClass=box', `state=rejected&jid=${rejected[0]}&limit=1`]) {
    expect(
      (await found(query)).map(({ jid }) => jid),
      query,
    ).toEqual(query.includes('jid') ? [rejected[0]] : rejected)
  }
  expect(await found('state=finished')).toMatchObject([{ jid: `${kept.id}00000000`, error: null }])
  const counts = async (query: string) => (await t.call('GET', `/api/v1/jobs/counts?${query}`)).body.items
  expect(await counts('state=rejected,dead&class=Row')).toMatchObject([
    { state: 'dead', size: 0 },
    { state: 'rejected', size: null, matching: 2, scanned: 2, complete: true },
  ])
  expect(await counts('state=rejected')).toMatchObject([{ matching: 2 }])
  expect((await counts('')).map(({ state }: Item) => state)).not.toContain('rejected')
  isFixed = true
  const { body } = await t.call('POST', '/api/v1/jobs/all/retry', {
    json: { state: ['retry', 'dead', 'rejected'], args: { '0.customer': 4711 } },
  })
  expect(body).toEqual({ done: 2, refused: 0, ended: true })
  for (const task of [kept, plain]) {
    await task.wait({ every: 10 })
    expect(await task.status()).toMatchObject({ run: 2, counts: { finished: 2, failed: 0 } })
  }
})

test('ids of ordered queues are found by their payloads, resurrected and deleted', async () => {
  const t = api()
  const { ordered } = t.hq.store
  const push = (id: string, customer: number) => ({
    ...{ id, payload: JSON.stringify({ customer }), score: 1, performIn: 4e9 },
  })
  for (const queue of ['Sync', 'Mail']) {
    await ordered.define(queue, 2)
    await ordered.push(queue, 2, [push('7', 4711), push('8', 1), push('9', 4711)], Date.now())
  }
  await ordered.act('Sync', 'kill', ['7', '8'], { error: 'no such box', now: Date.now() })
  const found = async (query: string) => {
    const { items } = await itemsOf<Item & { orderedId: string }>(t, query)
    return items.map(({ state, queue, orderedId }) => [state, queue, orderedId].join(' '))
  }
  expect(await found('args.*.customer=4711')).toEqual([
    ...['morgue Sync 7', 'ordered Mail 7', 'ordered Mail 9', 'ordered Sync 9'],
  ])
  expect(await found('error=such&queue=Sync')).toEqual(expect.arrayContaining(['morgue Sync 7', 'morgue Sync 8']))
  expect(await found('state=morgue,ordered&limit=1')).toHaveLength(6)
  expect((await t.call('GET', '/api/v1/jobs/counts?state=morgue,ordered')).body.items).toMatchObject([
    { state: 'morgue', size: 2, matching: 2 },
    { state: 'ordered', size: 4, matching: 4 },
  ])
  const all = (action: string, json: object) => t.call('POST', `/api/v1/jobs/all/${action}`, { json })
  const args = { '*.customer': 4711 }
  expect((await all('retry', { state: ['morgue'], args })).body).toMatchObject({ done: 1, refused: 0 })
  expect(await found('state=morgue')).toEqual(['morgue Sync 8'])
  expect((await all('delete', { state: ['morgue'] })).body).toMatchObject({ done: 1 })
  expect((await all('delete', { state: ['ordered'], queue: 'Sync', args })).body).toMatchObject({ done: 2 })
  expect(await found('state=morgue,ordered')).toEqual(['ordered Mail 7', 'ordered Mail 8', 'ordered Mail 9'])
})

test('selected jobs are cancelled by one request, and none that runs is searched for', async () => {
  const audit: AuditEntry[] = []
  const t = api({ audit: (entry) => audit.push(entry) })
  const begun = [gate(), gate()]
  const aborted: number[] = []
  const Slow = t.hq.job('Slow', { retry: false }, async (ctx, n: number) => {
    begun[n]?.open()
    await new Promise((resume) => ctx.signal.addEventListener('abort', resume, { once: true }))
    aborted.push(n)
  })
  const Row = t.hq.job('Row', { queue: 'rows' }, async (_ctx, _n: number) => {})
  const task = await t.hq.tasks.create(Row, [[1], [2], [3]], { window: 1 })
  const jids = (await Slow.performBulk([[0], [1]])) as string[]
  const worker = await t.work({ concurrency: 2, queues: ['default'] })
  for (const one of begun) await one.opened
  await worker.quiet()
  const { items } = (await t.call('GET', '/api/v1/jobs?state=backlog')).body
  const running = jids.map((jid) => ({ jid }))
  const requests = vi.spyOn(t.hq.store.cancellations, 'request')
  const searches = (['scanQueue', 'scanQueues', 'scanSet'] as const).map((name) => vi.spyOn(t.hq.store.search, name))
  const cancel = (jobs: object[]) => t.call('POST', '/api/v1/jobs/cancel', { json: { jobs } })
  const first = { jid: items[0].jid, key: items[0].key }
  expect((await cancel([...running, first])).body).toEqual({ done: 3, refused: 0 })
  expect(requests).toHaveBeenCalledTimes(1)
  for (const search of searches) expect(search).not.toHaveBeenCalled()
  expect(audit).toMatchObject([
    { action: 'POST /api/v1/jobs/cancel', count: 3, details: { jids: [...jids, first.jid] } },
  ])
  await until(() => aborted.length === 2)
  // A job that waits somewhere else by now is found there, and one that is gone is refused.
  await furnish(t)
  expect((await cancel([{ jid: jid(4711) }, { jid: jid(99) }, { jid: '' }])).body).toEqual({
    ...{ done: 1, refused: 2 },
    error: `job "${jid(99)}" is neither enqueued nor running`,
    problem: 'gone',
  })
  expect(await t.hq.retries.size()).toBe(0)
  expect(await t.hq.store.cancellations.among([jid(4711), jid(99)])).toEqual([])
  await worker.stop()
  await t.work({ queues: ['rows'] })
  await task.wait({ every: 10 })
  expect(await task.status()).toMatchObject({ counts: { finished: 2, cancelled: 1 } })
})

test('hidden members are neither listed nor found', async () => {
  const t = api({ redact: ['customer'] })
  await furnish(t)
  expect(await listed(t, 'args.0.customer=4711')).toEqual([])
  expect(await listed(t, 'search=4711')).toEqual([])
  const { body } = await t.call('GET', '/api/v1/jobs?class=Mail')
  expect(body.items[0].preview).toBe('[{"customer":"[redacted]"}]')
  const { items } = (await t.call('GET', '/api/v1/jobs/counts?args.0.customer=4711')).body
  expect(items.every(({ matching }: { matching: number }) => matching === 0)).toBe(true)
  const { done } = (await t.call('POST', '/api/v1/jobs/all/delete', { json: { state: ['dead'], search: '4711' } })).body
  expect(done).toBe(0)
})

test('a hidden member of the meta of tasks is not a filter of jobs', async () => {
  const t = api({ redact: ['customer'] })
  await furnish(t)
  const answers = [
    await t.call('GET', '/api/v1/jobs?meta.customer=4711'),
    await t.call('GET', '/api/v1/jobs/counts?meta.customer=4711'),
    await t.call('POST', '/api/v1/jobs/all/cancel', { json: { state: ['backlog'], meta: { customer: '4711' } } }),
  ]
  const message = 'meta.customer is hidden by redact: find the tasks by another member of meta'
  for (const { status, body } of answers) expect([status, body.error.message]).toEqual([400, message])
})

test('a wrong meta of an action is refused before its progress begins', async () => {
  const t = api()
  const meta = { a: 1, b: 2, c: 3, d: 4, e: 5 }
  const { status, body } = await t.call('POST', '/api/v1/jobs/all/cancel', { json: { state: ['backlog'], meta } })
  expect([status, body.error.code]).toEqual([400, 'INVALID_OPTION'])
  expect(body.error.message).toContain('meta must be an object of 1 to 4 members')
})

test('the cursor of another list is refused, and nothing of it is shown', async () => {
  const t = api({ redact: ['customer'] })
  await fill(t, 'dead', [
    [textOf(4711), 1000],
    [textOf(4711, { retry: false }), 1000],
  ])
  const nextOf = async (path: string) => encodeURIComponent((await t.call('GET', `${path}?limit=1`)).body.next)
  const [dead, jobs] = [await nextOf('/api/v1/dead'), await nextOf('/api/v1/jobs')]
  for (const path of [`/api/v1/jobs?cursor=${dead}`, `/api/v1/dead?cursor=${jobs}`, `/api/v1/running?cursor=${jobs}`]) {
    const { status, body } = await t.call('GET', path)
    expect([status, JSON.stringify(body)], path).toEqual([400, expect.not.stringContaining('4711')])
  }
})

test('a time must be ISO 8601 or seconds', async () => {
  const t = api()
  const { status, body } = await t.call('GET', '/api/v1/jobs?from=12/11/2026')
  expect([status, body.error.message]).toEqual([400, expect.stringContaining('a time in ISO 8601')])
})
