/** Tests of wrong logins: they are slowed down and recorded in the audit, and they do not slow down right ones. */

import { type AuditEntry, createHandler } from 'highkiq/http'
import { expect, test } from 'vitest'
import { api } from './api.ts'
import { eventsOf } from './events.ts'

const auth = { bearer: { ann: 'a long secret' }, basic: { user: 'bob', password: 'pass' } }
const PATH = 'http://localhost:7433/api/v1/tasks'
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const basic = (user: string, password: string) => ({ authorization: `Basic ${btoa(`${user}:${password}`)}` })

function open(options: Parameters<typeof api>[0] = {}) {
  const entries: AuditEntry[] = []
  const t = api({ auth, audit: (entry) => void entries.push(entry), ...options })
  const get = async (headers: Record<string, string>, remote = '192.0.2.7') => {
    const { status, headers: answered } = await t.handle(new Request(PATH, { headers }), { remote })
    return [status, answered.get('retry-after')]
  }
  const login = async (token: string, remote = '192.0.2.7') => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }
    const request = new Request('http://localhost:7433/login', { method: 'POST', headers, body: `token=${token}` })
    const answer = await t.handle(request, { remote })
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), page: await answer.text() }
  }
  const told = () => entries.splice(0).map(({ who, action, details }) => ({ who, action, ...details }))
  return { ...t, get, login, told }
}

test('each wrong token lengthens the wait of its address; a right token is accepted at once', async () => {
  const { get, log } = open()
  for (let n = 0; n < 5; n++) expect(await get(bearer(`guess ${n}`))).toEqual([401, null])
  expect(await get(bearer('guess'))).toEqual([429, '1'])
  expect(await get(bearer('a long secret'))).toEqual([200, null])
  expect(await get(bearer('guess'), '192.0.2.8')).toEqual([401, null])
  expect(log.lines.filter(({ level }) => level === 'warn')).toMatchObject([
    {
      message: 'too many wrong logins: further logins are refused for a while',
      about: { address: '192.0.2.7', refusedFor: 1 },
    },
  ])
})

test('the login form says how long to wait', async () => {
  const { login } = open()
  for (let n = 0; n < 5; n++) expect((await login('guess')).status).toBe(401)
  const wait = await login('guess')
  expect([wait.status, wait.retryAfter]).toEqual([429, '1'])
  expect(wait.page).toContain('Try again in 1 s.')
  expect((await login('a+long+secret')).status).toBe(303)
})

test('a password is not compared during the wait of its address, and is from other addresses', async () => {
  const { get } = open()
  for (let n = 0; n < 5; n++) expect(await get(basic('bob', `guess ${n}`))).toEqual([401, null])
  expect(await get(basic('bob', 'pass'))).toEqual([429, '1'])
  expect(await get(basic('bob', 'pass'), '192.0.2.8')).toEqual([200, null])
})

test('many addresses that guess one name make it wait, except from addresses where it has logged in', async () => {
  const { get } = open()
  expect(await get(basic('bob', 'pass'), '198.51.100.1')).toEqual([200, null])
  for (let n = 0; n < 20; n++) expect(await get(basic('bob', 'guess'), `203.0.113.${n}`)).toEqual([401, null])
  expect(await get(basic('bob', 'pass'), '203.0.113.200')).toEqual([429, '1'])
  expect(await get(basic('bob', 'pass'), '198.51.100.1')).toEqual([200, null])
})

test('a request without a login, or with a cookie beside a proxy’s own header, is not throttled', async () => {
  const { get, handle } = open()
  for (let n = 0; n < 10; n++) expect(await get({})).toEqual([401, null])
  const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }
  const request = new Request('http://localhost:7433/login', {
    method: 'POST',
    headers: form,
    body: 'token=a long secret',
  })
  const cookie = (await handle(request)).headers.get('set-cookie')?.split(';')[0] ?? ''
  for (let n = 0; n < 10; n++) expect(await get({ cookie, ...bearer('of the proxy') })).toEqual([200, null])
  expect(await get(bearer('guess'))).toEqual([401, null])
})

