import { expect, test } from 'vitest'
import { bench, type Found } from '../engine/bench.ts'

const NOW = 1_700_000_000_000
const at = { now: () => NOW }

function counting(random: () => number = () => 0.5) {
  const t = bench({ clock: at, random })
  const J = t.hq.job('J', async (_ctx, _n: number) => {})
  /** Seconds from now, by their argument. */
  const times = async () => {
    const found = (await t.set('schedule')).map(({ args, score }: Found) => [args[0] as number, score - NOW / 1000])
    return found.sort(([a = 0], [b = 0]) => a - b).map(([, seconds]) => Math.round((seconds ?? 0) * 1000) / 1000)
  }
  /** How many jobs each call of the store brings. */
  const calls: number[] = []
  const { store } = t.hq
  const push = store.jobs.push.bind(store.jobs)
  store.jobs.push = (items, now) => {
    calls.push(items.length)
    return push(items, now)
  }
  return { ...t, J, times, calls }
}

const rows = (n: number) => Array.from({ length: n }, (_, i): [number] => [i])
function* lazily(n: number): Generator<[number]> {
  yield* rows(n)
}

test('one time applies to all jobs, and a past time means now', async () => {
  const { J, times, queue } = counting()
  expect(await J.performBulk(rows(3), { at: NOW / 1000 + 10 })).toHaveLength(3)
  expect(await times()).toEqual([10, 10, 10])
  await J.performBulk(rows(2), { at: new Date(NOW - 1) })
  expect((await queue()).map(({ args }) => args[0])).toEqual([0, 1])
})

test('a list has one time for each job, over all slices; those below 1e9 count from now', async () => {
  const { J, times, calls } = counting()
  await J.performBulk(lazily(250), { at: rows(250).map(([n]) => n + 1) })
  expect(await times()).toEqual(rows(250).map(([n]) => n + 1))
  expect(calls).toEqual([100, 100, 50])
  await J.performBulk(rows(2), { at: [new Date(NOW + 5000), NOW / 1000 - 1] })
})

test('with spreadInterval each job gets a random time, within at least 5 seconds', async () => {
  let n = 0
  const { J, times, calls } = counting(() => [0, 0.25, 0.999][n++ % 3] ?? 0)
  await J.performBulk(rows(3), { spreadInterval: 60 })
  // What is due this moment is not scheduled.
  expect(await times()).toEqual([15, 59.94])
  n = 1
  await J.performBulk(rows(2), { spreadInterval: 1 })
  expect((await times()).slice(0, 2)).toContain(1.25)
  expect(calls).toEqual([3, 2])
})

test('a step stores 1,000 jobs, 100 when they have times, or batchSize', async () => {
  const { J, calls } = counting()
  await J.performBulk(rows(2500))
  await J.performBulk(rows(250), { at: 1 })
  await J.performBulk(rows(25), { batchSize: 10 })
  await J.performBulk(rows(600), { at: 1, batchSize: 500 })
  expect(calls).toEqual([1000, 1000, 500, 100, 100, 50, 10, 10, 5, 500, 100])
})

test('hq.pushBulk pushes any class by its name, with the same members for all', async () => {
  const { hq, queue, set } = counting()
  expect(await hq.pushBulk({ class: 'Ruby', args: [], queue: 'r' })).toEqual([])
  const jids = await hq.pushBulk({ class: 'Ruby', args: new Set([[1], [2, 'x']]), queue: 'r', tags: ['t'], foo: 5 })
  expect(await queue('r')).toMatchObject([
    { class: 'Ruby', args: [1], jid: jids[0], tags: ['t'], foo: 5 },
    { class: 'Ruby', args: [2, 'x'], jid: jids[1], tags: ['t'], foo: 5 },
  ])
  await hq.pushBulk({ class: 'Ruby', args: [[3]], at: NOW / 1000 + 5 })
  await hq.pushBulk({ class: 'Ruby', args: [[4]], wait: '1m' })
  const scheduled = await set('schedule')
  expect(scheduled.map(({ score }) => score - NOW / 1000)).toEqual([5, 60])
  expect(scheduled[0]).not.toHaveProperty('batchSize')
})

