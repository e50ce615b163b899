/** Which names are those of ordered queues that other programs define: a job of such a name would never run. */

import type { Store } from '../store/contract.ts'

/** A queue that another program defines is known here after that time at the latest. */
const FRESH_MS = 60_000
/** A store that did not answer is not asked again with each push. */
const SILENT_MS = 1000

class OrderedNames {
  readonly #store: Store
  #names: ReadonlySet<string> = new Set()
  #freshUntil = Number.NEGATIVE_INFINITY
  #asking: Promise<void> | undefined

  constructor(store: Store) {
    this.#store = store
  }

  /** As the store answered last. */
  has(name: string): boolean {
    return this.#names.has(name)
  }

  /** Undefined when the names are at most a minute old. Never rejects: a store that is away is the push's matter. */
  refreshed(): Promise<void> | undefined {
    return performance.now() < this.#freshUntil ? undefined : this.ask()
  }

  ask(): Promise<void> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #ask(): Promise<void> {
    try {
      this.#names = new Set(await this.#store.orderedQueues())
      this.#freshUntil = performance.now() + FRESH_MS
    } catch {
      this.#freshUntil = performance.now() + SILENT_MS
    }
  }
}

const known = new WeakMap<Store, OrderedNames>()

export function orderedNamesOf(store: Store): OrderedNames {
  let names = known.get(store)
  if (!names) {
    names = new OrderedNames(store)
    known.set(store, names)
  }
  return names
}
