import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { createHandler, type HttpOptions } from 'highkiq/http'
import { type Browser, chromium as driver } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { bench } from '../engine/bench.ts'
import { pathOf } from '../programs/program.ts'
import { suiteWith } from '../programs/suite.ts'
import { api, served } from './api.ts'
import { chromium } from './program.ts'

const INDEX = `<!doctype html><meta name="base" content="/__base__"><script type="module" src="/__base__/assets/app-1a2b.js"></script>`
const SCRIPT = '// so that packing it is worth while\n'.repeat(100)

/** Makes a folder like a build of the dashboard. */
function built(files: Record<string, string | Buffer> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-dashboard-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'assets'))
  const all = { 'index.html': INDEX, 'assets/app-1a2b.js': SCRIPT, 'assets/app-1a2b.css': 'a{}', ...files }
  for (const [name, content] of Object.entries(all)) writeFileSync(join(folder, name), content)
  return folder
}

/** Opens an address with the headers of a browser. */
function browser(options: HttpOptions & { origin?: string } = {}) {
  const { origin = 'http://localhost:7433', ...rest } = options
  const handle = createHandler(bench().hq, { dashboard: built(), ...rest })
  return async (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers)
    if (!headers.has('accept')) headers.set('accept', 'text/html,application/xhtml+xml,*/*;q=0.8')
    const answer = await handle(new Request(origin + path, { redirect: 'manual', ...init, headers }), {
      remote: '127.0.0.1',
    })
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/)
    return answer
  }
}

test('every address of the dashboard serves its page, and other addresses do not', async () => {
  const open = browser()
  for (const path of [
    '/',
    '/retries',
    '/queues/x',
    '/tasks',
    '/tasks/0123456789abcdef',
    '/jobs/1?tab=args',
    '/odd/%20/x',
  ]) {
    const answer = await open(path)
    expect([answer.status, answer.headers.get('content-type')], path).toEqual([200, 'text/html; charset=utf-8'])
    expect(await answer.text(), path).toBe(INDEX.replaceAll('/__base__', ''))
  }
  expect((await open('/', { method: 'HEAD' })).status).toBe(200)
  for (const path of ['/api/v1/nothing', '/api', '/assets/nothing.js', '/assets', '/healthz/x']) {
    expect((await open(path)).status, path).toBe(404)
  }
  expect((await open('/retries', { method: 'POST' })).status).toBe(404)
  expect((await open('/favicon.ico', { headers: { accept: 'image/avif,*/*' } })).status).toBe(404)
  expect((await open('/', { headers: { accept: '*/*' } })).status).toBe(200)
})