test('behind a trusted proxy each client is counted by its own address; an untrusted X-Forwarded-For is ignored', async () => {
  const trusted = open({ trustProxy: ['10.0.0.0/8'] })
  const from = (address: string, remote = '10.0.0.1') =>
    trusted.get({ ...bearer('guess'), 'x-forwarded-for': address }, remote)
  for (let n = 0; n < 5; n++) expect(await from(`8.8.8.${n}, 192.0.2.7`)).toEqual([401, null])
  expect(await from('192.0.2.7')).toEqual([429, '1'])
  expect(await from('192.0.2.8')).toEqual([401, null])
  expect(() => open({ trustProxy: ['proxy.example'] })).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  expect(() => open({ trustProxy: '10.0.0.1' as never })).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
})

test('a client that sends X-Forwarded-For is counted by its socket, and the audit records that address', async () => {
  const { get, told } = open()
  let sent = 0
  const from = (headers: Record<string, string>) => get({ ...headers, 'x-forwarded-for': `1.2.3.${sent++ % 250}` })
  for (let n = 0; n < 100; n++) expect(await from(basic(`name ${n}`, 'guess'))).toEqual([401, null])
  expect(await from(basic('other', 'guess'))).toEqual([429, '1'])
  expect(await from(bearer('guess'))).toEqual([429, '1'])
  expect(await from(bearer('a long secret'))).toEqual([200, null])
  // A right login of another client behind that proxy clears nothing.
  expect(await from(bearer('guess'))).toEqual([429, '1'])
  const addresses = new Set(told().map((entry) => 'address' in entry && entry.address))
  expect([...addresses]).toEqual(['192.0.2.7'])
})

test('behind an untrusted proxy a name is counted also after it logged in there', async () => {
  const { get } = open()
  const from = (headers: Record<string, string>) => get({ ...headers, 'x-forwarded-for': '1.2.3.4' })
  expect(await from(basic('bob', 'pass'))).toEqual([200, null])
  for (let n = 0; n < 20; n++) expect(await from(basic('bob', 'guess'))).toEqual([401, null])
  expect(await from(basic('bob', 'guess'))).toEqual([429, '1'])
})

test('the audit records right logins once for each address, and wrong ones until they are refused', async () => {
  const { get, login, told } = open()
  const address = '192.0.2.7'
  for (let n = 0; n < 3; n++) await get(bearer('a long secret'))
  await get(basic('bob', 'pass'))
  await login('a+long+secret')
  await login('a+long+secret')
  const right = { action: 'login', address }
  expect(told()).toEqual([
    { who: 'ann', how: 'bearer', ...right },
    { who: 'bob', how: 'basic', ...right },
    { who: 'ann', how: 'form', ...right },
    { who: 'ann', how: 'form', ...right },
  ])
  const wrong = { who: 'anybody', action: 'login refused', address }
  await get(basic('bob', 'guess'))
  await login('guess')
  for (let n = 0; n < 50; n++) await get(bearer('guess'))
  expect(told()).toEqual([
    { ...wrong, how: 'basic', name: 'bob' },
    { ...wrong, how: 'form' },
    { ...wrong, how: 'bearer' },
    { ...wrong, how: 'bearer' },
    { ...wrong, how: 'bearer', refusedFor: 1 },
  ])
})

