/** Pushes ordered jobs. */

import { HighkiqError } from '../../../job/errors.ts'
import type { OrderedPush, OrderedStore } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { pushError } from '../server/confirmed-push.ts'
import type { Argument } from '../server/connection.ts'
import { homesOf, OrderedPart, type Shards, shardsOf } from './queues.ts'

export class OrderedPusher extends OrderedPart implements Partial<OrderedStore> {
  /** @throws PushError */
  async push(queue: string, shards: number, items: readonly OrderedPush[]): Promise<void> {
    if (items.length === 0) return
    for (const { id, score, performIn } of items) {
      if (!Number.isFinite(score) || !Number.isFinite(performIn)) {
        throw new HighkiqError('INVALID_ARGS', `ordered job ${id}: score and performIn must be finite numbers`)
      }
    }
    const queues = this.shared
    try {
      const ids = items.map(({ id }) => id)
      const shardsNeeded = (known: Shards) => shardsOf(ids, known)
      const argsOf = (known: Shards) => argumentsOf(items, known)
      await queues.server.confirmedByReplicas(async () => {
        while ((await queues.run(queue, lua.orderedPush, shardsNeeded, argsOf)) === undefined) {
          await queues.define(queue, shards)
        }
      })
    } catch (thrown) {
      throw pushError(thrown)
    }
  }
}

/** Groups payloads by shard; each group keeps the order of the call. */
function argumentsOf(items: readonly OrderedPush[], known: Shards): Argument[] {
  const groups = new Map<string, { ids: string[]; args: Argument[] }>()
  for (const { id, payload, score, performIn, wake } of items) {
    const [home, old] = homesOf(id, known)
    const name = `${home} ${old}`
    let group = groups.get(name)
    if (!group) {
      group = { ids: [], args: [home, old ?? '', 0] }
      groups.set(name, group)
    }
    group.ids.push(id)
    group.args.push(`\n${score} ${payload}`, wake ? `w${performIn}` : performIn)
  }
  const all = [...groups.values()]
  for (const { ids, args } of all) args[2] = ids.length
  const ids = all.flatMap((group) => group.ids)
  const isRepeated = new Set(ids).size < ids.length
  return [ids.length, ...ids, isRepeated ? '1' : '', all.length, ...all.flatMap(({ args }) => args)]
}
