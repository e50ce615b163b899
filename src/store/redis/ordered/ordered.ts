/** Ordered queues: what waits belongs to an id, a shard is only a part of what is due. See lua/ordered-open.lua. */

import type { OrderedVerbs } from '../../contract.ts'
import type { Owners } from '../owners.ts'
import type { Server } from '../server.ts'
import { OrderedActs } from './acts.ts'
import { OrderedLook } from './look.ts'
import { pushOrdered } from './push.ts'
import { OrderedQueues } from './queue.ts'
import { OrderedShards } from './shards.ts'
import { OrderedTurns } from './turns.ts'
import { OrderedWaits } from './waits.ts'

type Verb<Name extends keyof OrderedVerbs> = OrderedVerbs[Name]

export class Ordered implements OrderedVerbs {
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

  readonly defineOrdered: Verb<'defineOrdered'> = (queue, shards) => this.#queues.define(queue, shards)
  readonly orderedQueues: Verb<'orderedQueues'> = () => this.#look.names()
  readonly orderedNumbers: Verb<'orderedNumbers'> = (queue, now) => this.#look.numbers(queue, now)

  async orderedBoard(queue: string): ReturnType<Verb<'orderedBoard'>> {
    const board = await this.#shards.board(queue)
    if (!board) return null
    const { about: _, ...said } = board
    return said
  }

  readonly pushOrdered: Verb<'pushOrdered'> = (queue, shards, items) => pushOrdered(this.#queues, queue, shards, items)

  readonly joinOrdered: Verb<'joinOrdered'> = (queue, owner) => this.#shards.join(queue, owner)
  readonly leaveOrdered: Verb<'leaveOrdered'> = (queue, owner) => this.#shards.leave(queue, owner)
  readonly ownShard: Verb<'ownShard'> = (queue, shard, owner, maxCrashes, now) =>
    this.#shards.own(queue, shard, owner, maxCrashes, now)
  readonly releaseShard: Verb<'releaseShard'> = (queue, shard, owner, token) =>
    this.#shards.release(queue, shard, owner, token)

  readonly orderedTurn: Verb<'orderedTurn'> = (queue, owner, turn) => this.#turns.run(queue, owner, turn)
  readonly orderedInFlight: Verb<'orderedInFlight'> = (queue, owner) => this.#look.inFlight(queue, owner)
  readonly waitOrdered: Verb<'waitOrdered'> = (owner, queues, ms, signal) => this.#waits.run(owner, queues, ms, signal)

  readonly pauseOrdered: Verb<'pauseOrdered'> = (queue, on) => this.#shards.pause(queue, on)
  readonly reshard: Verb<'reshard'> = (queue, shards) => this.#shards.reshard(queue, shards)
  readonly moveShards: Verb<'moveShards'> = (queue) => this.#shards.move(queue)

  readonly orderedWaiting: Verb<'orderedWaiting'> = (queue, by, page) => this.#look.waiting(queue, by, page)
  readonly findOrdered: Verb<'findOrdered'> = (queue, id) => this.#look.find(queue, id)
  readonly actOrdered: Verb<'actOrdered'> = (queue, act, ids, options) => this.#acts.act(queue, act, ids, options)
  readonly deleteOrderedPayload: Verb<'deleteOrderedPayload'> = (queue, id, payload) =>
    this.#acts.deletePayload(queue, id, payload)
  readonly cancelOrdered: Verb<'cancelOrdered'> = (queue, ids) => this.#acts.cancel(queue, ids)

  readonly morgue: Verb<'morgue'> = (queue, by, page) => this.#look.morgue(queue, by, page)
  readonly resurrect: Verb<'resurrect'> = (queue, ids, now) => this.#acts.resurrect(queue, ids, now)
  readonly deleteDead: Verb<'deleteDead'> = (queue, ids) => this.#acts.deleteDead(queue, ids)
  readonly trimMorgue: Verb<'trimMorgue'> = (queue, max, since) => this.#acts.trim(queue, max, since)
  readonly deleteOrderedQueue: Verb<'deleteOrderedQueue'> = (queue) => this.#acts.forget(queue)
}
