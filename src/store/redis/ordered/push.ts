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

/** Payloads that are due at the same time, of ids of one shard. */
interface Group {
  home: number
  old: number | undefined
  due: string
  ids: string[]
  payloads: string[]
}

/** Groups payloads. Those of one id stay in the order of the call. */
function groupsOf(items: readonly OrderedPush[], known: Shards): Group[] {
  const isRepeated = new Set(items.map(({ id }) => id)).size < items.length
  const groups: Group[] = []
  const byName = new Map<string, Group>()
  let last: Group | undefined
  for (const { id, payload, score, performIn, wake } of items) {
    const [home, old] = homesOf(id, known)
    const due = wake ? `w${performIn}` : `${performIn}`
    const name = `${home} ${old} ${due}`
    let group = byName.get(name)
    if (!group || (isRepeated && group !== last)) {
      group = { home, old, due, ids: [], payloads: [] }
      byName.set(name, group)
      groups.push(group)
    }
    last = group
    group.ids.push(id)
    group.payloads.push(`\n${score} ${payload}`)
  }
  return groups
}

function argumentsOf(groups: readonly Group[]): Argument[] {
  const ids = groups.flatMap((group) => group.ids)
  const isRepeated = new Set(ids).size < ids.length
  const args = groups.flatMap(({ home, old = '', due, payloads }) => [home, old, due, payloads.length, ...payloads])
  return [ids.length, ...ids, isRepeated ? '1' : '', groups.length, ...args]
}
