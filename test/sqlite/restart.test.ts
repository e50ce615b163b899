import { expect, test } from 'vitest'
import { bench, Collector } from '../engine/bench.ts'

const FIVE_DAYS_MS = 432_000_000

test('after a restart of a machine without a boot id, where its clock begins again, the jobs of a worker run again', async () => {
  const t = bench()
  const ran = new Collector<string>()
  const J = t.hq.job('J', (ctx) => ran.add(ctx.jid))
  const jid = await J.performAsync()
  const { jobs, workers } = t.hq.store
  await workers.join('before', { queues: ['default'], seconds: 1, host: '' })
  const fetch = { queues: ['default'], n: 1 }
  const { fetched } = await workers.settleAndFetch('before', { now: Date.now(), started: [], settlements: [], fetch })
  expect(fetched).toHaveLength(1)
  // Before the restart the machine had run for five days more than now.
  await jobs.transaction?.(async (connection) => {
    connection.prepare('UPDATE hk_owner SET ends = ends + ?').run(FIVE_DAYS_MS)
    return []
  }, 0)
  await t.work({ leaseSeconds: 1 })
  expect(await ran.atLeast(1)).toEqual([jid])
})
