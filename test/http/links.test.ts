/** Tests of links to one task: their rights, the servers that make them, and the values that `redact` hides. */

import { createHmac } from 'node:crypto'
import type { HighkiqOptions } from 'highkiq'
import { type AuditEntry, createHandler, type HttpOptions } from 'highkiq/http'
import { expect, test } from 'vitest'
import { type Api, api, caller } from './api.ts'

const SECRET = 'hunter2-swordfish'
const auth = { bearer: 'a long secret' }
const headers = { authorization: 'Bearer a long secret' }

/** Makes another server of the same app, with other options. */
function beside(t: Api, options: HttpOptions) {
  const handle = createHandler(t.hq, { auth, ...options })
  return caller('https://jobs.example', handle)
}

const pageOf = async ({ handle }: Api, url: string) =>
  (await handle(new Request(`https://jobs.example${url}`, { headers: { accept: 'text/html' } }))).text()

/** Makes a server of an app with a task of two rows, the first of which was rejected. */
async function rejected(options: HttpOptions = {}, app: HighkiqOptions = {}, more: { rowKey?: string } = {}) {
  const t = api({ auth, origin: 'https://jobs.example', app, ...options })
  const Row = t.hq.job('Row', { retry: false }, async (_ctx, row: { sku: string; password: string }) => {
    if (row.sku === 'a') throw new Error('rejected')
  })
  const file = `sku,password\na,${SECRET}\nb,${SECRET}\n`
  const { id } = await t.hq.tasks.import(Row, Buffer.from(file), { name: 'rows.csv', keepArgs: 'all', ...more })
  const worker = await t.work()
  await t.hq.tasks.get(id).wait()
  await worker.stop()
  return { ...t, id, path: `/api/v1/tasks/${id}` }
}

test('a read-only link of version 0.1 works as before, and is read-only', async () => {
  const secret = 'a secret of at least 32 characters, or more'
  const t = await rejected({}, { secret })
  const signature = createHmac('sha256', secret).update(`highkiq task ${t.id} look`).digest('base64url')
  expect((await t.call('GET', `${t.path}?token=look.${signature}`)).status).toBe(200)
  const refused = await t.call('POST', `${t.path}/cancel?token=look.${signature}`, { json: {} })
  expect([refused.status, refused.body.error.code]).toEqual([403, 'READ_ONLY'])
  for (const prefix of ['', 'read.']) {
    expect((await t.call('GET', `${t.path}?token=${prefix}${signature}`)).status).toBe(401)
  }
})

test('links from a read-only server are read-only on every server', async () => {
  const t = await rejected()
  const looking = beside(t, { readOnly: true })
  const { body } = await looking('GET', `${t.path}/link`, { headers })
  expect(body).toMatchObject({ rights: 'read', url: `/tasks/${t.id}?token=${body.token}` })
  for (const call of [t.call, looking]) {
    for (const part of ['', '/events', '/reasons', '/report']) {
      expect((await call('GET', `${t.path}${part}?token=${body.token}`)).status, part).toBe(200)
    }
    for (const act of ['cancel', 'retry']) {
      const refused = await call('POST', `${t.path}/${act}?token=${body.token}`, { json: {} })
      expect([refused.status, refused.body.error.code]).toEqual([403, 'READ_ONLY'])
      const asBearer = await call('POST', `${t.path}/${act}`, {
        json: {},
        headers: { authorization: `Bearer ${body.token}` },
      })
      expect([asBearer.status, asBearer.body.error.code]).toEqual([403, 'READ_ONLY'])
    }
  }
  const page = await pageOf(t, body.url)
  expect(page).toContain('data-part="done"')
  expect(page).not.toMatch(/data-part="(ask|send)"/)
  // The prefix for the rights can't be removed from a token, nor added.
  const bare = body.token.replace('read.', '')
  expect((await t.call('GET', `${t.path}?token=${bare}`)).status).toBe(401)
  expect((await t.call('POST', `${t.path}/cancel?token=${bare}`)).status).toBe(401)
  const more = await looking('GET', `${t.path}/link?rights=change`, { headers })
  expect([more.status, more.body.error.code]).toEqual([403, 'READ_ONLY'])
})

