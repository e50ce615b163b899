import { expect, test } from 'vitest'
import type { FetchedJob, Settlement } from '#dist/store/contract.js'
import { done, job, release, retry, toQueue } from '../../conformance/bench.ts'
import type { RedisServer } from '../server.ts'
import type { Act, Step } from '../step.ts'
import { census, type Hand, openHand } from './hand.ts'
import { openStage, type Stage, script } from './stage.ts'

/** What can befall a turn, and when what was held back goes on. */
const FAULTS: { act: Act; late?: 'before it is repeated' | 'after it was repeated' | 'after the next turn' }[] = [
  { act: 'cut-before' },
  { act: 'cut-after-request' },
  { act: 'cut-before-reply' },
  { act: 'hold', late: 'before it is repeated' },
  { act: 'hold', late: 'after it was repeated' },
  { act: 'hold', late: 'after the next turn' },
  { act: 'hold-reply', late: 'after it was repeated' },
]

const ENDS: { name: string; of: (taken: FetchedJob) => Settlement }[] = [
  { name: 'done', of: (taken) => done(taken) },
  { name: 'retried', of: (taken) => retry(taken, 2e9) },
  { name: 'put back', of: (taken) => release(taken) },
]

/** A worker that has two jobs that came while it waited and two that it took, and one more waits. */
async function busy(
  stage: Stage,
  twins: boolean,
): Promise<{ hand: Hand; texts: string[]; came: FetchedJob; took: FetchedJob }> {
  const hand = await openHand(stage)
  const texts = [1, 2, 3, 4, 5].map((n) => job(twins ? 0 : n))
  const [a = '', b = '', c = '', d = '', e = ''] = texts
  const came = await hand.receive(a)
  await hand.receive(b)
  const [took] = await hand.take(c, d)
  await stage.push(e)
  expect(hand.running).toHaveLength(4)
  return { hand, texts, came, took: took as FetchedJob }
}

/** A late request or answer comes at the right time; what is lost is told again, and then nothing is owed. */
async function tellAgain(stage: Stage, hand: Hand, step: Step, late?: string): Promise<void> {
  if (late === 'before it is repeated') stage.release(step)
  await hand.insist()
  if (late === 'after it was repeated') stage.release(step)
  if (late === 'after the next turn') {
    await hand.turn()
    stage.release(step)
  }
}

export function turns(server: () => RedisServer): void {
  for (const { act, late } of FAULTS) {
    for (const source of ['came', 'took'] as const) {
      for (const twins of [true, false]) {
        for (const { name, of } of twins ? ENDS : ENDS.slice(1, 2)) {
          const what = `${act}${late ? `, it goes on ${late}` : ''}: the end of a job that ${source}, ${name}`
          test.concurrent(`turn, ${what}${twins ? ', with twins' : ''}`, async (t) => {
            const stage = await openStage(server(), t, { impatient: late !== undefined })
            const { hand, texts, [source]: job } = await busy(stage, twins)
            const step = stage.fault(script('settleAndFetch'), act)
            // What a late request takes is found only some seconds later: that is looked at below.
            await hand.lose({ settle: [of(job)], n: late?.startsWith('after') ? 0 : 1 })
            await step.happened
            await tellAgain(stage, hand, step, late)
            await hand.workOff()
            await census(stage, hand, {
              handed: name === 'put back' ? [...texts, job.text] : texts,
              processed: 5,
              ...(name === 'retried' ? { failed: 1, retry: [job.text], processed: 5 } : {}),
            })
          })
        }
      }
    }
  }

  const PAIRS: { first: Act; second: Act; late?: 'before it is repeated' | 'after it was repeated' }[] = [
    { first: 'cut-before', second: 'pass' },
    { first: 'pass', second: 'cut-before' },
    { first: 'cut-before-reply', second: 'pass' },
    { first: 'pass', second: 'cut-before-reply' },
    { first: 'pass', second: 'cut-after-request' },
    { first: 'hold', second: 'pass', late: 'before it is repeated' },
    { first: 'hold', second: 'pass', late: 'after it was repeated' },
    { first: 'pass', second: 'hold', late: 'after it was repeated' },
    { first: 'hold-reply', second: 'pass', late: 'before it is repeated' },
    { first: 'hold-reply', second: 'pass', late: 'after it was repeated' },
    { first: 'pass', second: 'hold-reply', late: 'after it was repeated' },
  ]
  for (const { first, second, late } of PAIRS) {
    for (const twins of [true, false]) {
      const what = `first ${first}, second ${second}${late ? `, it goes on ${late}` : ''}`
      test.concurrent(`two turns outstanding, ${what}${twins ? ', with twins' : ''}`, async (t) => {
        const stage = await openStage(server(), t, { impatient: late !== undefined })
        const { hand, texts, came, took } = await busy(stage, twins)
        const more = [job(twins ? 0 : 6), job(twins ? 0 : 7)]
        await stage.push(...more)
        const steps = [first, second].map((act) => stage.fault(script('settleAndFetch'), act))
        const answers = await Promise.allSettled([
          hand.turn({ settle: [done(came)], n: 1 }),
          hand.turn({ settle: [retry(took, 2e9)], n: 1 }),
        ])
        expect(answers.map(({ status }) => status)).toContain('rejected')
        const held = steps.find(({ act }) => act.startsWith('hold'))
        if (held) await tellAgain(stage, hand, held, late)
        await hand.workOff()
        await census(stage, hand, { handed: [...texts, ...more], failed: 1, retry: [took.text] })
      })
    }
  }

  for (const { act, applied } of [
    { act: 'cut-before', applied: 0 },
    { act: 'cut-before-reply', applied: 1 },
  ] as const) {
    test.concurrent(`a turn and then the lease is lost, ${act}: each job is with others or done`, async (t) => {
      const stage = await openStage(server(), t)
      const { hand, texts, came } = await busy(stage, true)
      const step = stage.fault(script('settleAndFetch'), act)
      await hand.lose({ settle: [done(came)], n: 1 })
      await step.happened
      expect(await stage.direct.workers.claim(hand.owner, null)).toBe(true)
      await hand.insist()
      expect(hand.complaints).toEqual(['fenced'])
      const stranded = await stage.direct.workers.orphaned(10)
      const items = stranded.map(({ text, ...one }) => ({ ...one, to: toQueue('q', text, 'front') }))
      expect(new Set(await stage.direct.workers.rescue(items, Date.now()))).toEqual(new Set(['ok']))
      expect(await stage.truth()).toMatchObject({
        waiting: texts.slice(applied),
        held: [],
        owned: [],
        processed: applied,
      })
    })
  }
}