test('a logout ends copies of its cookie in all processes, and no other login', async () => {
  const t = open()
  const other = createHandler(t.another().hq, { auth })
  const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }
  const send = (path: string, headers: Record<string, string>, body = '') =>
    t.handle(new Request(`http://localhost:7433${path}`, { method: 'POST', headers: { ...form, ...headers }, body }))
  const signIn = async () => (await send('/login', {}, 'token=a long secret')).headers.get('set-cookie') ?? ''
  const [one = '', two = ''] = [await signIn(), await signIn()].map((cookie) => cookie.split(';')[0])
  const statuses = async (cookie: string) => {
    const elsewhere = await other(new Request(PATH, { headers: { cookie } }), { remote: '192.0.2.7' })
    return [(await t.get({ cookie }))[0], elsewhere.status]
  }
  expect(await t.get({ cookie: one })).toEqual([200, null])
  expect((await send('/logout', { cookie: one })).headers.get('set-cookie')).toContain('Max-Age=0')
  expect(await statuses(one)).toEqual([401, 401])
  expect(await statuses(two)).toEqual([200, 200])
  const [, until] = one.split('=')
  expect(await statuses(one.replace(/=\d+/, `=${Number(until?.split('.')[0]) + 1}`))).toEqual([401, 401])
})

test('a job whose jid names a login does not make its ended cookie valid again', async () => {
  const t = open()
  const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }
  const send = (path: string, headers: Record<string, string>, body = '') =>
    t.handle(new Request(`http://localhost:7433${path}`, { method: 'POST', headers: { ...form, ...headers }, body }))
  const { headers } = await send('/login', {}, 'token=a long secret')
  const cookie = headers.get('set-cookie')?.split(';')[0] ?? ''
  await send('/logout', { cookie })
  await t.hq.push({ class: 'J', args: [], jid: `login ${cookie.split('.')[1]}` })
  const other = createHandler(t.another().hq, { auth })
  const { status } = await other(new Request(PATH, { headers: { cookie } }), { remote: '192.0.2.7' })
  expect(status).toBe(401)
})

test('a logout ends the streams that its login has opened within seconds, also quiet ones, and no others', async () => {
  const t = open()
  const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }
  const send = (path: string, headers: Record<string, string>, body = '') =>
    t.handle(new Request(`http://localhost:7433${path}`, { method: 'POST', headers: { ...form, ...headers }, body }))
  const signIn = async () => {
    const { headers } = await send('/login', {}, 'token=a long secret')
    return headers.get('set-cookie')?.split(';')[0] ?? ''
  }
  const [one, two] = [await signIn(), await signIn()]
  const stream = async (cookie: string, path: string) =>
    eventsOf(await t.handle(new Request(`http://localhost:7433/api/v1${path}`, { headers: { cookie } })))
  const [live, events, other] = [await stream(one, '/live'), await stream(one, '/events'), await stream(two, '/live')]
  let areOver = false
  const isOpen = async () => {
    for await (const { event } of other) if (areOver && event === 'stats') return true
    return false
  }
  const end = async (stream: ReturnType<typeof eventsOf>) => {
    for await (const _ of stream);
  }
  const [ends, stays] = [Promise.all([end(live), end(events)]), isOpen()]
  expect((await send('/logout', { cookie: one })).status).toBe(303)
  await ends
  areOver = true
  expect(await stays).toBe(true)
}, 12_000)

test('a logout while the store does not answer ends the login in its server, and is logged', async () => {
  const t = open({ auth: { bearer: 'a long secret' } })
  const away = open({ auth: { bearer: 'a long secret' }, app: { url: 'redis://127.0.0.1:1', redisTimeout: 0.3 } })
  const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }
  const login = { method: 'POST', headers: form, body: 'token=a long secret' }
  const { headers } = await t.handle(new Request('http://localhost:7433/login', login))
  const cookie = headers.get('set-cookie')?.split(';')[0] ?? ''
  const logout = new Request('http://localhost:7433/logout', { method: 'POST', headers: { ...form, cookie } })
  const out = await away.handle(logout)
  expect([out.status, out.headers.get('set-cookie')]).toEqual([303, expect.stringContaining('Max-Age=0')])
  expect(await away.get({ cookie })).toEqual([401, null])
  expect(away.log.lines.map(({ message }) => message)).toContainEqual(
    expect.stringContaining('a logout could not be stored'),
  )
})
