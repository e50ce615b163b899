import { BusinessFailure, type CronRunInfo, Kill } from 'highkiq'
import { expect, test } from 'vitest'
import { type Bench, bench, Collector, gate, until } from './bench.ts'

const runs = async ({ hq }: Bench, name: string): Promise<CronRunInfo[]> => (await hq.cron(name).info())?.runs ?? []

test('an entry shows its last runs with their states and times', async () => {
  const t = bench()
  const ends = { good: undefined, refused: new BusinessFailure('no'), killed: new Kill('no'), again: new Error('no') }
  const Ends = t.hq.job('Ends', { retry: 3, retryIn: () => 3600 }, async (_ctx, how: keyof typeof ends) => {
    if (ends[how]) throw ends[how]
  })
  for (const how of Object.keys(ends) as (keyof typeof ends)[]) t.hq.cron(how, '0 3 1 1 *', Ends, { args: [how] })
  const before = Date.now()
  for (const how of Object.keys(ends)) await t.hq.cron(how).runNow()
  expect(await runs(t, 'good')).toMatchObject([{ tick: null, state: 'waiting', startedAt: null, endedAt: null }])
  await t.work()
  await t.settled()
  const states = async () => {
    const all = await Promise.all(Object.keys(ends).map((how) => runs(t, how)))
    return all.map(([run]) => run?.state)
  }
  expect(await states()).toEqual(['succeeded', 'failed', 'dead', 'retrying'])
  const [good] = await runs(t, 'good')
  expect(good?.jid).toMatch(/^[0-9a-f]{24}$/)
  expect(good?.startedAt?.getTime()).toBeGreaterThanOrEqual(before)
  expect(good?.endedAt?.getTime()).toBeGreaterThanOrEqual(good?.startedAt?.getTime() ?? Number.NaN)

  // A second run is in front of the first; a dead one that is retried by hand succeeds later.
  await t.hq.cron('good').runNow()
  await until(async () => (await runs(t, 'good'))[0]?.state === 'succeeded')
  expect(await runs(t, 'good')).toHaveLength(2)
  ends.killed = undefined as never
  await t.hq.dead.retryAll()
  await until(async () => (await states())[2] === 'succeeded')
})

test('a run shows that it is running, was cancelled, or was deleted', async () => {
  const t = bench()
  const began = new Collector<void>()
  const { opened } = gate()
  const Long = t.hq.job('Long', async (ctx) => {
    began.add()
    await Promise.race([opened, new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))])
    ctx.signal.throwIfAborted()
  })
  t.hq.cron('long', '0 3 1 1 *', Long)
  t.hq.cron('elsewhere', '0 3 1 1 *', Long, { queue: 'elsewhere' })
  const jid = (await t.hq.cron('long').runNow()) as string
  await t.work()
  await began.atLeast(1)
  await until(async () => (await runs(t, 'long'))[0]?.state === 'running')
  expect((await runs(t, 'long'))[0]).toMatchObject({ startedAt: expect.any(Date), endedAt: null })
  await t.hq.cancel(jid)
  await until(async () => (await runs(t, 'long'))[0]?.state === 'cancelled')

  await t.hq.cron('elsewhere').runNow()
  await t.hq.queue('elsewhere').clear()
  expect(await runs(t, 'elsewhere')).toMatchObject([{ state: 'cancelled', startedAt: null }])
})
