import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { job } from '../../conformance/bench.ts'
import type { RedisServer } from '../server.ts'
import type { Match, Step } from '../step.ts'
import { census, openHand, until } from './hand.ts'
import { command, openStage, type Stage, script } from './stage.ts'

/** Finding what a lost answer told, and giving it back when nobody wants it. */
export function found(server: () => RedisServer): void {
  test.concurrent('two waits and a turn outstanding, every answer lost: each job comes once', async (t) => {
    const stage = await openStage(server(), t)
    const hand = await openHand(stage)
    const texts = [0, 0, 0].map((n) => job(n))
    const steps: Step[] = [1, 2].map(() => stage.fault(command('BLMOVE'), 'hold-reply'))
    const waiting = Promise.allSettled([hand.wait(1000), hand.wait(1000)])
    await until(async () => (await stage.blocked()) === 2)
    await stage.push(...texts.slice(0, 2))
    for (const step of steps) await step.happened
    await stage.push(...texts.slice(2))
    steps.push(stage.fault((name) => name.startsWith('EVAL'), 'hold-reply'))
    const turn = hand.lose({ n: 1 })
    await steps[2]?.happened
    for (const step of steps) step.cut()
    await turn
    await waiting
    await hand.workOff()
    await census(stage, hand, { handed: texts })
  })

  test.concurrent('a turn that is answered while it is looked for lost jobs hands out none twice', async (t) => {
    const stage = await openStage(server(), t)
    const hand = await openHand(stage)
    const texts = [1, 1, 2].map((n) => job(n))
    await stage.push(...texts)
    const held = stage.fault(script('settleAndFetch'), 'hold-reply')
    const turn = hand.turn({ n: 3 })
    await held.happened
    const looking = stage.fault(command('EXISTS'), 'pass')
    await loseWait(stage, 'p')
    // The answer to the question comes right behind that of the turn, in one packet.
    await looking.happened
    await sleep(20)
    const looked = stage.fault(lookEnds, 'pass')
    stage.release(held)
    await turn
    // The jobs run on meanwhile.
    await looked.happened
    await hand.workOff()
    await census(stage, hand, { handed: texts })
  })

  for (const source of ['came', 'took'] as const) {
    for (const act of ['cut-before', 'cut-before-reply', 'hold', 'hold-reply'] as const) {
      test.concurrent(`a job that was found (it ${source}) goes back, ${act}: it is there once`, async (t) => {
        const stage = await openStage(server(), t, { impatient: true })
        const hand = await openHand(stage)
        const texts = [0, 0, 0].map((n) => job(n))
        const [a = '', b = '', c = ''] = texts
        await hand.receive(a)
        await hand.take(b)
        const lost = stage.fault(source === 'came' ? command('BLMOVE') : script('settleAndFetch'), 'cut-before-reply')
        if (source === 'came') await stage.push(c)
        await Promise.all([
          source === 'came' ? expect(hand.wait(1000)).rejects.toThrow() : stage.push(c).then(() => hand.lose({ n: 1 })),
          lost.happened,
        ])
        // All slots are taken: nobody asks for it.
        const back = stage.fault(script('settleAndFetch'), act)
        await back.happened
        if (act.startsWith('hold')) {
          // It is given up, and goes on only when the job has been handed out again, should that happen.
          await until(async () => {
            await hand.wait(50).catch(() => {})
            return hand.running.length === 3 || performance.now() - stage.faultAt > 1500
          })
          stage.release(back)
          await sleep(50)
        }
        await hand.workOff()
        await census(stage, hand, { handed: texts })
      })
    }
  }
}

/** The last question of a look: it goes through the queues in the order in which they were entered. */
const lookEnds: Match = (name, [key]) => name === 'LRANGE' && String(key).includes('{queue:p}:arriving:')

/** Breaks a connection that waits, so that lost jobs are looked for. */
async function loseWait(stage: Stage, queue: string): Promise<void> {
  const cut = stage.fault(command('BLMOVE'), 'cut-after-request')
  const never = new AbortController().signal
  await expect(stage.store.workers.waitForJobs('here:1:1.0', [queue], 1, 1000, never)).rejects.toThrow()
  await cut.happened
}
