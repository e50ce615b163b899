import { expect, test } from 'vitest'
import { besideRuby } from './world.ts'

besideRuby('a priority is a queue of its own to Ruby', (world) => {
  test('a Ruby worker that serves p3:ruby runs its jobs before those of ruby', async () => {
    const { hq } = world().node()
    const Quick = hq.jobNamed('Quick').set({ queue: 'ruby' })
    await Quick.performAsync('low')
    await Quick.set({ priority: 3 }).performAsync('high')
    const queues = 'Sidekiq::Queue.all.map { |queue| [queue.name, queue.map { |job| job.args[0] }] }.sort'
    expect(await world().ruby.run(queues)).toEqual([
      ['p3:ruby', ['high']],
      ['ruby', ['low']],
    ])
    await world().rubyWorker({ queues: ['p3:ruby', 'ruby'], concurrency: 1 })
    const ran = await world().reports(2)
    expect(ran.map(({ by, args }) => [by, args[0]])).toEqual([
      ['ruby', 'high'],
      ['ruby', 'low'],
    ])
  })

  test('a job that failed in Ruby keeps its priority, and a Node worker runs it first', async () => {
    const { ruby } = world()
    const jid = await ruby.run<string>('Picky.set(queue: "p3:shared").perform_async(["ruby"], "retried")')
    const worker = await world().rubyWorker({ queues: ['p3:shared'] })
    const [text = ''] = await world().set('retry', 1)
    expect(JSON.parse(text)).toMatchObject({ jid, queue: 'p3:shared', retry_count: 0 })
    await worker.end('SIGTERM')
    await ruby.run('Quick.set(queue: "shared").perform_async("plain")')
    await ruby.run('Sidekiq::RetrySet.new.each(&:add_to_queue)')

    const node = world().node()
    const [first] = (await node.hq.queue('shared').page({ oldestFirst: true })).items
    expect(await node.hq.queue('shared').size()).toBe(2)
    expect([first?.jid, first?.priority]).toEqual([jid, 3])
    await node.work({ queues: ['shared'], concurrency: 1 })
    const ran = await world().reports(2)
    expect(ran.map(({ by, args }) => [by, args.at(-1)])).toEqual([
      ['node', 'retried'],
      ['node', 'plain'],
    ])
  })
})
