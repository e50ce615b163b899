import { expect, test } from 'vitest'
import type { OrderedPush } from '#dist/store/contract.js'
import { StoreMover } from '#dist/transfer/mover.js'
import { NOW } from '../conformance/bench.ts'
import type { StoreFactory } from '../conformance/factory.ts'
import { fillOrdered, idsOf } from '../conformance/transfers/ordered.ts'
import { failing, moveAll, open, overtaken } from './stores.ts'

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
}
