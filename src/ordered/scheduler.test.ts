import { expect, test } from 'vitest'
import { type Candidate, Scheduler } from './scheduler.ts'

const shard = (name: string, due: number, isReady = true): Candidate => ({
  queue: name,
  shard: 0,
  lag: 1000 - due,
  size: 1,
  due,
  isReady,
  round: 0,
})
const names = (n: number, scheduler: Scheduler, shards: Candidate[]) =>
  Array.from({ length: n }, () => scheduler.pick(shards)?.queue).join('')
const quiet = () => {}

test('the shard that has waited longest is next; a shard that is not ready is skipped', () => {
  const shards = [shard('a', 995), shard('b', 980), shard('c', 1, false)]
  expect(new Scheduler('lag', quiet).pick(shards)?.queue).toBe('b')
})

test('after a shard with a long backlog, all other ready shards are next', () => {
  const shards = [shard('a', 0), shard('b', 999), shard('c', 500)]
  expect(names(6, new Scheduler('lag', quiet), shards)).toBe('acbacb')
})

test('a shard that becomes ready in the middle of a round is chosen in it', () => {
  const late = shard('b', 999, false)
  const shards = [shard('a', 0), late]
  const scheduler = new Scheduler('lag', quiet)
  expect(names(3, scheduler, shards)).toBe('aaa')
  expect(names(2, scheduler, [shards[0] as Candidate, { ...late, isReady: true }])).toContain('b')
})

test('shards are chosen round robin', () => {
  const shards = [shard('a', 5), shard('b', 1), shard('c', 3, false), shard('d', 2)]
  expect(names(5, new Scheduler('seq', quiet), shards)).toBe('abdab')
})

test('pick returns undefined when no shard is ready', () => {
  for (const which of ['lag', 'seq', () => undefined] as const) {
    expect(new Scheduler(which, quiet).pick([shard('a', 1, false)])).toBeUndefined()
    expect(new Scheduler(which, quiet).pick([])).toBeUndefined()
  }
})

test('a function chooses among the ready shards; when it throws, the shard that has waited longest is next', () => {
  const shards = [shard('a', 5), shard('b', 1), shard('c', 0, false)]
  const seen: string[][] = []
  const last = new Scheduler((ready) => {
    seen.push(ready.map(({ queue }) => queue))
    return ready.at(0)
  }, quiet)
  expect(last.pick(shards)?.queue).toBe('a')
  expect(seen).toEqual([['a', 'b']])
  const errors: unknown[] = []
  const choose = () => {
    throw new Error('no idea')
  }
  const broken = new Scheduler(choose, (thrown) => errors.push(thrown))
  expect(names(2, broken, shards)).toBe('ba')
  expect(errors).toHaveLength(1)
})
