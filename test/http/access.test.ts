import { createHandler, type FetchHandler, type HttpOptions } from 'highkiq/http'
import { expect, test } from 'vitest'
import { bench } from '../engine/bench.ts'
import { api, caller, served } from './api.ts'

const push = { json: { class: 'A', args: [] } }
const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })

test('a server without a login accepts requests from its own machine only, to a loopback name, without a proxy', async () => {
  const { handle, call } = api()
  const from = async (
    origin: string,
    headers: RequestInit['headers'] = {},
    remote: string | undefined = '127.0.0.1',
  ) => {
    const get = caller(origin, (request) => handle(request, { remote }))
    return (await get('GET', '/api/v1/tasks', { headers })).status
  }
  expect(await from('http://localhost:7433')).toBe(200)
  expect(await from('http://127.0.0.1:7433')).toBe(200)
  expect(await from('http://[::1]:7433', {}, '::1')).toBe(200)
  expect(await from('http://localhost:7433', {}, '::ffff:127.0.0.1')).toBe(200)
  // DNS rebinding: a foreign name that resolves to this machine.
  expect(await from('http://evil.example:7433', {}, '127.0.0.1')).toBe(403)
  expect(await from('http://localhost:7433', { host: 'evil.example' }, '127.0.0.1')).toBe(403)
  expect(await from('http://localhost.evil.example', {}, '127.0.0.1')).toBe(403)
  expect(await from('http://127.0.0.1.evil.example', {}, '127.0.0.1')).toBe(403)
  // A client on another machine that sends Host: localhost.
  expect(await from('http://localhost:7433', {}, '192.0.2.7')).toBe(403)
  expect(await from('http://localhost:7433', { 'x-forwarded-for': '192.0.2.7' }, '127.0.0.1')).toBe(403)
  expect((await call('GET', '/api/v1/tasks?token=guess')).status).toBe(200)
})

test('a request without a known client address needs a login, whatever its Host', async () => {
  const hq = bench().hq
  const at = (options: HttpOptions, origin?: Parameters<FetchHandler>[1]) => {
    const handle = createHandler(hq, options)
    return caller('http://localhost:7433', (request) => handle(request, origin))
  }
  const headers = { authorization: 'Bearer secret' }
  const refused = await at({})('GET', '/api/v1/tasks', { headers })
  expect([refused.status, refused.body.error.code]).toEqual([403, 'FORBIDDEN'])
  expect(refused.body.error.message).toContain('set the option auth')
  // The second argument of a framework is ignored.
  expect((await at({}, { remote: { address: '127.0.0.1' } } as never)('GET', '/api/v1/tasks')).status).toBe(403)
  expect((await at({}, { remote: '127.0.0.1' })('GET', '/api/v1/tasks')).status).toBe(200)
  expect((await at({ auth: { bearer: 'secret' } })('GET', '/api/v1/tasks', { headers })).status).toBe(200)
  // With a function as auth the app decides.
  expect((await at({ auth: () => true })('GET', '/api/v1/tasks')).status).toBe(200)
  expect((await at({})('GET', '/healthz')).status).toBe(200)
})