test('the dashboard works below any mount path', async () => {
  const page = async (base: string, path: string, mounted?: string) => {
    const handle = createHandler(bench().hq, { dashboard: built(), basePath: base })
    const request = new Request(`http://localhost${path}`, { headers: { accept: 'text/html' } })
    return (await handle(request, { remote: '127.0.0.1', base: mounted })).text()
  }
  expect(await page('/admin/jobs', '/admin/jobs/retries')).toBe(INDEX.replaceAll('/__base__', '/admin/jobs'))
  expect(await page('/admin/jobs', '/admin/jobs')).toContain('content="/admin/jobs"')
  // Behind a proxy that strips the path, and in a framework that passes it.
  expect(await page('/admin/jobs', '/retries')).toContain('src="/admin/jobs/assets/app-1a2b.js"')
  expect(await page('', '/express/retries', '/express')).toContain('src="/express/assets/app-1a2b.js"')
  const hostile = await page('', `/x/retries`, `/"'><script>alert(1)</script>\`\\`)
  expect(hostile).not.toMatch(/<script>|['`\\]/)
  const script = await createHandler(bench().hq, { dashboard: built(), basePath: '/jobs' })(
    new Request('http://localhost/jobs/assets/app-1a2b.js'),
  )
  expect(await script.text()).toBe(SCRIPT)
})

test('each spelling of a mount path has its page, and all share the files, which are read once', async () => {
  const folder = built()
  const handle = createHandler(bench().hq, { dashboard: folder })
  const open = (mounted: string, path: string) =>
    handle(new Request(`http://localhost${path}`, { headers: { accept: 'text/html' } }), {
      remote: '127.0.0.1',
      base: mounted,
    })
  expect(await (await open('/jobs', '/jobs/')).text()).toContain('src="/jobs/assets/app-1a2b.js"')
  rmSync(join(folder, 'assets'), { recursive: true })
  expect(await (await open('/Jobs', '/Jobs/')).text()).toContain('src="/Jobs/assets/app-1a2b.js"')
  const script = await open('/Jobs', '/Jobs/assets/app-1a2b.js')
  expect([script.status, await script.text()]).toEqual([200, SCRIPT])
})

test('the files of the dashboard are cached by browsers, compressed once, and public', async () => {
  const open = browser({
    origin: 'https://jobs.example',
    auth: { bearer: 'secret' },
    dashboard: built({ 'assets/mark-1.png': Buffer.alloc(5000) }),
  })
  const file = (name: string, accepted?: string) =>
    open(`/assets/${name}`, { headers: { accept: '*/*', ...(accepted ? { 'accept-encoding': accepted } : {}) } })
  const plain = await file('app-1a2b.js')
  expect(Object.fromEntries(plain.headers)).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'accept-encoding',
  })
  expect([plain.headers.get('content-encoding'), await plain.text()]).toEqual([null, SCRIPT])
  const bytes = async (accepted: string) => {
    const answer = await file('app-1a2b.js', accepted)
    const body = Buffer.from(await answer.arrayBuffer())
    expect(answer.headers.get('content-length')).toBe(String(body.length))
    return [answer.headers.get('content-encoding'), body] as const
  }
  const [br, brotli] = await bytes('gzip, deflate, br')
  expect([br, brotliDecompressSync(brotli).toString()]).toEqual(['br', SCRIPT])
  const [gz, gzipped] = await bytes('br;q=0, GZIP;q=0.5')
  expect([gz, gunzipSync(gzipped).toString()]).toEqual(['gzip', SCRIPT])
  expect((await bytes('identity'))[0]).toBeNull()
  // Small files and images are not compressed.
  expect((await file('app-1a2b.css', 'gzip')).headers.get('content-encoding')).toBeNull()
  const image = await file('mark-1.png', 'gzip')
  expect([image.headers.get('content-type'), image.headers.get('content-encoding')]).toEqual(['image/png', null])
  for (const name of [
    '../index.html',
    '..%2Findex.html',
    '%2e%2e%2findex.html',
    '..\\index.html',
    'constructor',
    '%00',
  ]) {
    expect((await file(name)).status, name).not.toBe(200)
  }
})

test('a rebuilt dashboard is served at once; a missing build is reported', async () => {
  const folder = built()
  const open = browser({ dashboard: folder })
  expect(await (await open('/')).text()).toContain('app-1a2b.js')
  writeFileSync(join(folder, 'index.html'), INDEX.replaceAll('1a2b', '9z9z'))
  writeFileSync(join(folder, 'assets/app-9z9z.js'), 'new')
  utimesSync(join(folder, 'index.html'), new Date(), new Date(Date.now() + 5000))
  expect(await (await open('/')).text()).toContain('app-9z9z.js')
  expect(await (await open('/assets/app-9z9z.js')).text()).toBe('new')
  rmSync(join(folder, 'index.html'))
  const answer = await open('/')
  expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining('npm run build')])
  expect((await open('/assets/app-9z9z.js')).status).toBe(404)
})

