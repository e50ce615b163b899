import { expect, test } from 'vitest'
import type { AuditEntry } from '../../src/http/access/audit.ts'
import { Collector, gate, until } from '../engine/bench.ts'
import { api } from './api.ts'

test('a job of each place gets other arguments, by its id and by its key, once', async () => {
  const audited: AuditEntry[] = []
  const { call, hq } = api({ audit: (entry) => audited.push(entry) })
  const jids = {
    queue: await hq.push({ class: 'J', args: [1] }),
    scheduled: await hq.push({ class: 'J', args: [1], wait: 3600 }),
  }
  for (const [place, path] of [
    ['queue', `/queues/default/jobs/${jids.queue}`],
    ['scheduled', `/scheduled/${jids.scheduled}`],
  ] as const) {
    const { key } = (await call('GET', `/api/v1${path}`)).body
    const edit = (args: unknown, query = '') => call('POST', `/api/v1${path}/edit${query}`, { json: { args } })
    expect((await edit([{ to: 'ann' }, 2], `?key=${encodeURIComponent(key)}`)).body, place).toEqual({
      done: 1,
      refused: 0,
    })
    expect((await call('GET', `/api/v1${path}`)).body.args).toEqual([{ to: 'ann' }, 2])
    // The key names the text before.
    expect((await edit([3], `?key=${encodeURIComponent(key)}`)).status).toBe(404)
    expect((await edit([4])).body).toEqual({ done: 1, refused: 0 })
    expect(await edit('x')).toMatchObject({ status: 400 })
    expect((await edit('x')).text).toContain('must be an array, one element for each argument')
  }
  expect(
    audited
      .filter(({ action }) => action.endsWith('/edit'))
      .map(({ action, target, count }) => [action, target, count]),
  ).toEqual([
    ['POST /api/v1/queues/{name}/jobs/{jid}/edit', { name: 'default', jid: jids.queue }, 1],
    ['POST /api/v1/queues/{name}/jobs/{jid}/edit', { name: 'default', jid: jids.queue }, 1],
    ['POST /api/v1/scheduled/{jid}/edit', { jid: jids.scheduled }, 1],
    ['POST /api/v1/scheduled/{jid}/edit', { jid: jids.scheduled }, 1],
  ])
})

test('a big integer stays as it was written', async () => {
  const { handle, hq } = api()
  const jid = await hq.push({ class: 'J', args: [1] })
  const request = new Request(`http://localhost:7433/api/v1/queues/default/jobs/${jid}/edit`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"args":[1152921504606846977]}' },
  })
  expect((await handle(request)).status).toBe(200)
  expect((await hq.queue('default').page()).items[0]?.text).toContain('[1152921504606846977]')
})

test('a job is pushed again as a new one', async () => {
  const { call, hq } = api()
  const jid = await hq.push({ class: 'J', args: [1], wait: 3600, tags: ['vip'] })
  const { body } = await call('POST', `/api/v1/scheduled/${jid}/duplicate`)
  expect(body).toEqual({ jid: expect.stringMatching(/^[0-9a-f]{24}$/) })
  expect((await hq.queue('default').page()).items.map(({ jid, args, tags }) => ({ jid, args, tags }))).toEqual([
    { jid: body.jid, args: [1], tags: ['vip'] },
  ])
  expect(await hq.scheduled.size()).toBe(1)
})

test('a duplicate that is requested again with the same key is pushed once', async () => {
  const audited: AuditEntry[] = []
  const { call, hq } = api({ audit: (entry) => entry.action.endsWith('/duplicate') && audited.push(entry) })
  hq.job('U', { unique: true }, async () => {})
  const jid = await hq.push({ class: 'J', args: [1], wait: 3600 })
  const unique = await hq.push({ class: 'U', args: [1], wait: 3600 })
  const duplicate = (of: string | null, key: string, json: object = {}) =>
    call('POST', `/api/v1/scheduled/${of}/duplicate`, { json, headers: { 'idempotency-key': key } })
  const [first, second] = await Promise.all([duplicate(jid, 'one'), duplicate(jid, 'one')])
  expect([first.status, second.body]).toEqual([200, first.body])
  const other = await duplicate(unique, 'other', { args: [2] })
  expect(await duplicate(unique, 'other', { args: [2] })).toMatchObject({ status: 200, body: other.body })
  // The key stands for this duplicate, also when the original is gone.
  expect(await duplicate(jid, 'one', { queue: 'low' })).toMatchObject({ status: 422 })
  await (await hq.scheduled.find(jid as string))?.delete()
  expect((await duplicate(jid, 'one')).body).toEqual(first.body)
  expect((await duplicate(jid, 'two')).status).toBe(404)
  expect((await hq.queue('default').page()).items.map(({ jid }) => jid).sort()).toEqual(
    [first.body.jid, other.body.jid].sort(),
  )
  expect(audited.map(({ count }) => count).sort()).toEqual([0, 0, 0, 1, 1])
})

