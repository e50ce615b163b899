import { expect, test } from 'vitest'
import type { FetchedJob, Settlement } from '#dist/store/contract.js'
import { done, job, release, retry, toQueue } from '../../conformance/bench.ts'
import type { RedisServer } from '../server.ts'
import type { Act, Step } from '../step.ts'
import { openStage, STEP, type Stage } from './stage.ts'
import { census, openOwner, type TestOwner } from './test-owner.ts'

/** Faults of settleAndFetch, and when a held message is released. */
const FAULTS: { act: Act; late?: 'before it is repeated' | 'after it was repeated' | 'after the next step' }[] = [
  { act: 'cut-before' },
  { act: 'cut-after-request' },
  { act: 'cut-before-reply' },
  { act: 'hold', late: 'before it is repeated' },
  { act: 'hold', late: 'after it was repeated' },
  { act: 'hold', late: 'after the next step' },
  { act: 'hold-reply', late: 'after it was repeated' },
]

const ENDS: { name: string; of: (taken: FetchedJob) => Settlement }[] = [
  { name: 'done', of: (taken) => done(taken) },
  { name: 'retried', of: (taken) => retry(taken, 2e9) },
  { name: 'put back', of: (taken) => release(taken) },
]

/** Makes an owner with two arrivals and two fetched jobs; one more job waits. */
async function busy(
  stage: Stage,
  areEqual: boolean,
): Promise<{ owner: TestOwner; texts: string[]; came: FetchedJob; took: FetchedJob }> {
  const owner = await openOwner(stage)
  const texts = [1, 2, 3, 4, 5].map((n) => job(areEqual ? 0 : n))
  const [a = '', b = '', c = '', d = '', e = ''] = texts
  const came = await owner.receive(a)
  await owner.receive(b)
  const [took] = await owner.fetch(c, d)
  await stage.push(e)
  expect(owner.running).toHaveLength(4)
  return { owner, texts, came, took: took as FetchedJob }
}

/** Releases the held message at its time, and repeats lost settlements until all are answered. */
async function repeatLost(stage: Stage, owner: TestOwner, step: Step, late?: string): Promise<void> {
  if (late === 'before it is repeated') stage.release(step)
  await owner.insist()
  if (late === 'after it was repeated') stage.release(step)
  if (late === 'after the next step') {
    await owner.settleAndFetch()
    stage.release(step)
  }
}

export function settleAndFetch(server: () => RedisServer): void {
  for (const { act, late } of FAULTS) {
    for (const source of ['came', 'took'] as const) {
      for (const areEqual of [true, false]) {
        for (const { name, of } of areEqual ? ENDS : ENDS.slice(1, 2)) {
          const what = `${act}${late ? `, released ${late}` : ''}: settling a job that ${source}, ${name}`
          test.concurrent(`settleAndFetch, ${what}${areEqual ? ', with equal texts' : ''}`, async (t) => {
            const stage = await openStage(server(), t, { impatient: late !== undefined })
            const { owner, texts, [source]: job } = await busy(stage, areEqual)
            const step = stage.fault(STEP, act)
            // Jobs that a late request fetches are found only after some seconds: see below.
            await owner.loseAnswer({ settle: [of(job)], n: late?.startsWith('after') ? 0 : 1 })
            await step.happened
            await repeatLost(stage, owner, step, late)
            await owner.workOff()
            await census(stage, owner, {
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
    for (const areEqual of [true, false]) {
      const what = `first ${first}, second ${second}${late ? `, released ${late}` : ''}`
      test.concurrent(`two settleAndFetch outstanding, ${what}${areEqual ? ', with equal texts' : ''}`, async (t) => {
        const stage = await openStage(server(), t, { impatient: late !== undefined })
        const { owner, texts, came, took } = await busy(stage, areEqual)
        const more = [job(areEqual ? 0 : 6), job(areEqual ? 0 : 7)]
        await stage.push(...more)
        const steps = [first, second].map((act) => stage.fault(STEP, act))
        const answers = await Promise.allSettled([
          owner.settleAndFetch({ settle: [done(came)], n: 1 }),
          owner.settleAndFetch({ settle: [retry(took, 2e9)], n: 1 }),
        ])
        expect(answers.map(({ status }) => status)).toContain('rejected')
        const held = steps.find(({ act }) => act.startsWith('hold'))
        if (held) await repeatLost(stage, owner, held, late)
        await owner.workOff()
        await census(stage, owner, { handed: [...texts, ...more], failed: 1, retry: [took.text] })
      })
    }
  }

  for (const act of ['cut-before', 'cut-after-request', 'cut-before-reply'] as const) {
    test.concurrent(`the second script of a step, ${act}: the step returns the jobs that the first one fetched`, async (t) => {
      const stage = await openStage(server(), t)
      const owner = await openOwner(stage)
      const texts = Array.from({ length: 250 }, (_, n) => job(n))
      const settle = (await owner.fetch(...texts)).map((fetched) => done(fetched))
      const more = [job('a'), job('b')]
      await stage.push(...more)
      stage.fault(STEP, 'pass')
      stage.fault(STEP, act)
      const { fetched, settled } = await owner.settleAndFetch({ settle, n: 2 })
      expect(fetched.map(({ text }) => text)).toEqual(more)
      expect(settled).toEqual([...Array(200).fill('ok'), ...Array(50).fill('unknown')])
      expect(owner.complaints.splice(0)).toHaveLength(1)
      await owner.workOff()
      await census(stage, owner, { handed: [...texts, ...more] })
    })
  }

  test.concurrent('after two failed steps the next one returns their jobs in the order in which they were fetched', async (t) => {
    const stage = await openStage(server(), t)
    const owner = await openOwner(stage)
    const texts = [1, 2, 3, 4].map((n) => job(n))
    await stage.push(...texts)
    const searched = stage.fault((name, [key]) => name === 'LRANGE' && String(key).includes(':arriving:'), 'pass')
    stage.fault(STEP, 'cut-before-reply')
    await owner.loseAnswer({ n: texts.length })
    await searched.happened
    stage.fault(STEP, 'cut-before')
    await Promise.all([owner.loseAnswer({ n: 2 }), owner.loseAnswer({ n: 2 })])
    await owner.insist({ n: texts.length })
    expect(owner.handed).toEqual(texts)
    await owner.workOff()
  })

  for (const { act, applied } of [
    { act: 'cut-before', applied: 0 },
    { act: 'cut-before-reply', applied: 1 },
  ] as const) {
    test.concurrent(`an answer and then the lease is lost, ${act}: each job is done or orphaned`, async (t) => {
      const stage = await openStage(server(), t)
      const { owner, texts, came } = await busy(stage, true)
      const step = stage.fault(STEP, act)
      await owner.loseAnswer({ settle: [done(came)], n: 1 })
      await step.happened
      expect(await stage.direct.workers.claim(owner.name)).toBe(true)
      await owner.insist()
      expect(owner.complaints).toEqual(['fenced'])
      const orphaned = await stage.direct.workers.orphaned(10)
      const items = orphaned.map(({ text, ...one }) => ({ ...one, to: toQueue('q', text, 'front') }))
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
