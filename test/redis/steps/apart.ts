import { expect, test } from 'vitest'
import type { Branch, FetchedJob, Settlement } from '#dist/store/contract.js'
import { turnOf } from '../../conformance/bench.ts'
import { apart } from '../../conformance/task-apart.ts'
import { counts, expectExact, taskWith } from '../../conformance/tracked.ts'
import type { RedisServer } from '../server.ts'
import type { Act } from '../step.ts'
import { insist, openHand } from './hand.ts'
import { openStage, script } from './stage.ts'

const FAULTS: Act[] = ['cut-before', 'cut-after-request', 'cut-before-reply', 'hold', 'hold-reply']

/** A job of several rows falls apart, and nobody hears of it. */
export function aparts(server: () => RedisServer): void {
  for (const act of FAULTS) {
    test.concurrent(`a job of several rows falls apart, ${act}: told again it does so once`, async (t) => {
      const stage = await openStage(server(), t, { impatient: act.startsWith('hold') })
      const hand = await openHand(stage)
      const task = await taskWith({ store: stage.direct } as Parameters<typeof taskWith>[0], 1, 5, { rowsPerJob: 5 })
      const taking = turnOf({ fetch: { queues: ['q'], n: 1 } })
      const [taken] = (await insist(() => stage.store.workers.settleAndFetch(hand.owner, taking))).fetched
      const settlement: Settlement = apart(taken as FetchedJob)
      const settle = async () =>
        (await stage.store.workers.settleAndFetch(hand.owner, turnOf({ settlements: [settlement] }))).settled
      const step = stage.fault(script('settleAndFetch'), act)
      await expect(settle()).rejects.toMatchObject({ code: expect.stringMatching(/^STORE_(UNREACHABLE|TIMEOUT)$/) })
      await step.happened
      expect(await insist(settle)).toEqual(['ok'])
      stage.release(step)
      // Behind the late one.
      await stage.ask(['PING'])
      const [two, three, four, five] = (settlement.also as Branch[]).map(({ to }) => to.text) as string[]
      const holds = async () => {
        expect(await stage.truth()).toMatchObject({
          waiting: [two, five],
          held: [],
          retry: [three],
          dead: [four],
          processed: 1,
          failed: 1,
        })
        const { counts: found, inWindow } = await expectExact({ store: stage.direct }, task)
        expect({ found, inWindow }).toEqual({ found: counts({ finished: 1, enqueued: 3, error: 1 }), inWindow: 2 })
      }
      await holds()
      expect(await settle()).toEqual(['fenced'])
      await holds()
    })
  }
}