test.each<[string, object, RegExp]>([
  ['no rows', { args: undefined }, /a bulk is an array.*\[\['bob', 1\]/],
  ['rows that are a text', { args: 'rows' }, /a bulk is an array/],
  [
    'a row that is not an array',
    { args: [[1], 5] },
    /job 1 of the bulk must be an array of arguments, such as \[row\]/,
  ],
  ['times that are none', { args: [], at: [] }, /at is an empty array/],
  ['too few times', { args: [[1], [2]], at: [5] }, /at has 1 times for 2 jobs/],
  ['too many times', { args: [[1]], at: [5, 6] }, /at has 2 times for 1 jobs/],
  ['too few times for rows that come by and by', { args: lazily(3), at: [5, 6] }, /at has 2 times for more jobs/],
  ['too many times for rows that come by and by', { args: lazily(1), at: [5, 6] }, /at has 2 times for 1 jobs/],
  ['a time that is a text', { args: [[1]], at: 'noon' }, /at must be a Date/],
  ['one time of several that is a text', { args: [[1], [2]], at: [5, '6'] }, /at must be a Date/],
  ['both at and spreadInterval', { args: [[1]], at: 5, spreadInterval: 5 }, /give at or spreadInterval, not both/],
  ['a spreadInterval of 0', { args: [[1]], spreadInterval: 0 }, /spreadInterval must be a number/],
  ['a spreadInterval that is a text', { args: [[1]], spreadInterval: '5' }, /spreadInterval must be a number/],
  ['a jid for two', { args: [[1], [2]], jid: 'mine' }, /jid is one id, but the bulk does not have one job/],
  [
    'one jid for rows that are read one after the other',
    { args: lazily(2), jid: 'mine' },
    /jid is one id, but the bulk does not have one job/,
  ],
  ['too few jids', { args: [[1], [2]], jid: ['a'] }, /jid has 1 ids for 2 jobs: give one for each/],
  ['too few jids for rows that come by and by', { args: lazily(3), jid: ['a', 'b'] }, /jid has 2 ids for more jobs/],
  ['too many jids for rows that come by and by', { args: lazily(1), jid: ['a', 'b'] }, /jid has 2 ids for 1 jobs/],
  ['a jid for two of its jobs', { args: [[1], [2]], jid: ['a', 'a'] }, /jid has "a" twice/],
  ['a jid that is not a text', { args: [[1], [2]], jid: ['a', 7] }, /jid must be a string/],
  ['a jid that is a number', { args: [[1]], jid: 7 }, /jid must be a string, or an array/],
])('a bulk with %s is refused, and nothing of it is stored', async (_, bulk, words) => {
  const { hq } = counting()
  await expect(hq.pushBulk({ class: 'J', ...bulk } as never)).rejects.toMatchObject({
    code: 'INVALID_JOB',
    message: expect.stringMatching(words),
  })
  expect(await hq.store.metrics.totals()).toMatchObject({ enqueued: 0, scheduled: 0 })
})

test.each([[0], [1001], [1.5], ['5']])('a batchSize of %o is refused', async (batchSize) => {
  const { J } = counting()
  await expect(J.performBulk(rows(1), { batchSize: batchSize as never })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
  })
})

test('each job of a bulk may have a jid, and one that waits or runs is not stored again', async () => {
  const { hq, J, queue, set } = counting()
  expect(await J.performBulk([[1], [2], [3]], { jid: ['a', 'b', 'c'] })).toEqual(['a', 'b', 'c'])
  expect(await J.performBulk([[4], [5]], { jid: ['d', 'b'], at: NOW / 1000 + 5 })).toEqual(['d', 'b'])
  const more = { class: 'Ruby', args: lazily(3), jid: ['e', 'c', 'f'], tags: ['t'] }
  expect(await hq.pushBulk(more)).toEqual(['e', 'c', 'f'])
  expect((await queue()).map(({ jid }) => jid)).toEqual(['a', 'b', 'c', 'e', 'f'])
  expect((await set('schedule')).map(({ jid, args }) => [jid, args])).toEqual([['d', [4]]])
})

