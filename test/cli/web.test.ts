import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect } from 'vitest'
import { withListenAdvice } from '../../src/http/node.ts'
import { until } from '../engine/bench.ts'
import { caller } from '../http/api.ts'
import { test } from './command.ts'

const JOBS = `import { Highkiq } from 'highkiq'
export const hq = new Highkiq({ url: 'sqlite:jobs.db' })
hq.job('Row', async () => {})
`

test('highkiq web serves the API until SIGTERM', async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS })
  const web = folder.start(['web', '-r', 'jobs.mjs', '--port', '0'], { HIGHKIQ_WEB_TOKEN: 'secret' })
  await until(() => /HTTP API is at http/.test(web.stdout))
  const origin = /is at (http:\S+)\/api\/v1 /.exec(web.stdout)?.[1] as string
  expect(web.stdout).toContain(`The dashboard of sqlite:jobs.db is at ${origin}/\n`)
  const call = caller(origin, (request) => fetch(request))
  expect((await call('GET', '/api/v1/tasks')).status).toBe(401)
  const headers = { authorization: 'Bearer secret', 'content-type': 'text/csv' }
  const made = await call('POST', '/api/v1/tasks/import?job=Row', { body: 'sku\na\nb\n', headers })
  expect(made.body.total).toBe(2)
  web.kill('SIGTERM')
  expect((await web.ended).code).toBe(0)
})

test('highkiq web needs a token to listen on a public address', async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS })
  const { code, stderr } = await folder.start(['web', '-r', 'jobs.mjs', '--host', '0.0.0.0']).ended
  expect([code, stderr]).toEqual([2, expect.stringContaining('so it needs a token')])
})

test("highkiq web prints one line when it can't listen", async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS })
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const web = (...args: string[]) => folder.run(['web', '-r', 'jobs.mjs', ...args], { HIGHKIQ_WEB_TOKEN: 'secret' })
  const [inUse, elsewhere, nowhere] = await Promise.all([
    web('--port', String(port)),
    web('--port', '0', '--host', '192.0.2.7'),
    web('--port', '0', '--host', 'no-such-host.invalid'),
  ])
  taken.close()
  expect(inUse).toEqual({
    code: 1,
    stdout: '',
    stderr: `highkiq: port ${port} of 127.0.0.1 is in use, perhaps by another highkiq web: choose another port (0 picks a free one)\n`,
  })
  for (const { code, stderr } of [elsewhere, nowhere]) {
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^highkiq: \S+ is not an address of this machine .*\n$/)])
  }
  // Root may listen at any port.
  const denied = withListenAdvice(Object.assign(new Error(), { code: 'EACCES' }), 80, '127.0.0.1')
  expect(denied.message).toContain('choose one above 1023')
})

test('highkiq web --read-only refuses changes', async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS })
  const web = folder.start(['web', '-r', 'jobs.mjs', '--port', '0', '--read-only'])
  await until(() => /HTTP API is at http/.test(web.stdout))
  const call = caller(/is at (http:\S+)\/api\/v1 /.exec(web.stdout)?.[1] as string, (request) => fetch(request))
  expect((await call('GET', '/api/v1/about')).body.readOnly).toBe(true)
  const { status, body } = await call('POST', '/api/v1/jobs', { json: { class: 'Row', args: [] } })
  expect([status, body.error.code]).toEqual([403, 'READ_ONLY'])
})

test('highkiq work --web serves the dashboard until the worker stops', async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS })
  const work = folder.start(['work', '-r', 'jobs.mjs', '--web=0', '--log-format', 'plain'])
  const [[origin = '']] = (await work.waitFor(/the dashboard is at (http:\S+)\//)) as [string[]]
  expect(origin).toMatch(/^http:\/\/127\.0\.0\.1:/)
  const call = caller(origin, (request) => fetch(request))
  const page = await fetch(`${origin}/queues`, { headers: { accept: 'text/html' } })
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<script type="module"')])
  const made = await call('POST', '/api/v1/tasks/import?job=Row', {
    body: 'sku\na\nb\n',
    headers: { 'content-type': 'text/csv' },
  })
  await until(async () => (await call('GET', `/api/v1/tasks/${made.body.id}`)).body.counts.finished === 2)
  const leave = new AbortController()
  await fetch(`${origin}/api/v1/live`, { signal: leave.signal })
  // Nobody's open page keeps it from stopping.
  work.kill('SIGTERM')
  expect((await work.ended).code).toBe(0)
  leave.abort()
})

test('highkiq work --web needs a token to listen on a public address', async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS, 'c.yml': 'web: 0\nweb_host: 0.0.0.0\n' })
  const work = (args: string[]) => folder.start(['work', '-r', 'jobs.mjs', '--log-format', 'plain', ...args])
  const refused = await Promise.all([
    work(['--web', '0', '--web-host', '0.0.0.0']).ended,
    work(['-C', 'c.yml', '--processes', '2']).ended,
    work(['--web', 'x']).ended,
  ])
  expect(refused.map(({ code }) => code)).toEqual([2, 2, 2])
  expect(refused[0]?.stderr).toContain('so it needs a token')
  expect(refused[1]?.stderr).toContain('so it needs a token')
  expect(refused[2]?.stderr).toContain('It must be a port up to 65535')
})

test('one of several processes serves the dashboard, with the token', async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS, 'c.yml': 'web: 0\nweb_host: 0.0.0.0\nprocesses: 2\n' })
  const args = ['work', '-r', 'jobs.mjs', '--log-format', 'plain', '-C', 'c.yml']
  const several = folder.start(args, { HIGHKIQ_WEB_TOKEN: 'secret' })
  const [[port = '']] = (await several.waitFor(/the dashboard is at http:\/\/0\.0\.0\.0:(\d+)\//)) as [string[]]
  const call = caller(`http://127.0.0.1:${port}`, (request) => fetch(request))
  expect((await call('GET', '/api/v1/stats')).status).toBe(401)
  const headers = { authorization: 'Bearer secret' }
  await until(async () => (await call('GET', '/api/v1/stats', { headers })).body.processes === 2)
  several.kill('SIGTERM')
  const { code, stderr } = await several.ended
  expect([code, stderr.match(/the dashboard is at/g)?.length]).toEqual([0, 1])
})
