/** Reads short queues many at once, for the queues of one search. */

import type { Store, WaitingJob } from '../store/contract.ts'

export class ShortQueues {
  readonly #store: Store
  readonly #needle: string
  readonly #names: readonly string[]
  /** What was found in queues that were searched with others, until it is read. */
  readonly #found = new Map<string, WaitingJob[]>()

  /** @param names the queues, in the order in which they are read */
  constructor(store: Store, needle: string, names: readonly string[]) {
    this.#store = store
    this.#needle = needle
    this.#names = names
  }

  /**
   * Resolves with the jobs of a queue that contain the needle, and with the number of jobs that the call has searched; undefined
   * when the queue is too long to be read at once.
   */
  async read(name: string): Promise<{ items: WaitingJob[]; scanned: number } | undefined> {
    if (this.#found.has(name)) return { items: this.#removeFound(name), scanned: 0 }
    const names = this.#names.slice(this.#names.indexOf(name))
    const { items, searched, scanned } = await this.#store.search.scanQueues(names, this.#needle)
    if (searched === 0) return undefined
    for (const one of names.slice(0, searched)) this.#found.set(one, [])
    for (const item of items) this.#found.get(item.queue)?.push(item)
    return { items: this.#removeFound(name), scanned }
  }

  #removeFound(name: string): WaitingJob[] {
    const items = this.#found.get(name) ?? []
    this.#found.delete(name)
    return items
  }
}
