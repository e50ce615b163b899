import type { AuditEntry } from 'highkiq/http'
import { expect, test } from 'vitest'
import { until } from '../engine/bench.ts'
import { api } from './api.ts'

test('batches are listed page by page, shown and cancelled', async () => {
  const t = api({ redact: ['password'] })
  const Work = t.hq.job('Work', () => {})
  const options = { description: 'import', data: { password: 'secret', shop: 7 } }
  const first = await t.hq.batch(options, () => Work.performBulk([[], []]))
  const flow = await t.hq.flow({ job: Work, children: [{ job: Work }] })
  const page = (await t.call('GET', '/api/v1/batches?limit=1')).body
  const rest = (await t.call('GET', `/api/v1/batches?cursor=${page.next}`)).body
  const bids = [...page.items, ...rest.items].map(({ bid }: { bid: string }) => bid)
  expect([bids.sort(), rest.next]).toEqual([[first, flow?.bid].sort(), null])
  const batch = (await t.call('GET', `/api/v1/batches/${first}`)).body
  expect(batch).toMatchObject({ bid: first, state: 'running', total: 2, pending: 2, description: 'import' })
  expect(JSON.stringify(batch.data)).not.toContain('secret')
  const waiting = (await t.call('GET', `/api/v1/batches/${flow?.bid}`)).body.waiting
  expect(waiting).toEqual({ jid: flow?.jid, queue: 'default', onChildFailure: 'fail' })
  const parent = await t.call('GET', `/api/v1/jobs/${flow?.jid}`)
  expect(parent.body).toMatchObject({
    state: 'waiting-children',
    queue: 'default',
    class: 'Work',
    job: { jid: flow?.jid },
  })
  const cancelled = await t.call('DELETE', `/api/v1/jobs/${flow?.jid}`)
  expect(cancelled.body).toEqual({ jid: flow?.jid, outcome: 'removed' })
  expect((await t.call('POST', `/api/v1/batches/${first}/cancel`)).body).toEqual({ cancelled: 2 })
  const none = await t.call('GET', `/api/v1/batches/${'0'.repeat(16)}`)
  expect([none.status, none.body.error.code]).toEqual([404, 'UNKNOWN_BATCH'])
  expect((await t.call('GET', '/api/v1/batches?cursor=x')).status).toBe(400)
})

test('the query state lists only the batches in that state, page by page', async () => {
  const t = api()
  const Fails = t.hq.job('Fails', { retry: 0 }, (_ctx, doesFail: boolean) => {
    if (doesFail) throw new Error('no')
  })
  const push = (doesFail: boolean) => t.hq.batch({}, () => Fails.performAsync(doesFail))
  const dead = [await push(true), await push(true)]
  for (let n = 0; n < 5; n++) await push(false)
  await t.work()
  const bids = async (query: string) => {
    const { body } = await t.call('GET', `/api/v1/batches?${query}`)
    return [body.items.map(({ bid }: { bid: string }) => bid), body.next] as [string[], string | null]
  }
  await until(async () => (await bids('state=running'))[0].length === 0)
  expect((await bids('state=succeeded'))[0]).toHaveLength(5)
  expect((await bids('state=failed'))[0]).toEqual([])
  const [newest, next] = await bids('state=dead&limit=1')
  const [oldest, end] = await bids(`state=dead&limit=1&cursor=${next}`)
  expect([[...newest, ...oldest].sort(), end]).toEqual([dead.sort(), null])
  expect((await t.call('GET', '/api/v1/batches?state=ended')).status).toBe(400)
})

test('the query search finds batches by a part of their description, unless it is hidden', async () => {
  const found = async (redact: string[]) => {
    const t = api({ redact })
    const bid = await t.hq.batch({ description: 'nightly import' }, () => {})
    await t.hq.batch({ description: 'letters' }, () => {})
    const { status, body } = await t.call('GET', '/api/v1/batches?search=Import')
    return [status, body.items.length, body.items[0]?.bid === bid]
  }
  expect(await found([])).toEqual([200, 1, true])
  expect(await found(['description'])).toEqual([200, 0, false])
})

