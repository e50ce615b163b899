import { AsyncLocalStorage } from 'node:async_hooks'
import { Snooze } from 'highkiq'
import { drainAll, fake, inline } from 'highkiq/testing'
import { expect, test } from 'vitest'
import { type Bench, bench, Collector, until } from './bench.ts'

interface Request {
  user: number
  tenant: string
}

const ann: Request = { user: 7, tenant: 'acme' }
const bob: Request = { user: 8, tenant: 'bolt' }

/** An app with one context, and a job that tells the value that it runs with. */
function withContext(): Bench & { current: AsyncLocalStorage<Request>; seen: Collector<unknown[]> } {
  const b = bench()
  const current = new AsyncLocalStorage<Request>()
  b.hq.context('request', current)
  const seen = new Collector<unknown[]>()
  b.hq.job('Tell', async (_ctx, what: unknown) => seen.add([what, current.getStore()]))
  return { ...b, current, seen }
}

const sorted = (said: unknown[][]) => [...said].sort(([a], [b]) => Number(a) - Number(b))

test('a handler runs with the value of its push, and a job without a value runs without one', async () => {
  const { hq, current, seen, work, queue } = withContext()
  const Tell = hq.jobNamed('Tell')
  // Both in one millisecond, and from inside and outside of a context.
  await Promise.all([
    current.run(ann, () => Tell.performAsync(1)),
    current.run(bob, () => Tell.performAsync(2)),
    Tell.performAsync(3),
  ])
  const stored = await queue()
  expect(stored.map(({ hk_context }) => hk_context)).toEqual(
    expect.arrayContaining([{ request: ann }, { request: bob }, undefined]),
  )
  // The worker starts inside a context of its own, which no job sees.
  await current.run({ user: 0, tenant: 'worker' }, () => work())
  expect(sorted(await seen.atLeast(3))).toEqual([
    [1, ann],
    [2, bob],
    [3, undefined],
  ])
})

test('a value survives a bulk, a schedule, a retry, a snooze and a push from inside a handler', async () => {
  const b = withContext()
  const { hq, current, seen, clock } = b
  const Tell = hq.jobNamed('Tell')
  let runs = 0
  hq.job('Stumble', { retryIn: 0 }, async () => {
    runs++
    if (runs === 1) throw new Error('again')
    if (runs === 2) throw new Snooze(0)
    await Tell.performAsync(5)
  })
  await current.run(ann, async () => {
    await Tell.performBulk([[1], [2]])
    await Tell.performIn(60, 3)
    await hq.pushBulk({ class: 'Tell', args: [[4]], spreadInterval: 60 })
    await hq.jobNamed('Stumble').performAsync()
  })
  clock.ahead = 120
  await b.work()
  expect(sorted(await seen.atLeast(5))).toEqual([1, 2, 3, 4, 5].map((n) => [n, ann]))
  expect(runs).toBe(3)
})

test('middleware of the server runs with the value, and of the client also when the job is due', async () => {
  const { hq, current, seen, clock, work } = withContext()
  const asked: unknown[] = []
  hq.server.use((_ctx, next) => {
    asked.push(['server', current.getStore()])
    return next()
  })
  hq.client.use((_payload, next) => {
    asked.push(['client', current.getStore()])
    return next()
  })
  await current.run(ann, () => hq.jobNamed('Tell').performIn(60, 1))
  clock.ahead = 120
  await work()
  await seen.atLeast(1)
  expect(asked).toEqual([
    ['client', ann],
    ['client', ann],
    ['server', ann],
  ])
})

test('the rows of a task, its callback and rows that are added later have the context of its creation', async () => {
  const { hq, current, seen, work } = withContext()
  const Tell = hq.jobNamed('Tell')
  const Done = hq.job('Done', async (_ctx, _task: string, _run: number) => seen.add(['9', current.getStore()]))
  const task = await current.run(ann, () => hq.tasks.create(Tell, [[1], [2]], { onDone: Done }))
  await current.run(bob, () => task.add(Tell, [[3]]))
  await work()
  expect(sorted(await seen.atLeast(4))).toEqual([1, 2, 3, '9'].map((n) => [n, ann]))
})

test('a tick of a cron entry has no context, and an entry that is run by hand has that of the call', async () => {
  const { hq, current, seen, work } = withContext()
  const cron = hq.cron('nightly', '0 3 * * *', 'Tell', { args: [1] })
  await current.run(ann, () => cron.runNow())
  await work()
  expect(await seen.atLeast(1)).toEqual([[1, ann]])
})

