import { inflateSync } from 'node:zlib'
import type { Payload } from 'highkiq'
import { expect, test } from 'vitest'
import { memberText } from '#dist/job/json.js'
import { until } from '../engine/bench.ts'
import { besideRuby } from './world.ts'

/** A JSON number that is a float for Ruby, as seconds are in version 6. */
const FLOAT = /^\d+\.\d+$/

besideRuby('what fails in one language is tried again in the other', (world) => {
  test('a job that failed in Ruby succeeds in Node, which keeps every other byte', async () => {
    const { ruby, redis } = world()
    await world().rubyWorker({ queues: ['ruby'] })
    const jid = await ruby.run<string>(`
      Picky.set(queue: "ruby", retry_queue: "node", cattr: {"user" => 2**60, "rate" => 1.0}, bid: "b-1", tags: ["x"])
        .perform_async(["ruby", "node"], 1.0)
    `)
    const [first = ''] = await world().set('retry', 1)
    expect(JSON.parse(first)).toMatchObject({
      ...{ jid, class: 'Picky', queue: 'node', retry_count: 0, error_class: 'ArgumentError' },
      error_message: 'not in ruby: žluťoučký 🐎',
    })
    expect(memberText(first, 'failed_at')).toMatch(FLOAT)
    expect(backtraceOf(first)[0]).toMatch(/jobs\.rb:\d+:in/)

    const node = world().node()
    await node.work({ queues: ['node'] })
    await world().makeDue('retry')
    await until(() => node.errors.length === 1)
    const [second = ''] = await world().set('retry', 1)
    expect(JSON.parse(second)).toMatchObject({ jid, queue: 'node', retry_count: 1, error_class: 'RangeError' })
    for (const field of ['class', 'args', 'jid', 'created_at', 'failed_at', 'retry_queue', 'cattr', 'bid', 'tags']) {
      expect(memberText(second, field), field).toBe(memberText(first, field))
    }
    expect(memberText(second, 'retried_at')).toMatch(FLOAT)
    expect(memberText(second, 'cattr')).toBe('{"user":1152921504606846976,"rate":1.0}')
    expect(backtraceOf(second)[0]).toMatch(/^at .*jobs\.js/)

    // Its third time: it is told only where it fails, which the test takes from it.
    await redis.del('retry')
    await redis.lpush('queue:node', second.replace('["ruby","node"]', '[]'))
    expect(await world().reports(1)).toMatchObject([{ by: 'node', jid, args: [1] }])
    await node.settled()
    expect(await redis.zcard('retry')).toBe(0)
  })

  test('a job that failed in Node succeeds in Ruby, whose API reads its error', async () => {
    const { ruby } = world()
    const node = world().node()
    await node.work({ queues: ['node'] })
    const jid = await node.hq.push({
      ...{ class: 'Picky', args: [['node'], 2n ** 60n], queue: 'node', retry_queue: 'ruby', backtrace: 3 },
      ...{ cattr: [['user', 1]], bid: 'b-1' },
    })
    await world().set('retry', 1)
    const seen = await ruby.run(`
      job = Sidekiq::RetrySet.new.first
      {
        jid: job.jid, queue: job.queue, klass: job.klass, args: job.args, count: job["retry_count"], error: job.error?,
        message: job["error_message"], error_class: job["error_class"], lines: job.error_backtrace,
        late: job.at > Time.now + 10, cattr: job["cattr"], bid: job["bid"], age: Time.now.to_f - job["failed_at"],
      }
    `)
    expect(seen).toMatchObject({
      ...{ jid, queue: 'ruby', klass: 'Picky', args: [['node'], 2 ** 60], count: 0, error: true, late: true },
      ...{ message: 'not in node: žluťoučký 🐎', error_class: 'RangeError', cattr: [['user', 1]], bid: 'b-1' },
    })
    expect(Math.abs((seen as { age: number }).age)).toBeLessThan(30)
    expect((seen as { lines: string[] }).lines).toHaveLength(3)
    expect((seen as { lines: string[] }).lines[0]).toMatch(/^at .*jobs\.js/)

    await world().rubyWorker({ queues: ['ruby'] })
    await world().makeDue('retry')
    const [report = ''] = await world().reportTexts(1)
    expect(memberText(report, 'args')).toBe('[1152921504606846976]')
    expect(JSON.parse(report)).toMatchObject({ by: 'ruby', jid })
  })

  test('both count the retries of a job until the last one, and both retry a dead job', async () => {
    const { ruby, redis } = world()
    const node = world().node()
    const deaths: Payload[] = []
    node.hq.onDeath((payload) => deaths.push(payload))
    await node.work({ queues: ['node'] })
    await world().rubyWorker({ queues: ['ruby'] })
    const counts: unknown[] = []
    const isDead = async () => (await redis.zcard('dead')) > 0
    const untilDead = async () => {
      while (!(await isDead())) {
        const [text] = await redis.zrange('retry', '0', '0')
        if (text && !counts.includes(memberText(text, 'retry_count'))) {
          counts.push(memberText(text, 'retry_count'))
          // The next one to fail is the other.
          const queue = memberText(text, 'queue') === '"node"' ? 'ruby' : 'node'
          await redis.zrem('retry', text)
          await redis.lpush(`queue:${queue}`, text)
        }
        await until(async () => (await redis.zcard('retry')) > 0 || (await isDead()))
      }
      return JSON.parse((await world().set('dead', 1))[0] ?? '') as Payload
    }

    // Four times: 0 in Node, 1 in Ruby, 2 in Node, dead in Ruby.
    const jid = await node.hq.push({ class: 'Picky', args: [['ruby', 'node']], queue: 'node', retry: 3 })
    expect(await untilDead()).toMatchObject({ jid, retry_count: 3, error_class: 'ArgumentError', queue: 'ruby' })
    expect(counts).toEqual(['0', '1', '2'])
    expect(deaths).toEqual([])

    // Ruby gives it back with one retry less; Ruby fails first.
    expect(await ruby.run('Sidekiq::DeadSet.new.map(&:retry).size')).toBe(1)
    expect(await untilDead()).toMatchObject({ jid, retry_count: 3, queue: 'ruby' })

    // And the other way round: killed by Node.
    await redis.del('dead')
    counts.length = 0
    await ruby.run('Picky.set(queue: "ruby", retry: 1).perform_async(["ruby", "node"])')
    const dead = await untilDead()
    expect(dead).toMatchObject({ retry_count: 1, error_class: 'RangeError', queue: 'node' })
    expect(deaths.map(({ jid }) => jid)).toEqual([dead.jid])
    expect(
      await ruby.run(
        'Sidekiq::DeadSet.new.map { |job| [job.jid, job.queue, job["retry_count"], job.error_backtrace[0]] }',
      ),
    ).toEqual([[dead.jid, 'node', 1, expect.stringMatching(/jobs\.js/)]])
  })

  test('a retry by hand does not count, and its next failure does', async () => {
    const { ruby, redis } = world()
    const node = world().node()
    await node.work({ queues: ['node'] })
    await node.hq.push({ class: 'Picky', args: [['node']], queue: 'node' })
    await world().set('retry', 1)
    for (const time of [1, 2]) {
      await ruby.run('Sidekiq::RetrySet.new.first.retry')
      await until(() => node.errors.length === 1 + time)
      const [text = ''] = await world().set('retry', 1)
      expect(JSON.parse(text)).toMatchObject({ retry_count: 0, failed_at: expect.any(Number) })
      expect(memberText(text, 'retried_at')).toBeDefined()
    }
    expect(await redis.zcard('retry')).toBe(1)

    await ruby.run('Sidekiq::RetrySet.new.kill_all; nil')
    expect(await redis.zcard('dead')).toBe(1)
    expect(await redis.zcard('retry')).toBe(0)
  })

  test('on both sides retry 0 leads to the dead set, and retry: false and dead: false delete the job', async () => {
    const { ruby, redis } = world()
    const node = world().node()
    const deaths: (string | undefined)[] = []
    node.hq.onDeath(({ jid }) => deaths.push(jid))
    await node.work({ queues: ['node'] })
    await world().rubyWorker({ queues: ['ruby'] })
    const wishes = '[{retry: 0}, {retry: false}, {retry: 0, dead: false}]'
    const jids = await ruby.run<string[]>(
      `${wishes}.map { |wish| Picky.set(queue: "node", **wish).perform_async(["node"]) }`,
    )
    const others = await Promise.all(
      [{ retry: 0 }, { retry: false }, { retry: 0, dead: false }].map((wish) =>
        node.hq.push({ class: 'Picky', args: [['ruby']], queue: 'ruby', ...wish }),
      ),
    )
    await until(async () => (await redis.get('stat:failed')) === '6')
    expect(deaths.sort()).toEqual([...jids].sort())
    const dead = (await world().set('dead', 2)).map((text) => JSON.parse(text) as Payload)
    expect(dead.map(({ jid }) => jid).sort()).toEqual([jids[0], others[0]].sort())
    expect(dead.map(({ retry_count }) => retry_count)).toEqual([0, 0])
    expect(await redis.zcard('retry')).toBe(0)
  })
})

function backtraceOf(text: string): string[] {
  const { error_backtrace = '' } = JSON.parse(text) as Payload
  return JSON.parse(inflateSync(Buffer.from(error_backtrace, 'base64')).toString())
}
