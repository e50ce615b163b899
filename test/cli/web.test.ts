import { expect } from 'vitest'
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
  expect([code, stderr]).toEqual([2, expect.stringContaining('is reached by others: give auth')])
})
