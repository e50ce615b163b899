import { expect, test } from 'vitest'
import { Collector, until } from '../engine/bench.ts'
import { api } from './api.ts'

test('a webhook ends a deferred row, once, and hears when there is nothing to end', async () => {
  const audited: unknown[] = []
  const { call, hq, work } = api({
    audit: ({ action, target, count }) => void audited.push([action, target, count]),
  })
  const began = new Collector<string>()
  const Pay = hq.job('Pay', async (ctx, defers: boolean) => {
    if (defers) await ctx.defer({ within: '1h' })
    began.add(ctx.jid)
  })
  const task = await hq.tasks.create(Pay, [[true], [true], [false]])
  const jids = [0, 1, 2].map((index) => `${task.id}0000000${index}`)
  const early = await call('POST', `/api/v1/jobs/${jids[0]}/finish`)
  expect([early.status, early.body.error.code]).toEqual([409, 'NOT_DEFERRED'])
  await work()
  await until(async () => (await task.status())?.deferred === 2)
  expect((await call('GET', `/api/v1/tasks/${task.id}`)).body).toMatchObject({ deferred: 2, counts: { working: 2 } })
  const { items } = (await call('GET', `/api/v1/tasks/${task.id}/events?status=working`)).body
  expect(Date.parse(items[0].deferredUntil)).toBeGreaterThan(Date.now())

  const finished = { jid: jids[0], status: 'finished', code: null }
  const json = { result: { receipt: 'r-7' } }
  expect((await call('POST', `/api/v1/jobs/${jids[0]}/finish`, { json })).body).toEqual({ ...finished, changed: true })
  expect((await call('POST', `/api/v1/jobs/${jids[0]}/finish`, { json })).body).toEqual({ ...finished, changed: false })
  const reason = { message: 'declined by the bank', code: 'declined' }
  expect((await call('POST', `/api/v1/jobs/${jids[1]}/fail`, { json: reason })).body).toEqual({
    jid: jids[1],
    changed: true,
    status: 'failed',
    code: 'declined',
  })
  expect((await call('POST', `/api/v1/jobs/${jids[2]}/finish`)).body).toMatchObject({ changed: false })
  expect((await call('GET', `/api/v1/jobs/${jids[0]}`)).body).toMatchObject({ event: { result: { receipt: 'r-7' } } })
  await task.wait()
  for (const [path, body, status, code] of [
    [`${'f'.repeat(24)}/finish`, {}, 404, 'UNKNOWN_JID'],
    ['x/fail', reason, 404, 'UNKNOWN_JID'],
    [`${jids[1]}/fail`, {}, 400, 'INVALID_REQUEST'],
    [`${jids[1]}/fail`, { message: '' }, 400, 'INVALID_REQUEST'],
    [`${jids[1]}/finish`, { value: 5 }, 400, 'INVALID_REQUEST'],
    [`${jids[1]}/finish`, { result: 'x'.repeat(20_000) }, 400, 'INVALID_OPTION'],
  ] as const) {
    const answer = await call('POST', `/api/v1/jobs/${path}`, { json: body })
    expect([answer.status, answer.body.error.code], path).toEqual([status, code])
  }
  expect(audited.filter((entry) => (entry as unknown[])[2] === 1)).toHaveLength(2)
})

test('a read-only server ends no row', async () => {
  const { call } = api({ readOnly: true })
  const { status, body } = await call('POST', `/api/v1/jobs/${'f'.repeat(24)}/finish`)
  expect([status, body.error.code]).toEqual([403, 'READ_ONLY'])
})
