import type { AuditEntry } from 'highkiq/http'
import { expect, test } from 'vitest'
import { until } from '../engine/bench.ts'
import { api, apiDocument } from './api.ts'

const jid = (n: number) => n.toString(16).padStart(24, '0')
const textOf = (n: number) => JSON.stringify({ class: 'Job', args: [n], queue: 'default', jid: jid(n) })

/** Makes a handler with an audit, and the entries of the audit without logins. */
function audited(options: Parameters<typeof api>[0] = {}) {
  const entries: AuditEntry[] = []
  const audit = (entry: AuditEntry) => void (entry.action.startsWith('login') || entries.push(entry))
  const t = api({ ...options, audit })
  return { ...t, entries, told: () => entries.splice(0).map(({ at: _, ...entry }) => entry) }
}

test('the audit records who made each change, the action, and its count', async () => {
  const t = audited()
  const { call, told } = t
  const jobs = [1, 2, 3].map((n) => ({ class: 'Job', args: [n] }))
  await call('POST', '/api/v1/jobs', { json: jobs })
  const who = 'loopback'
  const push = { who, action: 'POST /api/v1/jobs', details: {} }
  expect(told()).toEqual([{ ...push, target: { class: 'Job' }, count: 3 }])
  await t.hq.store.jobs.push(
    [1, 2, 3, 4, 5].map((n) => ({ to: 'dead', text: textOf(n), score: n })),
    Date.now(),
  )
  await call('DELETE', `/api/v1/dead/${jid(1)}`)
  await call('POST', '/api/v1/dead/delete', { json: { jobs: [{ jid: jid(2) }, { jid: 'nobody' }] } })
  await call('POST', '/api/v1/dead/all/delete', { json: { search: jid(3) } })
  const lines = await t.handle(
    new Request('http://localhost:7433/api/v1/dead/all/retry', {
      method: 'POST',
      headers: { accept: 'application/x-ndjson' },
    }),
  )
  await lines.text()
  await call('POST', '/api/v1/queues/default/clear')
  await call('POST', '/api/v1/queues/default/pause')
  await until(() => t.entries.length === 6)
  const of = (path: string, target: object, count: number | null, details: object) => ({
    ...{ who, action: path, target, count, details },
  })
  expect(told()).toEqual([
    of('DELETE /api/v1/dead/{jid}', { jid: jid(1) }, 1, { class: 'Job' }),
    of('POST /api/v1/dead/delete', {}, 1, { jids: [jid(2), 'nobody'] }),
    of('POST /api/v1/dead/all/delete', {}, 1, { filter: { search: jid(3) } }),
    of('POST /api/v1/dead/all/retry', {}, 2, { filter: {} }),
    of('POST /api/v1/queues/{name}/clear', { name: 'default' }, 5, {}),
    of('POST /api/v1/queues/{name}/pause', { name: 'default' }, null, {}),
  ])
  // Reads and refused requests are not recorded.
  await call('GET', '/api/v1/dead')
  await call('DELETE', `/api/v1/dead/${jid(9)}`)
  await call('POST', '/api/v1/dead/all/delete', { json: { odd: 1 } })
  expect(told()).toEqual([])
})

test('the audit records the class, the queue and the jid of a job that is pushed, and the classes of several', async () => {
  const { call, told, hq } = audited()
  hq.job('Mail', { queue: 'mail', priority: 3, unique: true }, async () => {})
  hq.client.use((payload, next) => (payload.class === 'Stopped' ? null : next()))
  const mail = { class: 'Mail', args: [1] }
  const push = async (json: unknown, headers: Record<string, string> = {}) =>
    (await call('POST', '/api/v1/jobs', { json, headers })).body
  const { jid } = await push(mail, { 'idempotency-key': 'once' })
  await push(mail)
  await push({ class: 'Stopped', args: [] })
  await push([mail, { class: 'Other', args: [] }, { class: 'Other', args: [2] }])
  const body = ['A', 'B', 'A'].map((name) => JSON.stringify({ class: name, args: [] })).join('\n')
  await call('POST', '/api/v1/jobs', { body, headers: { 'content-type': 'application/x-ndjson' } })
  expect(told().map(({ target, count }) => [target, count])).toEqual([
    [{ class: 'Mail', queue: 'mail', jid }, 1],
    [{ class: 'Mail', queue: 'mail' }, 0],
    [{ class: 'Stopped' }, 0],
    [{ class: 'Mail, Other' }, 2],
    [{ class: 'A, B' }, 3],
  ])
})

