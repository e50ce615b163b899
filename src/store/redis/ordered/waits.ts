/**
 * Waits until a shard may have something due. A lost notification only delays its owner until the end of the wait: the
 * due ids are in the queue, not in the notification.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { OrderedStore, ShardUpdate } from '../../contract.ts'
import { BlockingConnections } from '../server/blocking-connections.ts'
import { maybeDone } from '../server/connection.ts'
import { type Server, StorePart } from '../server/server.ts'

/** The longest wait of one command: when its client is gone it may consume a notification until then. */
const MAX_SECONDS = 5
/** A later answer comes over a connection that was cut. */
const LATE_MS = 2500

export class OrderedWaits extends StorePart implements Partial<OrderedStore> {
  readonly #connections: BlockingConnections

  constructor(server: Server) {
    super(server)
    this.#connections = new BlockingConnections(server)
  }

  async wait(
    owner: string,
    queues: readonly string[],
    ms: number,
    signal: AbortSignal,
  ): Promise<ShardUpdate | undefined> {
    if (queues.length === 0) {
      await sleep(Math.max(ms, 0), undefined, { signal }).catch(() => {})
      return undefined
    }
    const keys = queues.map((queue) => this.keys.orderedNotifications(queue, owner))
    const end = performance.now() + ms
    while (!signal.aborted) {
      const left = (end - performance.now()) / 1000
      if (left <= 0.001) break
      const notified = await this.#wait(keys, Math.min(left, MAX_SECONDS), signal)
      if (!notified) continue
      const [key, shard] = notified
      return { queue: queues[keys.indexOf(key)] as string, shard: shard === '' ? undefined : Number(shard) }
    }
    return undefined
  }

  /** Returns the key that got a notification, and its shard; null when there was none or the wait was ended. */
  async #wait(keys: readonly string[], seconds: number, over: AbortSignal): Promise<[string, string] | null> {
    const blocking = await this.#connections.acquire(over)
    if (!blocking) return null
    const { connection } = blocking
    if (over.aborted) {
      this.#connections.release(blocking)
      return null
    }
    let waiting = true
    const stop = () => void this.#connections.unblock(blocking, () => waiting)
    over.addEventListener('abort', stop, { once: true })
    // A server that is gone without closing the connection never answers.
    const deadline = setTimeout(() => connection.client.disconnect(), seconds * 1000 + LATE_MS)
    try {
      const notified = await connection.call((client) => client.blpop([...keys], seconds))
      this.#connections.release(blocking)
      return notified
    } catch (thrown) {
      if (!maybeDone(thrown) && connection.isReady) this.#connections.release(blocking)
      else this.server.disconnect(connection)
      if (this.server.isClosed) return null
      throw thrown
    } finally {
      waiting = false
      clearTimeout(deadline)
      over.removeEventListener('abort', stop)
    }
  }
}
