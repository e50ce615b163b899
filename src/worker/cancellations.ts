import type { Store } from '../store/contract.ts'

/** Beyond so many all are forgotten, and those that still stand are heard of anew. */
const MOST_HEARD = 200_000

/**
 * The cancelled jobs that a worker has heard of: a sieve, so that all others cost nothing. A mark may have gone since:
 * whether a job is cancelled the store says.
 */
export class Cancellations {
  readonly #store: Store
  readonly #heard = new Set<string>()
  /** All up to here were heard of. */
  #version = 0
  /** Up to here there are some. */
  #told = 0
  #reading: Promise<void> | undefined

  constructor(store: Store) {
    this.#store = store
  }

  /** Nobody has cancelled anything, as far as it was heard of. */
  get isEmpty(): boolean {
    return this.#heard.size === 0
  }

  /** Whether it is worth while to ask. */
  has(jid: string): boolean {
    return !this.isEmpty && this.#heard.has(jid)
  }

  /** The store has told a version. */
  noteVersion(version: number): void {
    if (version > this.#told) this.#told = version
  }

  /** There are marks that were not heard of. */
  get isBehind(): boolean {
    return this.#version < this.#told
  }

  /** Hears of all marks up to the newest that was told. */
  async catchUp(): Promise<void> {
    while (this.isBehind) await this.#next()
  }

  /** Asks the store for what nobody told. */
  async refresh(): Promise<void> {
    await this.#next()
    await this.catchUp()
  }

  /** Those of the jobs that are cancelled, as far as it was heard of. */
  async among(jids: readonly string[]): Promise<ReadonlySet<string>> {
    const heard = jids.filter((jid) => this.has(jid))
    return new Set(heard.length === 0 ? heard : await this.#store.cancellations.among(heard))
  }

  #next(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #read(): Promise<void> {
    if (this.#heard.size > MOST_HEARD) {
      this.#heard.clear()
      this.noteVersion(this.#version)
      this.#version = 0
    }
    const told = this.#told
    const { version, jids } = await this.#store.cancellations.since(this.#version)
    for (const jid of jids) this.#heard.add(jid)
    this.#version = version
    // No more are there than these: the store has lost some.
    if (jids.length === 0 && this.#told === told) this.#told = version
  }
}