test('the audit records an action that ends early, with its count so far', async () => {
  let left = new AbortController()
  let looked = 0
  const t = audited({
    redact: (key, value) => {
      if (key === 'jid' && ++looked === 150) left.abort()
      return value
    },
  })
  await t.hq.store.jobs.push(
    Array.from({ length: 300 }, (_, n) => ({ to: 'dead' as const, text: textOf(n), score: n })),
    Date.now(),
  )
  const filter = { search: '"Job"' }
  await t.call('POST', '/api/v1/dead/all/delete', { json: filter, signal: left.signal })
  const gone = 300 - (await t.hq.dead.size())
  expect(gone).toBeGreaterThan(0)
  const whole = { who: 'loopback', target: {} }
  const sweeping = {
    ...whole,
    action: 'POST /api/v1/dead/all/delete',
    count: gone,
    details: { filter, incomplete: true },
  }
  expect(t.told()).toEqual([sweeping])
  expect(t.log.lines.filter(({ level }) => level === 'error')).toEqual([])

  // The same for an action that streams its progress.
  left = new AbortController()
  looked = 0
  await t.handle(
    new Request('http://localhost/api/v1/dead/all/delete', {
      method: 'POST',
      body: JSON.stringify(filter),
      headers: { 'content-type': 'application/json', accept: 'application/x-ndjson' },
      signal: left.signal,
    }),
  )
  const told: unknown[] = []
  await until(() => told.push(...t.told()) > 0)
  expect(told).toEqual([{ ...sweeping, count: 300 - gone - (await t.hq.dead.size()) }])

  const pushing = { ...whole, action: 'POST /api/v1/jobs', details: { incomplete: true } }
  const job = { class: 'Job', args: [] }
  expect((await t.call('POST', '/api/v1/jobs', { json: [job, { ...job, retry: 'odd' }, job] })).status).toBe(400)
  expect(t.told()).toEqual([{ ...pushing, target: { class: 'Job' }, count: 2 }])
  const headers = { 'content-type': 'application/x-ndjson' }
  const body = [job, job, job, 'no job'].map((one) => JSON.stringify(one)).join('\n\n')
  expect((await t.call('POST', '/api/v1/jobs', { body, headers })).status).toBe(400)
  expect(t.told()).toEqual([{ ...pushing, target: { class: 'Job' }, count: 3 }])
})

test('a change whose answer is lost is in the audit, and so is one that the store may have made', async () => {
  const t = audited({ jobs: (hq) => void hq.job('Row', async () => {}) })
  const { id } = await t.hq.tasks.create(t.hq.jobNamed('Row'), [[1]])
  const lost = () => Promise.reject(new Error('no answer'))
  const { tasks, jobs } = t.hq.store
  const find = tasks.find.bind(tasks)
  const cancel = tasks.cancel.bind(tasks)
  // The store makes the change, and what is read after it fails.
  Object.assign(jobs, { queues: lost })
  Object.assign(tasks, {
    cancel: async (...about: Parameters<typeof cancel>) => {
      const answer = await cancel(...about)
      Object.assign(tasks, { find: lost })
      return answer
    },
  })
  expect((await t.call('POST', '/api/v1/queues/default/pause')).status).toBe(500)
  expect((await t.call('POST', `/api/v1/tasks/${id}/cancel`)).status).toBe(500)
  // An unknown outcome counts as a change that was perhaps made.
  Object.assign(jobs, { pauseQueue: lost })
  expect((await t.call('POST', '/api/v1/queues/default/resume')).status).toBe(500)
  Object.assign(tasks, { find })
  expect([await t.hq.queue('default').isPaused(), (await find(id))?.state]).toEqual([
    true,
    expect.stringMatching(/^cancell/),
  ])
  const of = (action: string, target: object) => ({
    ...{ who: 'loopback', action, target, count: null, details: { incomplete: true } },
  })
  expect(t.told()).toEqual([
    of('POST /api/v1/queues/{name}/pause', { name: 'default' }),
    of('POST /api/v1/tasks/{id}/cancel', { id }),
    of('POST /api/v1/queues/{name}/resume', { name: 'default' }),
  ])
})

test('a retry that fails after its delay is in the audit', async () => {
  const t = audited({ jobs: (hq) => void hq.job('Row', async () => {}) })
  const { id } = await t.hq.tasks.create(t.hq.jobNamed('Row'), [[1]])
  const { status } = await t.call('POST', `/api/v1/tasks/${id}/retry?undoSeconds=1`, { json: {} })
  await t.hq.tasks.get(id).delete()
  await until(() => t.entries.length > 0)
  expect([status, t.told()]).toMatchObject([
    202,
    [{ action: 'POST /api/v1/tasks/{id}/retry', target: { id }, details: { incomplete: true } }],
  ])
})

