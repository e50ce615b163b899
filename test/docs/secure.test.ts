import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Example } from './example.ts'

/** Asks both handlers of the page with both tokens, and prints the statuses. */
const PROGRAM = `
import { once } from 'node:events'

process.env.HIGHKIQ_URL = 'sqlite::memory:'
Object.assign(process.env, { SUPPORT_TOKEN: 'support'.repeat(5), ANN_TOKEN: 'ann'.repeat(11), PORT: '0' })
const { server } = await import('./server.ts')
if (!server.listening) await once(server, 'listening')
const { port } = server.address() as { port: number }

async function ask(method: string, path: string, token?: string): Promise<void> {
  const headers = { 'content-type': 'application/json', ...(token ? { authorization: 'Bearer ' + token } : {}) }
  const body = method === 'POST' ? JSON.stringify({ class: 'Mail', args: [] }) : undefined
  const answer = await fetch('http://127.0.0.1:' + port + path, { method, headers, body })
  const { error } = (await answer.json()) as { error?: { code: string } }
  console.log(method, path, answer.status, error?.code ?? '')
}
const { SUPPORT_TOKEN, ANN_TOKEN } = process.env
await ask('GET', '/jobs/api/v1/stats')
await ask('GET', '/jobs/api/v1/stats', SUPPORT_TOKEN)
await ask('POST', '/jobs/api/v1/jobs', SUPPORT_TOKEN)
await ask('POST', '/admin/jobs/api/v1/jobs', SUPPORT_TOKEN)
await ask('POST', '/admin/jobs/api/v1/jobs', ANN_TOKEN)
process.exit(0)
`

test('of the two handlers of the page on security, one only shows, and each has a login of its own', () => {
  const example = new Example('docs/secure.md', ['server.ts'])
  writeFileSync(join(example.folder, 'main.ts'), PROGRAM)
  expect(example.run('main.ts').trim().split('\n')).toEqual([
    expect.stringMatching(/^GET \/jobs\/api\/v1\/stats 401/),
    'GET /jobs/api/v1/stats 200 ',
    'POST /jobs/api/v1/jobs 403 READ_ONLY',
    expect.stringMatching(/^POST \/admin\/jobs\/api\/v1\/jobs 401/),
    expect.stringMatching(/^POST \/admin\/jobs\/api\/v1\/jobs 201/),
  ])
})
