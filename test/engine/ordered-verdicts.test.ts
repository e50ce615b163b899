import { BatchFailure, BusinessFailure, Discard, Kill } from 'highkiq'
import { expect, test } from 'vitest'
import { frozen } from './ordered-bench.ts'

/** What a handler throws at a batch: of several ids nobody knows which one was meant, unless it is named. */

const two = [
  { id: 1, payload: 'v', score: 1 },
  { id: 2, payload: 'w', score: 2 },
]

test.each([new BusinessFailure('no'), new Discard('no'), new Kill('no')])(
  '$name for a batch of several ids fails each, and none vanishes or dies',
  async (error) => {
    const { here, job, calls, waiting, dead, idle } = frozen({}, () => {
      throw error
    })
    await job.performAsync(two)
    await here.work()
    await calls.atLeast(1)
    await idle()
    expect(await waiting()).toEqual(['1{1010,0,{v:1},"no"}', '2{1010,0,{w:2},"no"}'])
    expect(await dead()).toEqual([])
    expect(here.errors).toMatchObject([{ error, about: { ids: ['1', '2'] } }])
  },
)

test.each([
  ['named', two, 'no'],
  ['the only one of its batch', two.slice(0, 1), undefined],
])('an id that is %s: BusinessFailure and Kill put it into the morgue, Discard drops it', async (_, items, other) => {
  for (const error of [new BusinessFailure('no'), new Kill('no'), new Discard('no')]) {
    const { here, exhausted, job, calls, waiting, dead, empty } = frozen({}, () => {
      throw other ? new BatchFailure(new Map([[1, error]])) : error
    })
    const died: string[] = []
    here.hq.onDeath(({ jid }) => died.push(jid))
    await job.performAsync(items)
    await here.work()
    await calls.atLeast(1)
    await empty()
    expect(await waiting()).toEqual([])
    const isDead = !(error instanceof Discard)
    expect(await dead()).toEqual(isDead ? ['1{1000,{v:1},"no"}'] : [])
    expect(exhausted).toEqual(isDead ? ['1{v:1} no'] : [])
    expect(died).toEqual(isDead ? ['1'] : [])
    const lines = here.log.lines.filter(({ message }) => message === 'discarded by the handler')
    expect(lines).toMatchObject(isDead ? [] : [{ level: 'info', about: { class: 'Sync', ids: ['1'] } }])
    await here.hq.close()
  }
})

test.each([
  ['names a stranger', new Map([['9', new Error('x')]]), /no id of the batch \(9\): give a Map of id → error/],
  ['has an empty Map', new Map(), /an empty Map: give a Map of id → error/],
  ['has no Map', { 1: new Error('x') }, /got an object: give a Map of id → error/],
])('a BatchFailure that %s fails the whole batch, and says what to do', async (_, failures, words) => {
  const { here, job, calls, waiting, idle } = frozen({}, () => {
    throw new BatchFailure(failures as never)
  })
  await job.performAsync(two)
  await here.work()
  await calls.atLeast(1)
  await idle()
  expect((await job.stats()).processed).toBe(0)
  expect(await waiting()).toEqual([
    expect.stringMatching(/^1\{1010,0,\{v:1\}/),
    expect.stringMatching(/^2\{1010,0,\{w:2\}/),
  ])
  expect(here.errors).toMatchObject([{ error: { code: 'INVALID_OPTION', message: expect.stringMatching(words) } }])
})

test('a BatchFailure that names an unknown id still decides about the known ones', async () => {
  const { here, job, calls, waiting, dead, idle } = frozen({}, () => {
    throw new BatchFailure(
      new Map([
        ['1', new Kill('one')],
        ['9', new Error('nine')],
      ]),
    )
  })
  await job.performAsync(two)
  await here.work()
  await calls.atLeast(1)
  await idle()
  expect(await dead()).toEqual(['1{1000,{v:1},"one"}'])
  expect(await waiting()).toEqual([expect.stringMatching(/^2\{1010,0,\{w:2\},"BatchFailure names/)])
})

test('a failure is logged with at most ten ids, its attempt and the next retry; a batch has a short jid', async () => {
  const jids: string[] = []
  const { here, time, job, calls, idle } = frozen({ maxRetries: 1, batchSize: 12 }, ({ ctx }) => {
    jids.push(ctx.jid)
    ctx.log.info({}, 'here')
    throw new Error('x')
  })
  await job.performAsync(Array.from({ length: 12 }, (_, i) => ({ id: i + 10, payload: 'v', score: i })))
  await here.work()
  await calls.atLeast(1)
  await idle()
  const ids = Array.from({ length: 10 }, (_, i) => String(i + 10))
  expect(jids[0]).toMatch(/^\w{24}$/)
  expect(here.errors.map(({ about }) => about)).toEqual([
    expect.objectContaining({ ids, more: 2, attempt: 1, next: 'retry at 1970-01-01T00:16:50.000Z', jid: jids[0] }),
  ])
  expect(here.log.lines.find(({ message }) => message === 'here')?.about).toMatchObject({ shard: 0, ids, more: 2 })
  time.now = 1010
  await calls.atLeast(2)
  await idle()
  expect(jids[1]).not.toBe(jids[0])
  expect(here.errors.at(-1)?.about).toMatchObject({ ids, attempt: 2, next: 'morgue' })
})
