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

test('the rate of a task covers its run step by step, and that of a large task comes from a sample', async () => {
  const { call, hq } = api()
  const { tasks } = hq.store
  const began = Date.now() - 100_000
  const rejected = { status: 'failed', messages: [] } as const
  const make = async (id: string, rows: [count: number, at: number][], ends: number) => {
    await tasks.create({
      ...{ id, name: 'prices', job: 'Row', queue: 'rows', template: '{}', window: 1, keepArgs: 'rejected', meta: '{}' },
      ...{ createdAt: began, producer: 'p' },
    })
    let from = 0
    for (const [count, at] of rows) {
      const some = Array.from({ length: count }, () => ({ args: '[1]', rejected: { ...rejected, messages: [] } }))
      await tasks.addRows(id, 'p', from, some, began + at)
      from += count
    }
    await tasks.endAdding(id, 'p', began + ends)
    return (await call('GET', `/api/v1/tasks/${id}/rate`)).body
  }
  const all = await make(
    '00000000000000ab',
    [
      [100, 1000],
      [5, 50_000],
    ],
    90_000,
  )
  expect(all).toMatchObject({ step: 2, isSample: false, from: new Date(began).toISOString() })
  expect(all.points).toHaveLength(45)
  const rates = all.points.map(({ failed }: { failed: number }) => failed)
  expect([rates[0], rates[25], Math.max(...rates.slice(1, 25), ...rates.slice(26))]).toEqual([50, 2.5, 0])
  const large = await make('00000000000000ac', [[5000, 1000]], 2000)
  expect(large).toMatchObject({ step: 1, isSample: true })
  expect(large.points).toMatchObject([{ failed: 0 }, { failed: 5000, finished: 0, error: 0 }])
  expect((await call('GET', '/api/v1/tasks/00000000000000ad/rate')).status).toBe(404)
})
