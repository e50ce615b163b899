import { createRequire } from 'node:module'
import { describe, expect, test } from 'vitest'
import { type Keys, keysOf } from './keys.ts'

const slotOf = createRequire(createRequire(import.meta.url).resolve('ioredis'))('cluster-key-slot') as (
  key: string,
) => number

/** Every key that belongs to a queue and is ours. */
const ours = (keys: Keys, queue: string) => [
  keys.working(queue, 'host:1:ab.0'),
  keys.arriving(queue, 'host:1:ab.0'),
  keys.settled(queue, 'host:1:ab.0'),
  keys.oldLeases(queue),
  keys.oldHosts(queue),
  keys.adding(queue),
  keys.held(queue),
  ...keys.task(queue, '00000000000000aa'),
  keys.parts(queue, '00000000000000aa'),
  keys.taskTimes(queue),
  ...keys.ordered(queue).filter((key) => key !== keys.leases),
  ...keys.orderedShard(queue, 3),
  keys.orderedBell(queue, 'host:1:ab.0'),
]

/** What a job moves through, and what is counted with it. */
const moves = (keys: Keys, queue: string) => [
  keys.set('retry', queue),
  keys.set('schedule', queue),
  keys.set('dead', queue),
  keys.processed(queue),
  keys.failed(queue, '2026-05-17'),
]

describe("Sidekiq's layout", () => {
  const keys = keysOf('')

  test("Sidekiq's keys have Sidekiq's names", () => {
    expect(keys.queue('default')).toBe('queue:default')
    expect(keys.queues).toBe('queues')
    expect(moves(keys, 'default')).toEqual(['retry', 'schedule', 'dead', 'stat:processed', 'stat:failed:2026-05-17'])
    expect([keys.process('h:1:a'), keys.running('h:1:a'), keys.signals('h:1:a')]).toEqual([
      'h:1:a',
      'h:1:a:work',
      'h:1:a-signals',
    ])
  })

  test('what is ours lies in the slot of its queue', () => {
    for (const queue of ['default', 'a:b', 'fronta č. 1']) {
      for (const key of ours(keys, queue)) {
        expect(key).toMatch(/^hk:\{queue:/)
        expect(slotOf(key)).toBe(slotOf(keys.queue(queue)))
      }
    }
  })

  test('an owner is read from its keys, also one with colons', () => {
    for (const queue of ['default', 'a:working:b']) {
      const owner = { queue, owner: 'web-1:4711:0a1b2c.3' }
      expect(keys.parseOwners(keys.working(queue, owner.owner))).toEqual(owner)
      expect(keys.parseOwners(keys.arriving(queue, owner.owner))).toEqual(owner)
    }
    expect(keys.parseOwners(keys.leases)).toBeUndefined()
  })
})

describe("a cluster's layout", () => {
  const keys = keysOf('', 'cluster')

  test('everything that changes with a job lies in the slot of its queue', () => {
    const queue = 'default'
    for (const key of [...ours(keys, queue), ...moves(keys, queue)]) expect(slotOf(key)).toBe(slotOf('queue:default'))
  })

  test('what a task pushes to another queue waits in the slot of its own', () => {
    expect(keys.outbox('default', 'default')).toBe(keys.queue('default'))
    expect(slotOf(keys.outbox('default', 'other'))).toBe(slotOf('queue:default'))
    expect(keys.outbox('default', 'other')).not.toBe(keys.outbox('default', 'more'))
    expect(keysOf('').outbox('default', 'other')).toBe('queue:other')
  })

  test('two queues have sets and totals of their own', () => {
    for (const [i, key] of moves(keys, 'a').entries()) expect(key).not.toBe(moves(keys, 'b')[i])
  })
})

test('a namespace stands before every key', () => {
  const keys = keysOf('app')
  const all = [...ours(keys, 'q'), ...moves(keys, 'q'), keys.queue('q'), keys.queues, keys.processes, keys.tasks]
  for (const key of [...all, keys.duty('sweep'), keys.wake, keys.ourQueues]) expect(key).toMatch(/^app:/)
  expect(keys.parseOwners(keys.working('q', 'o'))).toEqual({ queue: 'q', owner: 'o' })
})
