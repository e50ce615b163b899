import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { done, job, toQueue } from '../../conformance/bench.ts'
import type { RedisServer } from '../server.ts'
import type { Act } from '../step.ts'
import { census, type Hand, openHand, until } from './hand.ts'
import { command, openStage, type Stage } from './stage.ts'

/** What can befall a BLMOVE. */
const FAULTS: { act: Act; after?: 'cut' | 'late' }[] = [
  { act: 'cut-before' },
  { act: 'cut-after-request' },
  { act: 'cut-before-reply' },
  { act: 'hold', after: 'cut' },
  { act: 'hold', after: 'late' },
  { act: 'hold-reply', after: 'cut' },
  { act: 'hold-reply', after: 'late' },
]

/** A worker that has a job that came while it waited, and one that it took. */
async function busy(stage: Stage, twins: boolean): Promise<{ hand: Hand; texts: string[]; next: string }> {
  const hand = await openHand(stage)
  const texts = [1, 2, 3].map((n) => job(twins ? 0 : n))
  const [a = '', b = '', next = ''] = texts
  await hand.receive(a)
  await hand.take(b)
  return { hand, texts, next }
}

/** Until BLMOVE waits on the server. */
async function blocked(stage: Stage): Promise<void> {
  await until(async () => (await stage.blocked()) > 0)
}

