import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { done, job, toQueue } from '../../conformance/bench.ts'
import type { RedisServer } from '../server.ts'
import type { Act } from '../step.ts'
import { command, openStage, type Stage } from './stage.ts'
import { census, openOwner, type TestOwner, until } from './test-owner.ts'

/** Faults of BLMOVE. */
const FAULTS: { act: Act; after?: 'cut' | 'late' }[] = [
  { act: 'cut-before' },
  { act: 'cut-after-request' },
  { act: 'cut-before-reply' },
  { act: 'hold', after: 'cut' },
  { act: 'hold', after: 'late' },
  { act: 'hold-reply', after: 'cut' },
  { act: 'hold-reply', after: 'late' },
]

/** Makes an owner with one arrival and one fetched job. */
async function busy(stage: Stage, areEqual: boolean): Promise<{ owner: TestOwner; texts: string[]; next: string }> {
  const owner = await openOwner(stage)
  const texts = [1, 2, 3].map((n) => job(areEqual ? 0 : n))
  const [a = '', b = '', next = ''] = texts
  await owner.receive(a)
  await owner.fetch(b)
  return { owner, texts, next }
}

/** Resolves when BLMOVE waits on the server. */
async function blocked(stage: Stage): Promise<void> {
  await until(async () => (await stage.blocked()) > 0)
}

