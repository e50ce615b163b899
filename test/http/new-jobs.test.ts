import type { StandardSchemaV1 } from '@standard-schema/spec'
import { expect, test } from 'vitest'
import type { AuditEntry } from '../../src/http/access/audit.ts'
import { api } from './api.ts'

const encryption = { keys: { 1: Buffer.alloc(32, 1) }, active: 1 }

/** Takes a price as a text or a number, and makes a number of it. */
const schema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    jsonSchema: {
      input: () => ({ type: 'object', properties: { sku: { type: 'string' }, price: { type: 'string' } } }),
    },
    validate(row: { sku?: unknown; price?: unknown }) {
      const issues = [
        ...(typeof row.sku === 'string' ? [] : [{ message: 'sku is missing', path: ['sku'] }]),
        ...(Number(row.price) > 0 ? [] : [{ message: 'must be above 0', path: [{ key: 'price' }] }]),
      ]
      return issues.length > 0 ? { issues } : { value: { ...row, price: Number(row.price) } }
    },
  },
} as unknown as StandardSchemaV1<unknown, { sku: string; price: number }>

const shop = (options: Parameters<typeof api>[0] = {}) =>
  api({
    ...options,
    jobs: (hq) => {
      hq.job('Import', { validate: schema, queue: 'rows', priority: 2, tags: ['file'] }, async () => {})
      hq.job('Plain', async (_ctx, ..._args: unknown[]) => {})
    },
  })

test('a class tells its defaults, the schema of its row, and the arguments of its newest job', async () => {
  const { call, hq } = shop()
  const of = async (name: string) => (await call('GET', `/api/v1/classes/${encodeURIComponent(name)}`)).body
  expect(await of('Import')).toEqual({
    ...{ class: 'Import', defined: true, defaults: { queue: 'rows', priority: 2, tags: ['file'] } },
    ...{ tracked: false, encrypted: false, example: null, withheld: null, seenIn: null },
    schema: { type: 'object', properties: { sku: { type: 'string' }, price: { type: 'string' } } },
  })
  await hq.push({ class: 'Other::Job/x', args: [1], created_at: 1000, wait: 60 })
  const newest = await hq.push({ class: 'Other::Job/x', args: [2n ** 60n], created_at: 2000, queue: 'rare' })
  await hq.push({ class: 'Another', args: ['Other::Job/x'] })
  expect(await of('Other::Job/x')).toEqual({
    ...{ class: 'Other::Job/x', defined: false, defaults: null, tracked: false, encrypted: false, schema: null },
    ...{ example: { jid: newest, argsText: '[1152921504606846976]' }, withheld: null, seenIn: 'rare' },
  })
  expect(await of('Plain')).toMatchObject({ defined: true, schema: null, example: null, withheld: null })
})

test('arguments with hidden parts are no example', async () => {
  const { call, hq } = shop({ redact: ['password'], app: { encryption } })
  hq.job('Secret', { encrypt: true }, async (_ctx, _id: number, _secret: string) => {})
  await hq.push({ class: 'Plain', args: [{ password: 'x' }] })
  await hq.push({ class: 'Secret', args: [1, 'secret'] })
  const of = async (name: string) => (await call('GET', `/api/v1/classes/${name}`)).body
  expect(await of('Plain')).toMatchObject({ example: null, withheld: 'redacted', seenIn: 'default' })
  expect(await of('Secret')).toMatchObject({ example: null, withheld: 'encrypted', encrypted: true })
})

test('a push with validate=1 stores the row that the schema makes, or names each wrong field', async () => {
  const audited: AuditEntry[] = []
  const { call, queue } = shop({ audit: (entry) => audited.push(entry) })
  const push = (json: unknown, headers: Record<string, string> = {}) =>
    call('POST', '/api/v1/jobs?validate=1', { json, headers })
  const job = { class: 'Import', args: [{ sku: 'a', price: '1.5' }] }
  const [first, again] = [await push(job, { 'idempotency-key': 'k' }), await push(job, { 'idempotency-key': 'k' })]
  expect([first.status, again.status, again.body]).toEqual([201, 200, first.body])
  expect((await queue('rows')).map(({ args }) => args)).toEqual([[{ sku: 'a', price: 1.5 }]])
  expect(audited[0]).toMatchObject({ target: { class: 'Import', queue: 'rows', jid: first.body.jid }, count: 1 })
  expect(await push({ class: 'Import', args: [{ price: -1 }] })).toMatchObject({
    status: 400,
    body: {
      error: {
        code: 'INVALID_ARGS',
        message: 'Import: sku: sku is missing; price: must be above 0',
        details: {
          issues: [
            { path: 'sku', message: 'sku is missing' },
            { path: 'price', message: 'must be above 0' },
          ],
        },
      },
    },
  })
  for (const [json, status, words] of [
    [{ class: 'Import', args: [1, 2] }, 400, 'args must have one element, the row that its schema validates'],
    [{ class: 'Plain', args: [1] }, 400, 'Plain has no schema (validate): leave validate out'],
    [{ class: 'Nobody', args: [1] }, 404, 'no job is named'],
    [[job], 400, 'validate=1 takes one job: push each job of a list in a request of its own'],
  ] as const) {
    const answer = await push(json)
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(words)])
  }
  const lines = { method: 'POST', body: JSON.stringify(job), headers: { 'content-type': 'application/x-ndjson' } }
  expect((await call('POST', '/api/v1/jobs?validate=1', lines)).status).toBe(400)
  expect(await queue('rows')).toHaveLength(1)
})