test('a task link opens the submitter’s page; a login opens the dashboard', async () => {
  const { handle, hq } = api({ auth: { bearer: 'secret' }, dashboard: built() })
  const task = await hq.tasks.create(
    hq.job('Row', async () => {}),
    [[]],
  )
  const open = async (query: string, headers: Record<string, string>) => {
    const request = new Request(`https://jobs.example/tasks/${task.id}${query}`, {
      headers: { accept: 'text/html', ...headers },
    })
    return (await handle(request)).text()
  }
  const operator = { authorization: 'Bearer secret' }
  const link = await handle(new Request(`https://jobs.example/api/v1/tasks/${task.id}/link`, { headers: operator }))
  const { token } = (await link.json()) as { token: string }
  expect(await open(`?token=${token}`, {})).toContain('of 1 row is processed')
  expect(await open(`?token=${token}`, operator)).toContain('of 1 row is processed')
  expect(await open('', operator)).toContain('app-1a2b.js')
  expect(await open('?token=guess', operator)).toContain('This link does not work')
  expect(await open('', { 'sec-fetch-site': 'none' })).toContain('<h1>Log in</h1>')
})

test('without a login the dashboard opens on its own machine only', async () => {
  const answer = await browser({ origin: 'http://evil.example' })('/')
  expect([answer.status, answer.headers.get('content-type')]).toEqual([403, 'text/html; charset=utf-8'])
  expect(await answer.text()).toContain('a server without a login accepts requests from its own machine only')
  // A submitter can't give the server a login.
  const ofSubmitter = await browser({ origin: 'http://jobs.example' })('/tasks/1?token=2')
  const said = await ofSubmitter.text()
  expect([ofSubmitter.status, said]).toEqual([
    403,
    expect.stringContaining('tell the people who gave you this address'),
  ])
  expect(said).not.toContain('auth')
})

