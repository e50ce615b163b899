/** Queues that nobody takes from: Sidekiq Pro's set, so that its Web shows them, and so that its processes obey too. */

import { Bell } from './bell.ts'
import type { Server } from './server.ts'

export class Pauses {
  readonly #server: Server
  /** Rung by who pauses or resumes. */
  readonly bell: Bell
  /** As it was told last. */
  readonly #known = new Set<string>()

  constructor(server: Server) {
    this.#server = server
    this.bell = new Bell(server, server.keys.pauses)
  }

  async set(queue: string, on: boolean): Promise<void> {
    const { keys } = this.#server
    const main = await this.#server.ready()
    await main.all(
      (pipeline) => (on ? pipeline.sadd(keys.paused, queue) : pipeline.srem(keys.paused, queue)),
      keys.pauses,
    )
    this.bell.ring()
  }

  async list(): Promise<string[]> {
    const main = await this.#server.ready()
    return (await main.call((client) => client.smembers(this.#server.keys.paused))).sort()
  }

  /** What an answer of the server said. */
  tell(queue: string, paused: boolean): void {
    if (paused) this.#known.add(queue)
    else this.#known.delete(queue)
  }

  /** Those of the queues that may be waited on, as far as it is known. */
  open(queues: readonly string[]): readonly string[] {
    return this.#known.size === 0 ? queues : queues.filter((queue) => !this.#known.has(queue))
  }
}
