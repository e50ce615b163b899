import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Highkiq, Process } from 'highkiq'
import { expect, test } from 'vitest'
import { all, gate, until } from '../engine/bench.ts'
import { besideRuby } from './world.ts'

besideRuby('each language sees the processes of the other', (world) => {
  test('Ruby lists our processes', async () => {
    const { ruby } = world()
    const node = world().node()
    const worker = await node.work({ queues: ['default', 'low'], concurrency: 7, tag: 'shop' })
    await node.hq.push({ class: 'Long', args: ['go'] })
    await world().reports(1, 'began')
    // What runs is told with the next heartbeat, and being quiet with one at once.
    await worker.quiet()
    const seen = await ruby.run(`
      Sidekiq::ProcessSet.new.map do |process|
        {
          identity: process.identity, hostname: process["hostname"], pid: process["pid"], tag: process.tag,
          labels: process.labels, queues: process["queues"], concurrency: process["concurrency"],
          busy: process["busy"], quiet: process["quiet"], stopping: process.stopping?,
          age: Time.now.to_f - process["beat"], started: Time.now.to_f - process["started_at"], rss: process["rss"],
        }
      end
    `)
    expect(seen).toEqual([
      {
        ...{ identity: worker.identity, hostname: hostname(), pid: process.pid, tag: 'shop', labels: [] },
        ...{ queues: ['default', 'low'], concurrency: 7, busy: 1, quiet: 'true', stopping: true },
        age: expect.any(Number),
        started: expect.any(Number),
        rss: expect.any(Number),
      },
    ])
    const [{ age, started, rss }] = seen as [{ age: number; started: number; rss: number }]
    for (const seconds of [age, started]) expect(Math.abs(seconds)).toBeLessThan(20)
    expect(rss).toBeGreaterThan(10_000)
    expect(await ruby.run('[Sidekiq::ProcessSet.new.size, Sidekiq::Stats.new.workers_size]')).toEqual([1, 1])

    await world().redis.set('go', 1)
    await node.settled()
    await node.hq.close()
    expect(await ruby.run('Sidekiq::ProcessSet.new.size')).toBe(0)
  })

  test('running jobs are listed on both sides', async () => {
    const { ruby } = world()
    const node = world().node()
    const worker = await node.work({ queues: ['node'] })
    const theirs = await world().rubyWorker({ queues: ['ruby'] })
    const ours = await node.hq.push({ class: 'Long', args: ['go'], queue: 'node', tags: ['ž'] })
    const jid = await ruby.run('Long.set(queue: "ruby").perform_async("go")')
    await world().reports(2, 'began')
    await worker.quiet()
    const shown = () => all(node.hq.running())
    await until(async () => (await shown()).length === 2)

    const seen = await ruby.run<Record<string, unknown>[]>(`
      Sidekiq::Workers.new.map do |process, thread, work|
        job = work["payload"]
        {process: process, thread: thread, queue: work["queue"], job: job, ago: Time.now.to_i - work["run_at"]}
      end
    `)
    const [mine, rubys] = ['node', 'ruby'].map((queue) => seen.find((work) => work.queue === queue))
    expect(mine).toMatchObject({
      process: worker.identity,
      job: { jid: ours, class: 'Long', args: ['go'], tags: ['ž'] },
    })
    expect(rubys).toMatchObject({ job: { jid } })
    for (const work of [mine, rubys]) {
      expect(Number.isInteger(work?.ago)).toBe(true)
      expect(Math.abs(work?.ago as number)).toBeLessThan(30)
    }
    const found = await shown()
    expect(found.map(({ jid }) => jid).sort()).toEqual([ours, jid].sort())
    const other = found.find((job) => job.jid === jid)
    expect(other).toMatchObject({ process: rubys?.process, thread: rubys?.thread, queue: 'ruby', class: 'Long' })
    expect(other?.startedAt.getTime()).toBeGreaterThan(Date.now() - 60_000)
    // Ruby counts itself busy with its next heartbeat.
    await until(async () => (await node.hq.stats()).busy === 2)

    await world().redis.set('go', 1)
    await theirs.end('SIGTERM')
    await node.hq.close()
    expect(await ruby.run('Sidekiq::Workers.new.to_a')).toEqual([])
    expect(await world().redis.exists(`${worker.identity}:workers`, `${worker.identity}:work`)).toBe(0)
  })

  test("Highkiq lists Ruby's processes", async () => {
    const { hq } = world().node()
    const worker = await world().rubyWorker({ queues: ['ruby', 'low'], concurrency: 3 })
    const seen = await processOf(hq, worker.pid)
    expect(seen).toMatchObject({
      ...{ hostname: hostname(), tag: 'rubies', labels: [], concurrency: 3, busy: 0, isQuiet: false },
    })
    expect(seen.queues.sort()).toEqual(['low', 'ruby'])
    expect(seen.identity).toMatch(new RegExp(`^${hostname()}:${worker.pid}:[0-9a-f]{12}$`))
    expect(seen.rss).toBeGreaterThan(10_000)
    for (const time of [seen.beat, seen.startedAt]) {
      expect(Math.abs(Date.now() - time.getTime())).toBeLessThan(20_000)
    }
    expect(await hq.stats()).toMatchObject({ processes: 1 })
  })

  test('each quiets and stops the other: it fetches no more, and its running jobs continue', async () => {
    const { redis, ruby } = world()
    const node = world().node()
    const stopped = gate()
    node.hq.on('exit', stopped.open)
    // One may be told to stop long before the other is: what runs has the time.
    const ours = await node.work({ queues: ['node'], timeout: 50 })
    const theirs = await world().rubyWorker({ queues: ['ruby'] })
    for (const queue of ['node', 'ruby']) await node.hq.push({ class: 'Long', args: ['go'], queue })
    await world().reports(2, 'began')

    const rubyQuietsOurs = async () => {
      await ruby.run(
        `
        process = Sidekiq::ProcessSet.new.find { |one| one.identity == args }
        process.quiet!
        process.stop!
      `,
        ours.identity,
      )
      await until(async () => (await redis.hget(ours.identity, 'quiet')) === 'true')
    }
    const weQuietRubys = async () => {
      const process = await processOf(node.hq, theirs.pid)
      expect(await process.quiet()).toBe(true)
      expect(await process.stop()).toBe(true)
      await until(async () => {
        const seen = await processOf(node.hq, theirs.pid)
        return seen.isQuiet && seen.busy === 1
      })
    }
    await Promise.all([rubyQuietsOurs(), weQuietRubys()])
    for (const queue of ['node', 'ruby']) await node.hq.push({ class: 'Quick', args: ['too late'], queue })
    await redis.set('go', 1)
    await stopped.opened
    expect(await theirs.exited).toEqual({ code: 0, signal: null })
    const ran = (await world().reports(2)).map(({ by, args }) => [by, ...args])
    expect(ran.sort()).toEqual([
      ['node', 'go'],
      ['ruby', 'go'],
    ])
    for (const queue of ['node', 'ruby']) expect(await world().queue(queue)).toMatchObject([{ class: 'Quick' }])
    expect(await ruby.run('Sidekiq::ProcessSet.new.size')).toBe(0)
  })

  test('both show the same figures', async () => {
    const { ruby, redis } = world()
    const node = world().node()
    const worker = await world().rubyWorker({ queues: ['ruby'] })
    await node.work({ queues: ['node'] })
    for (const queue of ['ruby', 'node']) {
      await node.hq
        .jobNamed('Quick')
        .set({ queue })
        .performBulk(Array.from({ length: 30 }, () => []))
      await node.hq.push({ class: 'Picky', args: [['ruby', 'node']], queue, retry: 0 })
      await node.hq.push({ class: 'Picky', args: [['ruby', 'node']], queue })
      await node.hq.push({ class: 'Quick', args: [], queue, at: Date.now() / 1000 + 1000 })
    }
    await node.hq.push({ class: 'Quick', args: [], queue: 'nobody' })
    await ruby.run('Quick.set(queue: "default").perform_async')
    // Ruby tells its counts with its next heartbeat, at the latest with its last.
    await until(async () => (await redis.llen('ran')) === 60 && (await redis.zcard('dead')) === 2)
    await worker.end('SIGTERM')
    await until(async () => (await redis.get('stat:processed')) === '64')

    const stats = await ruby.run(`
      stats = Sidekiq::Stats.new
      {
        processed: stats.processed, failed: stats.failed, scheduled: stats.scheduled_size, retries: stats.retry_size,
        dead: stats.dead_size, enqueued: stats.enqueued, processes: stats.processes_size, busy: stats.workers_size,
      }
    `)
    expect(stats).toEqual({
      ...{ processed: 64, failed: 4, scheduled: 2, retries: 2, dead: 2, enqueued: 2, processes: 1, busy: 0 },
    })
    const ours = await node.hq.stats()
    expect(ours).toMatchObject(stats as object)
    expect(ours.defaultLatency).toBeGreaterThan(0)
    expect(ours.defaultLatency).toBeLessThan(20)
    expect(
      await ruby.run('Sidekiq::Stats::History.new(1).then { |days| [days.processed, days.failed].map(&:values) }'),
    ).toEqual((await node.hq.history(1)).flatMap(({ processed, failed }) => [[processed], [failed]]))
    const queues = (await node.hq.queueSummaries()).map(({ name, size }) => [name, size])
    expect(await ruby.run('Sidekiq::Queue.all.map { |queue| [queue.name, queue.size] }')).toEqual(queues)
  })
})

/** What the app shows of a process, as soon as it does. */
async function processOf(hq: Highkiq, pid: number): Promise<Process> {
  for (;;) {
    const found = (await all(hq.processes())).find((process) => process.pid === pid)
    if (found) return found
    await sleep(20)
  }
}
