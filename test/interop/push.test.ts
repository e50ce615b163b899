import { expect, test } from 'vitest'
import { memberText } from '#dist/job/json.js'
import { besideRuby, type RunReport } from './world.ts'

besideRuby('what one language pushes, the other runs', (world) => {
  test('Ruby reads the deepest accepted job, and neither a deeper one nor half a surrogate pair', async () => {
    const { ruby } = world()
    const { hq } = world().node()
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
    const isRead = (text: string) =>
      ruby.run<boolean>('begin; Sidekiq.load_json(args); true; rescue JSON::ParserError; false; end', text)
    const deep = (levels: number) => ({ class: 'Quick', args: [JSON.parse(nested(levels))], queue: 'ruby' })
    await hq.push(deep(98))
    expect(await ruby.run('Sidekiq::Queue.new("ruby").first.args.flatten')).toEqual([])
    await expect(hq.push(deep(99))).rejects.toMatchObject({ code: 'INVALID_ARGS' })
    expect(await isRead(JSON.stringify(deep(98)))).toBe(true)
    expect(await isRead(JSON.stringify(deep(99)))).toBe(false)
    const half = { class: 'Quick', args: [], tags: ['\ud83d'] }
    await expect(hq.push(half)).rejects.toMatchObject({ code: 'INVALID_ARGS' })
    expect(await isRead(JSON.stringify(half))).toBe(false)
  })

  test('Node to Ruby: now, later and many', async () => {
    const { redis, ruby } = world()
    const { hq } = world().node()
    const Quick = hq.jobNamed('Quick').set({ queue: 'ruby', tags: ['shop'] })
    const jids = [
      await Quick.performAsync('now', { nested: [1, null, true] }),
      await Quick.performIn(0.5, 'in'),
      await Quick.performAt(Date.now() / 1000 + 0.7, 'at'),
      ...(await Quick.performBulk([
        ['bulk', 1],
        ['bulk', 2],
        ['bulk', 3],
      ])),
    ]
    expect(await redis.zcard('schedule')).toBe(2)
    const found = await ruby.run<unknown[]>(
      'Sidekiq::Queue.new("ruby").map { |job| [job.jid, job.klass, job.args, job.tags, job.queue] }',
    )
    expect(found[0]).toEqual([jids[5], 'Quick', ['bulk', 3], ['shop'], 'ruby'])
    expect(found[3]).toEqual([jids[0], 'Quick', ['now', { nested: [1, null, true] }], ['shop'], 'ruby'])

    const times = await ruby.run<number[]>(`
      job = Sidekiq::Queue.new("ruby").first
      later = Sidekiq::ScheduledSet.new.first
      [job.created_at, job.enqueued_at, later.created_at, later.at, Time.now - job.latency].map(&:to_f)
    `)
    for (const time of times) expect(Math.abs(Date.now() / 1000 - time)).toBeLessThan(30)

    await world().rubyWorker({ queues: ['ruby'] })
    const all = [['now', { nested: [1, null, true] }], ['in'], ['at'], ['bulk', 1], ['bulk', 2], ['bulk', 3]]
    expect(inOrder(await world().reports(6))).toEqual(
      inOrder(all.map((args, i) => ({ by: 'ruby' as const, jid: jids[i], args }))),
    )
  })

  test('Ruby to Node: now, later and many', async () => {
    const { ruby } = world()
    const jids = await ruby.run<string[]>(`
      now = Time.now.to_f
      [
        Quick.set(queue: "node").perform_async("now", {"nested" => [1, nil, true]}),
        Quick.set(queue: "node").perform_in(0.5, "in"),
        Quick.set(queue: "node").perform_at(now + 0.7, "at"),
        *Sidekiq::Client.push_bulk("class" => Quick, "queue" => "node", "args" => [["bulk", 1], ["bulk", 2], ["bulk", 3]]),
        *Sidekiq::Client.push_bulk("class" => "Quick", "queue" => "node", "args" => [["later", 1], ["later", 2]],
          "at" => [now + 0.3, now + 0.9]),
      ]
    `)
    expect(await world().redis.zcard('schedule')).toBe(4)
    const node = world().node()
    await node.work({ queues: ['node'] })
    const args = [['now', { nested: [1, null, true] }], ['in'], ['at'], ['bulk', 1], ['bulk', 2], ['bulk', 3]]
    const all = [...args, ['later', 1], ['later', 2]]
    expect(inOrder(await world().reports(8))).toEqual(
      inOrder(all.map((args, i) => ({ by: 'node' as const, jid: jids[i], args }))),
    )
    expect(node.errors).toEqual([])
  })

  test('Node writes the same bytes as Ruby', async () => {
    const { hq } = world().node()
    const values = [
      [9007199254740993n, 9223372036854775808n, -18446744073709551616n, 0, -0, 1, -1.5, 0.1, 123456.789],
      [1e15, 1e20, 1e21, 1.5e300, 5e-324, 1e-4, 1e-5, 0.00001234, 1e-7, -1.25e-9],
      ['žluť', '🐎👩‍👩‍👧', '\u2028\u2029', '\0\u0007\u001f\u007f', '"\\/\b\f\n\r\t', '<&>', '1e21', 'pre-e-7 0.00001'],
      [{ b: 1, a: { z: [], y: {}, 'ž"': null } }, { 10: 'ten', 9: 'nine', b: 1e-9 }, [[[]]], true, false, null],
      ['long '.repeat(20_000)],
    ]
    const Quick = hq.jobNamed('Quick').set({ queue: 'ruby' })
    await Quick.performBulk(values)
    const texts = (await world().redis.lrange('queue:ruby', 0, -1)).reverse()
    const again = await world().ruby.run<string[]>(
      'Sidekiq::Queue.new("ruby").map { |job| Sidekiq.dump_json(job.item) }.reverse',
    )
    expect(again).toEqual(texts)

    await world().rubyWorker({ queues: ['ruby'], concurrency: 1 })
    const arrived = (await world().reportTexts(5)).map((text) => memberText(text, 'args'))
    expect(arrived).toEqual(texts.map((text) => memberText(text, 'args')))
  })

  test("Node reads Ruby's jobs, and writes them back unchanged", async () => {
    const { ruby } = world()
    const args = `[
      ["node"],
      2**53 - 1, 2**53 + 1, 2**63, -2**64, 10**40, 1.0, -0.0, 1e15, 1e20, 1e21, 1e-7, 0.1, 1723900000.1234567,
      "žluť 🐎 \u2028 \\u0000 \\u007f / <>", {"b" => 1, "10" => 2.0, "9" => {"__proto__" => 3}}, {}, [], nil, "x" * 100_000
    ]`
    await ruby.run(`Picky.set(queue: "node").perform_async(*${args})`)
    const [before = ''] = await world().redis.lrange('queue:node', 0, -1)
    const node = world().node()
    const seen: unknown[][] = []
    node.hq.server.use((ctx, next) => {
      seen.push(ctx.args)
      return next()
    })
    await node.work({ queues: ['node'] })

    const [after = ''] = await world().set('retry', 1)
    for (const field of ['args', 'created_at', 'enqueued_at', 'class', 'jid', 'retry']) {
      expect(memberText(after, field)).toBe(memberText(before, field))
    }
    const [, ...values] = seen[0] ?? []
    expect(values.slice(0, 14)).toEqual([
      ...[2 ** 53 - 1, 2n ** 53n + 1n, 2n ** 63n, -(2n ** 64n), 10n ** 40n, 1, -0, 1e15, 1e20, 1e21, 1e-7, 0.1],
      1723900000.1234567,
      'žluť 🐎 \u2028 \0 \x7f / <>',
    ])
    expect(JSON.stringify(values.slice(14, 18))).toBe('[{"9":{"__proto__":3},"10":2,"b":1},{},[],null]')
    expect(values[18]).toBe('x'.repeat(100_000))

    // And Ruby finds in it what it had put there.
    expect(await ruby.run(`Sidekiq::RetrySet.new.first.args == ${args}`)).toBe(true)
  })

  test("a text that Ruby can't read is refused at the push", async () => {
    const { hq } = world().node()
    for (const half of ['\ud83d', 'x\udc0e', '\udc0e\ud83d']) {
      await expect(hq.jobNamed('Quick').performAsync({ text: [half] })).rejects.toThrow(
        /args\[0\].text\[0\].*surrogate/,
      )
    }
    expect(await world().redis.keys('*')).toEqual([])
  })
})

function inOrder(all: (Pick<RunReport, 'by' | 'args'> & { jid: string | null | undefined })[]): string[] {
  return all.map(({ by, jid, args }) => JSON.stringify([by, jid, args])).sort()
}