export function waits(server: () => RedisServer): void {
  for (const { act, after } of FAULTS) {
    for (const twins of [true, false]) {
      const what = `BLMOVE, ${act}${after ? `, then ${after}` : ''}${twins ? ', with twins' : ''}`
      test.concurrent(`${what}: the job comes once`, async (t) => {
        const stage = await openStage(server(), t)
        const { hand, texts, next } = await busy(stage, twins)
        const step = stage.fault(command('BLMOVE'), act)
        const waiting = hand.wait(200).then(
          (taken) => taken,
          () => [],
        )
        if (act.endsWith('reply')) await blocked(stage)
        else await step.happened
        await stage.push(next)
        await step.happened
        if (after === 'cut') step.cut()
        await waiting
        // Now it is given up, and only then it goes on.
        if (after === 'late') stage.release(step)
        await hand.workOff()
        await census(stage, hand, { handed: texts })
      })
    }
  }

  for (const act of ['cut-before', 'cut-before-reply', 'hold-reply'] as const) {
    for (const lost of ['p', 'q', 'both']) {
      test.concurrent(`BLMOVE of two queues, ${act} (${lost}): each job comes once`, async (t) => {
        const stage = await openStage(server(), t)
        const hand = await openHand(stage, ['p', 'q'])
        const names = lost === 'both' ? ['p', 'q'] : [lost]
        const steps = names.map((name) => {
          return stage.fault((said, [from]) => said === 'BLMOVE' && String(from) === `queue:${name}`, act)
        })
        const waiting = hand.wait(300, undefined, 2).catch(() => [])
        if (act === 'cut-before') for (const step of steps) await step.happened
        else await until(async () => (await stage.blocked()) === 2)
        await stage.direct.jobs.push([toQueue('p', job(0)), toQueue('q', job(0)), toQueue('q', job(1))], Date.now())
        for (const step of steps) await step.happened
        for (const step of steps) step.cut()
        await waiting
        await hand.workOff()
        await census(stage, hand, { handed: [job(0), job(0), job(1)] })
      })
    }
  }

  test.concurrent('the answer to a wait that comes too late for its time is dropped, and the job found', async (t) => {
    const stage = await openStage(server(), t)
    const hand = await openHand(stage)
    const step = stage.fault(command('BLMOVE'), 'hold-reply')
    const waiting = hand.wait(100)
    await blocked(stage)
    await stage.push(job(1))
    await step.happened
    // As if this process had been stopped meanwhile.
    await sleep(1800)
    stage.release(step)
    expect(await waiting).toEqual([])
    await hand.workOff()
    await census(stage, hand, { handed: [job(1)] })
  })

  /** What can befall the request that ends a wait. */
  const UNBLOCKS: Act[] = ['cut-before', 'cut-after-request', 'cut-before-reply', 'hold', 'hold-reply']
  for (const act of UNBLOCKS) {
    for (const twins of [true, false]) {
      const what = `an aborted wait, CLIENT UNBLOCK ${act}${twins ? ', with twins' : ''}`
      test.concurrent(`${what}: no job is lost, and the next wait gets one`, async (t) => {
        const stage = await openStage(server(), t, { impatient: true })
        const { hand, texts, next } = await busy(stage, twins)
        const stop = new AbortController()
        const waiting = hand.wait(400, stop.signal)
        await blocked(stage)
        const step = stage.fault((name, [what]) => name === 'CLIENT' && String(what) === 'UNBLOCK', act)
        stop.abort()
        await step.happened
        if (act.startsWith('hold')) {
          // It ends by itself, and the request comes in the middle of the next wait of the same connection.
          expect(await waiting).toEqual([])
          const again = hand.wait(2000)
          await blocked(stage)
          stage.release(step)
          await stage.push(next)
          await again
        } else {
          await stage.push(next)
          await waiting
        }
        await hand.workOff()
        await census(stage, hand, { handed: texts })
      })
    }
  }

  test.concurrent('a wait that is aborted before the server knows of it ends as soon as it does', async (t) => {
    const stage = await openStage(server(), t)
    const hand = await openHand(stage)
    const held = stage.fault(command('BLMOVE'), 'hold')
    const unblock = stage.fault((name, [what]) => name === 'CLIENT' && String(what) === 'UNBLOCK', 'pass')
    const stop = new AbortController()
    const waiting = hand.wait(2000, stop.signal)
    await held.happened
    stop.abort()
    await unblock.happened
    stage.release(held)
    expect(await waiting).toEqual([])
    expect(performance.now() - stage.faultAt).toBeLessThan(1500)
    await hand.workOff()
    await census(stage, hand, { handed: [] })
  })

  test.concurrent('a job that comes as the wait is aborted is handed over or stays', async (t) => {
    const stage = await openStage(server(), t)
    const hand = await openHand(stage)
    const texts = Array.from({ length: 40 }, (_, n) => job(n % 3))
    for (const [n, text] of texts.entries()) {
      const stop = new AbortController()
      const waiting = hand.wait(2000, stop.signal)
      await blocked(stage)
      const pushed = n % 2 === 0 ? stage.push(text) : undefined
      stop.abort()
      await (pushed ?? stage.push(text))
      const taken = await waiting
      if (taken.length === 0) await hand.turn({ n: 1 })
      await hand.turn({ settle: hand.running.map((one) => done(one)) })
    }
    await hand.workOff()
    await census(stage, hand, { handed: texts })
  })

  test.concurrent('a wait whose connection does not answer before it begins ends all the same', async (t) => {
    const stage = await openStage(server(), t, { impatient: true })
    const hand = await openHand(stage)
    const step = stage.fault((name, [what]) => name === 'CLIENT' && String(what) === 'ID', 'hold-reply')
    const waiting = hand.wait(200).catch(() => [])
    await step.happened
    await Promise.race([
      waiting,
      sleep(6000, undefined, { ref: false }).then(() => {
        throw new Error('the wait does not end')
      }),
    ])
    await stage.push(job(1))
    await hand.workOff()
    await census(stage, hand, { handed: [job(1)] })
  })

  test.concurrent('a job that came while its worker waited is with nobody once it has ended', async (t) => {
    const stage = await openStage(server(), t)
    const hand = await openHand(stage)
    const came = await hand.receive(job(1))
    expect(await stage.direct.metrics.totals()).toMatchObject({ fetched: 1, processed: 0 })
    await hand.turn({ settle: [done(came)] })
    expect(await stage.direct.metrics.totals()).toMatchObject({ fetched: 0, processed: 1 })
    await hand.workOff()
    await census(stage, hand, { handed: [job(1)] })
  })

  test.concurrent('a job that comes to a worker which has left already is found by others', async (t) => {
    const stage = await openStage(server(), t)
    const hand = await openHand(stage)
    const held = stage.fault(command('BLMOVE'), 'hold')
    const waiting = hand.wait(100).catch(() => [])
    await held.happened
    await waiting
    await stage.store.workers.release(hand.owner)
    await stage.push(job(1))
    stage.release(held)
    await until(async () => (await stage.truth()).held.length === 1)
    const stranded = await stage.direct.workers.orphaned(10)
    expect(stranded.map(({ text }) => text)).toEqual([job(1)])
  })

  test.concurrent('a process that ends while it waits leaves its job to others', async (t) => {
    const stage = await openStage(server(), t)
    const { hand, texts, next } = await busy(stage, true)
    const step = stage.fault(command('BLMOVE'), 'hold-reply')
    const waiting = hand.wait(1000).catch(() => [])
    await blocked(stage)
    await stage.push(next)
    await step.happened
    await stage.store.close()
    expect(await waiting).toEqual([])
    stage.release(step)
    expect(await stage.direct.workers.claim(hand.owner, null)).toBe(true)
    const stranded = await stage.direct.workers.orphaned(10)
    expect(stranded.map(({ text }) => text)).toEqual(texts)
    const items = stranded.map(({ owner, queue, ticket, text }) => ({
      owner,
      queue,
      ticket,
      to: toQueue('q', text, 'front'),
    }))
    expect(await stage.direct.workers.rescue(items, Date.now())).toEqual(['ok', 'ok', 'ok'])
    expect(await stage.direct.workers.rescue(items, Date.now())).toEqual(['gone', 'gone', 'gone'])
    expect(await stage.truth()).toMatchObject({ waiting: texts, held: [], owned: [] })
  })
}
