/** Hears that something is due earlier than known: over a channel, for others, and at once in this process. */

import { once } from 'node:events'
import type { Connection } from './connection.ts'
import type { Server } from './server.ts'

export class DueBell {
  readonly #server: Server
  #connection: Connection | undefined
  #ringers = new Set<() => void>()

  constructor(server: Server) {
    this.#server = server
  }

  ring(): void {
    for (const ring of this.#ringers) ring()
  }

  /** Resolves when it is rung, after `ms`, or when `signal` aborts. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || ms <= 0) return
    this.#listen()
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#ringers.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      this.#ringers.add(done)
      signal.addEventListener('abort', done, { once: true })
    })
  }

  /** Without the channel the wait is only longer: its errors need not be heard of. */
  #listen(): void {
    if (this.#connection) return
    const connection = this.#server.connect()
    this.#connection = connection
    const { client } = connection
    client.on('message', () => this.ring())
    const subscribe = async () => {
      await connection.ready()
      await client.subscribe(this.#server.keys.wake)
      // What was said before was not heard.
      this.ring()
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
