import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { type Keys, keysOf } from './keys.ts'

const slotOf = createRequire(createRequire(import.meta.url).resolve('ioredis'))('cluster-key-slot') as (
  key: string,
) => number

/** Every key of ours that belongs to a queue. */
const ours = (keys: Keys, queue: string) => [
  keys.working(queue, 'host:1:ab.0'),
  keys.arriving(queue, 'host:1:ab.0'),
  keys.settled(queue, 'host:1:ab.0'),
  keys.producers(queue),
  keys.backlog(queue),
  ...keys.task(queue, '00000000000000aa'),
  keys.parts(queue, '00000000000000aa'),
  keys.taskTimes(queue),
  ...keys.ordered(queue).filter((key) => key !== keys.leases),
  ...keys.orderedShard(queue, 3),
  keys.orderedNotifications(queue, 'host:1:ab.0'),
]

/** Sidekiq's sets of jobs, and its totals. */
const sidekiqs = (keys: Keys) => [
  ...(['retry', 'schedule', 'dead'] as const).map((name) => keys.set(name)),
  keys.processed(),
  keys.failed('2026-05-17'),
]

const keys = keysOf('')

test("Sidekiq's keys have the names that Sidekiq gives them", () => {
  expect(keys.queue('default')).toBe('queue:default')
  expect(keys.queues).toBe('queues')
  expect(sidekiqs(keys)).toEqual(['retry', 'schedule', 'dead', 'stat:processed', 'stat:failed:2026-05-17'])
  const ofProcess = [keys.process('h:1:a'), keys.running('h:1:a'), keys.signals('h:1:a')]
  expect(ofProcess).toEqual(['h:1:a', 'h:1:a:work', 'h:1:a-signals'])
})

test('every Highkiq key of a queue has the hash slot of that queue', () => {
  for (const queue of ['default', 'a:b', 'fronta č. 1']) {
    for (const key of ours(keys, queue)) {
      expect(key).toMatch(/^hk:\{queue:/)
      expect(slotOf(key)).toBe(slotOf(keys.queue(queue)))
    }
  }
})

test('queue and owner are read from a key, even when they contain colons', () => {
  for (const queue of ['default', 'a:working:b']) {
    const owner = { queue, owner: 'web-1:4711:0a1b2c.3' }
    expect(keys.parseOwners(keys.working(queue, owner.owner))).toEqual(owner)
    expect(keys.parseOwners(keys.arriving(queue, owner.owner))).toEqual(owner)
  }
  expect(keys.parseOwners(keys.leases)).toBeUndefined()
})

test('an id of an ordered queue can be any text, and names no owner', () => {
  const [payloads] = keys.ordered('q').filter((key) => key.endsWith(':payloads:'))
  expect(keys.parseOwners(`${payloads}a}:working:b`)).toBeUndefined()
})

test('every key begins with the namespace', () => {
  const keys = keysOf('app')
  const all = [...ours(keys, 'q'), ...sidekiqs(keys), keys.queue('q'), keys.queues, keys.processes, keys.tasks]
  for (const key of [...all, keys.leaderLock('sweep'), keys.dueChannel, keys.taskQueues]) expect(key).toMatch(/^app:/)
  expect(keys.parseOwners(keys.working('q', 'o'))).toEqual({ queue: 'q', owner: 'o' })
})
