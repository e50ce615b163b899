/** What a task says to its reader is in the reader's language: why it stopped, why rows failed, what is wrong with a file. */

import { writeXlsx } from 'hucre/xlsx'
import { expect, test } from 'vitest'
import { until } from '../engine/bench.ts'
import { api } from './api.ts'

/** Makes a task whose first row fails, so that the task pauses. */
async function paused() {
  const t = api()
  const Row = t.hq.job('Row', { retry: false }, async () => {
    throw new Error('boom')
  })
  const task = await t.hq.tasks.create(Row, [[], []], { concurrency: 1, maxFailures: 0 })
  await t.work()
  await until(async () => (await task.status())?.state === 'paused')
  return { ...t, task, path: `/api/v1/tasks/${task.id}` }
}

test('messages of rows and of reasons are in the language that the reader asks for', async () => {
  const { call, task, path } = await paused()
  const [event] = (await call('GET', `${path}/events?status=error`)).body.items
  for (const [query, headers, text] of [
    ['', {}, 'error: boom'],
    ['lang=ru', {}, 'ошибка: boom'],
    ['', { 'accept-language': 'zh-CN' }, '错误：boom'],
    ['lang=en', { 'accept-language': 'ru' }, 'error: boom'],
  ] as const) {
    const lastOf = ({ messages }: { messages: { text: string }[] }) => messages.at(-1)?.text
    const events = (await call('GET', `${path}/events?status=error&${query}`, { headers })).body.items
    expect(lastOf(events[0])).toBe(text)
    const found = (await call('GET', `${path}/events?search=${encodeURIComponent(text)}&${query}`, { headers })).body
    expect(found.items).toHaveLength(1)
    const reasons = (await call('GET', `${path}/reasons?samples=1&${query}`, { headers })).body.items
    expect(reasons[0].samples[0].message).toBe(text)
    const job = (await call('GET', `/api/v1/jobs/${event.jid}?${query}`, { headers })).body
    expect(lastOf(job.event)).toBe(text)
  }
  expect((await call('GET', `${path}/events?lang=xx`)).status).toBe(400)
  expect((await task.status())?.cause).toEqual({ code: 'too-many-failures', params: { rejected: 1, ended: 1 } })
})

test('the submitter reads in the own language why a task is paused, and no class', async () => {
  const { handle, task, call, path } = await paused()
  const { token } = (await call('GET', `${path}/link`)).body
  const page = async (lang: string) => {
    const request = new Request(`http://localhost:7433/tasks/${task.id}?token=${token}&lang=${lang}`)
    return (await handle(request, { remote: '127.0.0.1' })).text()
  }
  expect(await page('en')).toContain('Paused: too many rows were rejected: 1 of 1 so far.')
  expect(await page('ru')).toContain('Пауза: отклонено слишком много строк: пока 1 из 1.')
  expect(await page('zh')).toContain('被拒绝的行过多：目前 1 行中有 1 行')
  await task.set({ name: 'spring.csv' })
  expect(await page('en')).not.toMatch(/>Row</)
})

test('the problems of a dry run are in the language of the reader', async () => {
  const { hq, call } = api()
  hq.job('Price', async (_ctx, _row: object) => {})
  const rows = [
    ['sku', 'price'],
    ['a', null],
  ]
  const cells = new Map<string, object>([['1,1', { value: '#REF!', type: 'error' }]])
  const body = await writeXlsx({ sheets: [{ name: 'S', rows, cells }] })
  const problem = async (query: string) => {
    const path = `/api/v1/tasks/import?job=Price&format=xlsx&dryRun=true${query}`
    const headers = { 'content-type': 'application/octet-stream' }
    const { problems, groups } = (await call('POST', path, { body: Buffer.from(body), headers })).body
    expect(groups[0].message).toBe(problems[0].message)
    return problems[0].message
  }
  expect(await problem('')).toBe('price: its formula has no result (#REF!)')
  expect(await problem('&lang=ru')).toBe('price: у формулы нет результата (#REF!)')
})

test('a corrected file that is wrong says why by a code that the page has words for', async () => {
  const { call, path, task } = await paused()
  const sendFile = async (body: string) =>
    (await call('POST', `${path}/retry`, { body, headers: { 'content-type': 'text/csv' } })).body.error
  const send = (key: string) => sendFile(`row key,arguments\n${key},[]\n`)
  expect((await send('mine')).details).toMatchObject({ problem: 'row-key', row: 2, column: 'row key' })
  expect((await send(`${task.id}:9:1`)).details).toMatchObject({ problem: 'unknown-row' })
  expect((await send('0123456789abcdef:0:1')).details).toMatchObject({ problem: 'other-task' })
  expect((await send(`${task.id}:0:1,[]\n${task.id}:0:1`)).details).toMatchObject({ problem: 'twice', first: 2 })
  const cells = async (job: string, args: string) =>
    (await sendFile(`row key,job,arguments\n${task.id}:0:1,${job},"${args}"\n`)).details
  const place = { row: 2, column: 'arguments' }
  expect(await cells('Other', '[]')).toEqual({ problem: 'other-job', row: 2, column: 'job', job: 'Row' })
  expect(await cells('Row', '')).toEqual({ problem: 'no-arguments', ...place, job: 'Row' })
  expect(await cells('Row', '[')).toEqual({ problem: 'no-json', ...place })
  expect(await cells('Row', '7')).toEqual({ problem: 'no-list', ...place })
  expect(await cells('Row', '[""\\ud800""]')).toEqual({ problem: 'refused-arguments', ...place })
})
