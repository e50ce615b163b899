/** The names of ordered queues that other programs define. A plain job with such a name would never run. */

import type { Store } from '../store/contract.ts'

/** The names are read again after this many milliseconds. */
const FRESH_MS = 60_000
/** Milliseconds before a store that did not answer is asked again. */
const SILENT_MS = 1000

export class OrderedNames {
  readonly #store: Store
  #names: ReadonlySet<string> = new Set()
  #freshUntil = Number.NEGATIVE_INFINITY
  #asking: Promise<void> | undefined

  constructor(store: Store) {
    this.#store = store
  }

  /** Whether the last answer of the store has this name. */
  has(name: string): boolean {
    return this.#names.has(name)
  }

  /**
   * Reads the names again when they are older than a minute, and returns undefined when they are not. It never rejects:
   * when the store is away, the push itself fails.
   */
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
      this.#names = new Set(await this.#store.ordered.queues())
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
