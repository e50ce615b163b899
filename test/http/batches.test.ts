import { expect, test } from 'vitest'
import { api } from './api.ts'

test('batches are listed page by page, shown and cancelled', async () => {
  const t = api({ redact: ['password'] })
  const Work = t.hq.job('Work', () => {})
  const options = { description: 'import', data: { password: 'secret', shop: 7 } }
  const first = await t.hq.batch(options, () => Work.performBulk([[], []]))
  const flow = await t.hq.flow({ job: Work, children: [{ job: Work }] })
  const page = (await t.call('GET', '/api/v1/batches?limit=1')).body
  const rest = (await t.call('GET', `/api/v1/batches?cursor=${page.next}`)).body
  const bids = [...page.items, ...rest.items].map(({ bid }: { bid: string }) => bid)
  expect([bids.sort(), rest.next]).toEqual([[first, flow?.bid].sort(), null])
  const batch = (await t.call('GET', `/api/v1/batches/${first}`)).body
  expect(batch).toMatchObject({ bid: first, state: 'running', total: 2, pending: 2, description: 'import' })
  expect(JSON.stringify(batch.data)).not.toContain('secret')
  const waiting = (await t.call('GET', `/api/v1/batches/${flow?.bid}`)).body.waiting
  expect(waiting).toEqual({ jid: flow?.jid, queue: 'default', onChildFailure: 'fail' })
  expect((await t.call('POST', `/api/v1/batches/${first}/cancel`)).body).toEqual({ cancelled: 2 })
  const none = await t.call('GET', `/api/v1/batches/${'0'.repeat(16)}`)
  expect([none.status, none.body.error.code]).toEqual([404, 'UNKNOWN_BATCH'])
  expect((await t.call('GET', '/api/v1/batches?cursor=x')).status).toBe(400)
})

test('a push that names a batch is refused, and one with the bid of Sidekiq Pro is not', async () => {
  const t = api()
  const Work = t.hq.job('Work', () => {})
  const bid = await t.hq.batch({}, () => Work.performAsync())
  const push = (bid: string) => t.call('POST', '/api/v1/jobs', { json: { class: 'Work', args: [], bid } })
  const refused = await push(bid)
  expect([refused.status, refused.body.error.code]).toEqual([400, 'INVALID_JOB'])
  expect(refused.body.error.message).toContain(`a push can't name the batch ${bid} as its bid`)
  expect((await push('Zm9vYmFyMTIzNA')).status).toBe(201)
})

test('the callbacks of a batch and its open members are shown, with the batches that they are in', async () => {
  const t = api()
  const Work = t.hq.job('Work', () => {})
  let inner = ''
  let flow = ''
  const bid = await t.hq.batch({ onSuccess: Work, onDeath: Work }, async () => {
    await Work.set({ jid: 'mine', unique: false }).performAsync()
    inner = await t.hq.batch({}, () => Work.performAsync())
    flow = (await t.hq.flow({ job: Work, children: [{ job: Work }] }))?.bid ?? ''
  })
  const path = `/api/v1/batches/${bid}`
  expect((await t.call('GET', path)).body.callbacks).toEqual([
    { when: 'onSuccess', job: 'Work', jid: `${bid}fc000002`, pushedAt: null },
    { when: 'onDeath', job: 'Work', jid: `${bid}fc000003`, pushedAt: null },
  ])
  const { items, next } = (await t.call('GET', `${path}/members?limit=9`)).body
  expect(next).toBe(null)
  const waiting = (id: string, batch: string | null) => ({ id, state: 'waiting', batch })
  const found = new Map(items.map((one: { id: string }) => [one.id, one]))
  const parent = `${flow}fc000004`
  const expected = [waiting('mine', null), waiting(inner, inner), waiting(parent, flow)]
  expect(found).toEqual(new Map(expected.map((one) => [one.id, one])))
  const none = await t.call('GET', `/api/v1/batches/${'0'.repeat(16)}/members`)
  expect([none.status, none.body.error.code]).toEqual([404, 'UNKNOWN_BATCH'])
})

test('the open members of a batch are listed page by page, and a made-up cursor is refused', async () => {
  const t = api()
  const Work = t.hq.job('Work', () => {})
  const bid = await t.hq.batch({}, () => Work.performBulk(Array.from({ length: 1200 }, () => [])))
  const path = `/api/v1/batches/${bid}/members?limit=500`
  const found = new Set<string>()
  let next: string | null = ''
  let pages = 0
  while (next !== null) {
    const { body } = await t.call('GET', next === '' ? path : `${path}&cursor=${next}`)
    for (const { id } of body.items) found.add(id)
    next = body.next
    pages++
  }
  expect([found.size, pages >= 2]).toEqual([1200, true])
  for (const cursor of ['made-up', '99999999999999999999999', '17']) {
    const { status, body } = await t.call('GET', `${path}&cursor=${cursor}`)
    const message = 'the parameter cursor must be the `next` of the previous page: start again without it'
    expect([status, body.error.code, body.error.message]).toEqual([400, 'INVALID_REQUEST', message])
  }
})
