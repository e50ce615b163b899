/** Tells listeners of this process that something has changed: at once, or after a message on a channel. */

import { once } from 'node:events'
import type { Connection } from './connection.ts'

/** Makes the connection that listens. */
interface Connections {
  connect(): Connection
  disconnect(connection: Connection): void
}

export class Notifier {
  readonly #connections: Connections
  readonly #channel: string
  #connection: Connection | undefined
  #listeners = new Set<() => void>()

  constructor(connections: Connections, channel: string) {
    this.#connections = connections
    this.#channel = channel
  }

  notify(): void {
    for (const listener of this.#listeners) listener()
  }

  /** Runs `listener` at each notification. @returns a function that ends this */
  subscribe(listener: () => void): () => void {
    this.#listen()
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Resolves at the next notification, after `ms`, or when `signal` aborts. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || ms <= 0) return
    this.#listen()
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer)
        unsubscribe()
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      const unsubscribe = this.subscribe(done)
      signal.addEventListener('abort', done, { once: true })
    })
  }

  /** Ignores errors: without the channel a wait only takes longer. */
  #listen(): void {
    if (this.#connection) return
    const connection = this.#connections.connect()
    this.#connection = connection
    const { client } = connection
    client.on('message', () => this.notify())
    const subscribeChannel = async () => {
      await connection.ready()
      await client.subscribe(this.#channel)
      // Messages before the subscription are lost, so the listeners check once.
      this.notify()
      await once(client, 'close')
    }
    subscribeChannel()
      .catch(() => {})
      // The next wait connects again.
      .then(() => {
        this.#connection = undefined
        this.#connections.disconnect(connection)
      })
  }
}