test('arguments with hidden parts are not edited, because the hidden parts would be lost', async () => {
  const { call, hq } = api({ redact: ['password'] })
  const [hidden, shown] = [
    await hq.push({ class: 'J', args: [{ password: 'x' }] }),
    await hq.push({ class: 'J', args: [{ name: 'x' }] }),
  ]
  const edit = (jid: string | null) =>
    call('POST', `/api/v1/queues/default/jobs/${jid}/edit`, { json: { args: [{ password: '[redacted]' }] } })
  expect(await edit(hidden)).toMatchObject({ status: 400 })
  expect((await edit(hidden)).text).toContain('parts of these arguments are hidden here')
  expect(await edit(shown)).toMatchObject({ status: 200 })
  const detail = async (jid: string | null) => (await call('GET', `/api/v1/queues/default/jobs/${jid}`)).body.hidden
  expect([await detail(hidden), await detail(shown)]).toEqual([true, false])
})

test('hidden arguments and tags of a job go unchanged into its duplicate, and are not replaced', async () => {
  const { call, hq } = api({ redact: ['password', 'tags', 'args'] })
  const jid = await hq.push({ class: 'J', args: [{ password: 'x' }], tags: ['vip'], wait: 3600 })
  const duplicate = (json: object) => call('POST', `/api/v1/scheduled/${jid}/duplicate`, { json })
  for (const changes of [{ args: ['[redacted]'] }, { tags: ['[redacted]'] }]) {
    expect(await duplicate(changes)).toMatchObject({ status: 400, body: { error: { code: 'INVALID_REQUEST' } } })
  }
  // The rule of the whole member holds for an edit, too.
  expect(await call('POST', `/api/v1/scheduled/${jid}/edit`, { json: { args: ['[redacted]'] } })).toMatchObject({
    status: 400,
    body: { error: { details: { path: 'args' } } },
  })
  expect((await duplicate({ queue: 'other' })).status).toBe(200)
  expect((await hq.queue('other').page()).items.map(({ args, tags }) => [args, tags])).toEqual([
    [[{ password: 'x' }], ['vip']],
  ])
})

test('a duplicate takes changes, and the audit names the job and what changed', async () => {
  const audited: AuditEntry[] = []
  const { call, hq } = api({ audit: (entry) => audited.push(entry) })
  const jid = await hq.push({ class: 'J', args: [1, 2], wait: 3600 })
  const duplicate = (json: object) => call('POST', `/api/v1/scheduled/${jid}/duplicate`, { json })
  const { body } = await duplicate({ args: [1, 3, 4], queue: 'low', priority: 2, in: 60 })
  expect((await hq.find(body.jid)).payload).toMatchObject({ args: [1, 3, 4], queue: 'p2:low' })
  await call('POST', `/api/v1/scheduled/${jid}/edit`, { json: { args: [1, 5] } })
  expect(audited.map(({ target, count, details }) => [target, count, details])).toEqual([
    [
      { jid },
      1,
      { class: 'J', queue: 'default', jids: [body.jid], changed: ['args.1', 'args.2', 'queue', 'priority', 'wait'] },
    ],
    [{ jid }, 1, { class: 'J', queue: 'default', changed: ['args.1'] }],
  ])
  for (const [changes, words] of [
    [{ at: 1, in: 1 }, 'a job can have `at` or `in`, not both'],
    [{ at: 'soon' }, '`at` must be a time in ISO 8601'],
    [{ priority: 10 }, '`priority` must be a whole number from 0 to 9 (got 10)'],
    [{ queues: 'x' }, 'the body has no member "queues" (known: args, queue, priority, tags, at, in)'],
    [{ queue: 'a b' }, '"a b" is not a queue name'],
  ] as const) {
    const { status, text } = await duplicate(changes)
    expect([status, text.replaceAll('\\"', '"')]).toEqual([400, expect.stringContaining(words)])
  }
})

test('a running job is duplicated, and a limited one is edited once by its key', async () => {
  const { call, hq, work } = api()
  const doors = gate()
  const begun = new Collector<unknown>()
  hq.job('Slow', { limit: { concurrency: 1 } }, async (_ctx, n: number) => {
    begun.add(n)
    await doors.opened
  })
  const running = await hq.push({ class: 'Slow', args: [1] })
  await work({ concurrency: 2 })
  await begun.atLeast(1)
  const limited = await hq.push({ class: 'Slow', args: [2] })
  await until(async () => (await hq.find(String(limited))).state === 'limited')
  const post = (path: string, json?: object) => call('POST', `/api/v1/jobs/${path}`, json === undefined ? {} : { json })
  expect((await post(`${running}/edit`, { args: [] })).text).toContain('runs: only waiting and dead jobs can be edited')
  expect((await post(`${running}/duplicate`, { queue: 'other' })).status).toBe(200)
  expect((await hq.queue('other').page()).items.map(({ args }) => args)).toEqual([[1]])
  const { key } = (await call('GET', `/api/v1/jobs/${limited}`)).body.job
  const byKey = `${limited}/edit?key=${encodeURIComponent(key)}`
  expect((await post(byKey, { args: [3] })).body).toEqual({ done: 1, refused: 0 })
  expect((await post(byKey, { args: [4] })).status).toBe(404)
  expect((await post('nothing/duplicate')).status).toBe(404)
  doors.open()
  expect(await begun.atLeast(2)).toEqual([1, 3])
})

test('a server that is read-only refuses both', async () => {
  const { call, hq } = api({ readOnly: true })
  const jid = await hq.push({ class: 'J', args: [1] })
  for (const what of ['edit', 'duplicate']) {
    expect((await call('POST', `/api/v1/queues/default/jobs/${jid}/${what}`, { json: { args: [] } })).status).toBe(403)
  }
})
