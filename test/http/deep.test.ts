/** Tests of values that are nested more deeply than JSON can be written. */

import { expect, test } from 'vitest'
import { api } from './api.ts'

const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
const JSON_BODY = { 'content-type': 'application/json' }

test('a body that is nested too deeply is refused, wherever the depth is', async () => {
  const t = api()
  t.hq.job('J', async () => {})
  t.hq.ordered('Sync', { shards: 1 }, async () => {})
  const queued = await t.hq.push({ class: 'J', args: [1], queue: 'low' })
  const children = `${'{"class":"J","children":['.repeat(5000)}${']}'.repeat(5000)}`
  const bodies: [method: string, path: string, body: string, headers?: Record<string, string>][] = [
    ['POST', '/jobs', `{"class":"J","args":[${deep}]}`],
    ['POST', '/jobs', `{"class":"J","args":[${deep}]}`, { 'idempotency-key': 'a' }],
    ['POST', '/jobs', `[{"class":"J","args":[${deep}]}]`, { 'idempotency-key': 'b' }],
    ['POST', '/jobs', `{"class":"J","args":[${deep}]}\n`, { 'content-type': 'application/x-ndjson' }],
    ['POST', '/tasks', `{"job":"J","args":[[${deep}]]}`, { 'idempotency-key': 'c' }],
    ['POST', '/tasks', `{"job":"J","args":[],"meta":{"a":${deep}}}`],
    ['POST', '/batches', `{"jobs":[{"class":"J","args":[]}],"data":${deep}}`],
    ['POST', '/flows', children],
    ['POST', '/ordered/Sync', `{"id":1,"payload":${deep}}`],
    ['POST', '/dead/all/retry', `{"args":{"0":${deep}}}`],
    ['POST', '/jobs/all/retry', `{"args":{"0":${deep}}}`],
    ['POST', `/queues/low/jobs/${queued}/edit`, `{"args":[${deep}]}`],
    ['POST', `/queues/low/jobs/${queued}/duplicate`, `{"args":[${deep}]}`],
    ['PATCH', '/limits/queue:low', `{"concurrency":${deep}}`],
  ]
  for (const [method, path, body, headers] of bodies) {
    const answer = await t.call(method, `/api/v1${path}`, { body, headers: { ...JSON_BODY, ...headers } })
    expect([path, answer.status, answer.body.error.message]).toEqual([
      path,
      400,
      expect.stringMatching(/^(the body|line 1) is nested deeper than 1,000 levels: send a flatter one$/),
    ])
  }
})

test('an integer with millions of digits, which would keep the server busy for seconds, is refused', async () => {
  const { call } = api()
  const body = `{"class":"J","args":[${'9'.repeat(4_000_000)}]}`
  const answer = await call('POST', '/api/v1/jobs', { body, headers: JSON_BODY })
  expect([answer.status, answer.body.error.code]).toEqual([400, 'INVALID_ARGS'])
  expect(answer.body.error.message).toContain('args[0] is Infinity')
})

test('jobs and rows with values that are nested too deeply are shown cut', async () => {
  const t = api()
  const job = {
    class: 'J',
    args: ['DEEP'],
    queue: 'low',
    jid: 'a1',
    tags: ['x'],
    error_class: 'E',
    error_message: 'no',
  }
  const text = JSON.stringify(job).replace('"DEEP"', deep)
  await t.raw(text, 'low')
  await t.hq.store.jobs.push([{ to: 'dead', text: text.replace('a1', 'a2'), score: 1 }], Date.now())
  const paths = [
    ...['/queues/low/jobs', '/queues/low/jobs/a1', '/queues/low/classes', '/jobs/a1', '/classes/J', '/jobs/counts'],
    ...[
      '/jobs',
      '/jobs?args.0=x',
      '/jobs?search=*x*',
      '/dead',
      '/dead/errors',
      '/dead/a2',
      '/jobs/a2',
      '/dead?error=no',
    ],
  ]
  const statuses: [path: string, status: number][] = []
  for (const path of paths) statuses.push([path, (await t.call('GET', `/api/v1${path}`)).status])
  expect(statuses).toEqual(paths.map((path) => [path, 200]))
  const edited = await t.call('POST', '/api/v1/queues/low/jobs/a1/edit', { json: { args: [1] } })
  expect([edited.status, edited.body]).toEqual([200, { done: 1, refused: 0 }])
})
