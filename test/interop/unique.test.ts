import { expect, test } from 'vitest'
import { memberText } from '#dist/job/json.js'
import { all } from '../engine/bench.ts'
import { besideRuby } from './world.ts'

besideRuby('unique_for of Sidekiq Enterprise', (world) => {
  test("Ruby's unique jobs run in Node as any job does, and their retries keep what Enterprise wrote", async () => {
    const { redis, ruby } = world()
    // A lock as Ruby holds it is a key that Node does not know.
    await redis.set('unique:of-ruby', 'its jid', 'EX', 600)
    const push = 'Once.set(queue: "node", unique_for: 600, unique_until: "success").perform_async(7)'
    const jids = [await ruby.run<string>(push), await ruby.run<string>(push)]
    const [before = ''] = await redis.lrange('queue:node', 0, -1)
    const node = world().node()
    await node.work({ queues: ['node'] })
    // Both fail the first time.
    for (const text of await world().set('retry', 2)) {
      for (const member of ['unique_for', 'unique_until']) {
        expect(memberText(text, member)).toBe(memberText(before, member))
      }
      expect(memberText(text, 'hk_unique')).toBeUndefined()
    }
    await world().makeDue('retry')
    const ran = await world().reports(2)
    expect(ran.map(({ by, jid }) => [by, jid]).sort()).toEqual(jids.map((jid) => ['node', jid]).sort())
    expect(await redis.get('unique:of-ruby')).toBe('its jid')
    expect(await all(node.hq.uniqueLocks)).toEqual([])
  })

  test('a push of Node with unique_for has one job, which Ruby runs, and the lock ends by time', async () => {
    const node = world().node()
    const Quick = node.hq.jobNamed('Quick').set({ queue: 'ruby', unique_for: 600 })
    const jid = await Quick.performAsync(7)
    expect(await Quick.performAsync(7)).toBe(jid)
    expect(await world().ruby.run('Sidekiq::Queue.new("ruby").map { |job| job["unique_for"] }')).toEqual([600])
    await world().rubyWorker({ queues: ['ruby'] })
    expect((await world().reports(1)).map((report) => [report.by, report.jid])).toEqual([['ruby', jid]])
    // Ruby does not know the lock.
    expect(await Quick.performAsync(7)).toBe(jid)
    node.clock.ahead += 601
    expect(await Quick.performAsync(7)).not.toBe(jid)
    expect(await world().reports(2)).toHaveLength(2)
  })
})
