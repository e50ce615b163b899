/** Pushes ordered jobs. */

import { HighkiqError } from '../../../job/errors.ts'
import type { OrderedPush, OrderedStore } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { pushError } from '../server/confirmed-push.ts'
import type { Argument } from '../server/connection.ts'
import { homesOf, OrderedPart, type Shards } from './queues.ts'

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
      let groups: Group[] = []
      const shardsNeeded = (known: Shards) => {
        groups = groupsOf(items, known)
        return new Set(groups.flatMap(({ home, old }) => (old === undefined ? home : [home, old])))
      }
      await queues.server.confirmedByReplicas(async () => {
        while ((await queues.run(queue, lua.orderedPush, shardsNeeded, () => argumentsOf(groups))) === undefined) {
          await queues.define(queue, shards)
        }
      })
    } catch (thrown) {
      throw pushError(thrown)
    }
  }
}

/** The payloads of the ids of one shard, in the order of the call. */
interface Group {
  home: number
  old: number | undefined
  ids: string[]
  payloads: Argument[]
}

function groupsOf(items: readonly OrderedPush[], known: Shards): Group[] {
  const groups = new Map<string, Group>()
  for (const { id, payload, score, performIn, wake } of items) {
    const [home, old] = homesOf(id, known)
    const name = `${home} ${old}`
    let group = groups.get(name)
    if (!group) {
      group = { home, old, ids: [], payloads: [] }
      groups.set(name, group)
    }
    group.ids.push(id)
    group.payloads.push(`\n${score} ${payload}`, wake ? `w${performIn}` : performIn)
  }
  return [...groups.values()]
}

function argumentsOf(groups: readonly Group[]): Argument[] {
  const ids = groups.flatMap((group) => group.ids)
  const isRepeated = new Set(ids).size < ids.length
  const args = groups.flatMap((group) => [group.home, group.old ?? '', group.ids.length, ...group.payloads])
  return [ids.length, ...ids, isRepeated ? '1' : '', groups.length, ...args]
}
