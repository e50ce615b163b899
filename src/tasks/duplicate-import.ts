/** Refuses to import the same bytes twice within a day, as after a second click. */

import { HighkiqError } from '../job/errors.ts'
import type { Store } from '../store/contract.ts'

const DAY = 86_400
/** An import without a task counts as gone when it has not renewed its claim for this long. */
const GONE_AFTER_MS = 60_000
const RENEW_MS = GONE_AFTER_MS / 4

type ClaimStore = Pick<Store, 'tasks' | 'results'>

interface ClaimOptions {
  /** The key in the store. It contains a digest of the bytes. */
  key: string
  /** The task that is about to be created. */
  id: string
  now: () => number
  allowDuplicate?: boolean
}

/**
 * Claims the bytes of a file for a task that is about to be created. With `allowDuplicate` it claims them even when an earlier
 * task has them.
 * @throws ALREADY_IMPORTED with the earlier task's id
 */
export async function claimFile(store: ClaimStore, options: ClaimOptions): Promise<FileClaim> {
  const { key, id, now, allowDuplicate = false } = options
  const value = `${id} ${now()}`
  let before: string | undefined
  let stored = await store.results.remember(key, value, DAY)
  while (stored !== null && stored !== value) {
    // A claim holds the id of the task, the time when it was made, and the time of its last renewal.
    const [earlier = '', at, renewedAt = at] = stored.split(' ')
    const isStarting = now() - Number(renewedAt) < GONE_AFTER_MS
    // An import with a given id may be repeated: the claim is its own.
    if (!allowDuplicate && earlier !== id && (isStarting || (await store.tasks.find(earlier)) !== null)) {
      const hint = 'set allowDuplicate: true'
      const message = `the same file was imported as task ${earlier}, at ${new Date(Number(at)).toISOString()}: look there, or ${hint}`
      const about = { task: earlier, option: 'allowDuplicate', value: true, hint }
      throw new HighkiqError('ALREADY_IMPORTED', message, about)
    }
    before = stored
    stored = await store.results.remember(key, value, DAY, stored)
  }
  return new FileClaim(store, options, { value, before })
}

/** The claim of one import. It is renewed until the task exists, or until `end` or `undo`. */
export class FileClaim {
  readonly #store: ClaimStore
  readonly #options: ClaimOptions
  readonly #made: string
  readonly #before: string | undefined
  readonly #timer: NodeJS.Timeout
  #value: string
  #renewing: Promise<void> = Promise.resolve()

  constructor(
    store: ClaimStore,
    options: ClaimOptions,
    { value, before }: { value: string; before: string | undefined },
  ) {
    this.#store = store
    this.#options = options
    this.#made = value
    this.#value = value
    this.#before = before
    // A failed renewal is ignored, because the next one comes before the claim counts as gone.
    const renew = () => {
      this.#renewing = this.#renew().catch(() => {})
    }
    this.#timer = setInterval(renew, RENEW_MS).unref()
  }

  /** Ends the renewals; the claim stays. */
  end(): void {
    clearInterval(this.#timer)
  }

  /** Undoes the claim, because the task was not created. */
  async undo(): Promise<void> {
    this.end()
    await this.#renewing
    const [then, seconds] = this.#before === undefined ? ['', 0] : [this.#before, DAY]
    await this.#store.results.remember(this.#options.key, then, seconds, this.#value)
  }

  async #renew(): Promise<void> {
    const { key, id, now } = this.#options
    if ((await this.#store.tasks.find(id)) !== null) {
      this.end()
      return
    }
    const value = `${this.#made} ${now()}`
    const stored = await this.#store.results.remember(key, value, DAY, this.#value)
    if (stored === null || stored === value) this.#value = value
    // Another import has claimed the bytes.
    else this.end()
  }
}