test('a server that accepts changes returns the submitter’s link, or a read-only one', async () => {
  const t = await rejected()
  const link = async (query = '') => (await t.call('GET', `${t.path}/link${query}`, { headers })).body
  const [own, readOnly] = [await link(), await link('?rights=read')]
  expect([own.rights, readOnly.rights]).toEqual(['change', 'read'])
  expect((await t.call('GET', `${t.path}?token=read.${own.token}`)).status).toBe(401)
  expect(await pageOf(t, own.url)).toContain('data-part="send"')
  const body = `sku,password,row key\nc,x,${t.id}:0:1\n`
  const sent = await t.call('POST', `${t.path}/retry?token=${own.token}`, {
    body,
    headers: { 'content-type': 'text/csv' },
  })
  expect([sent.status, sent.body.rows]).toEqual([202, 1])
})

test('the audit records who was given a link, and with which rights', async () => {
  const entries: AuditEntry[] = []
  const audit = (entry: AuditEntry) => void (entry.action.startsWith('login') || entries.push(entry))
  const t = await rejected({ auth: { bearer: { ann: 'a long secret' } }, audit })
  await t.call('GET', `${t.path}/link`, { headers })
  await t.call('GET', `${t.path}/link?rights=read`, { headers })
  await t.call('GET', `${t.path}/link`)
  await t.call('GET', '/api/v1/tasks/0000000000000000/link', { headers })
  const told = { who: 'ann', action: 'GET /api/v1/tasks/{id}/link', target: { id: t.id }, count: null }
  expect(entries.map(({ at: _, ...entry }) => entry)).toEqual([
    { ...told, details: { rights: 'change' } },
    { ...told, details: { rights: 'read' } },
  ])
})

test('redact hides values in reports, except for the submitter, and a hidden row is refused in a corrected report', async () => {
  const t = await rejected({ redact: ['password'] }, { publicUrl: 'https://jobs.example' })
  const own = new URL(await t.hq.tasks.get(t.id).link()).searchParams.get('token')
  const link = async (query: string) => (await t.call('GET', `${t.path}/link${query}`, { headers })).body.token
  const report = async (query: string, more: object = {}) =>
    (await t.call('GET', `${t.path}/report?${query}`, more)).text
  for (const rows of ['rejected', 'all']) {
    for (const format of ['csv', 'ndjson']) {
      const query = `format=${format}&rows=${rows}`
      const operator = await report(query, { headers })
      expect(operator).toContain('[redacted]')
      expect(operator).not.toContain(SECRET)
      // An operator who requests a link sees by it what the operator sees without it.
      expect(await report(`${query}&token=${await link('?rights=read')}`)).toBe(operator)
      expect(await report(`${query}&token=${await link('')}`)).toBe(operator)
      expect(await report(`${query}&token=${own}`)).toContain(SECRET)
    }
  }
  const type = { 'content-type': 'text/csv' }
  const hidden = await report('format=csv', { headers })
  const refused = await t.call('POST', `${t.path}/retry`, { body: hidden, headers: { ...headers, ...type } })
  expect([refused.status, refused.body.error.code]).toEqual([400, 'INVALID_FILE'])
  expect(refused.body.error.message).toContain('values of this row are hidden here')
  const whole = (await report(`format=csv&token=${own}`)).replace('\na,', '\nc,')
  const sent = await t.call('POST', `${t.path}/retry?token=${own}`, { body: whole, headers: type })
  expect([sent.status, sent.body.rows, sent.body.unchanged]).toEqual([202, 1, 0])
})

test('no answer to a corrected row tells whether a guess of a hidden value is right, and no such row runs', async () => {
  const type = { 'content-type': 'text/csv' }
  for (const rowKey of [undefined, 'sku', 'password']) {
    const t = await rejected({ redact: ['password'] }, {}, rowKey === undefined ? {} : { rowKey })
    const { token } = (await t.call('GET', `${t.path}/link`, { headers })).body
    const send = async (body: string) => {
      const byLink = await t.call('POST', `${t.path}/retry?token=${token}`, { body, headers: type })
      const byOperator = await t.call('POST', `${t.path}/retry`, { body, headers: { ...headers, ...type } })
      expect([byLink.status, byLink.body]).toEqual([400, byOperator.body])
      return byLink.body.error.details
    }
    for (const password of [SECRET, 'a guess', '[redacted]']) {
      // A row key can be written by hand.
      expect(await send(`sku,password,row key\nc,${password},${t.id}:0:1\n`), password).toMatchObject({
        problem: 'hidden',
        row: 2,
      })
      if (rowKey === undefined) continue
      const isFound = rowKey === 'sku' || password === '[redacted]'
      expect((await send(`sku,password\na,${password}\n`)).problem, password).toBe(isFound ? 'hidden' : 'unknown-row')
    }
    const args = (password: string) => ({ rows: [{ index: 0, args: [{ sku: 'c', password }] }] })
    for (const password of [SECRET, 'a guess']) {
      const refused = await t.call('POST', `${t.path}/retry`, { json: args(password), headers })
      expect([refused.status, refused.body.error.message]).toEqual([400, expect.stringContaining('are hidden here')])
    }
    const [event] = await t.hq.store.tasks.events(t.id, { indexes: [0], limit: 1 })
    expect([event?.status, event?.args]).toEqual(['error', expect.stringContaining(SECRET)])
    // Unchanged rows run with their real arguments.
    const unchanged = await t.call('POST', `${t.path}/retry`, { json: { rows: [{ index: 0 }] }, headers })
    expect([unchanged.status, unchanged.body.rows]).toEqual([202, 1])
  }
})