test('a bulk of one job may have a jid', async () => {
  const { J, queue } = counting()
  expect(await J.set({ jid: 'mine' }).performBulk([[1]])).toEqual(['mine'])
  expect(await queue()).toMatchObject([{ jid: 'mine' }])
})

test.each([8, 7, 6] as const)('the rows of a bulk have the text of single pushes, for Sidekiq %s', async (wire) => {
  const { hq } = bench({ clock: at, wire })
  let texts: string[] = []
  const { jobs } = hq.store
  const store = jobs.push.bind(jobs)
  jobs.push = (items, now) => {
    texts.push(...items.map(({ text }) => text))
    return store(items, now)
  }
  const args = [[1, 'é\u2028'], [{ rate: 1e-7, big: 2n ** 60n }], [], ['"', [[null, -0]]]]
  hq.job('Full', { queue: 'low', retry: 3, tags: ['a'], retryFor: 60, backtrace: 5, expiresIn: 9 }, async () => {})
  hq.job('Ünï"cöde', async () => {})
  const requests = [
    { class: 'Full' },
    { class: 'Ünï"cöde', queue: 'other', dead: false },
    { class: 'Elsewhere', wrapped: 'Inner', retryQueue: 'low', tenant: { id: '1e-7' } },
    // Members whose names are integers come first in the text.
    { class: 'Full', 7: 'seven', jid: undefined },
    { class: 'Full', idempotent: true },
  ]
  for (const request of requests) {
    texts = []
    const jids = await hq.pushBulk({ ...request, args })
    for (const one of args) jids.push(await hq.push({ ...request, args: one }))
    expect(texts.map((text) => JSON.parse(text).jid)).toEqual(jids)
    expect(new Set(jids).size).toBe(2 * args.length)
    const [bulk, single] = [texts.slice(0, args.length), texts.slice(args.length)].map((some) =>
      some.map((text) => text.replace(/"jid":"[0-9a-f]{24}"/, '"jid":""')),
    )
    expect(bulk).toEqual(single)
  }
})

test('the first push of a turn of the event loop is sent at once when the store accepts several calls at a time', async () => {
  const { J, calls, hq } = counting()
  await hq.store.open()
  const several = hq.store.maxConcurrentCalls > 1
  await Promise.all(rows(4).map((row) => J.performAsync(...row)))
  expect(calls).toEqual(several ? [1, 3] : [4])
  const pushed = J.performAsync(4)
  expect(calls.length).toBe(several ? 3 : 1)
  await pushed
})

