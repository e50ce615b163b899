import type { Process } from 'highkiq'
import { expect, test } from 'vitest'
import { bench, until } from '../engine/bench.ts'

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

const record = { concurrency: 5, busy: 0, beat: Date.now(), quiet: false, rss: 1000 }

test('a process is quieted, traced and stopped through the store, at its heartbeats', async () => {
  const t = bench()
  const beat = async () =>
    (await t.hq.store.workers.heartbeat({ identity: 'host:1:a', info: '{}', ...record }, 60)).signal
  await beat()
  const [process] = (await all(t.another().hq.processes())) as [Process]
  expect(process).toMatchObject({ identity: 'host:1:a', isQuiet: false, embedded: false })
  for (const send of [process.quiet(), process.dumpTrace(), process.stop()]) expect(await send).toBe(true)
  expect([await beat(), await beat(), await beat(), await beat()].sort()).toEqual(['TERM', 'TSTP', 'TTIN', null])
  await t.hq.store.workers.removeProcess('host:1:a')
  expect(await process.stop()).toBe(false)
})

test('an embedded process is not quieted, stopped or traced through the store', async () => {
  const t = bench()
  await t.hq.store.workers.heartbeat({ identity: 'host:1:a', info: '{"embedded":true}', ...record }, 60)
  const [process] = (await all(t.hq.processes())) as [Process]
  expect(process.embedded).toBe(true)
  await expect(process.quiet()).rejects.toMatchObject({ code: 'EMBEDDED_PROCESS' })
  await expect(process.stop()).rejects.toMatchObject({ code: 'EMBEDDED_PROCESS' })
  await expect(process.dumpTrace()).rejects.toThrow('host:1:a is part of another program: quiet or stop it there')
})

test('the concurrency of a process is changed through the store, if it can obey and the value is right', async () => {
  const t = bench()
  const capsules = { default: { concurrency: 5 }, 'my mail': { concurrency: 2 } }
  const about = { highkiq: '0.2.0', version: '0.2.0', capsules }
  const beat = async (identity: string, info: object) =>
    (await t.hq.store.workers.heartbeat({ identity, info: JSON.stringify(info), ...record }, 60)).signal
  await beat('host:1:a', about)
  const process = await t.hq.processes().find('host:1:a')
  expect(await process?.set({ concurrency: 20 })).toBe(true)
  expect(await process?.set({ concurrency: 1, capsule: 'my mail' })).toBe(true)
  expect([await beat('host:1:a', about), await beat('host:1:a', about), await beat('host:1:a', about)]).toEqual([
    'CONCURRENCY 20 default',
    'CONCURRENCY 1 my mail',
    null,
  ])
  await expect(process?.set({ concurrency: 1.5 })).rejects.toThrow(
    'host:1:a: concurrency must be a whole number above 0 (got 1.5)',
  )
  await expect(process?.set({ concurrency: 2, capsule: 'post' })).rejects.toThrow(
    'host:1:a: there is no capsule "post"; there are default, my mail',
  )
  expect(await beat('host:1:a', about)).toBe(null)

  await beat('host:2:a', { ...about, embedded: true })
  expect(await (await t.hq.processes().find('host:2:a'))?.set({ concurrency: 2 })).toBe(true)
  expect(await beat('host:2:a', about)).toBe('CONCURRENCY 2 default')
  await beat('ruby:1:a', { version: '8.1.0' })
  await expect((await t.hq.processes().find('ruby:1:a'))?.set({ concurrency: 2 })).rejects.toThrow(
    'ruby:1:a is a process of Sidekiq',
  )
  expect([await beat('host:2:a', about), await beat('ruby:1:a', {})]).toEqual([null, null])
})

