import type { Store } from '../store/contract.ts'
import type { Cancellations } from './cancellations.ts'
import type { SharedLimits } from './shared-limits.ts'

/**
 * The version of what the store has for all workers: cancellations, and limits that were set. Each of their changes raises it,
 * and each answer to a worker has it. So a worker reads them only after a change.
 */
export class ControlVersion {
  readonly #store: Store
  readonly #cancellations: Cancellations
  readonly #limits: SharedLimits
  /** The version up to which the limits that were set are known. */
  #limitsVersion = 0
  /** The newest version that the store has reported. */
  #newest = 0
  #reading: Promise<void> | undefined

  constructor(store: Store, cancellations: Cancellations, limits: SharedLimits) {
    this.#store = store
    this.#cancellations = cancellations
    this.#limits = limits
  }

  /** Takes note of a version that the store has reported. */
  note(version: number): void {
    if (version > this.#newest) this.#newest = version
  }

  /** True when there are cancellations, or limits that were set, that the worker has not read. */
  get isBehind(): boolean {
    const { version } = this.#cancellations
    return version < this.#newest || this.#limitsVersion !== version
  }

  /**
   * Reads what has changed up to the newest version that the store has reported. Limits that can't be read now do not block
   * cancellations: the next call reads these limits again.
   */
  async refresh(): Promise<void> {
    do await this.#next()
    while (this.#cancellations.version < this.#newest)
  }

  #next(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #read(): Promise<void> {
    // The cancellations may be read from the first one again.
    this.note(this.#cancellations.version)
    const newest = this.#newest
    const { version, isEmpty } = await this.#cancellations.readNext()
    // After the version is known: a limit that is set later has a newer one.
    if (version !== this.#limitsVersion && (await this.#limits.refresh(this.#store))) this.#limitsVersion = version
    // A store that has lost data has no more cancellations than these.
    if (isEmpty && this.#newest === newest) this.#newest = version
  }
}
