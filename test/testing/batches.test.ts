import { BusinessFailure, Discard, Highkiq, type JobContext, Kill } from 'highkiq'
import { fake, inline } from 'highkiq/testing'
import { expect, onTestFinished, test } from 'vitest'
import { recorder } from '../engine/bench.ts'

/** An app whose store can't be opened, with jobs that tell the test what ran. */
function newApp() {
  const hq = new Highkiq({ url: 'sqlite:/nowhere/at/all.db', logger: recorder() })
  onTestFinished(() => hq.close())
  const ran: string[] = []
  const Work = hq.job('Work', (_ctx, name: string) => {
    ran.push(name)
    if (name === 'fails') throw new Error('no')
    return name.toUpperCase()
  })
  const callback = (name: string) => hq.job(name, (_ctx, _bid: string) => void ran.push(name))
  const all = { onSuccess: callback('success'), onComplete: callback('complete'), onDeath: callback('death') }
  const Join = hq.job('Join', async (ctx: JobContext) => {
    ran.push(`join ${(await ctx.children()).map(({ result }) => result)}`)
  })
  return { hq, ran, Work, Join, all }
}

test('fake: batches are listed page by page, newest first', async () => {
  const { hq, Work } = newApp()
  using _jobs = fake(hq)
  const first = await hq.batch({}, () => Work.performAsync('a'))
  const second = await hq.batch({}, () => Work.performAsync('b'))
  const { items, next } = await hq.batches.page({ limit: 1 })
  const rest = await hq.batches.page({ limit: 1, cursor: next ?? undefined })
  expect([items, rest.items].map((page) => page.map(({ bid }) => bid))).toEqual([[second], [first]])
  expect(rest.next).toBeNull()
})

test('fake: a batch pushes its jobs and, once they ran, its callbacks', async () => {
  const { hq, ran, Work, all } = newApp()
  using jobs = fake(hq)
  const bid = await hq.batch({ ...all, data: 1 }, async () => {
    await Work.performAsync('a')
    await hq.batch({ onSuccess: all.onSuccess }, () => Work.performAsync('b'))
  })
  expect(Work.jobs).toMatchObject([{ args: ['a'], bid }, { args: ['b'] }])
  await Work.performOne()
  expect(await hq.batches.get(bid)).toMatchObject({ pending: 1, succeeded: 1, data: 1 })
  await jobs.drain()
  expect(ran).toEqual(['a', 'b', 'success', 'complete', 'success'])
  const failed = await hq.batch(all, () => Work.performAsync('fails'))
  await expect(jobs.drain()).rejects.toThrow('no')
  await jobs.drain()
  expect(ran.slice(-2).sort()).toEqual(['complete', 'death'])
  expect(await hq.batches.get(failed)).toMatchObject({ state: 'dead', dead: 1, failed: 0 })
  await expect(
    hq.batch(all, async () => {
      await Work.performAsync('a')
      throw new Error('changed my mind')
    }),
  ).rejects.toThrow('changed my mind')
  expect(jobs.jobs()).toEqual([])
})

test.each([
  ['an error', {}, new Error('no'), 'dead'],
  ['an error, with retry: 0', { retry: 0 }, new Error('no'), 'dead'],
  ['an error, with retry: false', { retry: false }, new Error('no'), 'failed'],
  ['an error, with dead: false', { dead: false }, new Error('no'), 'failed'],
  ['Kill, with retry: false', { retry: false }, new Kill('no'), 'dead'],
  ['Discard', {}, new Discard('no'), 'failed'],
  ['BusinessFailure', {}, new BusinessFailure('no'), 'failed'],
] as const)('fake: a batch ends as in production after %s', async (_, options, error, state) => {
  const { hq } = newApp()
  const Fails = hq.job('Fails', options, () => {
    throw error
  })
  using jobs = fake(hq)
  const bid = await hq.batch({}, () => Fails.performAsync())
  await expect(jobs.drain()).rejects.toThrow('no')
  expect(await hq.batches.get(bid)).toMatchObject({ state, pending: 0, dead: 0, failed: 0, [state]: 1 })
})

test('fake and inline: a flow runs its children first', async () => {
  const { hq, ran, Work, Join } = newApp()
  const children = ['a', 'b'].map((name) => ({ job: Work, args: [name] }))
  await fake(hq, async (jobs) => {
    await hq.flow({ job: Join, children })
    expect(Join.jobs).toEqual([])
    await jobs.drain()
  })
  await inline(hq, () => hq.flow({ job: Join, children }))
  expect(ran).toEqual(['a', 'b', 'join A,B', 'a', 'b', 'join A,B'])
})

test('fake and inline: a unique job whose lock is held is dropped from its batch', async () => {
  const { hq, ran } = newApp()
  const Once = hq.job('Once', { unique: true }, async (_ctx, name: string) => {
    ran.push(name)
    if (name === 'a') await hq.batch({}, () => Once.performBulk([['a'], ['c']]))
  })
  const rows: [string][] = [['a'], ['b'], ['a']]
  using fakes = fake(hq)
  await Once.performAsync('b')
  const bid = await hq.batch({}, () => Once.performBulk(rows))
  expect(await hq.batches.get(bid)).toMatchObject({ total: 1 })
  expect(fakes.jobs().map(({ args }) => args[0])).toEqual(['b', 'a'])
  fakes.clear()
  fakes.dispose()
  using _inline = inline(hq)
  const second = await hq.batch({}, () => Once.performBulk(rows))
  expect(await hq.batches.get(second)).toMatchObject({ total: 2, state: 'succeeded' })
  expect(ran).toEqual(['a', 'c', 'b'])
})

test('inline: the callbacks run before hq.batch resolves, and an error of a job rejects it', async () => {
  const { hq, ran, Work, all } = newApp()
  using _ = inline(hq)
  await hq.batch(all, () => Work.performAsync('a'))
  expect(ran).toEqual(['a', 'complete', 'success'])
  await expect(hq.batch(all, () => Work.performAsync('fails'))).rejects.toThrow('no')
})

test('fake and inline: hq.batches.cancel is refused, and asks no store', async () => {
  const { hq, Work } = newApp()
  for (const mode of [fake, inline]) {
    using _ = mode(hq)
    const bid = await hq.batch({}, () => Work.performAsync('a'))
    await expect(hq.batches.cancel(bid)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  }
})
