import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { sure, withBench } from '../conformance/bench.ts'
import { done, failed, item, OrderedQueue, settlement } from '../conformance/ordered/ordered-queue.ts'
import { postgres } from '../conformance/postgres.ts'
import { onPostgres } from './suite.ts'

const some = (from: number, n: number, payload = 'v') =>
  Array.from({ length: n }, (_, i) => item(`${from + i}`, payload, i))

/** Returns the number of messages to the server that `work` waits for, those that wake other processes left out. */
async function countedTrips(work: () => Promise<unknown>): Promise<number> {
  const query = vi.spyOn(pg.Client.prototype, 'query')
  try {
    await work()
    return query.mock.calls.filter(([sent]) => !JSON.stringify(sent).includes('pg_notify')).length
  } finally {
    query.mockRestore()
  }
}

onPostgres('ordered queues', () => {
  test('a push, and a step of an owner, cost as many statements for a hundred ids as for two', () =>
    withBench(postgres, async (t) => {
      const queue = new OrderedQueue(t, 'o', 4)
      const owner = await queue.owner()
      const costs: number[][] = []
      for (const n of [2, 100]) {
        const from = n * 1000
        const push = (payload: string) => countedTrips(() => queue.push(...some(from, n, payload)))
        const cost = [await push('v'), await push('w'), await push('w')]
        for (const end of [failed(1000), { kind: 'dead', error: 'x' } as const, done]) {
          const held = await owner.fetchAvailable(n)
          expect(held).toHaveLength(n)
          const settlements = held.map((one) => settlement(one, end))
          const fetch = [...owner.tokens.keys()].map((shard) => owner.request(n, shard))
          const step = async () => {
            const { fetched } = await owner.settleAndFetch({ settlements, fetch })
            const again = fetched.flatMap(({ ids }, i) => ids.map((one) => ({ ...one, ...sure(fetch[i]) })))
            await owner.settle({ kind: 'requeue' }, ...again)
          }
          cost.push(await countedTrips(step))
        }
        costs.push(cost)
      }
      expect(costs[1]).toEqual(costs[0])
    }))

  test('an owner that lost the answer to its acquire call gets the same deaths, until it uses its token', () =>
    withBench(postgres, async (t) => {
      const queue = new OrderedQueue(t)
      await queue.push(item('1', 'v1', 1), item('1', 'v2', 2))
      const first = await queue.owner()
      await first.fetch()
      await first.die()
      const heir = await queue.member()
      const owned = await heir.own(0, 1)
      expect(owned.died).toMatchObject([
        {
          id: '1',
          error: 'crashed 1 times',
          payloads: [
            ['"v1"', 1],
            ['"v2"', 2],
          ],
        },
      ])
      expect(await heir.ask(0, 1)).toEqual({ ...owned, rescued: 0 })
      await heir.fetch()
      expect(await heir.ask(0, 1)).toEqual({ token: owned.token, rescued: 0, died: [] })
    }))

  test('an id that is too long for an index is refused with advice, and the others of its push are not stored', () =>
    withBench(postgres, async (t) => {
      const queue = new OrderedQueue(t)
      const long = Array.from({ length: 9000 }, () => String.fromCharCode(97 + t.dice(26))).join('')
      const push = queue.push(item('1'), item(long))
      await expect(push).rejects.toThrow(
        'an id of the ordered queue o has 9000 bytes, and PostgreSQL stores about 2600: name it by a hash',
      )
      expect(await queue.waiting()).toEqual([])
    }))

  test('payloads of any length are told apart, and sorted by all of their bytes', () =>
    withBench(postgres, async (t) => {
      const queue = new OrderedQueue(t)
      const text = Array.from({ length: 9000 }, () => String.fromCharCode(97 + t.dice(26))).join('')
      const payloads = ['b', 'a', 'c'].map((end) => item('1', text + end, 1))
      await queue.push(...payloads)
      await queue.push(...payloads)
      const owner = await queue.owner()
      const [taken] = await owner.fetch()
      expect(taken.payloads.map(([payload]) => payload.slice(-2))).toEqual(['a"', 'b"', 'c"'])
    }))
})
