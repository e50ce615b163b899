import { expect, test } from 'vitest'
import { until } from '../engine/bench.ts'
import { besideRuby } from './world.ts'

const JOBS = 5

besideRuby('a process of ours that is killed beside Ruby', (world) => {
  test('jobs of a killed process wait until any Highkiq process rescues them, and Ruby runs them', async () => {
    const { redis } = world()
    const { hq } = world().node()
    const killed = await world().nodeWorker({ queues: ['both'], concurrency: JOBS })
    const jids: (string | null)[] = []
    for (let n = 0; n < JOBS; n++) jids.push(await hq.push({ class: 'Long', args: ['go'], queue: 'both' }))
    await world().reports(JOBS, 'began')
    await hq.push({ class: 'Quick', args: ['waiting'], queue: 'both' })
    await killed.end('SIGKILL')

    // Ruby goes on with the queue. It does not know where the jobs are that ran.
    await world().rubyWorker({ queues: ['both'], concurrency: JOBS })
    expect(await world().reports(1)).toMatchObject([{ by: 'ruby', args: ['waiting'] }])
    expect(await redis.llen('queue:both')).toBe(0)
    // Ruby may have reported the job as running: until its next heartbeat this counts.
    await until(async () => (await hq.stats()).busy === JOBS)
    expect((await hq.stats()).enqueued).toBe(0)

    // It need not serve their queue.
    await redis.set('go', 1)
    await world().nodeWorker({ queues: ['another'] })
    const ran = (await world().reports(1 + JOBS)).slice(1)
    expect(ran.map(({ by, jid }) => [by, jid]).sort()).toEqual(jids.map((jid) => ['ruby', jid]).sort())
    await until(async () => (await hq.stats()).busy === 0)
    expect(await redis.llen('ran')).toBe(1 + JOBS)
  })

  test('a job that crashed its process three times is in the dead set that Ruby reads', async () => {
    const { ruby } = world()
    const { hq } = world().node()
    const jid = await hq.push({ class: 'Long', args: ['never'], queue: 'node' })
    for (let time = 1; time <= 3; time++) {
      const worker = await world().nodeWorker({ queues: ['node'] })
      await world().reports(time, 'began')
      await worker.end('SIGKILL')
    }
    await world().nodeWorker({ queues: ['another'] })
    await world().set('dead', 1)
    const seen = await ruby.run(
      'Sidekiq::DeadSet.new.map { |job| [job.jid, job.klass, job["error_class"], job["error_message"]] }',
    )
    expect(seen).toEqual([[jid, 'Long', 'Crashed', expect.stringContaining('died 3 times')]])
  })
})
