/** Hears that something has changed: over a channel, for others, and at once in this process. */

import { once } from 'node:events'
import type { Connection } from './connection.ts'
import type { Server } from './server.ts'

export class Notifier {
  readonly #server: Server
  readonly #channel: string
  #connection: Connection | undefined
  #ringers = new Set<() => void>()

  constructor(server: Server, channel: string) {
    this.#server = server
    this.#channel = channel
  }

  notify(): void {
    for (const ring of this.#ringers) ring()
  }

  /** Runs `rung` whenever it is rung. @returns what ends that */
  subscribe(rung: () => void): () => void {
    this.#listen()
    this.#ringers.add(rung)
    return () => void this.#ringers.delete(rung)
  }

  /** Resolves when it is rung, after `ms`, or when `signal` aborts. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || ms <= 0) return
    this.#listen()
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer)
        leave()
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      const leave = this.subscribe(done)
      signal.addEventListener('abort', done, { once: true })
    })
  }

  /** Without the channel the wait is only longer: its errors need not be heard of. */
  #listen(): void {
    if (this.#connection) return
    const connection = this.#server.connect()
    this.#connection = connection
    const { client } = connection
    client.on('message', () => this.notify())
    const subscribe = async () => {
      await connection.ready()
      await client.subscribe(this.#channel)
      // What was said before was not heard.
      this.notify()
      await once(client, 'close')
    }
    subscribe()
      .catch(() => {})
      // Who waits next listens again.
      .then(() => {
        this.#connection = undefined
        this.#server.disconnect(connection)
      })
  }
}
