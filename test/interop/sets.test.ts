import { expect, test } from 'vitest'
import { memberText } from '#dist/job/json.js'
import { all, until } from '../engine/bench.ts'
import { EMPTY_STORE } from '../redis/census.ts'
import { besideRuby } from './world.ts'

/** What JSON libraries like to write differently. */
const ODD = [1e21, 0.00001, 1.5, 2n ** 64n, 'žluť 🐎 \u2028 \0 / "', { b: [], 9: {}, a: null }]

besideRuby("Ruby's API works on the jobs that we wrote", (world) => {
  test('Ruby finds, deletes and clears our queues', async () => {
    const { ruby, redis } = world()
    const { hq } = world().node()
    const Quick = hq.jobNamed('Quick').set({ queue: 'q' })
    const jids = await Quick.performBulk([ODD, [2], [3]])
    expect(await ruby.run('Sidekiq::Queue.new("q").find_job(args).delete', jids[0])).toBe(true)
    expect((await world().queue('q')).map(({ jid }) => jid)).toEqual([jids[1], jids[2]])
    await ruby.run('Sidekiq::Queue.new("q").clear; nil')
    expect((await redis.keys('*')).sort()).toEqual(EMPTY_STORE)
  })

  test('a queue that Ruby cleared is listed again when a job returns to it', async () => {
    const { ruby, redis } = world()
    const node = world().node()
    const worker = await node.work({ queues: ['q'], timeout: 0.1 })
    await node.hq.push({ class: 'Long', args: ['never'], queue: 'q' })
    await world().reports(1, 'began')
    await ruby.run('Sidekiq::Queue.new("q").clear; nil')
    expect(await redis.smembers('queues')).toEqual([])
    await worker.stop()
    expect(await redis.smembers('queues')).toEqual(['q'])
    expect(await ruby.run('Sidekiq::Queue.new("q").map(&:klass)')).toEqual(['Long'])
  })

  test('Ruby reschedules a job, which stays the same and single', async () => {
    const { ruby, redis } = world()
    const node = world().node()
    await node.work({ queues: ['node'] })
    const scheduled = await node.hq.push({ class: 'Quick', args: ODD, queue: 'node', at: Date.now() / 1000 + 500.125 })
    const failed = await node.hq.push({ class: 'Picky', args: [['node'], ...ODD], queue: 'node', tags: ['x'] })
    for (const [name, api, jid] of [
      ['schedule', 'ScheduledSet', scheduled],
      ['retry', 'RetrySet', failed],
    ] as const) {
      const [text = ''] = await world().set(name, 1)
      const at = Math.floor(Date.now() / 1000) + 1000
      await ruby.run(`Sidekiq::${api}.new.find_job(args[0]).reschedule(args[1]); nil`, [jid, at])
      const [after, score, ...more] = await redis.zrange(name, '0', '-1', 'WITHSCORES')
      expect(after).toBe(text)
      expect(Number(score)).toBeCloseTo(at, 3)
      expect(more).toEqual([])
    }
  })

  test('a job that Ruby moves from a set to a queue runs here with unchanged arguments', async () => {
    const { ruby } = world()
    const node = world().node()
    const at = Date.now() / 1000 + 1000
    const jids = [1, 2, 3].map(async (n) => node.hq.push({ class: 'Quick', args: [n, ...ODD], queue: 'node', at }))
    const [first] = await Promise.all(jids)
    const texts = await world().set('schedule', 3)
    // All have one score: the right one goes.
    await ruby.run('Sidekiq::ScheduledSet.new.find_job(args).add_to_queue', first)
    expect(await world().redis.zcard('schedule')).toBe(2)
    const [queued = ''] = await world().redis.lrange('queue:node', '0', '-1')
    for (const field of ['args', 'class', 'jid', 'created_at']) {
      expect(memberText(queued, field)).toBe(
        memberText(texts.find((text) => memberText(text, 'jid') === `"${first}"`) ?? '', field),
      )
    }
    await node.work({ queues: ['node'] })
    expect(await world().reports(1)).toMatchObject([
      { jid: first, args: [1, 1e21, 0.00001, 1.5, `${2n ** 64n}`, ODD[4], ODD[5]] },
    ])
  })

  test('Ruby retries, kills and deletes entries of our sets, each once', async () => {
    const { ruby, redis } = world()
    const node = world().node()
    const worker = await node.work({ queues: ['node'] })
    const jids = await Promise.all(
      [1, 2, 3, 4].map((n) => node.hq.push({ class: 'Picky', args: [['node'], n, ...ODD], queue: 'node' })),
    )
    await world().set('retry', 4)
    expect(await ruby.run('Sidekiq::RetrySet.new.scan("Picky").map(&:jid).sort')).toEqual([...jids].sort())

    await ruby.run('Sidekiq::RetrySet.new.find_job(args).retry', jids[0])
    await until(() => node.errors.length === 5)
    await world().set('retry', 4)
    // From here on nobody works: `retry_all` goes on until the set is empty.
    await worker.quiet()
    await ruby.run('Sidekiq::RetrySet.new.find_job(args).kill', jids[1])
    await ruby.run('Sidekiq::RetrySet.new.find_job(args).delete', jids[2])
    expect(await redis.zcard('retry')).toBe(2)
    expect(await ruby.run('Sidekiq::DeadSet.new.map(&:jid)')).toEqual([jids[1]])
    await ruby.run('Sidekiq::DeadSet.new.retry_all; Sidekiq::RetrySet.new.retry_all; nil')
    expect(await redis.exists('retry', 'dead')).toBe(0)
    const queued = (await world().queue('node')).map(({ jid, retry_count }) => [jid, retry_count])
    expect(queued.sort()).toEqual([jids[0], jids[1], jids[3]].map((jid) => [jid, -1]).sort())

    await node.work({ queues: ['node'] })
    await world().set('retry', 3)
    const counts = await ruby.run('Sidekiq::RetrySet.new.map { |job| [job.jid, job["retry_count"]] }.sort')
    expect(counts).toEqual([jids[0], jids[1], jids[3]].map((jid) => [jid, 0]).sort())
  })
})

