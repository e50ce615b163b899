import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect } from 'vitest'
import { unheard } from '../../src/cli/serve-web.ts'
import { until } from '../engine/bench.ts'
import { caller } from '../http/api.ts'
import { test } from './command.ts'

const JOBS = `import { Highkiq } from 'highkiq'
export const hq = new Highkiq({ url: 'sqlite:jobs.db' })
hq.job('Row', async () => {})
`

test('highkiq web serves the API until it is told to stop', async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS })
  const web = folder.start(['web', '-r', 'jobs.mjs', '--port', '0'], { HIGHKIQ_WEB_TOKEN: 'secret' })
  await until(() => /http:\S+\/api\/v1 is served/.test(web.stdout))
  const origin = /(http:\S+)\/api\/v1 is/.exec(web.stdout)?.[1] as string
  expect(web.stdout).toContain(`The dashboard of sqlite:jobs.db is at ${origin}/\n`)
  const call = caller(origin, (request) => fetch(request))
  expect((await call('GET', '/api/v1/tasks')).status).toBe(401)
  const headers = { authorization: 'Bearer secret', 'content-type': 'text/csv' }
  const made = await call('POST', '/api/v1/tasks/import?job=Row', { body: 'sku\na\nb\n', headers })
  expect(made.body.total).toBe(2)
  web.kill('SIGTERM')
  expect((await web.ended).code).toBe(0)
})

test('highkiq web listens for others only with a token', async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS })
  const { code, stderr } = await folder.start(['web', '-r', 'jobs.mjs', '--host', '0.0.0.0']).ended
  expect([code, stderr]).toEqual([2, expect.stringContaining('is reached by others: give a token')])
})

test('where nothing can listen, highkiq web says in one line what to do', async ({ folder }) => {
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
    stderr: `highkiq: port ${port} of 127.0.0.1 is in use, perhaps by another highkiq web: choose another port (0: any that is free)\n`,
  })
  for (const { code, stderr } of [elsewhere, nowhere]) {
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^highkiq: \S+ is no address of this machine .*\n$/)])
  }
  // Root may listen at any port.
  const denied = unheard(Object.assign(new Error(), { code: 'EACCES' }), { port: 80, host: '127.0.0.1' })
  expect(denied).toMatchObject({ exitCode: 1, message: expect.stringContaining('choose one above 1023') })
})

test('highkiq web --read-only lets everything be looked at, and nothing changed', async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS })
  const web = folder.start(['web', '-r', 'jobs.mjs', '--port', '0', '--read-only'])
  await until(() => /http:\S+\/api\/v1 is served/.test(web.stdout))
  const call = caller(/(http:\S+)\/api\/v1 is/.exec(web.stdout)?.[1] as string, (request) => fetch(request))
  expect((await call('GET', '/api/v1/about')).body.readOnly).toBe(true)
  const { status, body } = await call('POST', '/api/v1/jobs', { json: { class: 'Row', args: [] } })
  expect([status, body.error.code]).toEqual([403, 'READ_ONLY'])
})

test('highkiq work --web serves the dashboard beside its jobs, by the same rules, as long as it works', async ({
  folder,
}) => {
  folder.write({ 'jobs.mjs': JOBS })
  const work = folder.start(['work', '-r', 'jobs.mjs', '--web=0', '--log-format', 'plain'])
  const [[origin = '']] = (await work.says(/the dashboard is at (http:\S+)\//)) as [string[]]
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

test('highkiq work --web listens for others only with a token', async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS, 'c.yml': 'web: 0\nweb_host: 0.0.0.0\n' })
  const work = (args: string[]) => folder.start(['work', '-r', 'jobs.mjs', '--log-format', 'plain', ...args])
  const refused = await Promise.all([
    work(['--web', '0', '--web-host', '0.0.0.0']).ended,
    work(['-C', 'c.yml', '--processes', '2']).ended,
    work(['--web', 'x']).ended,
  ])
  expect(refused.map(({ code }) => code)).toEqual([2, 2, 2])
  expect(refused[0]?.stderr).toContain('is reached by others: give a token')
  expect(refused[1]?.stderr).toContain('is reached by others: give a token')
  expect(refused[2]?.stderr).toContain('It is a port up to 65535')
})

test('of several processes one serves the dashboard, for those who have the token', async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS, 'c.yml': 'web: 0\nweb_host: 0.0.0.0\nprocesses: 2\n' })
  const args = ['work', '-r', 'jobs.mjs', '--log-format', 'plain', '-C', 'c.yml']
  const several = folder.start(args, { HIGHKIQ_WEB_TOKEN: 'secret' })
  const [[port = '']] = (await several.says(/the dashboard is at http:\/\/0\.0\.0\.0:(\d+)\//)) as [string[]]
  const call = caller(`http://127.0.0.1:${port}`, (request) => fetch(request))
  expect((await call('GET', '/api/v1/stats')).status).toBe(401)
  const headers = { authorization: 'Bearer secret' }
  await until(async () => (await call('GET', '/api/v1/stats', { headers })).body.processes === 2)
  several.kill('SIGTERM')
  const { code, stderr } = await several.ended
  expect([code, stderr.match(/the dashboard is at/g)?.length]).toEqual([0, 1])
})
