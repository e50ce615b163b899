/** What all operations on ordered queues share: a queue's keys, and the number of shards that this process knows. */

import { type OrderedStore, shardOf } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import type { Argument, Connection, Reply, Script } from '../server/connection.ts'
import type { Server } from '../server/server.ts'

/** The number of shards of a queue. */
export interface Shards {
  shards: number
  /** The number before, while the queue is resharded. */
  from: number | null
}

/** The keys of a queue. */
interface KeyNames {
  fixed: readonly string[]
  ofShards: (readonly string[])[]
}

/** About how many ids one script adds to the index of names. */
const NAMED_AT_ONCE = 500

export class OrderedQueues implements Partial<OrderedStore> {
  readonly server: Server
  readonly #known = new Map<string, Shards>()
  readonly #names = new Map<string, KeyNames>()

  constructor(server: Server) {
    this.server = server
  }

  /**
   * Runs a script that may touch the keys of some shards. When this process knows an outdated number of shards, the
   * script changes nothing and answers the right one, and runs again. The keys `more` come last. Returns undefined when there is
   * no such queue.
   */
  async run(
    queue: string,
    script: Script,
    shardsOf: (known: Shards) => Iterable<number>,
    args: readonly Argument[] | ((known: Shards) => readonly Argument[]),
    connection?: Connection,
    more: readonly string[] = [],
  ): Promise<Reply | undefined> {
    const used = connection ?? (await this.server.ready())
    let known = this.#known.get(queue) ?? (await this.#learn(queue))
    while (known) {
      const shards = [...shardsOf(known)]
      const keys = [...this.keys(queue), ...shards.flatMap((shard) => this.shardKeys(queue, shard)), ...more]
      const before = known.from ?? ''
      const answer: Reply = await used.run(script, keys, [
        ...[known.shards, before, shards.length, ...shards],
        ...(typeof args === 'function' ? args(known) : args),
      ])
      if (!Array.isArray(answer) || answer[0] !== 'moved') return answer
      known = this.#remember(queue, answer[1] as string, answer[2] as string)
    }
    return undefined
  }

  keys(queue: string): readonly string[] {
    return this.#namesOf(queue).fixed
  }

  shardKeys(queue: string, shard: number): readonly string[] {
    const { ofShards } = this.#namesOf(queue)
    ofShards[shard] ??= this.server.keys.orderedShard(queue, shard)
    return ofShards[shard]
  }

  #namesOf(queue: string): KeyNames {
    const known = this.#names.get(queue)
    if (known) return known
    const names = { fixed: this.server.keys.ordered(queue), ofShards: [] }
    this.#names.set(queue, names)
    return names
  }

  /** Creates the queue if it does not exist. Returns its number of shards. */
  async define(queue: string, shards: number): Promise<number> {
    // The entry by which a queue is found is written before the queue.
    await this.#list(queue)
    const [root = ''] = this.keys(queue)
    const defined = Number(await this.server.run(lua.orderedDefine, [root], [shards]))
    // A process that has just deleted the queue may have removed that entry since.
    await this.#list(queue)
    if (this.#known.get(queue)?.shards !== defined) this.#known.delete(queue)
    return defined
  }

  /** Indexes all waiting ids by name; the index is kept for some minutes. */
  async indexNames(queue: string): Promise<void> {
    while ((await this.run(queue, lua.orderedIndexNames, allShards, [NAMED_AT_ONCE])) === 0);
  }

  /** Removes a deleted queue from the list, unless a process has created it again since. */
  async unlist(queue: string): Promise<void> {
    const { keys } = this.server
    await this.server.call((client) => client.srem(keys.orderedQueues, queue))
    const [root = ''] = this.keys(queue)
    if ((await this.server.call((client) => client.exists(root))) === 1) await this.#list(queue)
  }

  forget(queue: string): void {
    this.#known.delete(queue)
    this.#names.delete(queue)
  }

  /** Only reads if the queue is listed: a server without memory refuses each write, also one that would change nothing. */
  async #list(queue: string): Promise<void> {
    const { keys } = this.server
    if ((await this.server.call((client) => client.sismember(keys.orderedQueues, queue))) === 1) return
    await this.server.call((client) => client.sadd(keys.orderedQueues, queue))
  }

  async #learn(queue: string): Promise<Shards | undefined> {
    const [root = ''] = this.keys(queue)
    const [shards, from] = await this.server.call((client) => client.hmget(root, 'shards', 'from'))
    return this.#remember(queue, shards ?? '', from ?? '')
  }

  #remember(queue: string, shards: string, from: string): Shards | undefined {
    if (shards === '') {
      this.forget(queue)
      return undefined
    }
    const known = { shards: Number(shards), from: from === '' ? null : Number(from) }
    this.#known.set(queue, known)
    return known
  }
}

/** A part of the store of ordered queues. */
export abstract class OrderedPart {
  protected readonly shared: OrderedQueues

  constructor(queues: OrderedQueues) {
    this.shared = queues
  }
}

/** Yields all shards: while a queue is resharded also those of the number before. */
export function* allShards({ shards, from }: Shards): Generator<number> {
  for (let shard = 0; shard < Math.max(shards, from ?? 0); shard++) yield shard
}

export function noShards(): number[] {
  return []
}

/** Returns the shard of an id, and while the queue is resharded the shard where it may still be. */
export function homesOf(id: string, { shards, from }: Shards): [home: number, old: number | undefined] {
  const home = shardOf(id, shards)
  if (from === null) return [home, undefined]
  const old = shardOf(id, from)
  return [home, old === home ? undefined : old]
}

/**
 * Returns these shards, and those of the ids. Many ids have nearly all shards, so it then returns all shards without
 * computing the shard of each id.
 */
export function shardsOf(ids: readonly string[], known: Shards, shards: readonly number[] = []): Iterable<number> {
  const all = [...allShards(known)]
  if (ids.length >= 2 * all.length) return all
  const homes = ids.flatMap((id) => homesOf(id, known)).filter((home) => home !== undefined)
  return new Set([...shards.filter((shard) => shard < all.length), ...homes])
}

/** Writes an error as JSON, which has no line breaks and distinguishes '' from no error. */
export function writeError(error: string | null | undefined): string {
  return error === null || error === undefined ? '' : JSON.stringify(error)
}

export function readError(text: string): string | null {
  return text === '' ? null : (JSON.parse(text) as string)
}
