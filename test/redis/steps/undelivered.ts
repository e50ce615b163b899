import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { job } from '../../conformance/bench.ts'
import type { RedisServer } from '../server.ts'
import type { Match, Step } from '../step.ts'
import { command, openStage, STEP, type Stage, script } from './stage.ts'
import { census, openOwner, until } from './test-owner.ts'

/** Finding the jobs of a lost answer, and requeueing them when they are not fetched. */
export function undelivered(server: () => RedisServer): void {
  test.concurrent('two waits and a settleAndFetch, every answer lost: each job is handed out once', async (t) => {
    const stage = await openStage(server(), t)
    const owner = await openOwner(stage)
    const texts = [0, 0, 0].map((n) => job(n))
    const steps: Step[] = [1, 2].map(() => stage.fault(command('BLMOVE'), 'hold-reply'))
    const waiting = Promise.allSettled([owner.wait(1000), owner.wait(1000)])
    await until(async () => (await stage.blocked()) === 2)
    await stage.push(...texts.slice(0, 2))
    for (const step of steps) await step.happened
    await stage.push(...texts.slice(2))
    steps.push(stage.fault((name) => name.startsWith('EVAL'), 'hold-reply'))
    const turn = owner.loseAnswer({ n: 1 })
    await steps[2]?.happened
    for (const step of steps) step.cut()
    await turn
    await waiting
    await owner.workOff()
    await census(stage, owner, { handed: texts })
  })

  test.concurrent('an answer that arrives during a search for lost jobs hands out no job twice', async (t) => {
    const stage = await openStage(server(), t)
    const owner = await openOwner(stage)
    const texts = [1, 1, 2].map((n) => job(n))
    await stage.push(...texts)
    const held = stage.fault(STEP, 'hold-reply')
    const turn = owner.settleAndFetch({ n: 3 })
    await held.happened
    const searching = stage.fault(script('heldQueues'), 'pass')
    await loseWait(stage, 'p')
    // The reply to LostAnswers comes right behind that of settleAndFetch, in one packet.
    await searching.happened
    await sleep(20)
    const searched = stage.fault(searchEnds, 'pass')
    stage.release(held)
    await turn
    // The jobs keep running meanwhile.
    await searched.happened
    await owner.workOff()
    await census(stage, owner, { handed: texts })
  })

  for (const source of ['came', 'took'] as const) {
    for (const act of ['cut-before', 'cut-before-reply', 'hold', 'hold-reply'] as const) {
      test.concurrent(`an undelivered job (it ${source}) is requeued, ${act}: it is there once`, async (t) => {
        const stage = await openStage(server(), t, { impatient: true })
        const owner = await openOwner(stage)
        const texts = [0, 0, 0].map((n) => job(n))
        const [a = '', b = '', c = ''] = texts
        await owner.receive(a)
        await owner.fetch(b)
        const lost = stage.fault(source === 'came' ? command('BLMOVE') : STEP, 'cut-before-reply')
        if (source === 'came') await stage.push(c)
        await Promise.all([
          source === 'came'
            ? expect(owner.wait(1000)).rejects.toThrow()
            : stage.push(c).then(() => owner.loseAnswer({ n: 1 })),
          lost.happened,
        ])
        // All slots are in use, so the worker does not fetch it.
        const back = stage.fault(STEP, act)
        await back.happened
        if (act.startsWith('hold')) {
          // The request times out, and is released only when the job has been handed out again, if that happens.
          await until(async () => {
            await owner.wait(50).catch(() => {})
            return owner.running.length === 3 || performance.now() - stage.faultAt > 1500
          })
          stage.release(back)
          await sleep(50)
        }
        await owner.workOff()
        await census(stage, owner, { handed: texts })
      })
    }
  }
}

/** The last command of a search: queue q is the only one of which the owner has jobs. */
const searchEnds: Match = (name, [key]) => name === 'LRANGE' && String(key).includes('{queue:q}:arriving:')

/** Breaks a waiting connection, so that the store searches for lost jobs. */
async function loseWait(stage: Stage, queue: string): Promise<void> {
  const cut = stage.fault(command('BLMOVE'), 'cut-after-request')
  const never = new AbortController().signal
  await expect(stage.store.workers.waitForJobs('here:1:1.0', [queue], 1, 1000, never)).rejects.toThrow()
  await cut.happened
}
