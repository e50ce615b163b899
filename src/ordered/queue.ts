/** Inspects and changes an ordered queue, also in a process that does not define it. */

import type { AppPort } from '../app/port.ts'
import { HighkiqError } from '../job/errors.ts'
import type { OrderedCounts, ShardCounts } from '../store/contract.ts'
import { checkShards, type OrderedDefinition, type OrderedItem, orderedDefinition } from './definition.ts'
import { type DeadId, deadId, type WaitingId, waitingId } from './entry.ts'
import { idOf, idsOf, type OrderedIds } from './ids.ts'
import { moveAllShards } from './maintenance.ts'
import { Morgue } from './morgue.ts'
import { pushOrdered } from './push.ts'
import { Waiting } from './waiting.ts'

/** The figures of an ordered queue: the sums of its shards. All but `morgueLength` and `lag` count ids. */
export interface OrderedStats extends Omit<ShardCounts, 'shard' | 'owner'> {
  morgueLength: number
  paused: boolean
  shards: ShardStats[]
}

/** The figures of one shard. `owner` is the process that owns it, or null. */
export type ShardStats = ShardCounts

/** An id that a worker fetched and has not settled. */
export interface InFlightId {
  id: string
  shard: number
  owner: string
  fetchedAt: Date
}

/** What the store has of an id. The id may wait, be in flight and be in the morgue at the same time. */
export interface FoundId {
  waiting: WaitingId | null
  inFlight: Omit<InFlightId, 'id'> | null
  dead: DeadId | null
}

/**
 * `removed`: the waiting payloads of the id were removed. `signalled`: the id runs, and its payloads are removed when the
 * batch ends.
 */
export type OrderedCancelAnswer = 'removed' | 'signalled' | 'not-found'

/** An error message names at most this many queues. */
const MOST_NAMES = 20

export class OrderedQueue {
  /** The name of the queue in the store. */
  readonly queue: string
  readonly waiting: Waiting
  readonly morgue: Morgue
  readonly #app: AppPort
  readonly #definition: OrderedDefinition | undefined

  /** @param definition the app's definition, if the app defines the queue */
  constructor(app: AppPort, queue: string, definition?: OrderedDefinition) {
    this.#app = app
    this.queue = queue
    this.#definition = definition
    this.waiting = new Waiting(queue, app)
    this.morgue = new Morgue(queue, app)
  }