test('processes are totalled and found by identity, and running jobs are found by jid', async () => {
  const t = bench()
  const processes = t.hq.processes()
  expect(await processes.totals()).toEqual({ processes: 0, concurrency: 0, busy: 0, rss: 0 })
  expect([await processes.size(), await processes.find('b:1'), await processes.leader()]).toEqual([0, null, null])
  const shown = (jid: string, startedAt: number) => [
    { slot: 't1', queue: 'q', text: JSON.stringify({ class: 'Job', args: [], jid }), startedAt },
  ]
  await t.hq.store.workers.heartbeat({ identity: 'b:1', info: '{}', ...record, busy: 2 }, 60, shown('second', 2000))
  await t.hq.store.workers.heartbeat(
    { identity: 'a:1', info: '{}', ...record, rss: 234, busy: 1 },
    60,
    shown('first', 1000),
  )
  expect(await processes.totals()).toEqual({ processes: 2, concurrency: 10, busy: 3, rss: 1234 })
  expect(await processes.size()).toBe(2)
  expect(await processes.find('b:1')).toMatchObject({ identity: 'b:1', busy: 2 })
  expect(await t.hq.running().find('second')).toMatchObject({ process: 'b:1', thread: 't1', queue: 'q', class: 'Job' })
  expect(await t.hq.running().find('third')).toBe(null)
  expect((await all(t.hq.running())).map(({ jid }) => jid)).toEqual(['first', 'second'])
})

test('processes of all versions are read, with missing and wrong fields', async () => {
  const t = bench()
  const infos = {
    'a:1': { hostname: 'h', pid: 7, tag: 't', labels: ['x'], queues: ['q'], weights: { q: 2 }, started_at: 1.5 },
    'b:1': { weights: [{ q: 1 }, { p: 3 }], version: '7.3.0', embedded: false },
    'c:1': { capsules: { default: { concurrency: 3, mode: 'strict', weights: { q: 0 } }, odd: 5 } },
    'd:1': { labels: 'x', queues: null, weights: [5, null], capsules: [], pid: 'seven', started_at: 'now' },
  }
  for (const [identity, info] of Object.entries(infos)) {
    await t.hq.store.workers.heartbeat({ identity, info: JSON.stringify(info), ...record }, 60)
  }
  await t.hq.store.workers.heartbeat({ identity: 'e:1', info: 'nonsense', ...record }, 60)
  await t.hq.store.workers.heartbeat({ identity: 'f:1', info: 'null', ...record }, 60)
  const [a, b, c, d, e, f] = await all(t.hq.processes())
  expect(a).toMatchObject({ hostname: 'h', pid: 7, labels: ['x'], queues: ['q'], weights: [{ q: 2 }], leader: false })
  expect(a?.startedAt).toEqual(new Date(1500))
  expect(b).toMatchObject({ weights: [{ q: 1 }, { p: 3 }], version: '7.3.0', embedded: false, concurrency: 5 })
  expect(c?.capsules).toEqual({ default: { concurrency: 3, mode: 'strict', weights: { q: 0 } } })
  for (const one of [d, e, f]) {
    expect(one).toMatchObject({ hostname: '', pid: 0, labels: [], queues: [], weights: [], capsules: {} })
  }
  expect(JSON.parse(JSON.stringify(a))).toMatchObject({ identity: 'a:1', quiet: false })
})

test('totals can be reset, and history returns the requested days', async () => {
  const t = bench()
  const Job = t.hq.job('Job', { retry: false }, async (_ctx, fails: boolean) => {
    if (fails) throw new Error('broken')
  })
  await Job.performBulk([[true], [false], [false]])
  await t.work()
  await until(async () => (await t.hq.stats()).processed === 3)
  const today = new Date(t.hq.now()).toISOString().slice(0, 10)
  expect(await t.hq.history(2)).toMatchObject([
    { date: today, processed: 3, failed: 1 },
    { processed: 0, failed: 0 },
  ])
  expect(await t.hq.history(1, '2020-02-29')).toEqual([{ date: '2020-02-29', processed: 0, failed: 0 }])
  expect(await t.hq.history(1825)).toHaveLength(1825)
  for (const days of [0, 1826, 1.5]) await expect(t.hq.history(days)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  await expect(t.hq.history(1, 'nonsense')).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  await t.hq.resetStats('failed')
  expect(await t.hq.stats()).toMatchObject({ processed: 3, failed: 0 })
  await t.hq.resetStats()
  expect(await t.hq.stats()).toMatchObject({ processed: 0, failed: 0 })
  expect(await t.hq.history(1)).toMatchObject([{ processed: 3, failed: 1 }])
})
