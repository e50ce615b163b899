/**
 * Waits until a shard may have something due. A lost notification only delays its owner until the end of the wait: the
 * due ids are in the queue, not in the notification.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { hasCode } from '../../../job/errors.ts'
import type { OrderedStore, ShardUpdate } from '../../contract.ts'
import { BlockingConnections, StopSignal } from '../server/blocking-connections.ts'
import { closedError } from '../server/errors.ts'
import { type Server, StorePart } from '../server/server.ts'

/** The longest wait of one command: when its client is gone it may consume a notification until then. */
const MAX_SECONDS = 5
/** A shorter wait takes no connection. */
const SHORTEST_MS = 1
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
    if (this.server.isClosed) throw closedError(this.server.options.url)
    // Callers ask again at once, so each wait gives the event loop a turn.
    if (queues.length === 0 || ms <= SHORTEST_MS) {
      await sleep(Math.max(ms, 0), undefined, { signal }).catch(() => {})
      return undefined
    }
    const keys = queues.map((queue) => this.keys.orderedNotifications(queue, owner))
    const end = performance.now() + ms
    const stopSignal = new StopSignal()
    const stop = () => stopSignal.stop()
    signal.addEventListener('abort', stop, { once: true })
    try {
      while (!signal.aborted) {
        const left = (end - performance.now()) / 1000
        if (left <= SHORTEST_MS / 1000) break
        const seconds = Math.min(left, MAX_SECONDS)
        const notified = await this.#connections
          .run(stopSignal, seconds * 1000 + LATE_MS, (connection) =>
            connection.call((client) => client.blpop(keys, seconds)),
          )
          .catch((thrown) => {
            // A store that closes ends this wait; the next one is refused.
            if (!this.server.isClosed || hasCode(thrown, 'STORE_CLOSED')) throw thrown
          })
        if (!notified) continue
        const [key, shard] = notified
        return { queue: queues[keys.indexOf(key)] as string, shard: shard === '' ? undefined : Number(shard) }
      }
      return undefined
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}