test('a link that a server with redact made shows no hidden value on any server', async () => {
  const t = await rejected({ redact: ['password'] })
  const open = beside(t, {})
  for (const query of ['', '?rights=read', '?expires=1d']) {
    const { token } = (await t.call('GET', `${t.path}/link${query}`, { headers })).body
    for (const part of ['', '/events', '/report']) {
      const refused = await open('GET', `${t.path}${part}?token=${token}`)
      expect([refused.status, refused.body.error.message]).toEqual([
        401,
        expect.stringContaining('this server has no redact'),
      ])
    }
    const bare = token.replace('redacted.', '')
    expect(bare).not.toBe(token)
    expect((await t.call('GET', `${t.path}?token=${bare}`)).status).toBe(401)
  }
  // The same for the tasks of a list.
  const { id } = await t.hq.tasks.create(t.hq.jobNamed('Row'), [[{ sku: 'a', password: SECRET }]], {
    meta: { user: 7 },
    keepArgs: 'all',
  })
  const { url } = (await t.call('GET', '/api/v1/tasks/link?meta.user=7', { headers })).body
  const [, href = ''] = new RegExp(`href="/tasks/${id}([^"]+)"`).exec(await pageOf(t, url)) ?? []
  const report = `/api/v1/tasks/${id}/report${href}&rows=all`
  expect((await t.call('GET', report)).text).toContain('[redacted]')
  expect((await open('GET', report)).status).toBe(401)
})

test('rows in which nothing is hidden can be corrected by an operator', async () => {
  const t = await rejected({ redact: ['elsewhere'] })
  const { text } = await t.call('GET', `${t.path}/report?format=csv`, { headers })
  expect(text).toContain(SECRET)
  const type = { 'content-type': 'text/csv' }
  const sent = await t.call('POST', `${t.path}/retry`, {
    body: text.replace('\na,', '\nc,'),
    headers: { ...headers, ...type },
  })
  expect([sent.status, sent.body.rows]).toEqual([202, 1])
})

test('redact hides in the file of an export as well', async () => {
  const app = { publicUrl: 'https://jobs.example' }
  const t = api({ auth, origin: 'https://jobs.example', redact: ['password'], app })
  const Pages = t.hq.job('Pages', async (_ctx, _page: number) => [{ sku: 'a', password: SECRET }])
  const { id } = await t.hq.tasks.export(Pages, [[1]])
  const worker = await t.work()
  await t.hq.tasks.get(id).wait()
  await worker.stop()
  const path = `/api/v1/tasks/${id}`
  const token = new URL(await t.hq.tasks.get(id).link()).searchParams.get('token')
  expect((await t.call('GET', `${path}/download`, { headers })).text).toBe('sku,password\r\na,[redacted]\r\n')
  expect((await t.call('GET', `${path}/download?token=${token}`)).text).toContain(SECRET)
})