test('serve refuses an address that other machines reach when there is no login', async () => {
  for (const host of ['0.0.0.0', '::', '192.0.2.7']) {
    await expect(served({ host } as object)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  }
  const { url } = await served({ host: '0.0.0.0', auth: { bearer: 'secret' } } as object)
  expect(url).toMatch(/^http:\/\/0\.0\.0\.0:/)
})

test('a server with a login refuses requests without it', async () => {
  const { handle } = api({
    auth: { bearer: ['one', 'two', 'a long secret'], basic: { user: 'ann', password: 'pass:wörd' } },
  })
  let asked = 0
  const get = async (headers: RequestInit['headers']) => {
    // Each login comes from another address, since many wrong ones from one address would have to wait.
    const remote = `192.0.2.${asked++}`
    const call = caller('http://localhost:7433', (request) => handle(request, { remote }))
    const { status, headers: answered, body } = await call('GET', '/api/v1/tasks', { headers })
    if (status === 401) {
      expect(answered.get('www-authenticate')).toBe('Basic realm="Highkiq", charset="UTF-8"')
      expect(body.error.code).toBe('UNAUTHORIZED')
    }
    return status
  }
  expect(await get({ authorization: 'Bearer one' })).toBe(200)
  expect(await get({ authorization: 'bearer two' })).toBe(200)
  expect(await get({ authorization: 'Bearer a long secret' })).toBe(200)
  expect(await get(basic('ann:pass:wörd'))).toBe(200)
  for (const wrong of ['Bearer three', 'Bearer ', 'Bearer one two', 'one', 'Basic !!', 'Digest one']) {
    expect(await get({ authorization: wrong }), wrong).toBe(401)
  }
  for (const wrong of ['ann:', 'ann', ':', 'bob:pass:wörd']) expect(await get(basic(wrong)), wrong).toBe(401)
  expect(await get({})).toBe(401)
})

test('a function as auth decides about each request', async () => {
  const { call } = api({
    origin: 'https://jobs.example',
    auth: (request) => request.headers.get('cookie') === 'session=ann',
  })
  const cookie = 'session=ann'
  expect((await call('GET', '/api/v1/tasks', { headers: { cookie } })).status).toBe(200)
  expect((await call('GET', '/api/v1/tasks', { headers: { cookie: 'session=bob' } })).status).toBe(401)
  expect((await call('POST', '/api/v1/jobs', { ...push, headers: { cookie } })).status).toBe(403)
  const same = { cookie, origin: 'https://jobs.example' }
  expect((await call('POST', '/api/v1/jobs', { ...push, headers: same })).status).toBe(201)
})

test('a change must come from a page of this server, or with a bearer token', async () => {
  const auth = { bearer: 'secret', basic: { user: 'ann', password: 'pass' } }
  const afar = api({ origin: 'https://jobs.example', auth })
  const here = api()
  const change = async ({ call }: typeof here, headers: Record<string, string>) => {
    return (await call('POST', '/api/v1/jobs', { ...push, headers })).status
  }
  // A browser sends basic auth with requests of any page.
  const ann = basic('ann:pass')
  expect(await change(afar, { ...ann, 'sec-fetch-site': 'same-origin' })).toBe(201)
  expect(await change(afar, { ...ann, origin: 'https://jobs.example' })).toBe(201)
  expect(await change(afar, { ...ann, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' })).toBe(403)
  expect(await change(afar, { ...ann, 'sec-fetch-site': 'same-site', origin: 'https://jobs.example' })).toBe(403)
  expect(await change(afar, { ...ann, 'sec-fetch-site': 'none' })).toBe(403)
  expect(await change(afar, { ...ann, origin: 'https://evil.example' })).toBe(403)
  expect(await change(afar, { ...ann, origin: 'null' })).toBe(403)
  expect(await change(afar, ann)).toBe(403)
  const bearer = { authorization: 'Bearer secret' }
  expect(await change(afar, bearer)).toBe(201)
  expect(await change(afar, { ...bearer, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' })).toBe(201)

  expect(await change(here, {})).toBe(201)
  expect(await change(here, { origin: 'http://localhost:7433' })).toBe(201)
  expect(await change(here, { origin: 'http://localhost:3000' })).toBe(403)
  expect(await change(here, { origin: 'https://evil.example' })).toBe(403)
  // Without a login a made-up token has no effect.
  expect(await change(here, { ...bearer, origin: 'https://evil.example' })).toBe(403)
})

test('a page of another site can request nothing in the background, but a person can follow its links', async () => {
  const auth = { bearer: 'secret', basic: { user: 'ann', password: 'pass' } }
  const [afar, here, app] = [api({ origin: 'https://jobs.example', auth }), api(), api({ auth: () => true })]
  const read = async ({ call }: typeof here, headers: Record<string, string>) =>
    (await call('GET', '/api/v1/jobs?search=guess', { headers })).status
  const evil = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }
  expect(await read(here, evil)).toBe(403)
  expect(await read(afar, { ...evil, ...basic('ann:pass') })).toBe(403)
  expect(await read(afar, { ...evil, authorization: 'Bearer secret' })).toBe(200)
  expect(await read(app, evil)).toBe(200)
  const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  expect(await read(here, link)).toBe(200)
  expect(await read(here, { ...link, 'sec-fetch-dest': 'iframe' })).toBe(403)
  expect(await read(here, { ...evil, 'sec-fetch-site': 'same-origin' })).toBe(200)
})

test('a link opens its own task only', async () => {
  const app = api({ origin: 'https://jobs.example', auth: { bearer: 'secret' } })
  const { call, hq } = app
  const Row = hq.job('Row', async () => {})
  const [mine, other] = [await hq.tasks.create(Row, [[], []]), await hq.tasks.create(Row, [[]])]
  const operator = { authorization: 'Bearer secret' }
  const { token, url } = (await call('GET', `/api/v1/tasks/${mine.id}/link`, { headers: operator })).body
  expect(url).toBe(`/tasks/${mine.id}?token=${token}`)
  const get = async (path: string, headers: RequestInit['headers'] = {}) =>
    (await call('GET', path, { headers })).status
  for (const path of ['', '/events', '/report']) {
    expect(await get(`/api/v1/tasks/${mine.id}${path}?token=${token}`), path).toBe(200)
    expect(await get(`/api/v1/tasks/${mine.id}${path}`, { authorization: `Bearer ${token}` }), path).toBe(200)
    expect(await get(`/api/v1/tasks/${other.id}${path}?token=${token}`), path).toBe(401)
    expect(await get(`/api/v1/tasks/${mine.id}${path}`), path).toBe(401)
  }
  const otherEnd = `${token.slice(0, -2)}${token.endsWith('AA') ? 'BA' : 'AA'}`
  for (const wrong of ['', 'x', `${token}x`, token.slice(1), otherEnd]) {
    expect(await get(`/api/v1/tasks/${mine.id}?token=${wrong}`), wrong).toBe(401)
    // A wrong link is refused for operators, too.
    expect(await get(`/api/v1/tasks/${mine.id}?token=${wrong}`, operator), wrong).toBe(401)
  }
  for (const path of ['/api/v1/tasks', '/api/v1/jobs/1', `/api/v1/tasks/${mine.id}/link`]) {
    expect(await get(`${path}?token=${token}`), path).toBe(401)
  }
})

test('links work in every process of a store, until the secret changes', async () => {
  const auth = { bearer: 'secret' }
  const app = api({ auth })
  const task = await app.hq.tasks.create(
    app.hq.job('Row', async () => {}),
    [[]],
  )
  const headers = { authorization: 'Bearer secret' }
  const path = `/api/v1/tasks/${task.id}`
  const { token } = (await app.call('GET', `${path}/link`, { headers })).body
  const status = async (secret?: string) => {
    const handle = createHandler(app.another().hq, { auth, ...(secret ? { secret } : {}) })
    return (await caller('https://jobs.example', handle)('GET', `${path}?token=${token}`)).status
  }
  expect(await status()).toBe(200)
  expect(await status('another secret')).toBe(401)
})

test('a caller without a login does not see why the store fails, and an operator does', async () => {
  const options = { origin: 'https://jobs.example', auth: { bearer: 'secret' }, secret: 'for links' }
  const working = api(options)
  const { id } = await working.hq.tasks.create(
    working.hq.job('Row', async () => {}),
    [[]],
  )
  const headers = { authorization: 'Bearer secret' }
  const path = `/api/v1/tasks/${id}`
  const { token } = (await working.call('GET', `${path}/link`, { headers })).body
  const address = '127.0.0.1:1'
  const { call, handle, log } = api({ ...options, app: { url: `redis://ann:pw@${address}/3`, redisTimeout: 0.3 } })
  for (const open of ['/healthz', `${path}?token=${token}`]) {
    const { status, body } = await call('GET', open)
    const message = "the server can't answer now: try again later"
    expect([status, body.error], open).toEqual([503, { code: 'STORE_UNREACHABLE', message }])
  }
  const operator = await call('GET', path, { headers })
  expect([operator.status, operator.body.error.message]).toEqual([503, expect.stringContaining(address)])
  for (const [lang, words] of [
    ['en', 'Try again in a few minutes'],
    ['ru', 'Попробуйте ещё раз'],
    ['zh', '请过几分钟再试'],
  ]) {
    const url = `https://jobs.example/tasks/${id}?token=${token}&lang=${lang}`
    const page = await (await handle(new Request(url, { headers: { accept: 'text/html' } }))).text()
    expect(page).toContain(words)
    expect(page).not.toContain(address)
  }
  expect(log.lines.map(({ about }) => String((about.err as Error | undefined)?.message))).toContainEqual(
    expect.stringContaining(address),
  )
})