besideRuby('our API works on the jobs that Ruby wrote', (world) => {
  /** Ruby's source of the same. */
  const ODDITIES = '1.0, 1.0e-05, 2**64, "žluť 🐎 \u2028 \\u0000", {"b" => [], "10" => 2.0, "9" => nil}'

  test("Highkiq finds, shows, deletes and clears Ruby's queues", async () => {
    const { ruby, redis } = world()
    const { hq } = world().node()
    const jids = await ruby.run<string[]>(
      `[1, 2, 3].map { |n| Quick.set(queue: "q", tags: ["vip"]).perform_async(n, ${ODDITIES}) }`,
    )
    const queue = hq.queue('q')
    expect(await queue.size()).toBe(3)
    expect(await queue.latency()).toBeLessThan(20)
    const job = await queue.find(jids[1] as string)
    expect(job).toMatchObject({ class: 'Quick', tags: ['vip'], queue: 'q', jid: jids[1] })
    expect(job?.args.slice(0, 4)).toEqual([2, 1, 0.00001, 2n ** 64n])
    expect(Math.abs(Date.now() - (job?.enqueuedAt?.getTime() ?? 0))).toBeLessThan(20_000)
    expect(await job?.delete()).toBe(true)
    expect((await all(queue)).map(({ jid }) => jid)).toEqual([jids[2], jids[0]])
    expect(await ruby.run('Sidekiq::Queue.new("q").map(&:jid)')).toEqual([jids[2], jids[0]])
    expect(await queue.clear()).toBe(2)
    expect((await redis.keys('*')).sort()).toEqual(EMPTY_STORE)
  })

  test('Highkiq reschedules a job of Ruby, which runs then with unchanged arguments', async () => {
    const { ruby, redis } = world()
    const { hq } = world().node()
    const jid = await ruby.run<string>(`Quick.set(queue: "ruby").perform_in(500, ${ODDITIES})`)
    const [text] = await world().set('schedule', 1)
    const entry = await hq.scheduled.find(jid)
    expect(await entry?.reschedule('20m')).toBe(true)
    // What it was read as is not there any more.
    expect(await entry?.delete()).toBe(false)
    expect(await world().set('schedule')).toEqual([text])
    const ahead = await ruby.run<number>('Sidekiq::ScheduledSet.new.find_job(args).at - Time.now', jid)
    expect(Math.abs(ahead - 1200)).toBeLessThan(20)

    expect(await (await hq.scheduled.find(jid))?.addToQueue()).toBe(true)
    const [queued = ''] = await redis.lrange('queue:ruby', '0', '0')
    for (const field of ['args', 'created_at', 'jid', 'class', 'retry']) {
      expect(memberText(queued, field)).toBe(memberText(text ?? '', field))
    }
    await world().rubyWorker({ queues: ['ruby'] })
    const [report = ''] = await world().reportTexts(1)
    expect(memberText(report, 'args')).toBe(memberText(queued, 'args'))
  })

  test('Highkiq shows, retries, kills and resurrects failed jobs of Ruby, which keeps counting', async () => {
    const { ruby, redis } = world()
    const { hq } = world().node()
    const quick = await world().rubyWorker({ queues: ['ruby'] })
    const jids = await ruby.run<string[]>(
      `[1, 2, 3, 4].map { |n| Picky.set(queue: "ruby", retry: 1).perform_async(["ruby"], n, ${ODDITIES}) }`,
    )
    await world().set('retry', 4)
    const [entry] = await all(hq.retries)
    expect(entry).toMatchObject({ class: 'Picky', retryCount: 0, errorClass: 'ArgumentError', retriedAt: null })
    expect(entry?.errorMessage).toBe('not in ruby: žluťoučký 🐎')
    expect(entry?.backtrace?.[0]).toMatch(/jobs\.rb:\d+:in/)
    expect(Math.abs(Date.now() - (entry?.failedAt?.getTime() ?? 0))).toBeLessThan(20_000)
    await quick.end('SIGTERM')

    const find = async (n: number) => hq.retries.find(jids[n] as string)
    expect(await (await find(0))?.kill()).toBe(true)
    expect(await (await find(1))?.delete()).toBe(true)
    expect(await hq.retries.retryAll()).toMatchObject({ done: 2, refused: 0 })
    expect(await ruby.run('Sidekiq::DeadSet.new.map(&:jid)')).toEqual([jids[0]])
    expect(await ruby.run('Sidekiq::Queue.new("ruby").map { |job| [job.jid, job["retry_count"]] }.sort')).toEqual(
      [jids[2], jids[3]].map((jid) => [jid, -1]).sort(),
    )
    expect(await hq.dead.retryAll()).toMatchObject({ done: 1 })

    // One retry was taken off, so none of them dies: the first that Ruby counts is 0.
    await world().rubyWorker({ queues: ['ruby'] })
    await world().set('retry', 3)
    const seen = await ruby.run(
      'Sidekiq::RetrySet.new.map { |job| [job.jid, job["retry_count"], job["retried_at"].class.to_s] }.sort',
    )
    expect(seen).toEqual([jids[0], jids[2], jids[3]].map((jid) => [jid, 0, 'Float']).sort())
    await world().makeDue('retry')
    expect(await world().set('dead', 3)).toHaveLength(3)
    expect(await redis.zcard('retry')).toBe(0)
  })
})
