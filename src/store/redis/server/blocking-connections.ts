/** Connections that wait on the server, and ending their waits. */

import type { Connection } from './connection.ts'
import type { Server } from './server.ts'

/** Between attempts to end a wait. */
const UNBLOCK_MS = 10

/** A connection that waits, and its name on the server. */
export interface BlockingConnection {
  connection: Connection
  id: number
}

export class BlockingConnections {
  readonly #server: Server
  readonly #idle: BlockingConnection[] = []

  constructor(server: Server) {
    this.#server = server
  }

  /** A connection that may block; undefined when there is nothing to wait for any more. */
  async acquire(over: AbortSignal): Promise<BlockingConnection | undefined> {
    for (;;) {
      if (over.aborted) return undefined
      const idle = this.#idle.pop()
      if (!idle) break
      if (idle.connection.isReady) return idle
      this.#server.disconnect(idle.connection)
    }
    const connection = this.#server.connect({ blocking: true })
    const giveUp = () => connection.close()
    const deadline = setTimeout(giveUp, 2 * this.#server.options.commandTimeout)
    over.addEventListener('abort', giveUp, { once: true })
    try {
      await connection.ready()
      const id = (await connection.call((client) => client.client('ID'))) as number
      return { connection, id }
    } catch (thrown) {
      this.#server.disconnect(connection)
      if (over.aborted) return undefined
      throw thrown
    } finally {
      clearTimeout(deadline)
      over.removeEventListener('abort', giveUp)
    }
  }

  /** It has no wait under way. */
  release(lane: BlockingConnection): void {
    this.#idle.push(lane)
  }

  /** Asks until the wait has ended: one that had not begun yet on the server is not unblocked by the first try. */
  async unblock({ connection, id }: BlockingConnection, waiting: () => boolean): Promise<void> {
    const { main } = this.#server
    while (waiting() && connection.isReady) {
      try {
        await main.call((client) => client.client('UNBLOCK', id))
      } catch {
        // It ends by itself, within seconds.
      }
      if (waiting()) await new Promise((resolve) => setTimeout(resolve, UNBLOCK_MS))
    }
  }
}
