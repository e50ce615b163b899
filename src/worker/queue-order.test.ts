import { expect, test } from 'vitest'
import { expandQueues, QueueOrder } from './queue-order.ts'

/** Numbers from 0 to 1, the same ones in each run. */
function chance(seed = 1): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

/** How often each queue comes first in so many draws. */
function firsts(queues: string[], draws = 20_000): Record<string, number> {
  const order = new QueueOrder(queues, chance())
  const counts: Record<string, number> = {}
  for (let n = 0; n < draws; n++) {
    const first = order.next()[0] as string
    counts[first] = (counts[first] ?? 0) + 1 / draws
  }
  return counts
}

test('without weights the order is as listed, each queue once', () => {
  const order = new QueueOrder(['b', 'a', 'b', 'c'], () => {
    throw new Error('no chance is needed')
  })
  expect(order.next()).toEqual(['b', 'a', 'c'])
  expect(order.next()).toEqual(['b', 'a', 'c'])
})

test.each([
  [['a,3', 'b,1', 'c'], { a: 0.6, b: 0.2, c: 0.2 }],
  [['a,1', 'b,1', 'c,1', 'd,1'], { a: 0.25, b: 0.25, c: 0.25, d: 0.25 }],
])('of %j each comes first as often as its share of the weights (1 without a weight): %j', (queues, shares) => {
  const counts = firsts(queues)
  for (const [queue, share] of Object.entries(shares)) expect(counts[queue]).toBeCloseTo(share, 1)
})

test('every draw has every queue, once', () => {
  const order = new QueueOrder(['a,5', 'b', 'c,2'], chance())
  expect(order.names).toEqual(['a', 'b', 'c'])
  for (let n = 0; n < 100; n++) expect([...order.next()].sort()).toEqual(['a', 'b', 'c'])
})

test('a queue of another program may have a long name', () => {
  const long = 'q'.repeat(300)
  expect(new QueueOrder([long], () => 0).next()).toEqual([long])
})

test('a weight of 0 counts as no weight', () => {
  expect(new QueueOrder(['b,0', 'a,0'], () => 0).next()).toEqual(['b', 'a'])
  expect(Object.keys(firsts(['a,1', 'b,0'])).sort()).toEqual(['a', 'b'])
})

const REFUSED = [[], [''], ['a,'], ['a,b'], ['a,-1'], ['a,1.5'], ['a b'], [',3']]

test.each(REFUSED.map((queues) => [queues]))('%o is refused', (queues) => {
  expect(() => new QueueOrder(queues, () => 0)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
})

test("'*' stands for the defined queues that are not named elsewhere", () => {
  const defined = ['default', 'mails', 'slow']
  expect(expandQueues(['*'], defined, [])).toEqual(defined.map((queue) => [queue, 1]))
  expect(expandQueues(['*'], ['default'], [])).toEqual(['default'])
  expect(expandQueues(['*'], defined, ['mails', 'slow'])).toEqual(['default'])
  expect(expandQueues(['slow', '*'], defined, [])).toEqual(['slow', 'default', 'mails'])
  expect(expandQueues(['slow,5', '*,2'], defined, [])).toEqual(['slow,5', ['default', 2], ['mails', 2]])
  expect(expandQueues(['slow', 'other'], defined, [])).toEqual(['slow', 'other'])
})