export function waits(server: () => RedisServer): void {
  for (const { act, after } of FAULTS) {
    for (const areEqual of [true, false]) {
      const what = `BLMOVE, ${act}${after ? `, then ${after}` : ''}${areEqual ? ', with equal texts' : ''}`
      test.concurrent(`${what}: the job is handed out once`, async (t) => {
        const stage = await openStage(server(), t)
        const { owner, texts, next } = await busy(stage, areEqual)
        const step = stage.fault(command('BLMOVE'), act)
        const waiting = owner.wait(200).then(
          (taken) => taken,
          () => [],
        )
        if (act.endsWith('reply')) await blocked(stage)
        else await step.happened
        await stage.push(next)
        await step.happened
        if (after === 'cut') step.cut()
        await waiting
        // The request has timed out, and is released only now.
        if (after === 'late') stage.release(step)
        await owner.workOff()
        await census(stage, owner, { handed: texts })
      })
    }
  }

  for (const act of ['cut-before', 'cut-before-reply', 'hold-reply'] as const) {
    for (const lost of ['p', 'q', 'both']) {
      test.concurrent(`BLMOVE of two queues, ${act} (${lost}): each job is handed out once`, async (t) => {
        const stage = await openStage(server(), t)
        const owner = await openOwner(stage, ['p', 'q'])
        const names = lost === 'both' ? ['p', 'q'] : [lost]
        const steps = names.map((name) => {
          return stage.fault((said, [from]) => said === 'BLMOVE' && String(from) === `queue:${name}`, act)
        })
        const waiting = owner.wait(300, undefined, 2).catch(() => [])
        if (act === 'cut-before') for (const step of steps) await step.happened
        else await until(async () => (await stage.blocked()) === 2)
        await stage.direct.jobs.push([toQueue('p', job(0)), toQueue('q', job(0)), toQueue('q', job(1))], Date.now())
        for (const step of steps) await step.happened
        for (const step of steps) step.cut()
        await waiting
        await owner.workOff()
        await census(stage, owner, { handed: [job(0), job(0), job(1)] })
      })
    }
  }

  test.concurrent('the late answer of a wait is dropped, and its job is returned by the next step', async (t) => {
    const stage = await openStage(server(), t)
    const owner = await openOwner(stage)
    const step = stage.fault(command('BLMOVE'), 'hold-reply')
    const waiting = owner.wait(100)
    await blocked(stage)
    await stage.push(job(1))
    await step.happened
    // Like a process that was stopped meanwhile.
    await sleep(1800)
    stage.release(step)
    expect(await waiting).toEqual([])
    await owner.workOff()
    await census(stage, owner, { handed: [job(1)] })
  })

  /** Faults of the request that ends a wait. */
  const UNBLOCKS: Act[] = ['cut-before', 'cut-after-request', 'cut-before-reply', 'hold', 'hold-reply']
  for (const act of UNBLOCKS) {
    for (const areEqual of [true, false]) {
      const what = `an aborted wait, CLIENT UNBLOCK ${act}${areEqual ? ', with equal texts' : ''}`
      test.concurrent(`${what}: no job is lost, and the next wait gets one`, async (t) => {
        const stage = await openStage(server(), t, { impatient: true })
        const { owner, texts, next } = await busy(stage, areEqual)
        const stop = new AbortController()
        const waiting = owner.wait(400, stop.signal)
        await blocked(stage)
        const step = stage.fault((name, [what]) => name === 'CLIENT' && String(what) === 'UNBLOCK', act)
        stop.abort()
        await step.happened
        if (act.startsWith('hold')) {
          // The wait ends by itself, and the request arrives in the middle of the next wait of the same connection.
          expect(await waiting).toEqual([])
          const again = owner.wait(2000)
          await blocked(stage)
          stage.release(step)
          await stage.push(next)
          await again
        } else {
          await stage.push(next)
          await waiting
        }
        await owner.workOff()
        await census(stage, owner, { handed: texts })
      })
    }
  }

  test.concurrent('a wait that is aborted before it reaches the server ends as soon as it does', async (t) => {
    const stage = await openStage(server(), t)
    const owner = await openOwner(stage)
    const held = stage.fault(command('BLMOVE'), 'hold')
    const unblock = stage.fault((name, [what]) => name === 'CLIENT' && String(what) === 'UNBLOCK', 'pass')
    const stop = new AbortController()
    const waiting = owner.wait(2000, stop.signal)
    await held.happened
    stop.abort()
    await unblock.happened
    stage.release(held)
    expect(await waiting).toEqual([])
    expect(performance.now() - stage.faultAt).toBeLessThan(1500)
    await owner.workOff()
    await census(stage, owner, { handed: [] })
  })

  test.concurrent('a job that arrives as the wait is aborted is handed out or stays', async (t) => {
    const stage = await openStage(server(), t)
    const owner = await openOwner(stage)
    const texts = Array.from({ length: 40 }, (_, n) => job(n % 3))
    for (const [n, text] of texts.entries()) {
      const stop = new AbortController()
      const waiting = owner.wait(2000, stop.signal)
      await blocked(stage)
      const pushed = n % 2 === 0 ? stage.push(text) : undefined
      stop.abort()
      await (pushed ?? stage.push(text))
      const taken = await waiting
      if (taken.length === 0) await owner.settleAndFetch({ n: 1 })
      await owner.settleAndFetch({ settle: owner.running.map((one) => done(one)) })
    }
    await owner.workOff()
    await census(stage, owner, { handed: texts })
  })

  test.concurrent('a wait whose connection does not answer before it begins ends all the same', async (t) => {
    const stage = await openStage(server(), t, { impatient: true })
    const owner = await openOwner(stage)
    const step = stage.fault((name, [what]) => name === 'CLIENT' && String(what) === 'ID', 'hold-reply')
    const waiting = owner.wait(200).catch(() => [])
    await step.happened
    await Promise.race([
      waiting,
      sleep(6000, undefined, { ref: false }).then(() => {
        throw new Error('the wait does not end')
      }),
    ])
    await stage.push(job(1))
    await owner.workOff()
    await census(stage, owner, { handed: [job(1)] })
  })

  test.concurrent('an arrival is with no owner once it is settled', async (t) => {
    const stage = await openStage(server(), t)
    const owner = await openOwner(stage)
    const came = await owner.receive(job(1))
    expect(await stage.direct.metrics.totals()).toMatchObject({ fetched: 1, processed: 0 })
    await owner.settleAndFetch({ settle: [done(came)] })
    expect(await stage.direct.metrics.totals()).toMatchObject({ fetched: 0, processed: 1 })
    await owner.workOff()
    await census(stage, owner, { handed: [job(1)] })
  })

  test.concurrent('a job that arrives for a worker which has left is rescued by others', async (t) => {
    const stage = await openStage(server(), t)
    const owner = await openOwner(stage)
    const held = stage.fault(command('BLMOVE'), 'hold')
    const waiting = owner.wait(100).catch(() => [])
    await held.happened
    await waiting
    await stage.store.workers.release(owner.name)
    await stage.push(job(1))
    stage.release(held)
    await until(async () => (await stage.truth()).held.length === 1)
    const orphaned = await stage.direct.workers.orphaned(10)
    expect(orphaned.map(({ text }) => text)).toEqual([job(1)])
  })

  test.concurrent('a job that arrives for a process which has ended is rescued by others', async (t) => {
    const stage = await openStage(server(), t)
    const { owner, texts, next } = await busy(stage, true)
    const step = stage.fault(command('BLMOVE'), 'hold-reply')
    const waiting = owner.wait(1000).catch(() => [])
    await blocked(stage)
    await stage.push(next)
    await step.happened
    await stage.store.close()
    expect(await waiting).toEqual([])
    stage.release(step)
    expect(await stage.direct.workers.claim(owner.name)).toBe(true)
    const orphaned = await stage.direct.workers.orphaned(10)
    expect(orphaned.map(({ text }) => text)).toEqual(texts)
    const items = orphaned.map(({ owner, queue, ticket, text }) => ({
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
