import { expect, onTestFinished, test } from 'vitest'
import { type SetName, type Settlement, type Store, sourceOf } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { isDone, StoreMover } from '#dist/transfer/mover.js'
import { OrphanedLocks } from '#dist/unique/orphaned-locks.js'
import { job, NOW, sure, toQueue } from '../conformance/bench.ts'
import type { StoreFactory } from '../conformance/factory.ts'
import { bench } from '../engine/bench.ts'
import { disturbed, FIRST_PUT, failing, moveAll, open } from './stores.ts'

const SETS: SetName[] = ['retry', 'schedule', 'dead', 'finished']
const UNIQUE = job('unique', { hk_unique: 'success:K', jid: 'aa' })
const LIMITED = job('limited', { queue: 'mail' })

/** Fills a store with jobs of all kinds; returns the texts that move. */
export async function fill(store: Store): Promise<string[]> {
  const queued = Array.from({ length: 250 }, (_, n) => job(n))
  await store.jobs.push(
    queued.map((text, n) => toQueue(n % 3 === 0 ? 'p5:q' : 'q', text)),
    NOW,
  )
  const inSets = SETS.flatMap((to, i) => [1, 2, 3].map((n) => ({ to, text: job(`${to}${n}`), score: i + n + 0.5 })))
  await store.jobs.push(inSets, NOW)
  await store.jobs.push([{ ...toQueue('q', UNIQUE), unique: { jid: 'aa', claims: [{ key: 'K' }] } }], NOW)
  await store.jobs.saveIteration('aa', { executions: 2, runtime: 1.5, cursor: '"c"' }, NOW)
  await store.cancellations.request('aa', NOW)
  await store.jobs.pauseQueue('paused', true)
  await store.limits.change('queue:q', { max: 7 })
  return [...queued, UNIQUE, ...inSets.map(({ text }) => text)].toSorted()
}

/** Returns the texts of all jobs of a store, with those of a held page. */
export async function textsOf(store: Store): Promise<string[]> {
  const texts = (await store.transfers.held())?.jobs.map(({ text }) => text) ?? []
  for (const { name } of await store.jobs.queues()) texts.push(...(await store.jobs.peek(name, 0, 10_000)))
  for (const set of SETS) texts.push(...(await store.jobSets.page(set, { limit: 10_000 })).map(({ text }) => text))
  return texts.toSorted()
}

