/** Connections for commands that block on the server. */

import { type Connection, maybeDone } from './connection.ts'
import type { Server } from './server.ts'

/** The time between two attempts to end a blocking command. */
const UNBLOCK_MS = 10

/** Ends blocking commands. An AbortController does the same at a cost that the start of a job would feel. */
export class Ending {
  isOver = false
  readonly #listeners = new Set<() => void>()

  end(): void {
    this.isOver = true
    for (const listener of this.#listeners) listener()
  }

  /** Runs `listener` when this ends. @returns a function that removes it */
  onEnd(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}

/** A blocking connection, and its client id on the server. */
interface BlockingConnection {
  connection: Connection
  id: number
}

export class BlockingConnections {
  readonly #server: Server
  readonly #idle: BlockingConnection[] = []

  constructor(server: Server) {
    this.#server = server
  }

  /**
   * Runs a blocking command, for which the server needs at most `ms`; `over` ends it earlier. Returns undefined
   * when `over` ends before the command begins. `onBroken` runs when the connection breaks meanwhile.
   */
  async run<T>(
    over: Ending,
    ms: number,
    work: (connection: Connection) => Promise<T>,
    onBroken = () => {},
  ): Promise<T | undefined> {
    const blocking = await this.#acquire(over)
    if (!blocking) return undefined
    if (over.isOver) {
      this.#idle.push(blocking)
      return undefined
    }
    const { connection } = blocking
    let waiting = true
    const removeListener = over.onEnd(() => void this.#unblock(blocking, () => waiting))
    // A server that is gone without closing the connection never answers.
    const deadline = setTimeout(() => connection.client.disconnect(), ms)
    try {
      const result = await work(connection)
      this.#idle.push(blocking)
      return result
    } catch (thrown) {
      if (!maybeDone(thrown) && connection.isReady) {
        this.#idle.push(blocking)
      } else {
        this.#server.disconnect(connection)
        onBroken()
      }
      throw thrown
    } finally {
      waiting = false
      clearTimeout(deadline)
      removeListener()
    }
  }

  /** Returns a connection for a blocking command; undefined when `over` ends. */
  async #acquire(over: Ending): Promise<BlockingConnection | undefined> {
    for (;;) {
      if (over.isOver) return undefined
      const idle = this.#idle.pop()
      if (!idle) break
      if (idle.connection.isReady) return idle
      this.#server.disconnect(idle.connection)
    }
    const connection = this.#server.connect({ blocking: true })
    const abort = () => connection.close()
    const deadline = setTimeout(abort, 2 * this.#server.options.commandTimeout)
    const removeListener = over.onEnd(abort)
    try {
      await connection.ready()
      const id = (await connection.call((client) => client.client('ID'))) as number
      return { connection, id }
    } catch (thrown) {
      this.#server.disconnect(connection)
      if (over.isOver) return undefined
      throw thrown
    } finally {
      clearTimeout(deadline)
      removeListener()
    }
  }

  /** Repeats CLIENT UNBLOCK until the command has ended: it has no effect before the command begins on the server. */
  async #unblock({ connection, id }: BlockingConnection, waiting: () => boolean): Promise<void> {
    const { main } = this.#server
    while (waiting() && connection.isReady) {
      try {
        await main.call((client) => client.client('UNBLOCK', id))
      } catch {
        // The command ends by itself within seconds.
      }
      if (waiting()) await new Promise((resolve) => setTimeout(resolve, UNBLOCK_MS))
    }
  }
}
