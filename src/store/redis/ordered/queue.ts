/** What all verbs of ordered queues share: a queue's keys, and how many shards it is known to have. */

import { shardOf } from '../../contract.ts'
import type { Argument, Connection, Reply, Script } from '../connection.ts'
import { lua } from '../lua.generated.ts'
import type { Server } from '../server.ts'

/** How many there are, and while that changes how many there were. */
export interface Shards {
  shards: number
  from: number | null
}

/** About as many ids are looked at in one step. */
const NAMED_AT_ONCE = 500

export class OrderedQueues {
  readonly server: Server
  readonly #known = new Map<string, Shards>()
  /** Keys are asked for again and again. */
  readonly #fixed = new Map<string, readonly string[]>()
  readonly #ofShards = new Map<string, (readonly string[])[]>()

  constructor(server: Server) {
    this.server = server
  }

  /**
   * Runs a script that may touch the keys of some shards. It does nothing and tells how many there are if that is not as
   * it is known here; then it is asked again. Undefined: there is no such queue.
   */
  async run(
    queue: string,
    script: Script,
    shardsOf: (known: Shards) => Iterable<number>,
    argsOf: (known: Shards) => readonly Argument[],
    connection?: Connection,
  ): Promise<Reply | undefined> {
    const line = connection ?? (await this.server.ready())
    let known = this.#known.get(queue) ?? (await this.#learn(queue))
    while (known) {
      const shards = [...shardsOf(known)]
      const keys = [...this.keys(queue), ...shards.flatMap((shard) => this.shardKeys(queue, shard))]
      const before = known.from ?? ''
      const answer: Reply = await line.run(script, keys, [
        ...[known.shards, before, shards.length, ...shards],
        ...argsOf(known),
      ])
      if (!Array.isArray(answer) || answer[0] !== 'moved') return answer
      known = this.#tell(queue, answer[1] as string, answer[2] as string)
    }
    return undefined
  }

  keys(queue: string): readonly string[] {
    let keys = this.#fixed.get(queue)
    if (!keys) {
      keys = this.server.keys.ordered(queue)
      this.#fixed.set(queue, keys)
    }
    return keys
  }

  shardKeys(queue: string, shard: number): readonly string[] {
    let ofQueue = this.#ofShards.get(queue)
    if (!ofQueue) {
      ofQueue = []
      this.#ofShards.set(queue, ofQueue)
    }
    ofQueue[shard] ??= this.server.keys.orderedShard(queue, shard)
    return ofQueue[shard]
  }

  /** Enters it if it is not there yet. Answers how many shards it has. */
  async define(queue: string, shards: number): Promise<number> {
    const main = await this.server.ready()
    // Where it is looked for is written before it, so that it can always be found.
    await this.#list(queue)
    const [root = ''] = this.keys(queue)
    const has = Number(await main.run(lua.orderedDefine, [root], [shards]))
    // Who has just forgotten it may have taken it out of the list since.
    await this.#list(queue)
    if (this.#known.get(queue)?.shards !== has) this.#known.delete(queue)
    return has
  }

  /** Sees to it that what waits can be gone through by name, for some minutes from now on. */
  async name(queue: string): Promise<void> {
    while ((await this.run(queue, lua.orderedName, allShards, () => [NAMED_AT_ONCE])) === 0);
  }

  /** Behind the queue itself; unless it has been begun anew by then, it is found nowhere any more. */
  async unlist(queue: string): Promise<void> {
    const { keys, main } = this.server
    await main.call((client) => client.srem(keys.orderedQueues, queue))
    const [root = ''] = this.keys(queue)
    if ((await main.call((client) => client.exists(root))) === 1) await this.#list(queue)
  }

  forget(queue: string): void {
    this.#known.delete(queue)
    this.#fixed.delete(queue)
    this.#ofShards.delete(queue)
  }

  async #list(queue: string): Promise<void> {
    const { keys, main } = this.server
    await main.call((client) => client.sadd(keys.orderedQueues, queue))
  }

  async #learn(queue: string): Promise<Shards | undefined> {
    const [root = ''] = this.keys(queue)
    const main = await this.server.ready()
    const [shards, from] = await main.call((client) => client.hmget(root, 'shards', 'from'))
    return this.#tell(queue, shards ?? '', from ?? '')
  }

  #tell(queue: string, shards: string, from: string): Shards | undefined {
    if (shards === '') {
      this.forget(queue)
      return undefined
    }
    const known = { shards: Number(shards), from: from === '' ? null : Number(from) }
    this.#known.set(queue, known)
    return known
  }
}

/** All shards that are or were there. */
export function* allShards({ shards, from }: Shards): Generator<number> {
  for (let shard = 0; shard < Math.max(shards, from ?? 0); shard++) yield shard
}

/** Where an id belongs, and where it may still be. */
export function homesOf(id: string, { shards, from }: Shards): [home: number, old: number | undefined] {
  const home = shardOf(id, shards)
  if (from === null) return [home, undefined]
  const old = shardOf(id, from)
  return [home, old === home ? undefined : old]
}

/** Errors are kept as JSON: no line breaks, and none is not an empty one. */
export function writeError(error: string | null | undefined): string {
  return error === null || error === undefined ? '' : JSON.stringify(error)
}

export function readError(text: string): string | null {
  return text === '' ? null : (JSON.parse(text) as string)
}
