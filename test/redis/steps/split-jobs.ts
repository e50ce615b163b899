import { expect, test } from 'vitest'
import type { Branch, FetchedJob, Settlement } from '#dist/store/contract.js'
import { requestOf } from '../../conformance/bench.ts'
import { apart } from '../../conformance/tasks/apart.ts'
import { counts, expectExact, taskWith } from '../../conformance/tasks/tracked.ts'
import type { RedisServer } from '../server.ts'
import type { Act } from '../step.ts'
import { openStage, STEP } from './stage.ts'
import { insist, openOwner } from './test-owner.ts'

const FAULTS: Act[] = ['cut-before', 'cut-after-request', 'cut-before-reply', 'hold', 'hold-reply']

/** A settlement that splits a job of several rows, and whose answer is lost. */
export function splitJobs(server: () => RedisServer): void {
  for (const act of FAULTS) {
    test.concurrent(`a job of several rows is split, ${act}: a repeated settlement splits it once`, async (t) => {
      const stage = await openStage(server(), t, { impatient: act.startsWith('hold') })
      const owner = await openOwner(stage)
      const task = await taskWith({ store: stage.direct } as Parameters<typeof taskWith>[0], 1, 5, { rowsPerJob: 5 })
      const taking = requestOf({ fetch: { queues: ['q'], n: 1 } })
      const [taken] = (await insist(() => stage.store.workers.settleAndFetch(owner.name, taking))).fetched
      const settlement: Settlement = apart(taken as FetchedJob)
      const settle = async () =>
        (await stage.store.workers.settleAndFetch(owner.name, requestOf({ settlements: [settlement] }))).settled
      const step = stage.fault(STEP, act)
      await expect(settle()).rejects.toMatchObject({ code: expect.stringMatching(/^STORE_(UNREACHABLE|TIMEOUT)$/) })
      await step.happened
      expect(await insist(settle)).toEqual(['ok'])
      stage.release(step)
      // Waits until the server has carried out the late request.
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