test('a push that names a batch is refused, and one with the bid of Sidekiq Pro is not', async () => {
  const t = api()
  const Work = t.hq.job('Work', () => {})
  const bid = await t.hq.batch({}, () => Work.performAsync())
  const push = (bid: string) => t.call('POST', '/api/v1/jobs', { json: { class: 'Work', args: [], bid } })
  const refused = await push(bid)
  expect([refused.status, refused.body.error.code]).toEqual([400, 'INVALID_JOB'])
  expect(refused.body.error.message).toContain(`a push can't name the batch ${bid} as its bid`)
  expect((await push('Zm9vYmFyMTIzNA')).status).toBe(201)
})

test('the callbacks of a batch and its open members are shown, with the batches that they are in', async () => {
  const t = api()
  const Work = t.hq.job('Work', () => {})
  let inner = ''
  let flow = ''
  const bid = await t.hq.batch({ onSuccess: Work, onDeath: Work }, async () => {
    await Work.set({ jid: 'mine', unique: false }).performAsync()
    inner = await t.hq.batch({}, () => Work.performAsync())
    flow = (await t.hq.flow({ job: Work, children: [{ job: Work }] }))?.bid ?? ''
  })
  const path = `/api/v1/batches/${bid}`
  expect((await t.call('GET', path)).body.callbacks).toEqual([
    { when: 'onSuccess', job: 'Work', jid: `${bid}fc000002`, pushedAt: null },
    { when: 'onDeath', job: 'Work', jid: `${bid}fc000003`, pushedAt: null },
  ])
  const { items, next } = (await t.call('GET', `${path}/members?limit=9`)).body
  expect(next).toBe(null)
  const waiting = (id: string, batch: string | null) => ({ id, state: 'waiting', batch })
  const found = new Map(items.map((one: { id: string }) => [one.id, one]))
  const parent = `${flow}fc000004`
  const expected = [waiting('mine', null), waiting(inner, inner), waiting(parent, flow)]
  expect(found).toEqual(new Map(expected.map((one) => [one.id, one])))
  const none = await t.call('GET', `/api/v1/batches/${'0'.repeat(16)}/members`)
  expect([none.status, none.body.error.code]).toEqual([404, 'UNKNOWN_BATCH'])
})

test('the open members of a batch are listed page by page, and a made-up cursor is refused', async () => {
  const t = api()
  const Work = t.hq.job('Work', () => {})
  const bid = await t.hq.batch({}, () => Work.performBulk(Array.from({ length: 1200 }, () => [])))
  const path = `/api/v1/batches/${bid}/members?limit=500`
  const found = new Set<string>()
  let next: string | null = ''
  let pages = 0
  while (next !== null) {
    const { body } = await t.call('GET', next === '' ? path : `${path}&cursor=${next}`)
    for (const { id } of body.items) found.add(id)
    next = body.next
    pages++
  }
  expect([found.size, pages >= 2]).toEqual([1200, true])
  for (const cursor of ['made-up', '99999999999999999999999', '17']) {
    const { status, body } = await t.call('GET', `${path}&cursor=${cursor}`)
    const message = 'the parameter cursor must be the `next` of the previous page: start again without it'
    expect([status, body.error.code, body.error.message]).toEqual([400, 'INVALID_REQUEST', message])
  }
})

