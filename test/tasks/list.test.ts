import type { Highkiq, ListOptions } from 'highkiq'
import { expect, test } from 'vitest'
import { newApp } from './bench.ts'

/** Makes tasks without rows; the first is the oldest. */
async function makeTasks(hq: Highkiq, names: string[]): Promise<void> {
  const at = hq.now()
  for (const [i, name] of names.entries()) {
    const id = i.toString(16).padStart(16, '0')
    const job = i % 2 === 0 ? 'Even' : 'Odd'
    const common = { queue: 'q', template: '{}', window: 1, keepArgs: 'all' as const, meta: '{}', producer: 'nobody' }
    await hq.store.tasks.create({ ...common, id, name, job, createdAt: at + i })
  }
}

const listed = async (hq: Highkiq, options: ListOptions) => {
  const { items, next } = await hq.tasks.list(options)
  return { names: items.map(({ name }) => name), next }
}

test('tasks are found by a part of their name, ignoring case, beside their job', async () => {
  const { hq } = newApp()
  await makeTasks(hq, ['Spring Prices', 'summer prices', 'Stock', 'Цены весны'])
  expect(await listed(hq, { search: 'PRICES' })).toEqual({ names: ['summer prices', 'Spring Prices'], next: null })
  expect(await listed(hq, { search: 'prices', job: 'Even' })).toEqual({ names: ['Spring Prices'], next: null })
  expect(await listed(hq, { search: 'цены' })).toEqual({ names: ['Цены весны'], next: null })
  expect(await listed(hq, { search: 'prices', state: 'done' })).toEqual({ names: [], next: null })
  // The last page says that it is the last.
  expect((await listed(hq, { limit: 4 })).next).toBe(null)
  expect((await listed(hq, { search: 'prices', limit: 2 })).next).toBe(null)
  await expect(hq.tasks.list({ search: 5 as never })).rejects.toThrow(/search must be a string/)
})

test('a page of a search is full although few tasks match, and the next one continues after it', async () => {
  const { hq } = newApp()
  const names = Array.from({ length: 600 }, (_, i) => (i % 100 === 0 ? `wanted ${i}` : `t${i}`))
  await makeTasks(hq, names)
  const first = await listed(hq, { search: 'wanted', limit: 4 })
  expect(first.names).toEqual(['wanted 500', 'wanted 400', 'wanted 300', 'wanted 200'])
  const second = await listed(hq, { search: 'wanted', limit: 4, cursor: first.next ?? '' })
  expect(second).toEqual({ names: ['wanted 100', 'wanted 0'], next: null })
})

test('a search reads 2,000 tasks at most and says where to continue', async () => {
  const { hq } = newApp()
  await makeTasks(hq, ['the oldest', ...Array.from({ length: 2000 }, (_, i) => `t${i}`)])
  const first = await listed(hq, { search: 'oldest' })
  expect(first).toEqual({ names: [], next: expect.any(String) })
  expect(await listed(hq, { search: 'oldest', cursor: first.next ?? '' })).toEqual({
    names: ['the oldest'],
    next: null,
  })
})

test('running tasks are found behind any number of others, newest first and page by page', async () => {
  const { hq } = newApp()
  await makeTasks(
    hq,
    Array.from({ length: 2004 }, (_, i) => `t${i}`),
  )
  const ids = Array.from({ length: 2004 }, (_, i) => i.toString(16).padStart(16, '0'))
  for (const id of ids.slice(0, 4)) await hq.store.tasks.addRows(id, 'nobody', 0, [{ args: '[1]' }], hq.now())
  await Promise.all(ids.map((id) => hq.store.tasks.endAdding(id, 'nobody', hq.now())))
  await hq.tasks.get('0000000000000003').pause()
  const first = await listed(hq, { state: 'running', limit: 2 })
  expect(first.names).toEqual(['t2', 't1'])
  expect(await listed(hq, { state: 'running', limit: 2, cursor: first.next ?? '' })).toEqual({
    names: ['t0'],
    next: null,
  })
  expect(await listed(hq, { state: 'running', job: 'Even' })).toEqual({ names: ['t2', 't0'], next: null })
})
