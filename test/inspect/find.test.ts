import { expect, test } from 'vitest'
import { bench, gate } from '../engine/bench.ts'

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

test('a job is found in every state, with its details', async () => {
  const t = bench()
  const begun = gate()
  const end = gate()
  const Job = t.hq.job('Job', { retry: 2 }, async (_ctx, what: string) => {
    if (what === 'fail') throw new Error('broken')
    begun.open()
    await end.opened
  })
  const jid = (await Job.set({ queue: 'low' }).performAsync('wait')) as string
  const later = (await Job.performIn('1h', 'later')) as string
  expect(await t.hq.find(jid)).toMatchObject({
    state: 'queued',
    queue: 'low',
    payload: { args: ['wait'] },
    event: null,
  })
  expect(await t.hq.find(later)).toMatchObject({ state: 'scheduled', queue: 'default' })
  expect(await t.hq.find('nothing')).toEqual({ state: 'unknown', queue: null, payload: null, job: null, event: null })
  await t.work({ queues: ['low', 'default'], concurrency: 2 })
  await begun.opened
  expect(await t.hq.find(jid)).toMatchObject({ state: 'running', queue: 'low', payload: { jid } })
  const failing = (await Job.performAsync('fail')) as string
  while ((await t.hq.retries.size()) === 0) await new Promise((resume) => setTimeout(resume, 5))
  expect(await t.hq.find(failing)).toMatchObject({ state: 'retry', job: { errorMessage: 'broken' } })
  await t.hq.retries.killAll()
  expect((await t.hq.find(failing)).state).toBe('dead')
  end.open()
  await t.settled()
  expect((await t.hq.find(jid)).state).toBe('unknown')
})

test('a search can be aborted', async () => {
  const t = bench()
  await t.hq.push({ class: 'Job', args: [] })
  await expect(t.hq.find('x', { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
})

test('running jobs are listed with their process, longest first', async () => {
  const t = bench()
  const begun = gate()
  const end = gate()
  let n = 0
  const Job = t.hq.job('Job', async (_ctx, _name: string) => {
    if (++n === 2) begun.open()
    await end.opened
  })
  await Job.performBulk([['a'], ['b']])
  const worker = await t.work()
  await begun.opened
  await worker.quiet()
  const running = await all(t.hq.running())
  expect(running.map(({ process, class: name, queue }) => [process, name, queue])).toEqual([
    [worker.identity, 'Job', 'default'],
    [worker.identity, 'Job', 'default'],
  ])
  expect(new Set(running.map(({ thread }) => thread)).size).toBe(2)
  expect(Math.abs(Date.now() - Number(running[0]?.startedAt))).toBeLessThan(10_000)
  expect(await t.hq.stats()).toMatchObject({ busy: 2, processes: 1 })
  end.open()
})

test('an id or a name must be a string', async () => {
  const { hq } = bench()
  await hq.store.open()
  const odd = {} as never
  const asked: Record<string, () => unknown> = {
    task: () => hq.tasks.get(odd),
    event: () => hq.tasks.event(odd),
    'message of': () => hq.tasks.message(odd, 'x'),
    message: () => hq.tasks.message('0'.repeat(24), odd),
    queue: () => hq.queue(odd),
    'in a queue': () => hq.queue('default').find(odd),
    find: () => hq.find(odd),
    result: () => hq.result(odd, { timeout: 0 }),
    cancel: () => hq.cancel(odd),
    iteration: () => hq.iteration(odd),
    ordered: () => hq.ordered(odd),
    'in a set': () => hq.retries.find(odd),
  }
  const wrong = { code: 'INVALID_OPTION', message: expect.stringMatching(/ must be a string \(got an object\)$/) }
  for (const [name, ask] of Object.entries(asked)) {
    await expect(async () => ask(), name).rejects.toMatchObject(wrong)
  }
})