test('a batch is created with callbacks, takes more jobs, and says which jobs have the locks of others', async () => {
  const audit: AuditEntry[] = []
  const t = api({ audit: (entry) => audit.push(entry) })
  t.hq.job('Once', { unique: true }, () => {})
  const lock = await t.hq.push({ class: 'Once', args: ['held'] })
  const jobs = [
    { class: 'Work', args: [1], queue: 'low', priority: 2, tags: ['vip'] },
    { class: 'Once', args: ['held'] },
    { class: 'Work', args: [2], in: '5m' },
  ]
  const onSuccess = { class: 'Report', args: ['ann'], queue: 'reports' }
  const json = { jobs, description: 'import', data: { shop: 7 }, keep: '1d', onSuccess, onDeath: { class: 'Alarm' } }
  const { status, body } = await t.call('POST', '/api/v1/batches', { json })
  expect(status).toBe(201)
  expect(body).toEqual({ bid: expect.any(String), jids: [expect.any(String), lock, expect.any(String)], existing: [1] })
  const path = `/api/v1/batches/${body.bid}`
  expect((await t.call('GET', path)).body).toMatchObject({ total: 2, description: 'import', data: { shop: 7 } })
  const more = await t.call('POST', `${path}/jobs`, {
    json: [
      { class: 'Once', args: ['held'] },
      { class: 'Work', args: [3] },
    ],
  })
  expect([more.status, more.body]).toEqual([201, { jids: [lock, expect.any(String)], existing: [0] }])
  const single = await t.call('POST', `${path}/jobs`, { json: { class: 'Work', args: [4] } })
  expect(single.body.jids).toHaveLength(1)
  expect((await t.call('GET', path)).body).toMatchObject({ total: 4 })
  expect(audit.map(({ action, count }) => [action, count])).toEqual([
    ['POST /api/v1/batches', 2],
    ['POST /api/v1/batches/{bid}/jobs', 1],
    ['POST /api/v1/batches/{bid}/jobs', 1],
  ])
  await t.hq.batches.cancel(body.bid)
  expect((await t.call('POST', `${path}/jobs`, { json: { class: 'Work', args: [5] } })).body.error.code).toBe(
    'BATCH_ENDED',
  )
  const empty = await t.call('POST', '/api/v1/batches', { json: { jobs: [], onSuccess } })
  expect(await t.queue('reports')).toMatchObject([{ class: 'Report', args: [empty.body.bid, 'ann'] }])
})

