/** Ordered queues. Each is on the shard of its name. */

import type { OrderedStore, ShardUpdate } from '../contract.ts'
import type { Shards } from './shards.ts'

export class ShardedOrderedStore implements OrderedStore {
  readonly #shards: Shards
  /** When several shards return an update at once, the later ones, by owner: the next calls of `wait` return them. */
  readonly #updates = new Map<string, ShardUpdate[]>()

  constructor(shards: Shards) {
    this.#shards = shards
  }

  #of(queue: string): OrderedStore {
    return this.#shards.of(queue).store.ordered
  }

  readonly define: OrderedStore['define'] = (queue, shards) => this.#of(queue).define(queue, shards)

  readonly queues: OrderedStore['queues'] = async () => {
    const all = await this.#shards.reachable((store) => store.ordered.queues())
    return all.flatMap(({ answer }) => answer).sort()
  }

  readonly assignments: OrderedStore['assignments'] = (queue) => this.#of(queue).assignments(queue)
  readonly counts: OrderedStore['counts'] = (queue, now) => this.#of(queue).counts(queue, now)
  readonly push: OrderedStore['push'] = (queue, ...rest) => this.#of(queue).push(queue, ...rest)
  readonly join: OrderedStore['join'] = (queue, owner) => this.#of(queue).join(queue, owner)
  readonly leave: OrderedStore['leave'] = (queue, ...rest) => this.#of(queue).leave(queue, ...rest)
  readonly acquireShard: OrderedStore['acquireShard'] = (queue, ...rest) => this.#of(queue).acquireShard(queue, ...rest)
  readonly releaseShard: OrderedStore['releaseShard'] = (queue, ...rest) => this.#of(queue).releaseShard(queue, ...rest)
  readonly settleAndFetch: OrderedStore['settleAndFetch'] = (queue, ...rest) =>
    this.#of(queue).settleAndFetch(queue, ...rest)
  readonly inFlight: OrderedStore['inFlight'] = (queue, owner) => this.#of(queue).inFlight(queue, owner)

  readonly wait: OrderedStore['wait'] = async (owner, queues, ms, signal) => {
    const known = this.#updates.get(owner)?.shift()
    if (known) return known
    this.#updates.delete(owner)
    const groups = this.#shards.group(queues, (queue) => this.#shards.of(queue))
    // The next call returns an update that comes after this one has ended.
    let isOver = false
    const found = await this.#shards.race<ShardUpdate | undefined>(
      signal,
      ms,
      (update) => update !== undefined,
      async ({ ordered }, wait, shard) => {
        const own = groups.get(shard)
        if (!own) return undefined
        const update = await ordered.wait(owner, own, wait.ms, wait.signal)
        if (update && isOver) this.#keep(owner, [update])
        return update
      },
    )
    isOver = true
    const [first, ...later] = found.flatMap((update) => update ?? [])
    if (later.length > 0) this.#keep(owner, later)
    return first
  }

  #keep(owner: string, updates: readonly ShardUpdate[]): void {
    this.#updates.set(owner, [...(this.#updates.get(owner) ?? []), ...updates])
  }

  readonly pause: OrderedStore['pause'] = (queue, on) => this.#of(queue).pause(queue, on)
  readonly reshard: OrderedStore['reshard'] = (queue, shards) => this.#of(queue).reshard(queue, shards)
  readonly moveShards: OrderedStore['moveShards'] = (queue) => this.#of(queue).moveShards(queue)
  readonly waiting: OrderedStore['waiting'] = (queue, ...rest) => this.#of(queue).waiting(queue, ...rest)
  readonly find: OrderedStore['find'] = (queue, id) => this.#of(queue).find(queue, id)
  readonly act: OrderedStore['act'] = (queue, ...rest) => this.#of(queue).act(queue, ...rest)
  readonly deletePayload: OrderedStore['deletePayload'] = (queue, ...rest) =>
    this.#of(queue).deletePayload(queue, ...rest)
  readonly cancel: OrderedStore['cancel'] = (queue, ids) => this.#of(queue).cancel(queue, ids)
  readonly morgue: OrderedStore['morgue'] = (queue, ...rest) => this.#of(queue).morgue(queue, ...rest)
  readonly resurrect: OrderedStore['resurrect'] = (queue, ...rest) => this.#of(queue).resurrect(queue, ...rest)
  readonly deleteDead: OrderedStore['deleteDead'] = (queue, ids) => this.#of(queue).deleteDead(queue, ids)
  readonly pruneMorgue: OrderedStore['pruneMorgue'] = (queue, ...rest) => this.#of(queue).pruneMorgue(queue, ...rest)
  readonly deleteQueue: OrderedStore['deleteQueue'] = (queue) => this.#of(queue).deleteQueue(queue)
}
