/** Actions on waiting and dead ids. */

import { ORDERED_STEP, type OrderedStore } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { allShards, noShards, OrderedPart, writeError } from './queues.ts'

const MAX_PRUNED = 1000

const CANCELLED: Record<string, 'removed' | 'signalled' | 'not-found'> = {
  r: 'removed',
  s: 'signalled',
  n: 'not-found',
}

export class OrderedActions extends OrderedPart implements Partial<OrderedStore> {
  async act(
    queue: string,
    act: 'now' | 'delete' | 'kill',
    ids: readonly string[],
    { failed = false, error, now }: { failed?: boolean; error?: string; now: number },
  ): Promise<number> {
    return ids.length === 0 ? 0 : this.#inSteps(queue, act, [...new Set(ids)], now, failed, error)
  }

  async deletePayload(queue: string, id: string, payload: string): Promise<boolean> {
    return (await this.shared.run(queue, lua.orderedDeletePayload, allShards, [id, payload])) === 1
  }

  async cancel(queue: string, ids: readonly string[]): Promise<('removed' | 'signalled' | 'not-found')[]> {
    const letters = await this.shared.run(queue, lua.orderedCancel, allShards, ids)
    return ids.map((_, i) => CANCELLED[(letters as string | undefined)?.[i] ?? 'n'] ?? 'not-found')
  }

  resurrect(queue: string, ids: readonly string[], now: number): Promise<number> {
    return this.#inSteps(queue, 'resurrect', ids, now)
  }

  deleteDead(queue: string, ids: readonly string[]): Promise<number> {
    return this.#inSteps(queue, 'delete-dead', ids, 0)
  }

  async pruneMorgue(queue: string, max: number, since: number): Promise<number> {
    const removed = await this.shared.run(queue, lua.orderedPruneMorgue, noShards, [max, since, MAX_PRUNED])
    return Number(removed ?? 0)
  }

  /** The entry by which a queue is found goes after the queue. */
  async deleteQueue(queue: string): Promise<boolean> {
    if ((await this.shared.run(queue, lua.orderedDeleteQueue, allShards, [])) !== 1) return false
    this.shared.forget(queue)
    await this.shared.unlist(queue)
    return true
  }

  /**
   * Runs the script until it has finished all ids.
   * @returns the number of ids that it finished
   */
  async #inSteps(
    queue: string,
    act: 'now' | 'delete' | 'kill' | 'resurrect' | 'delete-dead',
    ids: readonly string[],
    now: number,
    failed = false,
    error?: string,
  ): Promise<number> {
    const about = [act, failed ? 'failed' : '', now / 1000, writeError(error), ORDERED_STEP]
    let n = 0
    for (let rest = ids; ; ) {
      const answer = await this.shared.run(queue, lua.orderedAct, allShards, [...about, ...rest])
      const [finished, unfinished] = (answer ?? [0, 0]) as [number, number]
      n += finished
      if (unfinished === 0) return n
      rest = rest.slice(unfinished - 1)
    }
  }
}