test("task.link gives the submitter's link from code, with its rights and its end", async () => {
  const publicUrl = 'https://jobs.example/shop/'
  const t = await rejected({ basePath: '/shop' }, { publicUrl })
  const task = t.hq.tasks.get(t.id)
  const link = await task.link()
  expect(link).toMatch(new RegExp(`^https://jobs\\.example/shop/tasks/${t.id}\\?token=[\\w-]{43}$`))
  // The same as over HTTP.
  expect(new URL(link).searchParams.get('token')).toBe((await t.call('GET', `${t.path}/link`, { headers })).body.token)
  expect(await pageOf(t, link.slice('https://jobs.example'.length))).toContain('data-part="done"')

  const reading = new URL(await task.link({ rights: 'read', expires: '7d' })).searchParams.get('token')
  expect((await t.call('GET', `${t.path}?token=${reading}`)).status).toBe(200)
  const cancel = () => t.call('POST', `${t.path}/cancel?token=${reading}`, { json: {} })
  expect((await cancel()).body.error).toMatchObject({ code: 'READ_ONLY' })

  const [rights, until, signature] = reading?.split('.') ?? []
  for (const forged of [
    `${until}.${signature}`,
    `${rights}.${signature}`,
    `${rights}.${Number(until) + 1}.${signature}`,
  ]) {
    const { status, body } = await t.call('GET', `${t.path}?token=${forged}`)
    expect(status, forged).toBe(401)
    expect(body.error.message).toContain('give the app that makes the links and this server the same secret')
  }
  t.clock.ahead = 7 * 86_400 - 60
  expect((await t.call('GET', `${t.path}?token=${reading}`)).status).toBe(200)
  t.clock.ahead = 7 * 86_400 + 1
  const { status, body } = await t.call('GET', `${t.path}?token=${reading}`)
  expect([status, body.error.code]).toEqual([401, 'UNAUTHORIZED'])
  expect(body.error.message).toMatch(/^this link expired at \d{4}-.*Z: request a new link$/)
  expect((await t.call('GET', `${t.path}?token=${new URL(link).searchParams.get('token')}`)).status).toBe(200)
})

test('a link over HTTP ends when the request says, and so do the links of its list', async () => {
  const t = await rejected()
  const about = async (path: string) => (await t.call('GET', path, { headers })).body
  const day = await about(`${t.path}/link?expires=1d`)
  const byTime = new Date(t.hq.now() + 86_400_000).toISOString()
  const exact = await about(`${t.path}/link?expires=${byTime}&rights=read`)
  const { id } = await t.hq.tasks.create(t.hq.jobNamed('Row'), [[{ sku: 'b', password: '' }]], { meta: { user: 7 } })
  const list = await about('/api/v1/tasks/link?meta.user=7&expires=86400')

  const page = await pageOf(t, list.url)
  const [, href = ''] = new RegExp(`href="(/tasks/${id}[^"]+)"`).exec(page) ?? []
  const ofList = new URL(href, 'https://jobs.example').searchParams.get('token')
  // The same when the token of the list came as a bearer token.
  const asBearer = await t.handle(
    new Request('https://jobs.example/tasks?meta.user=7', { headers: { authorization: `Bearer ${list.token}` } }),
  )
  expect(await asBearer.text()).toContain(href)

  const opened = async () =>
    Promise.all(
      [`${t.path}?token=${day.token}`, `${t.path}?token=${exact.token}`, `/api/v1/tasks/${id}?token=${ofList}`].map(
        async (path) => (await t.call('GET', path)).status,
      ),
    )
  expect(await opened()).toEqual([200, 200, 200])
  t.clock.ahead = 86_400 - 60
  expect(await opened()).toEqual([200, 200, 200])
  t.clock.ahead = 86_400 + 1
  expect(await opened()).toEqual([401, 401, 401])
  const late = await t.handle(new Request(`https://jobs.example${list.url}`, { headers: { accept: 'text/html' } }))
  expect(late.status).toBe(401)

  for (const [expires, words] of [
    ['soon', 'the parameter expires must be seconds or a duration from now, such as 30d, or a time in ISO 8601'],
    ['2026-99-01', 'the parameter expires must be'],
    ['', 'the parameter expires must be'],
    ['2001-01-01', 'the link: expires must be in the future'],
    ['0', 'the link: expires must be in the future (got 0)'],
  ] as const) {
    for (const path of [`${t.path}/link?`, '/api/v1/tasks/link?meta.user=7&']) {
      const { status, body } = await t.call('GET', `${path}expires=${expires}`, { headers })
      expect([status, body.error.message]).toEqual([400, expect.stringContaining(words)])
    }
  }
})

