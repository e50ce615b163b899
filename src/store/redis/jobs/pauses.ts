/** Paused queues, in Sidekiq Pro's set: its Web shows them, and its processes do not fetch from them either. */

import { baseQueue } from '../../../job/priority.ts'
import type { JobStore } from '../../contract.ts'
import { Notifier } from '../server/notifier.ts'
import { type Server, StorePart } from '../server/server.ts'

export class Pauses extends StorePart implements Partial<JobStore> {
  /** Notified when a queue is paused or resumed. */
  readonly notifier: Notifier
  /** The queues that were paused according to the last answer of the server. */
  readonly #known = new Set<string>()

  constructor(server: Server) {
    super(server)
    this.notifier = new Notifier(server, server.keys.pausesChannel)
  }

  async pauseQueue(queue: string, on: boolean): Promise<void> {
    await this.server.all(
      (pipeline) => (on ? pipeline.sadd(this.keys.paused, queue) : pipeline.srem(this.keys.paused, queue)),
      this.keys.pausesChannel,
    )
    this.notifier.notify()
  }

  async pausedQueues(): Promise<string[]> {
    return (await this.server.call((client) => client.smembers(this.keys.paused))).sort()
  }

  /** Notes whether an answer of the server called a queue paused. */
  observe(queue: string, paused: boolean): void {
    if (paused) this.#known.add(queue)
    else this.#known.delete(queue)
  }

  /** Returns the queues and priorities that are not known to be paused. */
  unpaused(queues: readonly string[]): readonly string[] {
    return this.#known.size === 0 ? queues : queues.filter((queue) => !this.#known.has(baseQueue(queue)))
  }
}