test('a batch of an ordered queue has no context, because its payloads come from many pushes', async () => {
  const { hq, current, work } = withContext()
  const seen = new Collector<unknown>()
  const Sync = hq.ordered('Sync', { shards: 1 }, async (_ctx, batch: Map<string, number[]>) =>
    seen.add([[...batch], current.getStore()]),
  )
  await current.run(ann, () => Sync.performAsync({ id: 1, payload: 1 }))
  await current.run(bob, () => Sync.performAsync({ id: 1, payload: 2 }))
  await current.run(bob, () => work())
  expect(await seen.atLeast(1)).toEqual([[[['1', [1, 2]]], undefined]])
})

test('save chooses what is stored, load makes the value of a run, and load may fail an attempt', async () => {
  const { hq, work, queue, errors } = bench()
  const users = new Map([[7, { id: 7, name: 'Ann', connection: () => {} }]])
  const current = new AsyncLocalStorage<{ id: number; name: string; connection: () => void }>()
  hq.context('user', current, {
    save: (user) => (user.id === 0 ? undefined : user.id),
    load: async (id: number) => {
      const user = users.get(id)
      if (!user) throw new Error(`no user ${id}`)
      return user
    },
  })
  const seen = new Collector<unknown>()
  const Tell = hq.job('Tell', { retry: false }, async () => seen.add(current.getStore()?.name))
  const as = (id: number) => ({ id, name: '', connection: () => {} })
  await current.run(as(7), () => Tell.performAsync())
  await current.run(as(0), () => Tell.performAsync())
  await current.run(as(404), () => Tell.performAsync())
  expect((await queue()).map(({ hk_context }) => hk_context)).toEqual(
    expect.arrayContaining([{ user: 7 }, undefined, { user: 404 }]),
  )
  await work()
  await until(() => errors.length === 1)
  expect(new Set(await seen.atLeast(2))).toEqual(new Set(['Ann', undefined]))
  expect(errors[0]?.error.message).toBe('no user 404')
})

test('a value that is no JSON data, or too large, is refused at the push', async () => {
  const { hq, queue } = bench()
  const current = new AsyncLocalStorage<unknown>()
  hq.context('request', current)
  const Tell = hq.job('Tell', async () => {})
  const push = (value: unknown) => current.run(value, () => Tell.performAsync())
  await expect(push({ at: new Date() })).rejects.toThrow('Tell: context.request.at is a Date: pass at.toISOString()')
  await expect(push({ name: 'x'.repeat(5000) })).rejects.toMatchObject({
    code: 'ARGS_TOO_LARGE',
    message:
      'Tell: the context has 5,023 bytes (at most 4,096): carry an id with `save`, and look the rest up with `load`',
  })
  expect(await queue()).toEqual([])
})

test('a wrong declaration is refused, and so is one after hq.worker', async () => {
  const { hq } = bench()
  const current = new AsyncLocalStorage<unknown>()
  const declare = (name: unknown, storage: unknown, options?: unknown) => () =>
    hq.context(name as string, storage as typeof current, options as object)
  expect(declare('', current)).toThrow('the name must have from 1 to 50 characters')
  expect(declare('user', {})).toThrow('the second argument must be an AsyncLocalStorage (got an object)')
  expect(declare('user', current, { save: 1 })).toThrow('save must be a function (got 1)')
  expect(declare('user', current, { lod: () => {} })).toThrow('there is no option lod')
  declare('user', current)()
  expect(declare('user', current)).toThrow('this name is declared already')
  hq.worker()
  expect(declare('tenant', current)).toThrow('call it before hq.worker')
})

test('fake and inline keep the context of a push, and performInline has it', async () => {
  const { hq, current, seen } = withContext()
  const Tell = hq.jobNamed('Tell')
  await fake(hq, async () => {
    await current.run(ann, () => Tell.performAsync(1))
    expect(Tell.jobs).toMatchObject([{ hk_context: { request: ann } }])
    await drainAll(hq)
  })
  await inline(hq, () => current.run(bob, () => Tell.performAsync(2)))
  await current.run(ann, () => Tell.performInline(3))
  expect(seen.all).toEqual([
    [1, ann],
    [2, bob],
    [3, ann],
  ])
})

test('a malformed context in the payload counts as none', async () => {
  const { seen, raw, work } = withContext()
  for (const garbage of ['7', '"x"', '[1]', 'null', '{"request":null}']) {
    await raw(`{"class":"Tell","args":[1],"jid":"a","queue":"default","hk_context":${garbage}}`)
  }
  await work()
  expect(await seen.atLeast(5)).toEqual([...Array(4).fill([1, undefined]), [1, null]])
})