test('the secret of the app signs the links of its servers, and one of a server only its own', async () => {
  const t = await rejected({}, { publicUrl: 'https://jobs.example', secret: SECRET })
  const token = new URL(await t.hq.tasks.get(t.id).link({ expires: new Date(Date.now() + 60_000) })).searchParams.get(
    'token',
  )
  for (const [options, status] of [
    [{}, 200],
    [{ secret: SECRET }, 200],
    [{ secret: 'another' }, 401],
  ] as const) {
    expect((await beside(t, options)('GET', `${t.path}?token=${token}`)).status).toBe(status)
  }
})

test('task.link says what it needs, and refuses wrong options and unknown tasks', async () => {
  const t = await rejected()
  const task = t.hq.tasks.get(t.id)
  await expect(task.link()).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringContaining(
      "set publicUrl, for example new Highkiq({ publicUrl: 'https://shop.example/jobs' })",
    ),
  })
  const knowing = t.another({ publicUrl: 'http://localhost:7433' }).hq.tasks
  for (const [options, words] of [
    [{ rights: 'write' }, "task.link: rights must be one of 'change', 'read' (got \"write\")"],
    [{ expire: 5 }, 'task.link: there is no option expire'],
    [{ expires: 'soon' }, 'soon'],
    [{ expires: -5 }, 'task.link: expires must be in the future (got -5)'],
    [{ expires: new Date(0) }, 'task.link: expires must be in the future (got 1970-01-01T00:00:00.000Z)'],
  ] as const) {
    const refused = knowing.get(t.id).link(options as never)
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_OPTION', message: expect.stringContaining(words) })
  }
  await expect(knowing.get('0123456789abcdef').link()).rejects.toMatchObject({ code: 'UNKNOWN_TASK' })
  for (const publicUrl of ['shop.example', 'ftp://shop.example', 'https://shop.example/?a=1', 5]) {
    expect(() => t.another({ publicUrl: publicUrl as never })).toThrow(/publicUrl must be an http or https address/)
  }
  for (const user of ['ann', 'ann:tops3cret', ':tops3cret']) {
    const refuse = () => t.another({ publicUrl: `https://${user}@shop.example/jobs` })
    expect(refuse).toThrow(
      /^new Highkiq: publicUrl must not have a user or password, .*: use 'https:\/\/shop\.example\/jobs'$/,
    )
  }
  expect(() => t.another({ secret: '' })).toThrow(/secret must be a string that is not empty/)
})

test('the stream of a task ends with the link that opened it', async () => {
  const t = await rejected({}, { publicUrl: 'https://jobs.example' })
  const task = await t.hq.tasks.create(t.hq.jobNamed('Row'), [[{ sku: 'b', password: '' }]])
  const token = new URL(await task.link({ expires: 60 })).searchParams.get('token')
  const { body } = await t.handle(new Request(`https://jobs.example/api/v1/tasks/${task.id}/stream?token=${token}`))
  const texts = (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('event: status')) text += (await texts.read()).value
  t.clock.ahead = 61
  await task.cancel()
  let rest = ''
  for (let read = await texts.read(); !read.done; read = await texts.read()) rest += read.value
  expect(rest).not.toContain('event:')
})

