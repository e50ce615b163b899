import type { OrderedItem } from 'highkiq'
import { expect, test } from 'vitest'
import { bench } from '../engine/bench.ts'

function open() {
  const { hq } = bench()
  return { hq, job: hq.ordered('Sync', { shards: 2 }, () => {}) }
}

test.each<[item: object, words: string]>([
  [{ id: 1, scor: 2 }, 'Sync: an item has no scor; did you mean score? There are id, payload'],
  [{ id: 1, perform_in: 2 }, 'Sync: an item has no perform_in; did you mean performIn?'],
  [{ id: 1, data: 2 }, 'Sync: an item has no data; there are id, payload'],
  [{ id: 1, wake: 'yes' }, 'Sync: wake must be true or false (got "yes")'],
  [{ id: 1, performIn: 5, performAt: 5 }, 'Sync: performIn and performAt are the same: give one of them'],
  [{ id: 1, score: '3' }, 'Sync: score must be a number within ±2^53 (got "3")'],
  [{ id: 1, score: Number.NaN }, '(got NaN)'],
  [{ id: { a: 1 } }, 'Sync: id must be a string or a number (got an object)'],
])('%j is refused', async (item, words) => {
  const { job } = open()
  await expect(job.performAsync(item as OrderedItem)).rejects.toMatchObject({
    code: 'INVALID_JOB',
    message: expect.stringContaining(words),
  })
  const place = `Sync: items[1] (id ${'id' in item && item.id === 1 ? '1' : 'an object'}): `
  await expect(job.performAsync([{ id: 7 }, item as OrderedItem])).rejects.toMatchObject({
    code: 'INVALID_JOB',
    message: expect.stringContaining(place + words.replace('Sync: ', '').replace('(got NaN)', 'score must be')),
  })
  expect((await job.stats()).length).toBe(0)
})

test.each<[options: unknown, words: string]>([
  [null, 'Sync: options must be an object (got null)'],
  ['x', 'Sync: options must be an object (got "x")'],
  [[], 'Sync: options must be an object (got a list)'],
  [{ queue: 'x' }, 'Sync: there is no option queue; did you mean queueName?'],
  [{ retry: 3 }, 'Sync: there is no option retry; did you mean maxRetries?'],
  [{ batch_size: 3 }, 'did you mean batchSize?'],
  [{ morgueKeep: 'long' }, `Sync: morgueKeep must be a number of seconds above 0, or for instance '30d' (got "long")`],
  [{ morgueKeep: -1 }, 'Sync: morgueKeep must be'],
])('a definition with %j is refused', (options, words) => {
  const { hq } = bench()
  expect(() => hq.ordered('Sync', options as object, () => {})).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(words) }),
  )
})

test('actions and queries refuse anything that is not an id', async () => {
  const { hq, job } = open()
  await job.performAsync([{ id: 'all' }, { id: 2 }])
  const refused = (message: string) => expect.objectContaining({ code: 'INVALID_OPTION', message })
  await expect(job.waiting.delete('all')).rejects.toEqual(
    refused(
      "waiting.delete: ids must be a list of ids (for all ids use deleteAllFailed(); for an id named all use ['all'])",
    ),
  )
  await expect(job.waiting.kill('all')).rejects.toThrow('killAllFailed()')
  await expect(job.waiting.performNow('all')).rejects.toThrow('performAllNow()')
  const none = {} as never
  await expect(job.waiting.find(none)).rejects.toThrow('waiting.find: id must be a string or a number (got an object)')
  await expect(job.morgue.find(none)).rejects.toThrow('morgue.find: id must be a string or a number (got an object)')
  await expect(job.find(none)).rejects.toThrow('id must be a string or a number')
  await expect(job.waiting.deletePayload(none, '')).rejects.toThrow('id must be a string or a number')
  expect(await job.waiting.delete(['all'])).toBe(1)
  expect(await hq.ordered('Sync').waiting.find(2)).toMatchObject({ id: '2' })
})

test('the last page has no next, even when it is full', async () => {
  const { job } = open()
  await job.performAsync([1, 2, 3, 4].map((id) => ({ id })))
  const first = await job.waiting.list({ limit: 2 })
  expect(first).toMatchObject({ items: [{ id: '1' }, { id: '2' }], next: expect.any(String) })
  const last = await job.waiting.list({ limit: 2, after: first.next })
  expect(last).toMatchObject({ items: [{ id: '3' }, { id: '4' }], next: null })
  expect(await job.waiting.list({ by: 'performIn', limit: 4 })).toMatchObject({ items: [{}, {}, {}, {}], next: null })
  await job.waiting.kill([1, 2, 3, 4])
  for (const by of ['id', 'updatedAt'] as const) {
    const half = await job.morgue.list({ by, limit: 2 })
    expect(half.next).not.toBeNull()
    expect(await job.morgue.list({ by, limit: 2, after: half.next })).toMatchObject({ items: [{}, {}], next: null })
  }
})

test('hq.push refuses the name of an ordered queue', async () => {
  const { hq } = open()
  const words = { code: 'INVALID_JOB', message: expect.stringContaining('Sync is an ordered queue') }
  await expect(hq.push({ class: 'Sync', args: [1] })).rejects.toMatchObject(words)
  await expect(hq.pushBulk({ class: 'Sync', args: [[1]] })).rejects.toMatchObject(words)
  expect((await hq.stats()).enqueued).toBe(0)
})
