/** Connections for commands that block on the server. */

import type { Connection } from './connection.ts'
import { maybeDone } from './errors.ts'
import type { Server } from './server.ts'

/** The time between two attempts to end a blocking command. */
const UNBLOCK_MS = 10

/** Ends blocking commands. Cheaper than an AbortController, which would delay the start of each job. */
export class StopSignal {
  isStopped = false
  readonly #listeners = new Set<() => void>()

  /** Runs the listeners, only the first time. */
  stop(): void {
    if (this.isStopped) return
    this.isStopped = true
    for (const listener of this.#listeners) listener()
  }

  /** Runs `listener` at the stop. @returns a function that removes it */
  onStop(listener: () => void): () => void {
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
   * Runs a blocking command, for which the server needs at most `ms`; `signal` ends it earlier. Returns undefined
   * when `signal` stops before the command begins. `onBroken` runs when the connection breaks meanwhile.
   */
  async run<T>(
    signal: StopSignal,
    ms: number,
    work: (connection: Connection) => Promise<T>,
    onBroken = () => {},
  ): Promise<T | undefined> {
    const blocking = await this.#acquire(signal)
    if (!blocking) return undefined
    if (signal.isStopped) {
      this.#idle.push(blocking)
      return undefined
    }
    const { connection } = blocking
    let waiting = true
    const removeListener = signal.onStop(() => void this.#unblock(blocking, () => waiting))
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

  /** Returns a connection for a blocking command; undefined when `signal` stops. */
  async #acquire(signal: StopSignal): Promise<BlockingConnection | undefined> {
    for (;;) {
      if (signal.isStopped) return undefined
      const idle = this.#idle.pop()
      if (!idle) break
      if (idle.connection.isReady) return idle
      this.#server.disconnect(idle.connection)
    }
    const connection = this.#server.connect({ blocking: true })
    const abort = () => connection.close()
    const deadline = setTimeout(abort, 2 * this.#server.options.commandTimeout)
    const removeListener = signal.onStop(abort)
    try {
      await connection.ready()
      const id = (await connection.call((client) => client.client('ID'))) as number
      return { connection, id }
    } catch (thrown) {
      this.#server.disconnect(connection)
      if (signal.isStopped) return undefined
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
