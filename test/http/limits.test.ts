import type { AuditEntry } from 'highkiq/http'
import { expect, test } from 'vitest'
import { gate, until } from '../engine/bench.ts'
import { api } from './api.ts'

test('limits in use are listed with their slots and waiting jobs', async () => {
  const t = api()
  const { opened, open } = gate()
  t.hq.job('Limited', { limit: { concurrency: 1 } }, () => opened)
  expect((await t.call('GET', '/api/v1/limits')).body).toEqual({ items: [], next: null })
  for (let n = 0; n < 2; n++) await t.hq.push({ class: 'Limited', args: [] })
  await t.work()
  await until(async () => (await t.hq.limits.list())[0]?.waiting === 1)
  expect((await t.call('GET', '/api/v1/limits')).body.items).toMatchObject([
    { name: 'Limited', concurrency: 1, rate: null, per: null, used: 1, waiting: 1 },
  ])
  open()
})

test('limits are listed page by page, or one of them with its keys', async () => {
  const t = api()
  const { opened, open } = gate()
  t.hq.job('Keyed', { limit: { concurrency: 1, by: (n: number) => String(n) } }, () => opened)
  for (let n = 0; n < 3; n++) await t.hq.push({ class: 'Keyed', args: [n] })
  await t.hq.limits.set('queue:mail', { concurrency: 5 })
  await t.work({ concurrency: 3 })
  await until(async () => (await t.hq.limits.list()).filter(({ used }) => used === 1).length === 3)
  const keys: string[] = []
  for (let cursor = ''; ; ) {
    const { body } = await t.call('GET', `/api/v1/limits?limit=1${cursor}`)
    keys.push(...body.items.map(({ id, key }: { id: string; key: string | null }) => `${id} ${key}`))
    if (body.next === null) break
    cursor = `&cursor=${encodeURIComponent(body.next)}`
  }
  expect(keys).toEqual(['job:Keyed 0', 'job:Keyed 1', 'job:Keyed 2', 'queue:mail null'])
  const one = await t.call('GET', '/api/v1/limits?id=queue%3Amail')
  expect([one.body.items.length, one.body.next]).toEqual([1, null])
  expect((await t.call('GET', '/api/v1/limits?cursor=x')).status).toBe(400)
  open()
})

test('the numbers of a limit are changed and reset, and the audit names them', async () => {
  const entries: AuditEntry[] = []
  const t = api({ audit: (entry) => void entries.push(entry) })
  const path = '/api/v1/limits/queue%3Amail'
  const set = (json: unknown) => t.call('PATCH', path, { json })
  const first = await set({ concurrency: 5, rate: 100, per: '1m' })
  const figures = { concurrency: 5, rate: 100, per: 60, burst: null }
  expect([first.status, first.body.items]).toMatchObject([
    200,
    [{ id: 'queue:mail', kind: 'queue', name: 'mail', set: figures }],
  ])
  expect((await set({ rate: null })).body.items).toMatchObject([{ concurrency: 5, rate: null, code: null }])
  for (const [body, message] of [
    [{ concurrency: 0 }, '`concurrency` must be a whole number above 0, or null'],
    [{ rate: 5 }, 'rate and per together'],
    [{}, 'needs a number'],
    [{ window: 'fixed' }, 'window'],
  ] as const) {
    const refused = await set(body)
    expect([refused.status, refused.body.error.message]).toEqual([400, expect.stringContaining(message)])
  }
  const unknown = await t.call('PATCH', '/api/v1/limits/mail', { json: { concurrency: 1 } })
  expect([unknown.status, unknown.body.error.code]).toEqual([400, 'INVALID_OPTION'])
  expect((await t.call('POST', `${path}/reset`)).body.items).toEqual([])
  expect(entries.map(({ action, target, count, details }) => [action, target, count, details])).toEqual([
    ['PATCH /api/v1/limits/{id}', { id: 'queue:mail' }, 1, { settings: { concurrency: 5, rate: 100, per: '1m' } }],
    ['PATCH /api/v1/limits/{id}', { id: 'queue:mail' }, 1, { settings: { rate: null } }],
    ['POST /api/v1/limits/{id}/reset', { id: 'queue:mail' }, 1, {}],
  ])
})

test('a change takes the numbers that the list shows, also a time above an hour', async () => {
  const t = api()
  await t.hq.limits.set('queue:mail', { rate: 100, per: '1d' })
  const [{ set }] = (await t.call('GET', '/api/v1/limits')).body.items
  expect(set.per).toBe(86_400)
  const again = await t.call('PATCH', '/api/v1/limits/queue%3Amail', { json: { rate: 50, per: set.per } })
  expect([again.status, again.body.items[0]?.set]).toMatchObject([200, { rate: 50, per: 86_400 }])
  const far = await t.call('PATCH', '/api/v1/limits/queue%3Amail', { json: { rate: 50, per: 1e9 } })
  expect([far.status, far.body.error.code]).toEqual([400, 'INVALID_OPTION'])
})

test('a server that is read-only changes no limit', async () => {
  const t = api({ readOnly: true })
  for (const [method, path] of [
    ['PATCH', '/api/v1/limits/app'],
    ['POST', '/api/v1/limits/app/reset'],
  ] as const) {
    expect((await t.call(method, path, { json: { concurrency: 1 } })).status).toBe(403)
  }
  expect(await t.hq.limits.list()).toEqual([])
})

test('a change is in the audit although the answer could not be read', async () => {
  const entries: AuditEntry[] = []
  const t = api({ audit: (entry) => void entries.push(entry) })
  // The store of the app, whose lists can't be read.
  Object.assign(t.hq.store.limits, { list: () => Promise.reject(new Error('no answer')) })
  await t.call('PATCH', '/api/v1/limits/app', { json: { concurrency: 1 } })
  await t.call('POST', '/api/v1/limits/app/reset')
  expect(entries.map(({ action, count, details }) => [action, count, details.incomplete])).toEqual([
    ['PATCH /api/v1/limits/{id}', 1, true],
    ['POST /api/v1/limits/{id}/reset', 1, true],
  ])
})
