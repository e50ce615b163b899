/** Checks the order of jobs that go to the front of a queue together, while a worker waits for one. */

import { expect } from 'vitest'
import { type Bench, pause, requestOf } from '../bench.ts'

/** More jobs than a store moves with one command when their order does not matter; together they have more than 1 MB. */
export const MANY = 250

export function longJob(t: Bench, n: number): string {
  return t.job(n, { args: ['x'.repeat(5000)] })
}

/** Moves jobs to the empty queue q while an owner waits for its jobs. That owner has to get the oldest one. */
export async function startsWithOldest(t: Bench, oldest: string, move: () => Promise<unknown>): Promise<void> {
  const idle = await t.owner()
  const { workers } = t.store
  const receive = async () => {
    // A store may wake a waiter without a reason.
    for (const end = AbortSignal.timeout(20_000); ; end.throwIfAborted()) {
      const received = await workers.waitForJobs(idle, ['q'], 1, 20_000, end)
      if (received.length > 0) return received
      const { fetched } = await workers.settleAndFetch(idle, requestOf({ fetch: { queues: ['q'], n: 1 } }))
      if (fetched.length > 0) return fetched
    }
  }
  // From now on the connection is open on which a store waits.
  const first = receive()
  await t.push('q', t.job('first'))
  expect(await first).toHaveLength(1)
  const waiting = receive()
  // A wait that begins later would not see a part of the jobs.
  await pause(100)
  await move()
  const jidOf = (text: string) => JSON.parse(text).jid
  expect((await waiting).map(({ text }) => jidOf(text))).toEqual([jidOf(oldest)])
}
