/** Actions on waiting and dead ids. */

import { ORDERED_STEP, type OrderedStore } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import type { Argument, Script } from '../server/connection.ts'
import { allShards, type OrderedQueues, writeError } from './queues.ts'

const MAX_PRUNED = 1000

const CANCELLED: Record<string, 'removed' | 'signalled' | 'not-found'> = {
  r: 'removed',
  s: 'signalled',
  n: 'not-found',
}

export class OrderedActions implements Partial<OrderedStore> {
  readonly #queues: OrderedQueues

  constructor(queues: OrderedQueues) {
    this.#queues = queues
  }

  async act(
    queue: string,
    act: 'now' | 'delete' | 'kill',
    ids: readonly string[],
    { failed, error, now }: { failed?: boolean; error?: string; now: number },
  ): Promise<number> {
    if (ids.length === 0) return 0
    const about = [act, failed ? 'failed' : '', now / 1000, writeError(error), ORDERED_STEP]
    return this.#inSteps(queue, lua.orderedAct, about, [...new Set(ids)])
  }

  async deletePayload(queue: string, id: string, payload: string): Promise<boolean> {
    return (await this.#queues.run(queue, lua.orderedDeletePayload, allShards, () => [id, payload])) === 1
  }

  async cancel(queue: string, ids: readonly string[]): Promise<('removed' | 'signalled' | 'not-found')[]> {
    const letters = await this.#queues.run(queue, lua.orderedCancel, allShards, () => ids)
    return ids.map((_, i) => CANCELLED[(letters as string | undefined)?.[i] ?? 'n'] ?? 'not-found')
  }

  resurrect(queue: string, ids: readonly string[], now: number): Promise<number> {
    return this.#inSteps(queue, lua.orderedDead, ['resurrect', now / 1000, ORDERED_STEP], ids)
  }

  deleteDead(queue: string, ids: readonly string[]): Promise<number> {
    return this.#inSteps(queue, lua.orderedDead, ['delete', '', ORDERED_STEP], ids)
  }

  async pruneMorgue(queue: string, max: number, since: number): Promise<number> {
    const args = [max, since, MAX_PRUNED]
    return Number(
      (await this.#queues.run(
        queue,
        lua.orderedPruneMorgue,
        () => [],
        () => args,
      )) ?? 0,
    )
  }

  /** The entry by which a queue is found goes after the queue. */
  async deleteQueue(queue: string): Promise<boolean> {
    if ((await this.#queues.run(queue, lua.orderedDeleteQueue, allShards, () => [])) !== 1) return false
    this.#queues.forget(queue)
    await this.#queues.unlist(queue)
    return true
  }

  /**
   * Runs a script until it has finished all ids.
   * @returns the number of ids that it finished
   */
  async #inSteps(queue: string, script: Script, about: readonly Argument[], ids: readonly string[]): Promise<number> {
    let n = 0
    for (let rest = ids; ; ) {
      const answer = await this.#queues.run(queue, script, allShards, () => [...about, ...rest])
      const [finished, unfinished] = (answer ?? [0, 0]) as [number, number]
      n += finished
      if (unfinished === 0) return n
      rest = rest.slice(unfinished - 1)
    }
  }
}
