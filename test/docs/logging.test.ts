import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Example } from './example.ts'

/** Runs a job that fails, and prints the events that Sentry's SDK sent. */
const PROGRAM = `
import { createServer } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { once } from 'node:events'

const events: object[] = []
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes
  const items = body.toString().split('\\n').filter((line) => line !== '').map((line) => JSON.parse(line))
  for (const [i, item] of items.entries()) if (item.type === 'event') events.push(items[i + 1])
  response.end('{}')
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.env.SENTRY_DSN = 'http://key@127.0.0.1:' + (server.address() as { port: number }).port + '/1'
process.env.HIGHKIQ_URL = 'sqlite::memory:'

const Sentry = await import('@sentry/node')
const { hq } = await import('./app.ts')
const { BusinessFailure } = await import('highkiq')
const Refused = hq.job('Refused', async () => { throw new BusinessFailure('no price') })
const Fail = hq.job('Fail', { retry: 1, retryIn: 0 }, async (_ctx, _iban: string) => {
  Sentry.captureMessage('inside')
  throw new TypeError('broken')
})
await Refused.performAsync()
const jid = await Fail.performAsync(['iban', 42].join('-'))
const worker = hq.worker({ pollInterval: 0.02 })
await worker.start()
while ((await hq.dead.size()) === 0) await new Promise((resolve) => setTimeout(resolve, 20))
await worker.stop()
await hq.close()
await Sentry.close()
server.close()
console.log(JSON.stringify({ jid, events }))
`

interface Event {
  message?: string
  exception?: { values: { type: string; value: string }[] }
  tags: Record<string, string>
  contexts: { job?: Record<string, unknown> }
  fingerprint?: string[]
}

test("Sentry's SDK sends each failed attempt with its job, and no arguments and no business failures", () => {
  const example = new Example('docs/logging.md', ['sentry.ts', 'app.ts'], ['@sentry'])
  writeFileSync(join(example.folder, 'main.ts'), PROGRAM)
  const printed = example.run('main.ts')
  expect(printed).not.toContain('iban-42')
  const { jid, events } = JSON.parse(printed) as { jid: string; events: Event[] }
  const tags = { 'highkiq.class': 'Fail', 'highkiq.queue': 'default' }
  const errors = events.filter(({ exception }) => exception)
  expect(errors.map(({ contexts }) => contexts.job)).toEqual([
    { jid, attempt: 1, next: expect.stringMatching(/^retry at /), during: 'Job raised exception' },
    { jid, attempt: 2, next: 'exhausted', during: 'Job raised exception' },
  ])
  for (const error of errors) {
    expect(error).toMatchObject({ tags, fingerprint: ['{{ default }}', 'Fail'] })
    expect(error.exception?.values).toMatchObject([{ type: 'TypeError', value: 'broken' }])
  }
  const inside = events.filter(({ message }) => message === 'inside')
  expect(inside).toMatchObject([
    { tags, contexts: { job: { jid, attempt: 1 } } },
    { tags, contexts: { job: { jid, attempt: 2 } } },
  ])
  expect(events).toHaveLength(4)
})

test("a line that a job logs has the app's fields and the job, and no secret", () => {
  const printed = new Example('docs/logging.md', ['logged.ts'], ['pino']).run('logged.ts')
  const lines = printed
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.find(({ msg }) => msg === 'charging')).toMatchObject({
    ...{ service: 'shop', class: 'Charge', queue: 'default', jid: expect.any(String) },
    ...{ order: 7, iban: '[Redacted]' },
  })
})
