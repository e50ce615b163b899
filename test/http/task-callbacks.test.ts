import { expect, test } from 'vitest'
import { Collector } from '../engine/bench.ts'
import { api } from './api.ts'

test('a task over HTTP names the jobs of its end and of its first failure', async () => {
  const { call, hq, work } = api()
  const ran = new Collector<unknown>()
  hq.job('Row', { retry: 0 }, async () => {
    throw new Error('wrong')
  })
  for (const name of ['Done', 'Failed'])
    hq.job(name, async (_, task: string, run: number) => ran.add([name, task, run]))
  await work()
  const json = { job: 'Row', args: [[1]], onDone: 'Done', onFailure: 'Failed' }
  const { id } = (await call('POST', '/api/v1/tasks', { json })).body
  await ran.atLeast(2)
  expect(ran.all.toSorted()).toEqual([
    ['Done', id, 1],
    ['Failed', id, 1],
  ])
  for (const [onDone, status, code] of [
    ['Nobody', 404, 'UNKNOWN_JOB'],
    [5, 400, 'INVALID_REQUEST'],
  ] as const) {
    const answer = await call('POST', '/api/v1/tasks', { json: { ...json, onDone } })
    expect([answer.status, answer.body.error.code]).toEqual([status, code])
  }
})

test('an export is begun over HTTP, and its file downloaded', async () => {
  const { call, hq, work } = api()
  hq.job('Page', async (_, from: number) => [[from], [from + 1]])
  await work()
  const json = { job: 'Page', pages: [[1], [3]], format: 'csv', columns: ['n'], meta: { user: '7' } }
  const { status, body } = await call('POST', '/api/v1/tasks/export', { json })
  expect([status, body.total]).toEqual([202, 2])
  const file = await call('GET', `/api/v1/tasks/${body.id}/download?wait=1`)
  expect(file.text.replace('\ufeff', '').trim().split(/\r?\n/)).toEqual(['n', '1', '2', '3', '4'])
  for (const wrong of [{ pages: 5 }, { pages: [5] }, { job: 5 }, { rowsPerJob: 2 }, { format: 'pdf' }]) {
    const answer = await call('POST', '/api/v1/tasks/export', { json: { ...json, ...wrong } })
    expect([answer.status, answer.body.error.code], JSON.stringify(wrong)).toEqual([
      400,
      expect.stringMatching(/^INVALID_/),
    ])
  }
})
