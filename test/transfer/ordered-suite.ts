import { expect, test } from 'vitest'
import { ORDERED_PAGE, ORDERED_STEP, type OrderedPush, type Store } from '#dist/store/contract.js'
import { StoreMover } from '#dist/transfer/mover.js'
import { NOW, sure } from '../conformance/bench.ts'
import type { StoreFactory } from '../conformance/factory.ts'
import { fillOrdered, idsOf } from '../conformance/transfers/ordered.ts'
import { disturbed, failing, moveAll, open, overtaken } from './stores.ts'

const NOTHING = { waiting: [], dead: [] }

export function movingOrdered(from: StoreFactory, to: StoreFactory) {
  test('a mover that is killed between any two steps neither loses nor doubles an ordered payload', async () => {
    for (let at = 0; ; at++) {
      const [{ store: source }, { store: target }] = [await open(from), await open(to)]
      await fillOrdered(source)
      const before = await idsOf(source)
      const count = { calls: 0, at, isDone: true }
      const end = await moveAll(failing(source, count), failing(target, count)).then(
        () => 'moved',
        () => 'killed',
      )
      if (at % 2 === 0) {
        await new StoreMover({ source, target, now: () => NOW }).undo()
        expect(await source.transfers.held()).toBe(null)
      }
      await moveAll(source, target)
      expect(await idsOf(source), `call ${at}`).toEqual(NOTHING)
      expect(await idsOf(target), `call ${at}`).toEqual(before)
      if (end === 'moved') {
        expect(at).toBeGreaterThan(6)
        break
      }
    }
  })

  test('an ordered queue that a worker serves moves once it is paused', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    await fillOrdered(source)
    await source.workers.join('h:1:1', { queues: ['o'], seconds: 60, host: 'here' })
    await source.ordered.join('o', 'h:1:1')
    const mover = new StoreMover({ source, target, now: () => NOW })
    await mover.begin()
    expect(await mover.pass()).toMatchObject({ moved: 0, left: { ordered: 2, ended: 1 }, served: ['o'] })
    await source.ordered.pause('o', true)
    expect(await mover.pass()).toMatchObject({ moved: 3, left: { ordered: 0, ended: 0 }, served: [] })
    expect(await target.ordered.assignments('o')).toMatchObject({ shards: 3, paused: false })
  })

  test('an ordered queue that no worker serves is paused before it moves, so that a worker that starts later runs nothing', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    const { ordered, workers } = source
    await fillOrdered(source)
    await ordered.define('empty', 1)
    const paused: string[] = []
    const mover = new StoreMover({ source, target, now: () => NOW, onPaused: (queue) => paused.push(queue) })
    await mover.begin()
    expect(await mover.pass()).toMatchObject({ moved: 3 })
    // Two payloads of `a` wait in the target when a program pushes a third one to the source, and a worker starts there.
    await ordered.push('o', 3, [{ id: 'a', payload: '"a3"', score: 3, performIn: 1 }], NOW)
    const owner = 'h:1:1'
    await workers.join(owner, { queues: ['o'], seconds: 60, host: 'here' })
    await ordered.join('o', owner)
    const { shard } = sure((await ordered.find('o', 'a')).waiting)
    const { token } = sure(await ordered.acquireShard('o', shard, owner, 3, NOW))
    const fetch = [{ shard, token, n: 9 }]
    const { fetched } = await ordered.settleAndFetch('o', owner, { now: NOW, settlements: [], fetch, maxPayloads: 9 })
    expect(fetched[0]?.ids).toEqual([])
    expect(await mover.pass()).toMatchObject({ moved: 1 })
    const [a] = await target.ordered.waiting('o', 'id', { limit: 1, payloads: 9 })
    expect(a?.payloads.map(([text]) => text)).toEqual(['"a1"', '"a2"', '"a3"'])
    expect(paused).toEqual(['o'])
    expect(await ordered.assignments('empty')).toMatchObject({ paused: false })
  })

  test('ids of an ordered queue stay when it is resumed between two pages', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    const { ordered } = source
    const push = (n: number): OrderedPush => ({ id: `id${n}`, payload: `${n}`, score: 1, performIn: 1 })
    for (const first of [0, 100])
      await ordered.push(
        'o',
        3,
        Array.from({ length: 75 }, (_, n) => push(first + n)),
        NOW,
      )
    await source.workers.join('h:1:1', { queues: ['o'], seconds: 60, host: 'here' })
    await ordered.join('o', 'h:1:1')
    await ordered.pause('o', true)
    // Another process resumes the queue after the mover has stored the first page, before it fetches the next one.
    const resumed = overtaken(source, 'endPage', () => ordered.pause('o', false))
    const mover = new StoreMover({ source: resumed, target, now: () => NOW })
    await mover.begin()
    expect(await mover.pass()).toMatchObject({ moved: 100, left: { ordered: 50 }, served: ['o'] })
    expect((await target.ordered.waiting('o', 'id', { limit: 999, payloads: 1 })).length).toBe(100)
  })

  /** Pushes so many payloads to an id. */
  async function pushMany({ ordered }: Store, id: string, count: number): Promise<void> {
    for (let from = 0; from < count; from += ORDERED_PAGE) {
      const size = Math.min(ORDERED_PAGE, count - from)
      const one = (n: number): OrderedPush => ({ id, payload: `${from + n}`, score: from + n, performIn: 1 })
      await ordered.push(
        'o',
        1,
        Array.from({ length: size }, (_, n) => one(n)),
        NOW,
      )
    }
  }

  test('a pass of an ordered queue ends although a program pushes to its ids all the time', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    for (const id of ['a', 'b', 'c']) await pushMany(source, id, ORDERED_STEP / 2 + 1)
    let pushed = 0
    const busy = disturbed(source, 'holdIds', async () => {
      pushed++
      const more = ['a', 'b', 'c'].map((id) => ({ id, payload: `"${pushed}"`, score: 9999, performIn: 1 }))
      await source.ordered.push('o', 1, more, NOW)
    })
    const mover = new StoreMover({ source: busy, target, now: () => NOW })
    await mover.begin()
    await mover.pass()
    expect(pushed).toBeLessThan(6)
    await moveAll(source, target)
    const { waiting } = await idsOf(target)
    const total = 3 * (ORDERED_STEP / 2 + 1) + 3 * pushed
    expect(waiting.reduce((sum, { payloads }) => sum + payloads.length, 0)).toBe(total)
    expect(await idsOf(source)).toEqual(NOTHING)
  })

  test('a mover that ends leaves an ordered queue after the page under way', async () => {
    const [{ store: source }, { store: target }] = [await open(from), await open(to)]
    await pushMany(source, 'a', 2 * ORDERED_STEP)
    const ending = new AbortController()
    const stopped = disturbed(source, 'holdIds', async () => ending.abort())
    const mover = new StoreMover({ source: stopped, target, now: () => NOW, signal: ending.signal })
    await mover.begin()
    await mover.pass()
    expect((await idsOf(target)).waiting[0]?.payloads).toHaveLength(ORDERED_STEP)
    expect((await idsOf(source)).waiting[0]?.payloads).toHaveLength(ORDERED_STEP)
  })
}
