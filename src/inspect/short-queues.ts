/** Reads short queues many at once, for the queues of one search. */

import type { Store, WaitingJob } from '../store/contract.ts'

/** The result of a search in one short queue. */
interface Found {
  /** The jobs that contain the needle. */
  items: WaitingJob[]
  /** The number of all its jobs. */
  scanned: number
}

export class ShortQueues {
  readonly #store: Store
  readonly #needle: string
  readonly #names: readonly string[]
  /** The queues that were searched with others, until they are read. */
  readonly #found = new Map<string, Found>()

  /** @param names the queues, in the order in which they are read */
  constructor(store: Store, needle: string, names: readonly string[]) {
    this.#store = store
    this.#needle = needle
    this.#names = names
  }

  /** Resolves with undefined when the queue is too long to be read at once. */
  async read(name: string): Promise<Found | undefined> {
    if (!this.#found.has(name)) await this.#search(this.#names.slice(this.#names.indexOf(name)))
    const found = this.#found.get(name)
    this.#found.delete(name)
    return found
  }

  async #search(names: readonly string[]): Promise<void> {
    const { items, sizes } = await this.#store.search.scanQueues(names, this.#needle)
    for (const [i, scanned] of sizes.entries()) this.#found.set(names[i] as string, { items: [], scanned })
    for (const item of items) this.#found.get(item.queue)?.items.push(item)
  }
}
