import { expect, onTestFinished } from 'vitest'
import type { Store } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { ShardedStore } from '#dist/store/sharded/store.js'
import { StoreMover } from '#dist/transfer/mover.js'
import { NOW } from '../conformance/bench.ts'
import { file } from '../conformance/sqlite.ts'
import { taskId } from '../conformance/tasks/tracked.ts'
import { mixedTask, snapshot } from '../conformance/transfers/mixed-task.ts'
import { fillOrdered, idsOf } from '../conformance/transfers/ordered.ts'
import { fill, textsOf } from './mover-suite.ts'
import { failing, moveAll } from './stores.ts'

type Wrap = (store: Store) => Store

/** Opens a store of `n` files. The function returns the store again, with each of its shards wrapped. */
async function shards(n: number): Promise<(wrap: Wrap) => Store> {
  const files = await Promise.all(Array.from({ length: n }, () => file.create()))
  const stores = files.map(({ url }) => openStore(url))
  const store = stores.length > 1 ? new ShardedStore(stores) : (stores[0] as Store)
  await store.open()
  onTestFinished(async () => {
    await store.close()
    for (const one of files) await one.destroy()
  })
  return (wrap) => (stores.length > 1 ? new ShardedStore(stores.map(wrap)) : wrap(store))
}

/** The content of a store that moves: `fill` writes it to a store, and `contentOf` reads it. */
interface Content {
  fill(store: Store): Promise<unknown>
  contentOf(store: Store): Promise<unknown>
}

export const jobs: Content = { fill, contentOf: textsOf }
export const ordered: Content = {
  fill: fillOrdered,
  contentOf: async (store) => ((await store.ordered.assignments('o')) ? idsOf(store) : { waiting: [], dead: [] }),
}
/** The id of the task of `task`. */
export const ID = taskId(1)
export const task: Content = {
  fill: (store) => mixedTask(store, 1),
  contentOf: async (store) => ((await store.tasks.find(ID)) ? snapshot(store, ID) : null),
}

/** Moves the content between stores, killed at each of its steps. Checks each time that nothing is lost or doubled. */
export async function movedWhole(
  { fill, contentOf }: Content,
  from: number,
  to: number,
  check?: (target: Store) => Promise<void>,
) {
  const same: Wrap = (store) => store
  for (const isDone of [false, true]) {
    for (let at = 0; ; at++) {
      const [sourceWith, targetWith] = [await shards(from), await shards(to)]
      const [source, target] = [sourceWith(same), targetWith(same)]
      const nothing = await contentOf(source)
      await fill(source)
      const before = await contentOf(source)
      const count = { calls: 0, at, isDone }
      const wrap: Wrap = (store) => failing(store, count)
      const end = await moveAll(sourceWith(wrap), targetWith(wrap)).then(
        () => 'moved',
        () => 'killed',
      )
      // Every third time the move is undone first.
      if (at % 3 === 0) await new StoreMover({ source, target, now: () => NOW }).undo()
      await moveAll(source, target)
      const about = `killed at call ${at}, which is ${isDone ? '' : 'not '}done`
      expect(await contentOf(source), about).toEqual(nothing)
      expect(await contentOf(target), about).toEqual(before)
      await check?.(target)
      if (end === 'moved') {
        expect(at).toBeGreaterThan(10)
        break
      }
    }
  }
}
