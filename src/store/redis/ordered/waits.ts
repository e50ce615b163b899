/**
 * Waiting until there may be something to take. A ring that is lost costs its owner no more than the rest of its wait:
 * what is due lies in the queue, not in the ring.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { ShardUpdate } from '../../contract.ts'
import { maybeDone } from '../connection.ts'
import { Lanes } from '../lanes.ts'
import type { Server } from '../server.ts'

/** A wait whose client is gone may swallow a ring as long as it lasts. */
const MOST_SECONDS = 5
/** An answer that is later than this comes over a line that was cut. */
const LATE_MS = 2500

export class OrderedWaits {
  readonly #server: Server
  readonly #lanes: Lanes

  constructor(server: Server) {
    this.#server = server
    this.#lanes = new Lanes(server)
  }

  async run(
    owner: string,
    queues: readonly string[],
    ms: number,
    signal: AbortSignal,
  ): Promise<ShardUpdate | undefined> {
    if (queues.length === 0) {
      await sleep(Math.max(ms, 0), undefined, { signal }).catch(() => {})
      return undefined
    }
    const bells = queues.map((queue) => this.#server.keys.orderedBell(queue, owner))
    const end = performance.now() + ms
    while (!signal.aborted) {
      const left = (end - performance.now()) / 1000
      if (left <= 0.001) break
      const rung = await this.#wait(bells, Math.min(left, MOST_SECONDS), signal)
      if (!rung) continue
      const [bell, shard] = rung
      return { queue: queues[bells.indexOf(bell)] as string, shard: shard === '' ? undefined : Number(shard) }
    }
    return undefined
  }

  /** The bell that rang, and of which shard; null: none, or it was ended. */
  async #wait(bells: readonly string[], seconds: number, over: AbortSignal): Promise<[string, string] | null> {
    const lane = await this.#lanes.take(over)
    if (!lane) return null
    const { connection } = lane
    if (over.aborted) {
      this.#lanes.giveBack(lane)
      return null
    }
    let waiting = true
    const stop = () => void this.#lanes.unblock(lane, () => waiting)
    over.addEventListener('abort', stop, { once: true })
    // A server that is gone without a word answers nothing: the line is cut then.
    const deadline = setTimeout(() => connection.client.disconnect(), seconds * 1000 + LATE_MS)
    try {
      const rung = await connection.call((client) => client.blpop([...bells], seconds))
      this.#lanes.giveBack(lane)
      return rung
    } catch (thrown) {
      if (!maybeDone(thrown) && connection.isReady) this.#lanes.giveBack(lane)
      else this.#server.disconnect(connection)
      if (this.#server.isClosed) return null
      throw thrown
    } finally {
      waiting = false
      clearTimeout(deadline)
      over.removeEventListener('abort', stop)
    }
  }
}
