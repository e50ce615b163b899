import { expect, test } from 'vitest'
import { api } from './api.ts'

test('tasks are created with meta and listed by it; only operators see it, redacted', async () => {
  const { call, hq, link } = api({ redact: ['email'] })
  hq.job('Row', async () => {})
  const make = async (user: string) => {
    const json = { job: 'Row', args: [[1]], meta: { user, about: { email: 'a@b.c' } } }
    return (await call('POST', '/api/v1/tasks', { json })).body.id as string
  }
  const [first, second] = [await make('7'), await make('8')]
  const file = { body: 'a\n1\n', headers: { 'content-type': 'text/csv' } }
  const { id } = (await call('POST', '/api/v1/tasks/import?job=Row&meta.user=7&meta.shop=x', file)).body
  const listed = (await call('GET', '/api/v1/tasks?meta.user=7')).body
  expect(listed.items.map((task: { id: string }) => task.id)).toEqual([id, first])
  expect(listed.items[1].meta).toEqual({ user: '7', about: { email: '[redacted]' } })
  expect((await call('GET', '/api/v1/tasks?meta.user=7&meta.shop=x')).body.items).toHaveLength(1)
  expect((await call('GET', `/api/v1/tasks/${second}`)).body.meta).toMatchObject({ user: '8' })
  expect((await call('POST', `/api/v1/tasks/${second}/pause`)).body).not.toHaveProperty('meta')
  for (const [path, code] of [
    ['/api/v1/tasks?meta=7', 'INVALID_REQUEST'],
    ['/api/v1/tasks?job.x=7', 'INVALID_REQUEST'],
    ['/api/v1/tasks?meta.a%20b=7', 'INVALID_OPTION'],
  ] as const) {
    const { status, body } = await call('GET', path)
    expect([status, body.error.code], path).toEqual([400, code])
  }
  const json = { job: 'Row', args: [[1]], meta: { a: 'x'.repeat(300) } }
  expect((await call('POST', '/api/v1/tasks', { json })).status).toBe(400)
  // A submitter does not see what the app stored about the task.
  const seen = await call('GET', await link({ id: second }).then((path) => path.replace('/tasks/', '/api/v1/tasks/')))
  expect(seen.body).toMatchObject({ id: second })
  expect(seen.body).not.toHaveProperty('meta')
})