test('the login form exchanges the token for an HttpOnly cookie, which is valid for the API too', async () => {
  const origin = 'https://jobs.example'
  const open = browser({ origin, auth: { bearer: ['first', 'second secret'] } })
  const closed = await open('/retries?class=A', { headers: { 'sec-fetch-site': 'none' } })
  expect([closed.status, closed.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="Highkiq"'])
  const page = await closed.text()
  expect(page).toContain('<form class="card login" method="post" action="/login">')
  expect(page).toContain('name="to" value="/retries?class=A"')

  const send = (
    fields: Record<string, string>,
    headers: RequestInit['headers'] = { 'sec-fetch-site': 'same-origin' },
  ) => open('/login', { method: 'POST', body: new URLSearchParams(fields), headers })
  const wrong = await send({ token: 'guess', to: '/retries' })
  expect([wrong.status, wrong.headers.get('set-cookie')]).toEqual([401, null])
  expect(await wrong.text()).toContain('This token is wrong.')
  const foreign = await send({ token: 'guess' }, { 'sec-fetch-site': 'same-origin', 'accept-language': 'ru' })
  expect(await foreign.text()).toContain('Это не тот токен.')
  const chinese = await open('/login?lang=zh')
  expect(await chinese.text()).toContain('<label for="token">令牌</label>')
  const right = await send({ token: ' second secret ', to: '/retries?class=A' })
  expect([right.status, right.headers.get('location')]).toEqual([303, '/retries?class=A'])
  const set = right.headers.get('set-cookie') as string
  expect(set).toMatch(
    /^highkiq_login=\d+\.[\w-]{22}\.[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure$/,
  )
  expect(set).not.toContain('second')
  const cookie = `a=b; ${set.split(';')[0]}`

  expect(await (await open('/retries', { headers: { cookie } })).text()).toContain('app-1a2b.js')
  expect((await open('/api/v1/tasks', { headers: { cookie } })).status).toBe(200)
  const json = { 'content-type': 'application/json' }
  const push = (headers: Record<string, string>) =>
    open('/api/v1/jobs', { method: 'POST', body: '{"class":"A","args":[]}', headers: { cookie, ...json, ...headers } })
  expect((await push({ 'sec-fetch-site': 'same-origin' })).status).toBe(201)
  expect((await push({ origin })).status).toBe(201)
  expect((await push({ 'sec-fetch-site': 'cross-site' })).status).toBe(403)
  expect((await push({})).status).toBe(403)

  const [until, id, signature] = (/=(\d+)\.([\w-]+)\.([\w-]+);/.exec(set) as RegExpExecArray).slice(1)
  const others = [
    ...['', 'x', `${until}.`, `${until}.${signature}`, `${until}.${id}.${signature?.slice(1)}x`],
    ...[`${Number(until) + 1}.${id}.${signature}`, `${until}.${'x'.repeat(22)}.${signature}`],
  ]
  for (const value of others) {
    expect((await open('/api/v1/tasks', { headers: { cookie: `highkiq_login=${value}` } })).status, value).toBe(401)
  }
  const out = await open('/logout', { method: 'POST', headers: { cookie, 'sec-fetch-site': 'same-origin' } })
  expect([out.status, out.headers.get('set-cookie')]).toEqual([
    303,
    expect.stringContaining('highkiq_login=; Path=/; Max-Age=0'),
  ])
  // The token of another server, and a token that has changed.
  const other = browser({ origin, auth: { bearer: 'another' } })
  expect((await other('/api/v1/tasks', { headers: { cookie } })).status).toBe(401)
})

test('servers on two ports of one host do not log each other out', async () => {
  const origins = ['http://10.0.0.5:7433', 'http://10.0.0.5:7434']
  const servers = origins.map((origin) => browser({ origin, auth: { bearer: origin } }))
  const signedIn = await Promise.all(
    servers.map((open, i) => {
      const body = new URLSearchParams({ token: origins[i] as string })
      return open('/login', { method: 'POST', body, headers: { origin: origins[i] as string } })
    }),
  )
  // Cookies by name, as a browser keeps them.
  const jar = new Map(
    signedIn.map(({ headers }) => headers.get('set-cookie')?.split(';')[0]?.split('=') as [string, string]),
  )
  const cookie = [...jar].map((pair) => pair.join('=')).join('; ')
  for (const open of servers) expect((await open('/api/v1/tasks', { headers: { cookie } })).status).toBe(200)
})

test("the login form redirects only within this server, and other sites can't log a browser in", async () => {
  const open = browser({ origin: 'http://10.0.0.5:7433', auth: { bearer: 'secret' }, basePath: '/jobs' })
  const send = (to: string, headers: Record<string, string> = { origin: 'http://10.0.0.5:7433' }) =>
    open('/jobs/login', { method: 'POST', body: new URLSearchParams({ token: 'secret', to }), headers })
  for (const to of [
    '',
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '/jobs/..//evil.example',
    '/jobs/.//..//x',
    '/elsewhere',
    'javascript:alert(1)',
    '/jobsite',
    '/jobs\n/x',
  ]) {
    const location = (await send(to)).headers.get('location') as string
    expect(new URL(location, 'http://10.0.0.5').origin, to).toBe('http://10.0.0.5')
    expect(location, to).toMatch(/^\/jobs\//)
  }
  const answer = await send('/jobs/retries?a=1')
  expect(answer.headers.get('location')).toBe('/jobs/retries?a=1')
  expect(answer.headers.get('set-cookie')).toMatch(/; Path=\/jobs; Max-Age=\d+; HttpOnly; SameSite=Strict$/)
  expect((await send('/jobs/', { origin: 'http://evil.example' })).status).toBe(403)
  expect((await send('/jobs/', {})).status).toBe(403)
  // After a link on another site the browser sends no cookie. The page redirects, and then it does.
  const target = '/jobs/login?to=%2Fjobs%2Fretries%3Fa%3D1'
  // A browser sends no Sec-Fetch-Site to an insecure address.
  for (const headers of [{ 'sec-fetch-site': 'cross-site' }, {}] as Record<string, string>[]) {
    const led = await open('/jobs/retries?a=1', { headers })
    expect([led.status, await led.text()]).toEqual([401, expect.stringContaining(`content="0; url=${target}"`)])
  }
  const cookie = String(answer.headers.get('set-cookie')).split(';')[0] as string
  const on = await open(target, { headers: { cookie } })
  expect([on.status, on.headers.get('location')]).toEqual([303, '/jobs/retries?a=1'])
  expect(await (await open(target)).text()).toContain('name="to" value="/jobs/retries?a=1"')
  const hostile = await (await open(`/jobs/login?to=${encodeURIComponent('"><script>alert(1)</script>')}`)).text()
  expect(hostile).not.toContain('<script')
})

test('basic auth makes the browser ask for name and password', async () => {
  const open = browser({ origin: 'https://jobs.example', auth: { basic: { user: 'ann', password: 'pass' } } })
  const closed = await open('/')
  expect([closed.status, closed.headers.get('www-authenticate')]).toEqual([
    401,
    'Basic realm="Highkiq", charset="UTF-8"',
  ])
  expect(await closed.text()).toContain('You are not logged in')
  const authorization = `Basic ${Buffer.from('ann:pass').toString('base64')}`
  expect(await (await open('/', { headers: { authorization } })).text()).toContain('app-1a2b.js')
})

suiteWith([chromium], 'in a browser', () => {
  let there: Browser
  beforeAll(async () => {
    // A name that is not loopback, so that the browser treats it as insecure.
    const args = ['--no-sandbox', '--host-resolver-rules=MAP *.example 127.0.0.1']
    there = await driver.launch({ executablePath: pathOf(chromium) as string, args })
  })
  afterAll(() => there?.close())

  test('after a login, links on other sites open the dashboard until logout', async () => {
    const { url } = await served({ auth: { bearer: 'secret' }, dashboard: built({ 'index.html': '<h1>The app</h1>' }) })
    const { port } = new URL(url)
    const context = await there.newContext()
    onTestFinished(() => context.close())
    const page = await context.newPage()
    await page.goto(`http://jobs.example:${port}/retries?class=A`)
    await page.getByLabel('Token').fill('guess')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('This token is wrong.').waitFor()
    await page.getByLabel('Token').fill('secret')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'The app' }).waitFor()
    expect(page.url()).toBe(`http://jobs.example:${port}/retries?class=A`)
    expect(await page.evaluate('document.cookie')).toBe('')
    expect(await page.evaluate(`fetch('/api/v1/tasks').then(({ status }) => status)`)).toBe(200)
    const push = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"class":"A","args":[]}' }
    expect(await page.evaluate(`fetch('/api/v1/jobs', ${JSON.stringify(push)}).then(({ status }) => status)`)).toBe(201)

    await page.route('http://chat.elsewhere.example/', (route) =>
      route.fulfill({ contentType: 'text/html', body: `<a href="http://jobs.example:${port}/tasks/1?a=b">see</a>` }),
    )
    await page.goto('http://chat.elsewhere.example/')
    await page.getByRole('link', { name: 'see' }).click()
    await page.getByRole('heading', { name: 'The app' }).waitFor()
    expect(page.url()).toBe(`http://jobs.example:${port}/tasks/1?a=b`)
    await page.evaluate(`fetch('/logout', { method: 'POST' })`)
    await page.goto(`http://jobs.example:${port}/`)
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
  })
})

test('behind a TLS proxy the cookie is Secure', async () => {
  const t = api({ auth: { bearer: 'secret' } })
  const cookieBy = async (headers: Record<string, string>) => {
    const body = new URLSearchParams({ token: 'secret' })
    const request = { method: 'POST', headers: { 'sec-fetch-site': 'same-origin', ...headers }, body }
    return (await t.handle(new Request('http://localhost:7433/login', request))).headers.get('set-cookie')
  }
  expect(await cookieBy({})).not.toContain('Secure')
  expect(await cookieBy({ 'x-forwarded-proto': 'http' })).not.toContain('Secure')
  expect(await cookieBy({ 'x-forwarded-proto': 'https' })).toMatch(/; Secure$/)
  expect(await cookieBy({ 'x-forwarded-proto': 'https, http' })).toMatch(/; Secure$/)
})
