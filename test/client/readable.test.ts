import { BusinessFailure, type Payload } from 'highkiq'
import { expect, test } from 'vitest'
import { type Bench, bench, until } from '../engine/bench.ts'

const HALF = '\ud83d'
const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

/** Expects that nothing was stored anywhere. */
async function expectNothing({ hq, queue }: Bench): Promise<void> {
  expect(await queue()).toEqual([])
  expect(await hq.scheduled.size()).toBe(0)
}

const refused = (path: string) => ({ code: 'INVALID_ARGS', details: { path } })

test.each([
  ['class', { class: `J${HALF}`, args: [] }, 'class'],
  ['queue', { class: 'J', args: [], queue: HALF }, 'queue'],
  ['jid', { class: 'J', args: [], jid: HALF }, 'jid'],
  ['a tag', { class: 'J', args: [], tags: ['a', HALF] }, 'tags[1]'],
  ['a member of its own', { class: 'J', args: [], own: { note: HALF } }, 'own.note'],
  ['an argument', { class: 'J', args: [[HALF]] }, 'args[0][0]'],
  ['99 levels inside args', { class: 'J', args: [nested(99)] }, 'args[0]'],
  ['100 levels inside a member', { class: 'J', args: [], own: nested(100) }, 'own[0]'],
])("a push with %s that Ruby can't read is refused, whatever strictArgs says", async (_, request, path) => {
  for (const strictArgs of ['raise', 'warn', false] as const) {
    const t = bench({ strictArgs })
    await expect(t.hq.push(request)).rejects.toMatchObject(refused(path))
    await expect(t.hq.push({ ...request, at: Date.now() / 1000 + 60 })).rejects.toMatchObject(refused(path))
    await expectNothing(t)
  }
})

test('98 levels inside args are stored', async () => {
  const { hq, queue } = bench()
  await hq.push({ class: 'J', args: [nested(98)] })
  expect(await queue()).toMatchObject([{ args: [nested(98)] }])
})

test('an argument that changes between its check and its writing is refused among equal pushes, too', async () => {
  const t = bench({ clock: { now: () => 1_700_000_000_000 } })
  const J = t.hq.job('J', async (_ctx, _arg: unknown) => {})
  const changing = () => {
    let reads = 0
    return {
      get text() {
        return reads++ === 0 ? 'well' : HALF
      },
    }
  }
  await Promise.all([J.performAsync(1), J.performAsync(2)])
  await expect(J.performAsync(changing())).rejects.toMatchObject(refused('args[0].text'))
  await expect(J.performBulk([[3], [4], [changing()]])).rejects.toMatchObject(refused('args[0].text'))
  expect((await t.queue()).map(({ args }) => args)).toEqual([[1], [2]])
})

test('members that client middleware adds are checked', async () => {
  const t = bench()
  t.hq.client.use(async (payload, next) => {
    const after = await next()
    return { ...(after as Payload), note: { says: payload.args[0] === 1 ? HALF : 'well' } }
  })
  await expect(t.hq.push({ class: 'J', args: [1] })).rejects.toMatchObject(refused('note.says'))
  await expectNothing(t)
  await t.hq.push({ class: 'J', args: [2] })
  expect(await t.queue()).toMatchObject([{ note: { says: 'well' } }])
})

test('a job that schedule() stores in a set is checked', async () => {
  const t = bench()
  const at = Date.now() / 1000 + 60
  const job = { class: 'J', args: [nested(99)], queue: 'default', jid: 'j1' }
  await expect(t.hq.scheduled.schedule(at, job)).rejects.toMatchObject({ code: 'INVALID_ARGS' })
  await expect(t.hq.scheduled.schedule(at, JSON.stringify(job))).rejects.toMatchObject(refused('args[0]'))
  await expectNothing(t)
})

test('rows of a task are checked when they are added and when their arguments are edited', async () => {
  const t = bench()
  const Row = t.hq.job('Row', { retry: 0 }, (_ctx, value: unknown) => {
    if (value === 'bad') throw new BusinessFailure('no')
  })
  await expect(t.hq.tasks.create(Row, [[nested(99)]])).rejects.toMatchObject({ code: 'INVALID_ARGS' })
  // A row in a list is one level deeper.
  const Rows = t.hq.job('Rows', (_ctx, _rows: unknown[]) => {})
  const inList = (levels: number) => t.hq.tasks.create(Rows, [[nested(levels)]], { rowsPerJob: 10 })
  await expect(inList(98)).rejects.toMatchObject({ code: 'INVALID_ARGS' })
  expect(await t.queue()).toEqual([])
  await expect(t.hq.tasks.create(Row.set({ tags: [HALF] }), [[1]])).rejects.toMatchObject(refused('tags[0]'))
  const task = await t.hq.tasks.create(Row, [[nested(98)], ['bad']])
  await t.work()
  await task.wait({ every: 10 })
  const retry = (value: unknown) => task.retry({ rows: [{ index: 1, args: [value] }] })
  await expect(retry(HALF)).rejects.toMatchObject({ code: 'INVALID_ARGS' })
  await expect(retry(nested(99))).rejects.toMatchObject({ code: 'INVALID_ARGS' })
  expect(await retry(nested(98))).toMatchObject({ rows: 1 })
})

test("errors and results are stored without the parts that Ruby can't read", async () => {
  const t = bench()
  t.hq.job('Fails', { retry: 1, backtrace: true }, () => {
    throw Object.assign(new Error(`no ${HALF}`), { name: `Bad${HALF}` })
  })
  const Answers = t.hq.job('Answers', { track: true }, () => ({ text: HALF }))
  await t.hq.push({ class: 'Fails', args: [] })
  const jid = (await Answers.performAsync()) as string
  await t.work()
  await until(async () => (await t.hq.retries.size()) === 1)
  expect(await t.set('retry')).toMatchObject([{ error_class: 'Bad\ufffd', error_message: 'no \ufffd' }])
  const ended = async () => (await t.hq.tasks.event(jid))?.status === 'finished'
  await until(ended)
  const event = await t.hq.tasks.event(jid)
  expect(event?.result ?? null).toBeNull()
  expect(event?.messages.map(({ text }) => text).join()).toContain('result.text has half of a surrogate pair')
})