test.each([
  ['an invalid row', undefined, { code: 'INVALID_ARGS', details: { job: 'Once' } }],
  ['a row that the store refuses', 'raise', { code: 'UNIQUE_CONFLICT' }],
] as const)('a bulk that %s ends says which rows are stored', async (_, onConflict, error) => {
  const { hq, queue } = counting()
  const J = hq.job('Once', { unique: onConflict ? { onConflict } : false }, async (_ctx, _n: unknown) => {})
  if (onConflict) await J.performAsync(14)
  const list = rows(25).map(([n]) => [n === 14 && !onConflict ? undefined : n] as [unknown])
  const thrown = await J.performBulk(list, { batchSize: 10 }).catch((failure) => failure)
  const before = onConflict ? 1 : 0
  const stored = (await queue()).slice(before)
  expect(thrown).toMatchObject(error)
  expect(thrown.details.pushed).toEqual(stored.map(({ jid }) => jid))
  if (onConflict) {
    expect(thrown.details).toMatchObject({ rows: [14], next: 20, notPushed: [expect.any(String)] })
    expect(thrown.message).toMatch(
      /\(this bulk: of rows 0 to 19 all but 1 are stored \(details\.rows\), none from row 20 on/,
    )
    expect(stored).toHaveLength(19)
  } else {
    expect(thrown.details).toMatchObject({ rows: [], next: 10, notPushed: [] })
    expect(thrown.message).toMatch(
      /\(row 14 of this bulk: rows 0 to 9 are stored, none from row 10 on: push those again\)$/,
    )
    expect(stored).toHaveLength(10)
  }
  const rest = list.slice(thrown.details.next).map(([n]) => [n ?? -1] as [unknown])
  expect(await J.performBulk(rest)).toHaveLength(rest.length)
})

test.each([5, 10])('a bulk whose last batch of %i is refused names no row after its end', async (batchSize) => {
  const { hq } = counting()
  const J = hq.job('Once', { unique: { onConflict: 'raise' } }, async (_ctx, _n: unknown) => {})
  await J.performAsync(14)
  const thrown = await J.performBulk(rows(15), { batchSize }).catch((failure) => failure)
  expect(thrown).toMatchObject({ code: 'UNIQUE_CONFLICT', details: { rows: [14], next: 15 } })
  expect(thrown.message).toMatch(/\(this bulk: of rows 0 to 14 all but 1 are stored \(details\.rows\)\)$/)
})

test("an error of the caller's own code is the cause of a PushError, once rows of the bulk are stored", async () => {
  const { J, queue } = counting()
  const mine = new TypeError('no such customer')
  function* readers(bad: number): Generator<[number]> {
    for (const row of rows(25)) {
      if (row[0] === bad) throw mine
      yield row
    }
  }
  await expect(J.performBulk(readers(4), { batchSize: 10 })).rejects.toBe(mine)
  const late = await J.performBulk(readers(14), { batchSize: 10 }).catch((thrown) => thrown)
  expect(late).toMatchObject({ name: 'PushError', code: 'PUSH_FAILED', cause: mine, jids: [], maybePushed: false })
  expect(late.message).toBe(
    'J: no such customer (row 14 of this bulk: rows 0 to 9 are stored, none from row 10 on: push those again)',
  )
  expect(late.pushed).toEqual((await queue()).map(({ jid }) => jid))
  expect(late.details).toMatchObject({ next: 10 })
})

test.each([
  ['an invalid row', false, 'row 24 of this bulk: of rows 0 to 18 client middleware stopped 9, all others are stored,'],
  [
    'a row that the store refuses',
    true,
    'this bulk: of rows 0 to 18 client middleware stopped 9, all others but 1 are stored (details.rows),',
  ],
])(
  'a bulk that %s ends does not count the rows that client middleware stopped as stored',
  async (_, isUnique, words) => {
    const { hq } = counting()
    const unique = isUnique ? { onConflict: 'raise' as const } : false
    const J = hq.job('Once', { unique }, async (_ctx, _n: unknown) => {})
    if (isUnique) await J.performAsync(14)
    // Of each two rows the first one is pushed.
    hq.client.use((payload, next) => (Number(payload.args[0] ?? 0) % 2 === 1 ? null : next()))
    const list = rows(25).map(([n]) => [n === 24 && !isUnique ? undefined : n] as [unknown])
    // A batch has ten rows that are pushed.
    const thrown = await J.performBulk(list, { batchSize: 10 }).catch((failure) => failure)
    expect(thrown.message).toContain(words)
    expect(thrown.details.pushed).toHaveLength(isUnique ? 9 : 10)
  },
)

test('a row that is refused at once says that no row is stored', async () => {
  const { J } = counting()
  await expect(J.performBulk([[1], [undefined as never]])).rejects.toMatchObject({
    message: expect.stringMatching(/\(row 1 of this bulk: no row is stored\)$/),
    details: { pushed: [], next: 0 },
  })
})
