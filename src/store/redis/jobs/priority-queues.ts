/**
 * The lists of queues' priorities. Sidekiq's set of the names of queues names them too, because to Sidekiq each is a queue of
 * its own. A script that adds one raises the version of the cancellations, which every worker reads with each step.
 */

import { baseQueue, isPriorityName } from '../../../job/priority.ts'
import { lua } from '../lua.generated.ts'
import { StorePart } from '../server/server.ts'

/** Readers that are not workers read the names again after this time. */
const READ_AGAIN_MS = 1000

export class PriorityQueues extends StorePart {
  /** The names of a queue's priorities, highest first. */
  #names = new Map<string, string[]>()
  #readAt = Number.NEGATIVE_INFINITY
  #isStale = true
  readonly #listeners = new Set<() => void>()

  /** The names may have changed: the next step or wait of a worker reads them. */
  expire(): void {
    this.#isStale = true
    for (const listener of this.#listeners) listener()
  }

  /** Whether `update` has something to read. */
  get isStale(): boolean {
    return this.#isStale
  }

  /** Reads the names if they may have changed. A failure is ignored, and the next call reads them. */
  async update(): Promise<void> {
    if (this.#isStale) await this.read().catch(() => {})
  }

  /** Returns the lists of the queues in the order in which they are fetched from. */
  listsOf(queues: readonly string[]): readonly string[] {
    if (this.#names.size === 0) return queues
    return queues.flatMap((queue) => [...(this.#names.get(queue) ?? []), queue])
  }

  /** Returns the lists of one queue, as of at most a second ago. */
  async current(queue: string): Promise<readonly string[]> {
    await this.readIfOld()
    return this.listsOf([queue])
  }

  async readIfOld(): Promise<void> {
    if (this.#isStale || performance.now() - this.#readAt > READ_AGAIN_MS) await this.read()
  }

  /** Reads and returns the names of all queues, without those of priorities. */
  async read(): Promise<string[]> {
    this.#isStale = false
    try {
      return this.#note(await this.server.call((client) => client.smembers(this.keys.queues)))
    } catch (thrown) {
      this.#isStale = true
      throw thrown
    }
  }

  /** Notes that this process has pushed jobs with priorities. */
  pushed(names: Iterable<string>): void {
    const isNew = [...names].some((name) => !this.#names.get(baseQueue(name))?.includes(name))
    if (isNew) this.expire()
  }

  /** Runs `listener` when the names may have changed. @returns a function that ends this */
  onExpired(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Removes the names of priorities without jobs. */
  async tidy(): Promise<void> {
    await this.read()
    for (const name of [...this.#names.values()].flat()) {
      await this.server.run(lua.removePriority, [this.keys.queues, this.keys.queue(name)], [name])
    }
  }

  #note(all: readonly string[]): string[] {
    this.#readAt = performance.now()
    const names = new Map<string, string[]>()
    for (const name of all.filter(isPriorityName).sort().reverse()) {
      const of = names.get(baseQueue(name))
      if (of) of.push(name)
      else names.set(baseQueue(name), [name])
    }
    this.#names = names
    return [...new Set(all.map(baseQueue))].sort()
  }
}
