import { expect, test } from 'vitest'
import { until } from '../engine/bench.ts'
import { besideRuby, type RunReport } from './world.ts'

const ROUNDS = 3
const JOBS = 1000

besideRuby('whoever looks first moves what is due', (world) => {
  test('jobs of both languages, due at once, run once each while both move them', async () => {
    const { ruby, redis } = world()
    await world().rubyWorker({ queues: ['ruby', 'both'], concurrency: 5 })
    const nodes = [world().node(), world().node()]
    for (const node of nodes) {
      node.hq.client.use((payload, next) => {
        payload.moved_by = 'node'
        return next()
      })
      await node.work({ queues: ['node', 'both'], pollInterval: 0.2 })
    }
    const [{ hq }] = nodes as [(typeof nodes)[0]]
    let jobs = 0
    let reports: RunReport[] = []
    const moved = (by: string) => reports.filter(({ movedBy }) => movedBy === by).length
    // Ruby's poller first looks up to 5 s after its process started, so it may sleep through any fixed number of rounds.
    for (let round = 1; round <= ROUNDS || moved('ruby') === 0; round++) {
      // In the past as far as the sets are concerned, so that all is due when it comes.
      const ours: string[] = []
      for (let i = 0; i < JOBS / 2; i++) {
        const [queue, set] = [['ruby', 'node', 'both'][i % 3] as string, i % 2 ? 'schedule' : 'retry']
        const text = JSON.stringify({
          ...{ class: 'Quick', args: [i], queue, jid: `ours-${round}-${i}`, retry: true, created_at: Date.now() },
          ...(set === 'retry' ? { retry_count: 0, error_message: 'no', error_class: 'No', failed_at: Date.now() } : {}),
        })
        ours.push(set, text)
      }
      const batch = redis.multi()
      for (let i = 0; i < ours.length; i += 2) batch.zadd(ours[i] as string, 1, ours[i + 1] as string)
      const pushed = ruby.run(`
        queues = %w[ruby node both]
        ${JOBS / 2}.times do |i|
          Sidekiq::Client.push("class" => "Quick", "args" => [i], "queue" => queues[i % 3],
            "jid" => "theirs-${round}-#{i}", "at" => Time.now.to_f + 0.05)
        end
        nil
      `)
      await batch.exec()
      await pushed
      jobs += JOBS
      reports = await world().reports(jobs)
      expect(new Set(reports.map(({ jid }) => jid)).size).toBe(reports.length)
      expect(reports).toHaveLength(jobs)
    }
    for (const node of nodes) await node.settled()
    expect(await redis.exists('schedule', 'retry', 'dead')).toBe(0)
    expect([...new Set(reports.map(({ by }) => by))].sort()).toEqual(['node', 'ruby'])
    expect(moved('node')).toBeGreaterThan(0)
    expect((await hq.stats()).enqueued).toBe(0)
    await until(async () => (await redis.get('stat:processed')) === String(jobs))
    expect(nodes.flatMap(({ errors }) => errors)).toEqual([])
  })
})
