import { Highkiq } from 'highkiq'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'

afterEach(() => {
  vi.useRealTimers()
})

test('an ordered queue that is created again after the clock was set back has higher tokens and new tickets', async () => {
  const hq = new Highkiq({ url: 'sqlite::memory:' })
  onTestFinished(() => hq.close())
  const { store } = hq
  await store.workers.join('w', { queues: ['Sync'], seconds: 600, host: 'here' })
  /** Fetches one id with a new token, as many times as asked for, and leaves the queue empty. */
  const life = async (owners: number) => {
    await store.ordered.push('Sync', 1, [{ id: 'a', payload: '1', score: 1, performIn: 0 }], 0)
    await store.ordered.join('Sync', 'w')
    const request = {
      now: 1000,
      settlements: [],
      fetch: [] as { shard: number; token: number; n: number }[],
      maxPayloads: 9,
    }
    const tokens: number[] = []
    const tickets: string[] = []
    for (let i = 0; i < owners; i++) {
      const token = (await store.ordered.acquireShard('Sync', 0, 'w', 3, 0))?.token ?? 0
      const { fetched } = await store.ordered.settleAndFetch('Sync', 'w', {
        ...request,
        fetch: [{ shard: 0, token, n: 1 }],
      })
      tokens.push(token)
      tickets.push(fetched[0]?.ids[0]?.ticket ?? '')
      await store.ordered.releaseShard('Sync', 0, 'w', token, 0)
    }
    await store.ordered.leave('Sync', 'w', 0)
    await store.ordered.act('Sync', 'delete', ['a'], { now: 0 })
    expect(await store.ordered.deleteQueue('Sync')).toBe(true)
    return { tokens, tickets }
  }
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 4, 17, 12) })
  const before = await life(5)
  vi.setSystemTime(Date.UTC(2026, 4, 17, 11))
  const after = [await life(1), await life(1)]
  const tokens = [before, ...after].flatMap((one) => one.tokens)
  expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b))
  const tickets = [before, ...after].flatMap((one) => one.tickets)
  expect(new Set(tickets).size).toBe(7)
})
