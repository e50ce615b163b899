/** The other stores that an app pushes to. */

import { HighkiqError } from '../job/errors.ts'
import type { Store } from '../store/contract.ts'
import { Client, type Pusher } from './client.ts'

/** Where to push: a store's URL, another app, or what `hq.via()` and `hq.client.with()` return. */
export type Target = string | { readonly store: Store } | Pusher

export class OtherStores {
  readonly #client: Client
  readonly #open: (url: string) => Store
  /** Opened stores by their URLs. */
  readonly #opened = new Map<string, Store>()

  constructor(client: Client, open: (url: string) => Store) {
    this.#client = client
    this.#open = open
  }

  /** Returns a client for a target. @throws INVALID_OPTION, UNKNOWN_STORE */
  clientOf(target: Target): Client {
    if (target instanceof Client) return target
    if (typeof target === 'string') {
      const store = this.#opened.get(target) ?? this.#open(target)
      this.#opened.set(target, store)
      return this.#client.via(() => store)
    }
    if (typeof target === 'object' && target !== null && 'store' in target) return this.#client.via(() => target.store)
    throw new HighkiqError('INVALID_OPTION', 'via: name a store by its URL, or give another app')
  }

  /** Closes the stores that this app opened; stores of other apps stay open. */
  async close(): Promise<void> {
    for (const store of this.#opened.values()) await store.close()
  }
}