export function movingJobs(from: StoreFactory, to: StoreFactory) {
  test('the name of a held page begins with the id of its store, so that the other store remembers it apart', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    await source.jobs.push([toQueue('q', job(1))], NOW)
    const interrupted = disturbed(source, 'endPage', async () => {
      throw new Error('killed')
    })
    await expect(moveAll(interrupted, target)).rejects.toThrow('killed')
    const id = await source.results.secret('store-id', 'none')
    expect(sourceOf(sure(await source.transfers.held()).transfer)).toBe(id)
  })

  test('all jobs move in their order, each with its queue, priority, score, lock, iteration and cancellation', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    const texts = await fill(source)
    await source.jobs.push([{ to: 'limited:mail', text: LIMITED, score: 1 }], NOW)
    const limit = { name: 'mail', max: 1, count: 0, per: 0, burst: 0, window: 'smooth' } as const
    await source.jobs.push([toQueue('other', job('x'))], NOW)
    const order = await source.jobs.peek('q', 0, 1000)
    const sets = await Promise.all(SETS.map((set) => source.jobSets.page(set, { limit: 99 })))
    // A waiting job of a limit is listed once its limit is known.
    await source.workers.join('h:1:1', { queues: ['other'], seconds: 60, host: 'here' })
    const { fetched } = await source.workers.settleAndFetch('h:1:1', {
      now: NOW,
      started: [],
      settlements: [],
      fetch: { queues: ['other'], n: 1 },
    })
    const { queue, ticket, text } = sure(fetched[0])
    const move = { to: 'limited:mail', text, score: 2 } as const
    const settlement: Settlement = {
      queue,
      ticket,
      move,
      effects: [{ kind: 'await-limit', limit } as const],
      processed: 0,
      failed: 0,
    }
    await source.workers.settleAndFetch('h:1:1', {
      now: NOW,
      started: [],
      settlements: [settlement],
      fetch: { queues: [], n: 0 },
    })
    await moveAll(source, target)
    expect(await textsOf(source)).toEqual([])
    expect(await source.jobSets.size('limited:mail')).toBe(0)
    expect(await target.jobs.peek('q', 0, 1000)).toEqual([...order, text])
    expect(await target.jobs.peek('mail', 0, 9)).toEqual([LIMITED])
    expect(await textsOf(target)).toEqual([...texts, text, LIMITED].toSorted())
    expect(await Promise.all(SETS.map((set) => target.jobSets.page(set, { limit: 99 })))).toEqual(sets)
    expect((await target.unique.find(['K'], NOW))[0]?.holder).toBe('aa')
    expect(await source.unique.find(['K'], NOW)).toEqual([null])
    expect((await target.jobs.iterations(['aa']))[0]).toMatchObject({ executions: 2, cursor: '"c"' })
    expect(await source.jobs.iterations(['aa'])).toEqual([null])
    expect(await target.cancellations.among(['aa'])).toEqual(['aa'])
    expect(await source.cancellations.among(['aa'])).toEqual([])
    expect(await target.jobs.pausedQueues()).toEqual(['paused'])
    expect(await target.limits.allSet()).toEqual([{ name: 'queue:q', numbers: { max: 7 } }])
  })

  test('limits that were set move also during the move, and those that were set in the new store stay', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    await source.limits.change('queue:a', { max: 1 })
    await target.limits.change('queue:a', { count: 2, per: 1000 })
    const mover = new StoreMover({ source, target, now: () => NOW })
    await mover.begin()
    await source.limits.change('queue:b', { max: 3 })
    await mover.pass()
    expect(await target.limits.allSet()).toEqual([
      { name: 'queue:a', numbers: { count: 2, per: 1000 } },
      { name: 'queue:b', numbers: { max: 3 } },
    ])
  })

  test('a mover that is killed at any step, or loses any answer, neither loses nor doubles a job', {
    timeout: 300_000,
  }, async () => {
    for (const isDoneBefore of [false, true]) {
      for (let at = 0; ; at++) {
        const [{ store: source }, { store: target }] = [await open(from), await open(to)]
        const texts = await fill(source)
        const count = { calls: 0, at, isDone: isDoneBefore }
        const end = await moveAll(failing(source, count), failing(target, count)).then(
          () => 'moved',
          () => 'killed',
        )
        // Every third time the move is undone first.
        if (at % 3 === 0) await new StoreMover({ source, target, now: () => NOW }).undo()
        await moveAll(source, target)
        expect(await textsOf(source), `call ${at}`).toEqual([])
        expect(await textsOf(target), `call ${at}`).toEqual(texts)
        expect((await target.unique.find(['K'], NOW))[0]?.holder).toBe('aa')
        if (end === 'moved') {
          expect(at).toBeGreaterThan(20)
          break
        }
      }
    }
  })

  test('two movers at the same time move each job once', async () => {
    const [{ store: source, url }, { store: target }] = [await open(from), await open(to)]
    const texts = await fill(source)
    const other = openStore(url)
    const movers = await Promise.all([moveAll(source, target), moveAll(other, target)])
    await other.close()
    expect(movers.reduce((moved, mover) => moved + mover.moved, 0)).toBe(texts.length)
    expect(await textsOf(source)).toEqual([])
    expect(await textsOf(target)).toEqual(texts)
  })

  test('a move loses no job when its source fails over to a replica that does not know the page', async () => {
    const [{ store: source }, { store: replica }] = [await open(from), await open(from)]
    const { store: target } = await open(to)
    const texts = [1, 2, 3, 4].map((n) => job(n))
    const items = texts.map((text) => toQueue('q', text))
    await source.jobs.push(items.slice(0, 2), NOW)
    // A worker of the replica has run the first job.
    await replica.jobs.push(items.slice(1), NOW)
    let current = source
    const moving = new Proxy(source, { get: (_, name) => current[name as keyof Store] })
    const failsOver = new Proxy(target.transfers, {
      get: (of, name) =>
        name === 'put'
          ? async (...args: Parameters<typeof of.put>) => {
              const outcome = await of.put(...args)
              current = replica
              return outcome
            }
          : of[name as keyof typeof of],
    })
    await moveAll(
      moving,
      new Proxy(target, { get: (of, name) => (name === 'transfers' ? failsOver : of[name as keyof Store]) }),
    )
    expect(await textsOf(replica)).toEqual([])
    expect(new Set(await textsOf(target))).toEqual(new Set(texts))
  })

  test('undo moves a page that was not stored back to its places, in their order', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    await fill(source)
    const [order, all] = [await source.jobs.peek('q', 0, 1000), await textsOf(source)]
    const killed = failing(target, { calls: 0, at: FIRST_PUT, isDone: false })
    await expect(moveAll(source, killed)).rejects.toThrow('killed')
    expect(await source.transfers.held()).not.toBe(null)
    expect(await new StoreMover({ source, target }).undo()).toEqual({ jobs: 100, tasks: 0 })
    expect(await source.jobs.peek('q', 0, 1000)).toEqual(order)
    expect(await textsOf(source)).toEqual(all)
    expect(await textsOf(target)).toEqual([])
    expect(await new StoreMover({ source, target }).undo()).toBe(null)
  })

  test('undo moves jobs that waited for a limit to the front of their queue', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    const entries = [1, 2].map((n) => ({ text: job(n, { queue: 'mail' }), score: n }))
    await source.jobs.push(
      [toQueue('mail', job(3)), ...entries.map((one) => ({ to: 'limited:L', ...one }) as const)],
      NOW,
    )
    await source.transfers.hold('T', '["id","url"]', { set: 'limited:L', entries })
    await new StoreMover({ source, target: null, now: () => NOW }).undo()
    expect(await source.jobSets.size('limited:L')).toBe(0)
    expect(await source.jobs.peek('mail', 0, 9)).toEqual([...entries.map(({ text }) => text), job(3)])
    expect((await source.jobs.queues(['mail']))[0]?.limited).toBe(0)
    await expect(new StoreMover({ source, target }).undo()).resolves.toBe(null)
  })

  test('jobs of a held page keep their locks, are found, and are counted', async () => {
    const [{ store: source, url }, { store: target }] = [await open(from), await open(to)]
    await source.jobs.push([{ ...toQueue('q', UNIQUE), unique: { jid: 'aa', claims: [{ key: 'K' }] } }], NOW)
    const retry = job('retry', { jid: 'bb' })
    await source.transfers.hold('T', '["id","url"]', { queue: 'q', offset: 0, texts: [UNIQUE] })
    const report = (thrown: unknown) => {
      throw thrown
    }
    const walk = new OrphanedLocks({ store: source, now: () => NOW, report }, { goneMs: 0, walkingPart: 1e9 })
    onTestFinished(() => walk.stop())
    for (let n = 0; n < 3; n++) await walk.run()
    expect(await source.unique.find(['K'], NOW)).toMatchObject([{ holder: 'aa', suspicion: null }])
    const { hq } = bench({ url })
    expect(await hq.find('aa')).toMatchObject({ state: 'queued', queue: 'q' })
    expect((await new StoreMover({ source, target }).count()).moved).toBe(1)
    await new StoreMover({ source, target: null }).undo()
    await source.jobs.push([{ to: 'retry', text: retry, score: NOW }], NOW)
    await source.transfers.hold('U', '["id","url"]', { set: 'retry', entries: [{ text: retry, score: NOW }] })
    expect(await hq.find('bb')).toMatchObject({ state: 'retry' })
  })

  test('an undo that is killed at any step neither loses nor doubles a job', async () => {
    for (const isDoneBefore of [false, true]) {
      for (const at of [0, 1, 2]) {
        const [{ store: source }, { store: target }] = [await open(from), await open(to)]
        const texts = await fill(source)
        await expect(moveAll(source, failing(target, { calls: 0, at: FIRST_PUT, isDone: false }))).rejects.toThrow(
          'killed',
        )
        const count = { calls: 0, at, isDone: isDoneBefore }
        const undo = new StoreMover({ source: failing(source, count), target: failing(target, count) }).undo()
        await expect(undo).rejects.toThrow('killed')
        await moveAll(source, target)
        expect(await textsOf(source), `call ${at}`).toEqual([])
        expect(await textsOf(target), `call ${at}`).toEqual(texts)
      }
    }
  })

  test('jobs of batches and cron entries stay, and the pass says so', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    const kept = [
      job(2, { bid: 'b' }),
      job(3, { hk_lock: 'l' }),
      job(4, { hk_children: 'c' }),
      job(6, { jid: '0123456789abcdeffc000001' }),
    ]
    await source.jobs.push(
      [...kept, job(5)].map((text) => toQueue('q', text)),
      NOW,
    )
    await source.jobs.push([{ to: 'dead', text: sure(kept[0]), score: 1 }], NOW)
    const mover = new StoreMover({ source, target, now: () => NOW })
    const left = { running: 0, rows: 0, tasks: 0, batches: 3, crons: 1, ordered: 0, others: 0, ended: 1 }
    expect(await mover.count()).toEqual({ moved: 1, tasks: 0, left, served: [] })
    await mover.begin()
    const pass = await mover.pass()
    expect(pass).toEqual({ moved: 1, tasks: 0, left, served: [] })
    expect(isDone(pass)).toBe(false)
    expect(await source.jobs.peek('q', 0, 9)).toEqual(kept)
    expect(await target.jobs.peek('q', 0, 9)).toEqual([job(5)])
  })

  test('jobs behind thousands of jobs that stay move, in their order', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    const staying = Array.from({ length: 30_000 }, (_, n) => toQueue('q', job(`b${n}`, { bid: 'b' })))
    const moving = Array.from({ length: 250 }, (_, n) => job(n))
    await source.jobs.push(staying, NOW)
    await source.jobs.push(
      moving.map((text) => toQueue('q', text)),
      NOW,
    )
    const mover = new StoreMover({ source, target, now: () => NOW })
    await mover.begin()
    expect(await mover.pass()).toMatchObject({ moved: 250, left: { batches: 30_000, others: 0 } })
    expect(await target.jobs.peek('q', 0, 999)).toEqual(moving)
    expect((await source.jobs.queues(['q']))[0]?.size).toBe(30_000)
  })

  test('links to lists that were revoked before or during a move are revoked in the target, which keeps its own', async () => {
    const [source, target] = [await open(from), await open(to)]
    await source.store.results.raiseLinkVersion('user=7', 3)
    await target.store.results.raiseLinkVersion('user=7', 1)
    await target.store.results.raiseLinkVersion('user=8', 5)
    const mover = new StoreMover({ source: source.store, target: target.store })
    await mover.begin()
    expect(await target.store.results.linkVersions()).toEqual({ 'user=7': 3, 'user=8': 5 })
    await source.store.results.raiseLinkVersion('user=7')
    await source.store.results.raiseLinkVersion('user=8')
    await mover.pass()
    expect(await target.store.results.linkVersions()).toEqual({ 'user=7': 4, 'user=8': 5 })
  })

  test('a page that is held for another store is refused, and so is a store as its own target', async () => {
    const [{ store: source, url }, { store: target }, third] = [await open(from), await open(to), await open(to)]
    await fill(source)
    await expect(moveAll(source, failing(target, { calls: 0, at: FIRST_PUT, isDone: true }))).rejects.toThrow('killed')
    await expect(moveAll(source, third.store)).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
    await expect(new StoreMover({ source, target: third.store }).undo()).rejects.toThrow(/holds 100 jobs/)
    const again = openStore(url)
    await expect(moveAll(source, again)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    await again.close()
    expect(await textsOf(third.store)).toEqual([])
  })
}
