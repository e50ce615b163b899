import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { api } from './api.ts'

test('rows are found by the values of their fields, and never by a value that redact hides', async () => {
  const { call, hq } = api({ redact: ['secret'] })
  const Row = hq.job('Row', async () => {})
  const rows = [
    [{ sku: 'a', price: 0, secret: 'x', size: { w: 1 } }],
    [{ sku: 'a', price: 1.5, secret: 'y' }],
    [{ sku: 'b', price: 0 }],
    ['a', 0],
  ]
  const task = await hq.tasks.create(Row as never, rows as never)
  const found = async (query: string) => {
    const { body } = await call('GET', `/api/v1/tasks/${task.id}/events?${query}`)
    return body.items.map(({ index }: { index: number }) => index)
  }
  expect(await found('field.sku=a')).toEqual([0, 1])
  expect(await found('field.sku=a&field.price=0')).toEqual([0])
  expect(await found('field.price=1.5')).toEqual([1])
  expect(await found(`field.size=${encodeURIComponent('{"w":1}')}`)).toEqual([0])
  // A row that is no object has its arguments as fields.
  expect(await found('field.0=a')).toEqual([3])
  expect(await found('field.sku=A')).toEqual([])
  expect(await found('field.constructor=x')).toEqual([])
  expect(await found('field.secret=x')).toEqual([])
  expect(await found('field.sku=a&search=1.5')).toEqual([1])
})

test('operators see the file of an import, who sent it, and the jobs of a task that run after its rows', async () => {
  const { call, hq, link } = api({ jobs: (hq) => void hq.job('Row', async () => {}) })
  const Row = hq.jobNamed('Row')
  const body = new FormData()
  body.set('file', new File(['sku\na-1\n'], 'spring.csv', { type: 'text/csv' }))
  const { id } = (await call('POST', '/api/v1/tasks/import?job=Row&name=Spring', { body })).body
  const status = async (of: string) => (await call('GET', `/api/v1/tasks/${of}`)).body
  expect(await status(id)).toMatchObject({ name: 'Spring', file: { name: 'spring.csv', by: 'loopback' } })
  const mailed = hq.job('SendMail', async () => {})
  const called = await hq.tasks.create(Row as never, [[]] as never, { onDone: mailed, onFailure: mailed })
  expect(await status(called.id)).toMatchObject({ onDone: 'SendMail', onFailure: 'SendMail' })
  const stream = Readable.from([Buffer.from('sku\na-2\n')])
  const file = { name: 'mail.csv', bytes: 8, by: 'ann@example.org' }
  const sent = await hq.tasks.import(Row as never, stream, { format: 'csv', file })
  expect((await status(sent.id)).file).toEqual(file)
  const wrong = hq.tasks.import(Row as never, Buffer.from('a\n1'), { file: { bytes: -1 } })
  await expect(wrong).rejects.toThrow(/file: bytes must be a number of bytes, 0 or more \(got -1\)/)

  // A link shows none of it.
  for (const task of [called, sent]) {
    const [, token] = (await link(task)).split('?token=')
    const seen = await call('GET', `/api/v1/tasks/${task.id}?token=${token}`)
    expect(seen.status).toBe(200)
    for (const name of ['file', 'onDone', 'onFailure']) expect(seen.body).not.toHaveProperty(name)
  }
})
