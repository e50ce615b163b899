import { afterAll, expect, test } from 'vitest'
import { done, job } from '../../conformance/bench.ts'
import type { RedisServer } from '../server.ts'
import type { Act } from '../step.ts'
import { loadScripts, openStage, STEP } from './stage.ts'
import { census, openOwner } from './test-owner.ts'

/** A server that has forgotten the scripts. These tests run one at a time, because they flush the scripts of all. */
export function forgottenScripts(server: () => RedisServer): void {
  afterAll(() => loadScripts(server()))

  const FAULTS: { first: Act; second: Act }[] = [
    { first: 'pass', second: 'pass' },
    { first: 'cut-before', second: 'pass' },
    { first: 'cut-before-reply', second: 'pass' },
    { first: 'pass', second: 'cut-before' },
    { first: 'pass', second: 'cut-before-reply' },
  ]
  for (const asked of ['EVALSHA', 'EVAL']) {
    for (const { first, second } of FAULTS) {
      test(`two settleAndFetch at a server that has forgotten the scripts, ${asked} ${first} and ${second}`, async (t) => {
        const stage = await openStage(server(), t)
        const owner = await openOwner(stage)
        const texts = [0, 0, 0, 0, 0].map((n) => job(n))
        const [early = '', a = '', ...more] = texts
        // A connection sends its first use of a script in full, so both scripts are used once before.
        const used = [done(await owner.receive(early))]
        for (const settle of [used, [], []]) await owner.settleAndFetch({ settle, n: 0 })
        const came = await owner.receive(a)
        const [took] = await owner.fetch(...more.slice(0, 1))
        await stage.push(...more.slice(1))
        await stage.ask(['SCRIPT', 'FLUSH'])
        const turn = STEP
        for (const act of [first, second]) stage.fault((name, args) => name === asked && turn(name, args), act)
        const answers = await Promise.allSettled([
          owner.settleAndFetch({ settle: [done(came)], n: 1 }),
          owner.settleAndFetch({ settle: took ? [done(took)] : [], n: 1 }),
        ])
        const lost = first !== 'pass' || second !== 'pass'
        expect(answers.some(({ status }) => status === 'rejected')).toBe(lost)
        await owner.workOff()
        await census(stage, owner, { handed: texts })
      })
    }
  }
}
