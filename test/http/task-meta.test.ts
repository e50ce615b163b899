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

test('tasks are not found by a value of meta that redact hides', async () => {
  const { call, hq } = api({ redact: ['email'] })
  await hq.tasks.create(
    hq.job('Row', async () => {}),
    [[]],
    { meta: { email: 'a@b.c', user: 7 } },
  )
  for (const path of ['/api/v1/tasks', '/api/v1/tasks/link']) {
    const { status, body } = await call('GET', `${path}?meta.user=7&meta.email=a@b.c`)
    expect([status, body.error.code], path).toEqual([400, 'INVALID_REQUEST'])
    expect(body.error.message).toMatch(/^meta\.email is hidden by redact/)
  }
  const { items } = (await call('GET', '/api/v1/tasks?meta.user=7')).body
  expect(items[0].meta).toEqual({ email: '[redacted]', user: 7 })
})

test('a link by meta lists the tasks with it, and gives its rights to them alone', async () => {
  const auth = { bearer: 'a long secret' }
  const { call, handle, hq } = api({ auth, origin: 'https://jobs.example' })
  const headers = { authorization: 'Bearer a long secret' }
  const Row = hq.job('Row', async () => {})
  const make = (name: string, meta: object) => hq.tasks.create(Row, [[]], { name, meta: { ...meta } })
  await make('Mine', { user: 7, note: 'private' })
  await make('Of another', { user: 8 })
  for (let n = 0; n < 25; n++) await make(`Mine ${n}`, { user: 7, shop: 'a&b look' })
  const linkTo = async (search: string) => (await call('GET', `/api/v1/tasks/link?${search}`, { headers })).body
  const page = async (url: string) => {
    const answer = await handle(new Request(`https://jobs.example${url}`, { headers: { accept: 'text/html' } }))
    return { status: answer.status, html: (await answer.text()).replaceAll('&#38;', '&') }
  }
  const links = (html: string) => [...html.matchAll(/href="([^"]*tasks\/[^"]*)"/g)].map(([, href = '']) => href)

  const link = await linkTo('meta.user=7')
  expect(link).toMatchObject({ rights: 'change', url: `/tasks?meta.user=7&token=${link.token}` })
  const first = await page(link.url)
  expect(links(first.html)).toHaveLength(25)
  const older = /href="(\?[^"]*cursor=[^"]*)"/.exec(first.html)?.[1]
  const second = await page(`/tasks${older}`)
  expect(second.html).toContain('<bdi>Mine</bdi>')
  expect(first.html + second.html).not.toMatch(/Of another|private/)

  // The links of its tasks have the rights of the list.
  const [mine = ''] = links(second.html)
  expect((await call('POST', `/api/v1${mine.replace('?', '/cancel?')}`, { json: {} })).status).toBe(200)
  const reading = await linkTo('meta.user=7&rights=read')
  const [readOnly = ''] = links((await page(reading.url)).html)
  expect((await page(readOnly)).status).toBe(200)
  const refused = await call('POST', `/api/v1${readOnly.replace('?', '/cancel?')}`, { json: {} })
  expect([refused.status, refused.body.error.code]).toEqual([403, 'READ_ONLY'])

  // The order of the members does not matter; other values, fewer or more members do.
  const both = await linkTo('meta.user=7&meta.shop=a%26b%20look')
  expect((await page(`/tasks?meta.shop=a%26b+look&meta.user=7&token=${both.token}`)).status).toBe(200)
  for (const search of [
    'meta.user=8',
    'meta.user=7&meta.shop=a%26b%20look',
    'meta.user=7&meta.user=8',
    'meta.user2=7',
    'state=running',
  ]) {
    expect((await page(`/tasks?${search}&token=${link.token}`)).status, search).toBe(401)
  }
  const bare = reading.token.replace('read.', '')
  expect((await page(`/tasks?meta.user=7&token=${bare}`)).status).toBe(401)
  // It opens nothing else, as a token or as a bearer token.
  for (const path of ['/api/v1/tasks', '/api/v1/tasks?meta.user=7', '/api/v1/queues', `/api/v1/tasks/tasks meta`]) {
    const asBearer = { headers: { authorization: `Bearer ${link.token}` } }
    expect((await call('GET', path, asBearer)).status, path).toBe(401)
  }
  for (const [search, code] of [
    ['', 'INVALID_REQUEST'],
    ['?meta.a%20b=7', 'INVALID_OPTION'],
  ] as const) {
    const { status, body } = await call('GET', `/api/v1/tasks/link${search}`, { headers })
    expect([status, body.error.code], search).toEqual([400, code])
  }
})
