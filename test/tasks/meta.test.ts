import { expect, test } from 'vitest'
import { newApp } from './bench.ts'

test('a task has its meta, and is found by its strings and whole numbers, page by page', async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', async (_, _n: number) => {})
  const ids: string[] = []
  for (let n = 0; n < 6; n++) {
    const meta = { user: n % 2, shop: n < 3 ? 'a' : 'b', about: { file: `${n}.csv` }, ratio: 0.5 }
    ids.push((await hq.tasks.create(Row, [[n]], { meta })).id)
  }
  await hq.tasks.create(Row, [[9]])
  expect((await hq.tasks.get(ids[5] as string).status())?.meta).toEqual({
    user: 1,
    shop: 'b',
    about: { file: '5.csv' },
    ratio: 0.5,
  })
  const listed = async (options: object) => {
    const { items, next } = await hq.tasks.list(options)
    return { ids: items.map(({ id }) => ids.indexOf(id)), next }
  }
  expect(await listed({ meta: { user: '1' } })).toEqual({ ids: [5, 3, 1], next: null })
  expect(await listed({ meta: { user: 1, shop: 'b' } })).toEqual({ ids: [5, 3], next: null })
  expect(await listed({ meta: { user: '2' } })).toEqual({ ids: [], next: null })
  const { ids: first, next } = await listed({ meta: { user: '0' }, limit: 2 })
  expect(first).toEqual([4, 2])
  expect(await listed({ meta: { user: '0' }, limit: 2, cursor: next })).toEqual({ ids: [0], next: null })
  await hq.tasks.get(ids[4] as string).delete()
  expect(await listed({ meta: { user: '0' } })).toMatchObject({ ids: [2, 0] })
})

test('an import and an export keep the meta beside what they remember about their file', async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', async (_, _row: object) => [])
  const { id } = await hq.tasks.import(Row, Buffer.from('a,b\n1,2\n'), { format: 'csv', meta: { user: '7' } })
  const other = await hq.tasks.export(Row as never, [[]] as never, { meta: { user: '7' } })
  expect((await hq.tasks.list({ meta: { user: '7' } })).items.map((task) => task.id).sort()).toEqual(
    [id, other.id].sort(),
  )
  expect(JSON.parse((await hq.store.tasks.find(id))?.meta ?? '')).toMatchObject({
    columns: ['a', 'b'],
    own: { user: '7' },
  })
})

test.each([
  [5, /meta must be an object \(got 5\)/],
  [{ text: ['x'.repeat(5000)] }, /meta must be at most 4096 bytes of JSON \(got 5013\)/],
  [
    { a: '1', b: '2', c: '3', d: '4', e: 5 },
    /at most 4 members with a string or a whole number \(got 5\): put the others/,
  ],
  [{ 'a b': 'x' }, /the name "a b" must have 1 to 40 letters, digits, _ and -/],
  [{ a: 'x'.repeat(201) }, /meta\.a must be a string of at most 200 characters or a whole number/],
])('a wrong meta is refused: %j', async (meta, message) => {
  const { hq } = newApp()
  const Row = hq.job('Row', async () => {})
  await expect(hq.tasks.create(Row, [[]], { meta: meta as never })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringMatching(message),
  })
})

test.each([[{}], ['x'], [{ a: null }], [{ a: 1.5 }], [{ a: '1', b: '2', c: '3', d: '4', e: '5' }]])(
  'a wrong filter is refused: %j',
  async (meta) => {
    const { hq } = newApp()
    await expect(hq.tasks.list({ meta: meta as never })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  },
)