test('an audit entry names the login', async () => {
  const push = { json: { class: 'Job', args: [] } }
  const whoIs = async (options: Parameters<typeof api>[0], headers: Record<string, string>) => {
    const { call, entries } = audited(options)
    const { status } = await call('POST', '/api/v1/jobs', { ...push, headers })
    return [status, entries[0]?.who]
  }
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  const basic = { authorization: `Basic ${btoa('ann:secret')}`, 'sec-fetch-site': 'same-origin' }
  const named = { auth: { bearer: { deploys: 'one', ann: 'two' } } }
  expect(await whoIs(named, bearer('two'))).toEqual([201, 'ann'])
  expect(await whoIs(named, bearer('one'))).toEqual([201, 'deploys'])
  expect(await whoIs(named, bearer('ann'))).toEqual([401, undefined])
  expect(await whoIs({ auth: { bearer: ['one', 'two'] } }, bearer('two'))).toEqual([201, 'bearer'])
  expect(await whoIs({ auth: { basic: { user: 'ann', password: 'secret' } } }, basic)).toEqual([201, 'ann'])
  const same = { 'sec-fetch-site': 'same-origin' }
  expect(await whoIs({ auth: async () => 'bob' }, same)).toEqual([201, 'bob'])
  expect(await whoIs({ auth: () => true }, same)).toEqual([201, 'app'])
  expect(await whoIs({ auth: () => '' }, same)).toEqual([401, undefined])

  const t = audited({ ...named, jobs: (hq) => void hq.job('Row', async () => {}) })
  const { id } = await t.hq.tasks.create(t.hq.jobNamed('Row'), [[1]])
  const { token } = (await t.call('GET', `/api/v1/tasks/${id}/link`, { headers: bearer('one') })).body
  await t.call('POST', `/api/v1/tasks/${id}/cancel?token=${token}`)
  expect(t.entries).toMatchObject([
    { who: 'deploys', action: 'GET /api/v1/tasks/{id}/link', details: { rights: 'change' } },
    { who: 'link', action: 'POST /api/v1/tasks/{id}/cancel', target: { id } },
  ])
  // A cookie has the name of its token.
  const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded', ...same } }
  const login = await t.handle(new Request('http://localhost:7433/login', { ...form, body: 'token=two' }))
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  await t.call('POST', '/api/v1/jobs', { ...push, headers: { ...same, cookie } })
  expect(t.entries.at(-1)?.who).toBe('ann')
})

test('audit: true writes to the log; an audit function that throws is logged, and the change stays', async () => {
  const logged = api({ audit: true })
  await logged.call('POST', '/api/v1/queues/low/pause')
  expect(logged.log.lines).toContainEqual({
    level: 'info',
    about: {
      audit: {
        at: expect.any(Date),
        who: 'loopback',
        action: 'POST /api/v1/queues/{name}/pause',
        target: { name: 'low' },
        count: null,
        details: {},
      },
    },
    message: 'loopback: POST /api/v1/queues/{name}/pause',
  })
  const broken = api({
    audit: () => {
      throw new Error('no disk')
    },
  })
  expect((await broken.call('POST', '/api/v1/queues/low/pause')).body.paused).toBe(true)
  expect(broken.log.lines.map(({ message }) => message)).toContain('the audit threw')
  const silent = api()
  await silent.call('POST', '/api/v1/queues/low/pause')
  expect(silent.log.lines.filter(({ about }) => 'audit' in about)).toEqual([])
  for (const wrong of [{ audit: 'yes' }, { audit: null }, { readOnly: 'yes' }, { readOnly: null }]) {
    expect(() => api(wrong as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  }
})

test('a read-only server refuses every change', async () => {
  const auth = { bearer: 'secret' }
  const t = api({ readOnly: true, auth, jobs: (hq) => void hq.job('Row', async () => {}) })
  const { id } = await t.hq.tasks.create(t.hq.jobNamed('Row'), [[1]])
  await t.hq.store.jobs.push([{ to: 'dead', text: textOf(1), score: 5 }], Date.now())
  const headers = { authorization: 'Bearer secret' }
  const { document } = await apiDocument()
  let tried = 0
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const method of Object.keys(operations).filter((method) => method !== 'get')) {
      const real = path.replace('{id}', id).replace(/\{\w+\}/g, 'x')
      const { status, body } = await t.call(method.toUpperCase(), real, { headers })
      expect([status, body.error.code], `${method} ${path}`).toEqual([403, 'READ_ONLY'])
      tried++
    }
  }
  expect(tried).toBeGreaterThan(40)
  expect((await t.call('GET', '/api/v1/dead', { headers })).body.items).toHaveLength(1)
  expect((await t.call('GET', '/api/v1/about', { headers })).body.readOnly).toBe(true)
  expect((await t.call('POST', '/api/v1/dead/all/delete')).status).toBe(401)
  // The submitter can't change it either.
  const { token } = (await t.call('GET', `/api/v1/tasks/${id}/link`, { headers })).body
  expect((await t.call('POST', `/api/v1/tasks/${id}/cancel?token=${token}`)).body.error.code).toBe('READ_ONLY')
  const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }
  const login = await t.handle(
    new Request('http://localhost:7433/login', { method: 'POST', headers: form, body: 'token=secret' }),
  )
  expect(login.status).toBe(303)
})
