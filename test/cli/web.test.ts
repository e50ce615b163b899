import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect } from 'vitest'
import { unheard } from '../../src/cli/commands/web.ts'
import { until } from '../engine/bench.ts'
import { caller } from '../http/bench.ts'
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
  expect([code, stderr]).toEqual([2, expect.stringContaining('is reached by others: give --token')])
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
    stderr: `highkiq: port ${port} of 127.0.0.1 is in use, perhaps by another highkiq web: choose one with --port (0: any that is free)\n`,
  })
  for (const { code, stderr } of [elsewhere, nowhere]) {
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^highkiq: \S+ is no address of this machine .*\n$/)])
  }
  // Root may listen at any port.
  const denied = unheard(Object.assign(new Error(), { code: 'EACCES' }), { port: 80, host: '127.0.0.1' })
  expect(denied).toMatchObject({ exitCode: 1, message: expect.stringContaining('choose one above 1023') })
})
