/** Ordered queues: what waits belongs to an id, a shard is only a part of what is due. See lua/ordered-open.lua. */

import type { OrderedStore } from '../../contract.ts'
import type { Owners } from '../owners.ts'
import type { Server } from '../server.ts'
import { OrderedActs } from './acts.ts'
import { OrderedLook } from './look.ts'
import { pushOrdered } from './push.ts'
import { OrderedQueues } from './queue.ts'
import { OrderedShards } from './shards.ts'
import { OrderedTurns } from './turns.ts'
import { OrderedWaits } from './waits.ts'

export class Ordered implements OrderedStore {
  readonly #queues: OrderedQueues
  readonly #shards: OrderedShards
  readonly #turns: OrderedTurns
  readonly #waits: OrderedWaits
  readonly #look: OrderedLook
  readonly #acts: OrderedActs

  constructor(server: Server, owners: Owners) {
    const queues = new OrderedQueues(server)
    this.#queues = queues
    this.#shards = new OrderedShards(queues, (owner, queue) => owners.enter(owner, queue))
    this.#turns = new OrderedTurns(queues)
    this.#waits = new OrderedWaits(server)
    this.#look = new OrderedLook(queues, this.#shards)
    this.#acts = new OrderedActs(queues)
  }

  readonly define: OrderedStore['define'] = (queue, shards) => this.#queues.define(queue, shards)
  readonly queues: OrderedStore['queues'] = () => this.#look.names()
  readonly counts: OrderedStore['counts'] = (queue, now) => this.#look.numbers(queue, now)

  async assignments(queue: string): ReturnType<OrderedStore['assignments']> {
    const board = await this.#shards.board(queue)
    if (!board) return null
    const { about: _, ...said } = board
    return said
  }

  readonly push: OrderedStore['push'] = (queue, shards, items) => pushOrdered(this.#queues, queue, shards, items)

  readonly join: OrderedStore['join'] = (queue, owner) => this.#shards.join(queue, owner)
  readonly leave: OrderedStore['leave'] = (queue, owner) => this.#shards.leave(queue, owner)
  readonly acquireShard: OrderedStore['acquireShard'] = (queue, shard, owner, maxCrashes, now) =>
    this.#shards.own(queue, shard, owner, maxCrashes, now)
  readonly releaseShard: OrderedStore['releaseShard'] = (queue, shard, owner, token) =>
    this.#shards.release(queue, shard, owner, token)

  readonly settleAndFetch: OrderedStore['settleAndFetch'] = (queue, owner, turn) => this.#turns.run(queue, owner, turn)
  readonly inFlight: OrderedStore['inFlight'] = (queue, owner) => this.#look.inFlight(queue, owner)
  readonly wait: OrderedStore['wait'] = (owner, queues, ms, signal) => this.#waits.run(owner, queues, ms, signal)

  readonly pause: OrderedStore['pause'] = (queue, on) => this.#shards.pause(queue, on)
  readonly reshard: OrderedStore['reshard'] = (queue, shards) => this.#shards.reshard(queue, shards)
  readonly moveShards: OrderedStore['moveShards'] = (queue) => this.#shards.move(queue)

  readonly waiting: OrderedStore['waiting'] = (queue, by, page) => this.#look.waiting(queue, by, page)
  readonly find: OrderedStore['find'] = (queue, id) => this.#look.find(queue, id)
  readonly act: OrderedStore['act'] = (queue, act, ids, options) => this.#acts.act(queue, act, ids, options)
  readonly deletePayload: OrderedStore['deletePayload'] = (queue, id, payload) =>
    this.#acts.deletePayload(queue, id, payload)
  readonly cancel: OrderedStore['cancel'] = (queue, ids) => this.#acts.cancel(queue, ids)

  readonly morgue: OrderedStore['morgue'] = (queue, by, page) => this.#look.morgue(queue, by, page)
  readonly resurrect: OrderedStore['resurrect'] = (queue, ids, now) => this.#acts.resurrect(queue, ids, now)
  readonly deleteDead: OrderedStore['deleteDead'] = (queue, ids) => this.#acts.deleteDead(queue, ids)
  readonly pruneMorgue: OrderedStore['pruneMorgue'] = (queue, max, since) => this.#acts.trim(queue, max, since)
  readonly deleteQueue: OrderedStore['deleteQueue'] = (queue) => this.#acts.forget(queue)
}
