/** Tests of unusual names: of queues that Ruby created, and of tasks, which become file names. */

import { expect, test } from 'vitest'
import { api } from './api.ts'

const ODD = ['.', '..', '~.', '~~..', '...', 'bell\u0007', 'line\nbreak', 'a b', 'a/b', '%2e', '\u202eevil', 'ключ']

/** Encodes a name as a part of a path. */
const segment = (name: string) => encodeURIComponent(name.replace(/^(?=~*\.\.?$)/, '~'))

test('a push is refused when its queue name has no URL', async () => {
  const { call, hq } = api()
  for (const queue of ['.', '..', 'bell\u0007', 'line\nbreak', '\u0000']) {
    const { status, body } = await call('POST', '/api/v1/jobs', { json: { class: 'Job', args: [], queue } })
    expect([status, body.error.code], JSON.stringify(queue)).toEqual([400, 'INVALID_OPTION'])
    expect(body.error.message).toContain('is not a queue name')
    expect(() => hq.job('Mine', { queue }, () => {})).toThrow('is not a queue name')
  }
  expect(await hq.queueSummaries()).toEqual([])
})

test('a queue created by Ruby can be used over HTTP, whatever its name', async () => {
  const t = api()
  for (const queue of ODD) {
    const jobs = [1, 2].map((n) => ({ class: 'Job', args: [n], queue, jid: `jid-${n}` }))
    for (const job of jobs) await t.raw(JSON.stringify(job), queue)
    const path = `/api/v1/queues/${segment(queue)}`
    expect((await t.call('GET', path)).body, path).toMatchObject({ name: queue, size: 2, paused: false })
    const { items } = (await t.call('GET', `${path}/jobs`)).body
    expect(items).toHaveLength(2)
    expect((await t.call('GET', `${path}/jobs/jid-1`)).body).toMatchObject({ jid: 'jid-1', queue })
    expect((await t.call('POST', `${path}/pause`)).body).toMatchObject({ name: queue, paused: true })
    expect((await t.call('POST', `${path}/resume`)).body).toMatchObject({ name: queue, paused: false })
    expect((await t.call('DELETE', `${path}/jobs/jid-1`)).body).toMatchObject({ done: 1 })
    expect((await t.call('POST', `${path}/clear`)).body).toEqual({ done: 1 })
  }
})

test('a job that Ruby scheduled for such a queue gets there, also through client middleware', async () => {
  const t = api()
  t.hq.client.use((_payload, next) => next())
  const text = JSON.stringify({ class: 'Theirs', args: [], queue: '..', jid: 'jid' })
  await t.hq.store.jobs.push([{ to: 'schedule', text, score: 1 }], Date.now())
  const [entry] = await t.set('schedule')
  expect(entry).toMatchObject({ queue: '..' })
  const { status, body } = await t.call('POST', '/api/v1/scheduled/jid/addToQueue')
  expect([status, body]).toMatchObject([200, { done: 1 }])
  expect(await t.queue('..')).toMatchObject([{ jid: 'jid' }])
})

test('the header with the name of a file is short, and keeps its ending, however long the name of the task is', async () => {
  const { call, hq } = api()
  const Row = hq.job('Row', async (_ctx, _n: number) => {})
  for (const name of ['n'.repeat(20_000), '😀'.repeat(20_000), '"\r\n'.repeat(500), 'e\u0301'.repeat(400)]) {
    const { id } = await hq.tasks.create(Row, [[1]], { name })
    const { status, headers } = await call('GET', `/api/v1/tasks/${id}/report`)
    const header = headers.get('content-disposition') ?? ''
    expect(status).toBe(200)
    expect(header.length).toBeLessThan(2500)
    const [, encoded = ''] = /filename\*=UTF-8''(.*)$/.exec(header) ?? []
    const file = decodeURIComponent(encoded)
    expect(file).toMatch(/ - rejected\.csv$/)
    expect(Array.from(file).length).toBe(150)
    expect(file.isWellFormed()).toBe(true)
  }
  const exported = await hq.tasks.create(Row, [[1]], { name: `${'x'.repeat(400)}.CSV` })
  const header = (await call('GET', `/api/v1/tasks/${exported.id}/report`)).headers.get('content-disposition')
  expect(header).toContain(`${'x'.repeat(150 - ' - rejected.csv'.length)} - rejected.csv"`)
})
