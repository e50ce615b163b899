import type { Store } from '../store/contract.ts'

/** With more ids than this the worker reads those that are still cancelled again, and drops the others. */
const MAX_KNOWN = 200_000

/**
 * The ids of cancelled jobs that a worker knows, so that all other jobs cost no call. A cancellation may have been
 * withdrawn since: the store decides whether a job is cancelled.
 */
export class Cancellations {
  readonly #store: Store
  #known = new Set<string>()
  /** While the worker reads all cancellations again: those read so far, and the version at which it is done. */
  #reread: { known: Set<string>; until: number } | undefined
  readonly #most: number
  #version = 0

  constructor(store: Store, most = MAX_KNOWN) {
    this.#store = store
    this.#most = most
  }

  /** The worker knows all cancellations up to this version. */
  get version(): number {
    return this.#version
  }

  /** True when the worker knows of no cancelled job. */
  get isEmpty(): boolean {
    return this.#known.size === 0
  }

  /** Returns whether the job may be cancelled; `among` asks the store. */
  has(jid: string): boolean {
    return !this.isEmpty && this.#known.has(jid)
  }

  /** Returns which of the jobs are cancelled. Asks the store only about those that the worker knows of. */
  async among(jids: readonly string[]): Promise<ReadonlySet<string>> {
    const known = jids.filter((jid) => this.has(jid))
    return new Set(known.length === 0 ? known : await this.#store.cancellations.among(known))
  }

  /** Reads a page of new cancellations. Resolves with the version up to which they are known, and whether there was none. */
  async readNext(): Promise<{ version: number; isEmpty: boolean }> {
    if (this.#known.size > this.#most && !this.#reread) {
      this.#reread = { known: new Set(), until: this.#version }
      this.#version = 0
    }
    const { version, jids } = await this.#store.cancellations.since(this.#version)
    for (const jid of jids) {
      this.#known.add(jid)
      this.#reread?.known.add(jid)
    }
    this.#version = version
    const isEmpty = jids.length === 0
    if (this.#reread && (isEmpty || version >= this.#reread.until)) {
      this.#known = this.#reread.known
      this.#reread = undefined
    }
    return { version, isEmpty }
  }
}