test('revoked links of a task open nothing any more, in all servers, and new ones do', async () => {
  const entries: AuditEntry[] = []
  const audit = (entry: AuditEntry) => void (entry.action.includes('revoke') && entries.push(entry))
  const t = await rejected({ auth: { bearer: { ann: 'a long secret' } }, audit })
  const other = await t.hq.tasks.create(t.hq.jobNamed('Row'), [[{ sku: 'b', password: '' }]])
  const beside2 = beside(t, {})
  const link = async (id: string, query = '') =>
    (await t.call('GET', `/api/v1/tasks/${id}/link${query}`, { headers })).body.token as string
  const status = async (token: string, id = t.id, call = t.call) =>
    (await call('GET', `/api/v1/tasks/${id}?token=${token}`)).status
  const old = [await link(t.id), await link(t.id, '?rights=read'), await link(t.id, '?expires=7d')]
  const ofOther = await link(other.id)
  for (const token of old) expect(await status(token)).toBe(200)

  const revoke = () => t.call('POST', `${t.path}/links/revoke`, { headers })
  expect((await revoke()).status).toBe(204)
  for (const token of old) {
    const { status, body } = await t.call('GET', `${t.path}?token=${token}`)
    expect([status, body.error.code, body.error.message]).toEqual([
      401,
      'UNAUTHORIZED',
      'this link was revoked: request a new link',
    ])
    expect((await beside2('GET', `${t.path}?token=${token}`)).status).toBe(401)
    const asBearer = await t.call('GET', t.path, { headers: { authorization: `Bearer ${token}` } })
    expect(asBearer.status).toBe(401)
    expect((await t.call('POST', `${t.path}/cancel?token=${token}`, { json: {} })).status).toBe(401)
  }
  const page = await t.handle(
    new Request(`https://jobs.example/tasks/${t.id}?token=${old[0]}`, { headers: { accept: 'text/html' } }),
  )
  expect([page.status, await page.text()]).toEqual([401, expect.stringContaining('<h1>This link does not work</h1>')])
  expect(await status(ofOther, other.id)).toBe(200)

  const made = [await link(t.id), await link(t.id, '?rights=read&expires=7d')]
  expect(made[0]).toMatch(/^v1\.[\w-]{43}$/)
  for (const token of made) expect(await status(token)).toBe(200)
  // The version can't be added, removed or changed, and that of another task opens nothing.
  await t.call('POST', `/api/v1/tasks/${other.id}/links/revoke`, { headers })
  const ofOther1 = await link(other.id)
  for (const forged of [
    `v1.${old[0]}`,
    `v1.${ofOther}`,
    (made[0] as string).replace('v1.', ''),
    (made[0] as string).replace('v1.', 'v0.'),
    (made[0] as string).replace('v1.', 'v2.'),
    (made[1] as string).replace('read.', ''),
    ofOther1,
    `v2.${(await link(t.id)).slice(3)}`,
  ]) {
    expect(await status(forged), forged).toBe(401)
  }
  await revoke()
  for (const token of [...old, ...made]) expect(await status(token)).toBe(401)
  expect(await status(await link(t.id))).toBe(200)
  const told = { who: 'ann', action: 'POST /api/v1/tasks/{id}/links/revoke', count: null, details: {} }
  expect(entries.map(({ at: _, ...entry }) => entry)).toEqual(
    [t.id, other.id, t.id].map((id) => ({ ...told, target: { id } })),
  )
})