test('a wrong batch is refused as a whole, and the answer names the job', async () => {
  const t = api()
  const refused = async (json: unknown, path = '/api/v1/batches') => {
    const { status, body } = await t.call('POST', path, { json })
    return [status, body.error.code, body.error.message]
  }
  const good = { class: 'Work', args: [1] }
  expect(await refused({})).toEqual([400, 'INVALID_REQUEST', expect.stringMatching(/`jobs` must be an array of jobs/)])
  expect(await refused({ jobs: [good], later: 1 })).toEqual([
    400,
    'INVALID_REQUEST',
    expect.stringMatching(/no member "later"/),
  ])
  const scheduled = { jobs: [good], onSuccess: { class: 'Report', in: 5 } }
  expect(await refused(scheduled)).toEqual([
    400,
    'INVALID_OPTION',
    expect.stringMatching(/Report: .*can't be scheduled/),
  ])
  const wrong = { jobs: [good, { class: 'Work', args: [1], priority: 12 }] }
  expect(await refused(wrong)).toEqual([400, 'INVALID_JOB', expect.stringMatching(/^jobs\[1\]: Work: priority/)])
  expect(await refused({ jobs: [good], keep: 'soon' })).toEqual([400, 'INVALID_OPTION', expect.stringMatching(/keep/)])
  const forEver = expect.stringMatching(/at most 365,000 days/)
  expect(await refused({ jobs: [good], keep: 1e308 })).toEqual([400, 'INVALID_OPTION', forEver])
  const unique = { ...good, unique: { for: 1e13 } }
  expect(await refused(unique, '/api/v1/jobs')).toEqual([400, 'INVALID_OPTION', forEver])
  const named = { jobs: [good], onSuccess: { class: 'Report', jid: 'mine' } }
  expect(await refused(named)).toEqual([400, 'INVALID_OPTION', expect.stringMatching(/Report: .*leave jid out/)])
  expect(await refused([good], `/api/v1/batches/${'0'.repeat(16)}/jobs`)).toEqual([
    404,
    'UNKNOWN_BATCH',
    expect.any(String),
  ])
  expect(await t.queue()).toEqual([])
  expect((await t.call('GET', '/api/v1/batches')).body.items).toEqual([])
})

test('a flow is pushed, and a wrong one is refused', async () => {
  const t = api()
  const push = (json: unknown) => t.call('POST', '/api/v1/flows', { json })
  const leaf = { class: 'Render', args: [1] }
  const inner = { class: 'Merge', children: [leaf], onChildFailure: 'ignore' }
  const { status, body } = await push({ class: 'Publish', args: ['x'], queue: 'low', children: [inner, leaf] })
  expect([status, body]).toEqual([201, { jid: `${body.bid}fc000004`, bid: expect.any(String) }])
  const batch = (await t.call('GET', `/api/v1/batches/${body.bid}`)).body
  expect(batch).toMatchObject({ total: 2, waiting: { jid: body.jid, queue: 'low' } })
  expect(await t.queue()).toMatchObject([leaf, leaf])
  expect((await push(leaf)).body).toEqual({ jid: expect.any(String), bid: null })
  const message = async (json: unknown) => (await push(json)).body.error.message
  expect(await message({ class: 'Publish', children: [{ args: [] }] })).toMatch(/class/)
  expect(await message({ class: 'Publish', children: [{ class: 'Render', children: 1 }] })).toBe(
    'the flow.children[0].children must be an array of jobs',
  )
  expect(await message({ class: 'Publish', onChildFailure: 'retry' })).toMatch(/onChildFailure/)
  const deep = Array.from({ length: 600 }).reduce<object>((child) => ({ class: 'Merge', children: [child] }), leaf)
  expect(await message(deep)).toMatch(/levels/)
})

test('keep says how long a flow that is pushed over HTTP is kept, and is refused in a child', async () => {
  const t = api()
  const leaf = { class: 'Render', args: [] }
  const push = (json: unknown) => t.call('POST', '/api/v1/flows', { json })
  const { bid } = (await push({ class: 'Publish', children: [leaf], keep: '5m' })).body
  const batch = await t.hq.store.batches.find(bid)
  expect(batch?.keep).toBe(300_000)
  expect(batch?.job?.text).toContain('"class":"Publish"')
  expect(batch?.job?.text).not.toContain('keep')
  const message = async (json: unknown) => (await push(json)).body.error.message
  expect(await message({ class: 'Publish', children: [leaf], keep: 'soon' })).toMatch(/keep must be a time above 0/)
  expect(await message({ class: 'Publish', children: [{ ...leaf, keep: 60 }] })).toBe(
    'keep must be in the outermost job of a flow (found in the flow.children[0])',
  )
})

test('a job of a batch that waits since an earlier push with its jid exists, and is not in the batch', async () => {
  const t = api()
  t.hq.job('Work', async () => {})
  const jobs = ['a', 'b'].map((jid) => ({ class: 'Work', args: [], jid }))
  await t.hq.push(jobs[0] as (typeof jobs)[0])
  const { status, body } = await t.call('POST', '/api/v1/batches', { json: { jobs } })
  expect([status, body]).toEqual([201, { bid: expect.any(String), jids: ['a', 'b'], existing: [0] }])
  expect(await t.hq.batches.get(body.bid)).toMatchObject({ total: 1 })
  const more = await t.call('POST', `/api/v1/batches/${body.bid}/jobs`, { json: jobs })
  expect(more.body).toEqual({ jids: ['a', 'b'], existing: [0, 1] })
})

test('a child with a jid is refused in a flow, unless it refuses the whole flow or takes no lock', async () => {
  const t = api()
  const push = (json: object) => t.call('POST', '/api/v1/flows', { json })
  const flow = (more: object) => ({ class: 'Publish', children: [{ class: 'Render', jid: 'mine', ...more }] })
  const strict = flow({ unique: { onConflict: 'raise' } })
  const { status, body } = await push(flow({}))
  expect([status, body.error.code, body.error.message]).toEqual([
    400,
    'INVALID_OPTION',
    expect.stringMatching(/^Render: a child in a flow can't be unique/),
  ])
  expect((await push(strict)).status).toBe(201)
  for (const again of [strict, flow({ jid: 'other', unique: { onConflict: 'raise' } })]) {
    const { status, body } = await push(again)
    expect([status, body.error.code]).toEqual([409, 'UNIQUE_CONFLICT'])
  }
  expect(await t.queue()).toHaveLength(1)
  expect((await push(flow({ unique: false }))).status).toBe(201)
})

test('an Idempotency-Key is refused by the routes that create batches and flows', async () => {
  const t = api()
  const leaf = { class: 'Render', args: [1] }
  const bid = await t.hq.batch({}, () => t.hq.push(leaf))
  const bodies = { batches: { jobs: [leaf] }, [`batches/${bid}/jobs`]: leaf, flows: leaf }
  for (const [path, json] of Object.entries(bodies)) {
    const { status, body } = await t.call('POST', `/api/v1/${path}`, { json, headers: { 'idempotency-key': 'a' } })
    const message = `batches and flows can't have an Idempotency-Key: after a lost answer, look for the batch before you send it again`
    expect([status, body.error.code, body.error.message]).toEqual([400, 'INVALID_REQUEST', message])
  }
  expect(await t.queue()).toHaveLength(1)
})

test('the audit names the classes of batches and flows, and the ids of a flow', async () => {
  const audit: AuditEntry[] = []
  const t = api({ audit: (entry) => audit.push(entry) })
  const leaf = { class: 'Render', args: [1] }
  const { bid } = (await t.call('POST', '/api/v1/batches', { json: { jobs: [leaf, { ...leaf, class: 'Merge' }] } }))
    .body
  await t.call('POST', `/api/v1/batches/${bid}/jobs`, { json: leaf })
  const flow = (await t.call('POST', '/api/v1/flows', { json: { class: 'Publish', children: [leaf, leaf] } })).body
  const single = (await t.call('POST', '/api/v1/flows', { json: leaf })).body
  expect(audit.map(({ action, target, count }) => [action.split('/').at(-1), target, count])).toEqual([
    ['batches', { bid, class: 'Render, Merge' }, 2],
    ['jobs', { bid, class: 'Render' }, 1],
    ['flows', { bid: flow.bid, jid: flow.jid, class: 'Publish, Render' }, 3],
    ['flows', { jid: single.jid, class: 'Render' }, 1],
  ])
})

test('the audit counts the jobs that are stored of a large batch whose step fails, and names the batch', async () => {
  const audit: AuditEntry[] = []
  const t = api({ audit: (entry) => audit.push(entry) })
  const jobs = Array.from({ length: 10_500 }, (_, n) => ({ class: 'Work', args: [n] }))
  const pushed = t.call('POST', '/api/v1/batches', { json: { jobs } })
  let bid: string | undefined
  await until(async () => {
    const [batch] = (await t.hq.batches.page()).items
    bid = batch?.bid
    return (batch?.total ?? 0) > 1000
  })
  await t.hq.batches.cancel(bid ?? '')
  const { body } = await pushed
  const message = expect.stringContaining(`Batch ${bid} has `)
  expect(body.error).toMatchObject({ code: 'PUSH_FAILED', message, details: { bid } })
  const stored = Number(/has (\d+) of 10500/.exec(body.error.message)?.[1])
  expect(stored).toBeGreaterThan(999)
  expect(audit.filter(({ action }) => action === 'POST /api/v1/batches')).toMatchObject([
    { target: { class: 'Work', bid }, count: stored, details: { incomplete: true } },
  ])
})
