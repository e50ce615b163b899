import type { Store } from '../store/contract.ts'
import type { SharedLimits } from './shared-limits.ts'

/** With more ids than this the worker drops them all and reads those that are still cancelled again. */
const MAX_KNOWN = 200_000

/**
 * The ids of cancelled jobs that a worker knows, so that all other jobs cost no call. A cancellation may have been
 * withdrawn since: the store decides whether a job is cancelled. The same version rises when limits are set, too.
 */
export class Cancellations {
  readonly #store: Store
  readonly #limits: SharedLimits
  readonly #known = new Set<string>()
  /** The worker knows all cancellations up to this version. */
  #version = 0
  /** The worker knows the limits that were set up to this version. */
  #limitsVersion = 0
  /** The newest version that the store has reported. */
  #newest = 0
  #reading: Promise<void> | undefined

  constructor(store: Store, limits: SharedLimits) {
    this.#store = store
    this.#limits = limits
  }

  /** True when the worker knows of no cancelled job. */
  get isEmpty(): boolean {
    return this.#known.size === 0
  }

  /** Returns whether the job may be cancelled; `among` asks the store. */
  has(jid: string): boolean {
    return !this.isEmpty && this.#known.has(jid)
  }

  /** Takes note of a version that the store has reported. */
  noteVersion(version: number): void {
    if (version > this.#newest) this.#newest = version
  }

  /** True when there are cancellations, or limits that were set, that the worker has not read. */
  get isBehind(): boolean {
    return this.#version < this.#newest || this.#limitsVersion !== this.#version
  }

  /**
   * Reads new cancellations, all up to the newest version that the store has reported. Limits that cannot be read now do not
   * block them: the next call reads these limits again.
   */
  async refresh(): Promise<void> {
    do await this.#next()
    while (this.#version < this.#newest)
  }

  /** Returns which of the jobs are cancelled. Asks the store only about those that the worker knows of. */
  async among(jids: readonly string[]): Promise<ReadonlySet<string>> {
    const known = jids.filter((jid) => this.has(jid))
    return new Set(known.length === 0 ? known : await this.#store.cancellations.among(known))
  }

  #next(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #read(): Promise<void> {
    if (this.#known.size > MAX_KNOWN) {
      this.#known.clear()
      this.noteVersion(this.#version)
      this.#version = 0
    }
    const newest = this.#newest
    const { version, jids } = await this.#store.cancellations.since(this.#version)
    for (const jid of jids) this.#known.add(jid)
    // After the version is known: a limit that is set later has a newer one.
    if (version !== this.#limitsVersion && (await this.#limits.refresh(this.#store))) this.#limitsVersion = version
    this.#version = version
    // A store that has lost data has no more cancellations than these.
    if (jids.length === 0 && this.#newest === newest) this.#newest = version
  }
}