test('a submitter and a read-only server revoke no links, nor does anybody those of an unknown task', async () => {
  const t = await rejected()
  const { token } = (await t.call('GET', `${t.path}/link`, { headers })).body
  for (const path of [`${t.path}/links/revoke?`, '/api/v1/tasks/links/revoke?meta.user=7&']) {
    expect((await t.call('POST', `${path}token=${token}`)).status).toBe(401)
    const refused = await beside(t, { readOnly: true })('POST', path, { headers })
    expect([refused.status, refused.body.error.code]).toEqual([403, 'READ_ONLY'])
  }
  for (const id of ['0123456789abcdef', 'x']) {
    const { status, body } = await t.call('POST', `/api/v1/tasks/${id}/links/revoke`, { headers })
    expect([status, body.error.code]).toEqual([404, 'UNKNOWN_TASK'])
  }
  await expect(t.hq.tasks.get('0123456789abcdef').revokeLinks()).rejects.toMatchObject({ code: 'UNKNOWN_TASK' })
  const none = await t.call('POST', '/api/v1/tasks/links/revoke', { headers })
  expect([none.status, none.body.error.code]).toEqual([400, 'INVALID_REQUEST'])
  await expect(t.hq.tasks.revokeLinks({ user: [] } as never)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  expect((await t.call('GET', `${t.path}?token=${token}`)).status).toBe(200)
})

test('revoked links of a list end with the links to the tasks that it showed, and others stay', async () => {
  const t = await rejected({}, { publicUrl: 'https://jobs.example' })
  const task = await t.hq.tasks.create(t.hq.jobNamed('Row'), [[{ sku: 'b', password: '' }]], {
    meta: { user: 7, shop: 'ž 1' },
  })
  const about = async (search: string) => (await t.call('GET', `/api/v1/tasks/link?${search}`, { headers })).body
  const shopOnly = `meta.shop=${encodeURIComponent('ž 1')}`
  const listed = async (url: string) => {
    const [, token = ''] = new RegExp(`/tasks/${task.id}\\?token=([^"]+)"`).exec(await pageOf(t, url)) ?? []
    return token
  }
  const ofUser = await about('meta.user=7&expires=7d')
  const ofShop = await about(`${shopOnly}&rights=read`)
  const [byUser, byShop] = [await listed(ofUser.url), await listed(ofShop.url)]
  const own = new URL(await task.link()).searchParams.get('token') as string
  const path = `/api/v1/tasks/${task.id}`
  const opened = async () =>
    Promise.all([byUser, byShop, own].map(async (token) => (await t.call('GET', `${path}?token=${token}`)).status))
  expect(await opened()).toEqual([200, 200, 200])
  // It has the rights of its list, and no other list.
  expect((await t.call('POST', `${path}/cancel?token=${byShop}`, { json: {} })).body.error.code).toBe('READ_ONLY')
  for (const forged of [
    byShop.replace('read.', ''),
    byUser.replace(/l0-[\w-]+\./, ''),
    byUser.replace(/l0-/, 'l1-'),
    byUser.replace(/(l0-[\w-]+\.)\d+\./, '$1'),
    byUser.replace(/l0-[\w-]+/, `l0-${Buffer.from('user=8').toString('base64url')}`),
    // A name of a list with spaces could say what other claims say.
    byUser.replace(
      /l0-[\w-]+\.(\d+)/,
      (_, until) => `l${until}-${Buffer.from('user=7 0 until').toString('base64url')}`,
    ),
  ]) {
    expect(forged).not.toBe(byUser)
    expect((await t.call('GET', `${path}?token=${forged}`)).status, forged).toBe(401)
  }

  const entries: AuditEntry[] = []
  const audited = beside(t, { audit: (entry) => void (entry.action.includes('revoke') && entries.push(entry)) })
  expect((await audited('POST', '/api/v1/tasks/links/revoke?meta.user=7', { headers })).status).toBe(204)
  expect(entries.map(({ action, details }) => [action, details])).toEqual([
    ['POST /api/v1/tasks/links/revoke', { meta: { user: '7' } }],
  ])
  expect(await opened()).toEqual([401, 200, 200])
  const list = (url: string) =>
    t.handle(new Request(`https://jobs.example${url}`, { headers: { accept: 'text/html' } }))
  expect((await list(ofUser.url)).status).toBe(401)
  expect((await list(ofShop.url)).status).toBe(200)
  const again = await about('meta.user=7')
  expect((await list(again.url)).status).toBe(200)
  const byAgain = await listed(again.url)
  expect((await t.call('GET', `${path}?token=${byAgain}`)).status).toBe(200)

  // Revoking the links of the task ends those of its lists, too; the lists have new ones.
  await task.revokeLinks()
  expect(await opened()).toEqual([401, 401, 401])
  expect((await t.call('GET', `${path}?token=${byAgain}`)).status).toBe(401)
  expect((await t.call('GET', `${path}?token=${await listed(ofShop.url)}`)).status).toBe(200)
  await t.hq.tasks.revokeLinks({ shop: 'ž 1' })
  expect((await list(ofShop.url)).status).toBe(401)
})

test('the stream of a task ends when its link is revoked, and sends nothing more', async () => {
  const t = await rejected({}, { publicUrl: 'https://jobs.example' })
  const task = await t.hq.tasks.create(t.hq.jobNamed('Row'), [[{ sku: 'b', password: '' }]])
  const token = new URL(await task.link()).searchParams.get('token')
  const { body } = await t.handle(new Request(`https://jobs.example/api/v1/tasks/${task.id}/stream?token=${token}`))
  const texts = (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('event: status')) text += (await texts.read()).value
  await task.revokeLinks()
  let rest = ''
  for (let read = await texts.read(); !read.done; read = await texts.read()) rest += read.value
  expect(rest).not.toContain('event:')
  await task.cancel()
})

test('a download that waits for its pages ends when its link is revoked, and frees its slot', async () => {
  const app = { publicUrl: 'https://jobs.example' }
  const t = api({ auth, origin: 'https://jobs.example', app, limits: { downloads: 1 } })
  const Pages = t.hq.job('Pages', async (_ctx, _page: number) => [{ sku: 'a' }])
  const { id } = await t.hq.tasks.export(Pages, [[1]])
  const path = `/api/v1/tasks/${id}/download?wait=1`
  const open = async () => {
    const token = new URL(await t.hq.tasks.get(id).link()).searchParams.get('token')
    return t.handle(new Request(`https://jobs.example${path}&token=${token}`))
  }
  const { body } = await open()
  const read = new Response(body).text()
  expect((await open()).status).toBe(429)
  await t.hq.tasks.get(id).revokeLinks()
  await expect(read).rejects.toThrow('the link or the login of this download has ended')
  const again = await open()
  expect(again.status).toBe(200)
  await again.body?.cancel()
})