  /**
   * Pushes one or many jobs. All are checked first, then stored 100 at a time, each hundred in one step. An app that
   * does not define the queue can push to one that is in the store.
   * @returns the number of stored items; client middleware may drop some
   * @throws INVALID_JOB, INVALID_ARGS, UNKNOWN_ORDERED before anything is stored; PushError, whose `jids` are the ids not
   * known to be stored
   *
   * @example await hq.ordered('SyncUser').performAsync([{ id: 7, payload: { name: 'Ann' }, performIn: '5m' }])
   */
  performAsync(items: OrderedItem | Iterable<OrderedItem>): Promise<number> {
    if (this.#definition) return pushOrdered(this.#app, this.#definition, items)
    const { client } = this.#app
    const definition = foreignDefinition(this.queue)
    const { orderedNames: names } = client.target
    if (!names || names.has(this.queue)) return pushOrdered(this.#app, definition, items)
    return client.target.apart(`a push to ${this.queue}, which this app does not define,`, async () => {
      await names.ask()
      if (!names.has(this.queue)) await this.known()
      return pushOrdered(this.#app, definition, items)
    })
  }

  /** Returns this queue if it is in the store. @throws UNKNOWN_ORDERED with the names of the queues that are */
  async known(): Promise<this> {
    const names = await this.#app.store.ordered.queues()
    if (names.includes(this.queue)) return this
    const more = names.length > MOST_NAMES ? `, and ${names.length - MOST_NAMES} more` : ''
    const there =
      names.length > 0
        ? `there are ${names.slice(0, MOST_NAMES).join(', ')}${more}`
        : 'there are none yet; start a worker that defines it'
    throw new HighkiqError('UNKNOWN_ORDERED', `no ordered queue is named ${this.queue}: ${there}`)
  }

  /** Resolves with the figures of the queue; all are 0, without shards, when the queue is not in the store. */
  async stats(): Promise<OrderedStats> {
    return statsOf(await this.#app.store.ordered.counts(this.queue, this.#app.now()))
  }

  async find(id: string | number | bigint): Promise<FoundId> {
    const { waiting, inFlight, dead } = await this.#app.store.ordered.find(this.queue, idOf('find', id))
    return {
      waiting: waiting && waitingId(waiting),
      inFlight: inFlight && { shard: inFlight.shard, owner: inFlight.owner, fetchedAt: new Date(inFlight.fetchedAt) },
      dead: dead && deadId(dead),
    }
  }

  /** Returns the ids in flight, the one that was fetched first at the front. */
  async inFlight(): Promise<InFlightId[]> {
    const all = await this.#app.store.ordered.inFlight(this.queue)
    return all
      .map(({ id, shard, owner, fetchedAt }) => ({ id, shard, owner, fetchedAt: new Date(fetchedAt) }))
      .sort((a, b) => a.fetchedAt.getTime() - b.fetchedAt.getTime())
  }

  /** Pauses the queue: workers fetch no more ids from it. Pushes continue. */
  pause(): Promise<void> {
    return this.#app.store.ordered.pause(this.queue, true)
  }

  resume(): Promise<void> {
    return this.#app.store.ordered.pause(this.queue, false)
  }

  /**
   * Cancels ids. Their waiting payloads are removed. A running batch is aborted through `ctx.signal` once all its ids are
   * cancelled; an error that its handler throws then does not count as a failure of the cancelled ids.
   * @returns an answer for each id
   */
  async cancel(ids: OrderedIds): Promise<OrderedCancelAnswer[]> {
    const list = idsOf('cancel', ids)
    const answers: OrderedCancelAnswer[] = []
    for (let from = 0; from < list.length; from += 100) {
      answers.push(...(await this.#app.store.ordered.cancel(this.queue, list.slice(from, from + 100))))
    }
    return answers
  }

  /**
   * Changes the number of shards while workers run. Resolves when all waiting ids are in their new shard; ids in flight
   * move when they end. If this process dies before, a worker of the queue completes the change.
   * @throws INVALID_OPTION for an invalid number, or while the queue is being changed to another number
   */
  async reshard(shards: number): Promise<void> {
    checkShards(this.queue, shards)
    const store = this.#app.store
    if (!(await store.ordered.reshard(this.queue, shards))) {
      const assignments = await store.ordered.assignments(this.queue)
      throw new HighkiqError(
        'INVALID_OPTION',
        assignments
          ? `${this.queue} is being changed to ${assignments.shards} shards: wait until that has ended`
          : `there is no ordered queue ${this.queue}: start a worker that defines it, or push to it first`,
      )
    }
    await moveAllShards(store, this.queue)
  }

  /** Deletes the queue. Resolves with false, and changes nothing, if it has ids or dead ids, or if a worker runs it. */
  delete(): Promise<boolean> {
    return this.#app.store.ordered.deleteQueue(this.queue)
  }
}

/**
 * The options of a queue that this app does not define. A push needs none of them, since the store keeps the number of
 * shards.
 */
function foreignDefinition(queue: string): OrderedDefinition {
  return orderedDefinition(queue, {}, () => {
    throw new HighkiqError('UNKNOWN_ORDERED', `${queue} runs where it is defined, and this app does not define it`)
  })
}

export function statsOf(numbers: OrderedCounts | null): OrderedStats {
  const { shards = [], morgueLength = 0, paused = false } = numbers ?? {}
  const sum = (of: 'length' | 'fresh' | 'retries' | 'busy' | 'processed' | 'failed') =>
    shards.reduce((total, shard) => total + shard[of], 0)
  return {
    length: sum('length'),
    fresh: sum('fresh'),
    retries: sum('retries'),
    busy: sum('busy'),
    processed: sum('processed'),
    failed: sum('failed'),
    morgueLength,
    lag: shards.reduce((most, { lag }) => Math.max(most, lag), 0),
    paused,
    shards: [...shards],
  }
}
