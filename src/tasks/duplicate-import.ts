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

/** The claim of an import on the bytes of its file, as it is stored. Times are milliseconds by the clock of the importing process. */
interface Claim {
  id: string
  madeAt: number
  renewedAt: number
  /** Whether it replaced another claim with `allowDuplicate`. That one's import goes on. */
  isDuplicate: boolean
}

/**
 * Claims the bytes of a file for a task that is about to be created. With `allowDuplicate` it claims them even when an earlier
 * task has them.
 *
 * The clocks of two processes may differ, and may be set. So another import may take over the claim while this one
 * prepares its task, which `confirm` detects. A claim from far ahead of the own clock counts as gone, so that no import
 * waits for that time.
 * @throws ALREADY_IMPORTED with the earlier task's id
 */
export async function claimFile(store: ClaimStore, options: ClaimOptions): Promise<FileClaim> {
  const { key, id, now, allowDuplicate = false } = options
  const at = now()
  const claim = { id, madeAt: at, renewedAt: at, isDuplicate: allowDuplicate }
  const value = textOf(claim)
  let before: string | undefined
  let stored = await store.results.remember(key, value, DAY)
  while (stored !== null && stored !== value) {
    const earlier = readClaim(stored)
    const isStarting = Math.abs(now() - earlier.renewedAt) < GONE_AFTER_MS
    // An import with a given id may be repeated: the claim is its own.
    const isOther = !allowDuplicate && earlier.id !== id
    if (isOther && (isStarting || (await store.tasks.find(earlier.id)) !== null)) throw alreadyImported(earlier)
    before = stored
    stored = await store.results.remember(key, value, DAY, stored)
  }
  return new FileClaim(store, options, claim, before)
}

/** The claim of one import. It is renewed until `end`, `confirm` or `undo`. */
export class FileClaim {
  readonly #store: ClaimStore
  readonly #options: ClaimOptions
  readonly #claim: Claim
  readonly #before: string | undefined
  readonly #timer: NodeJS.Timeout
  /** The text in the store, unless another import has claimed the bytes. */
  #value: string
  #renewing: Promise<unknown> = Promise.resolve()

  constructor(store: ClaimStore, options: ClaimOptions, claim: Claim, before: string | undefined) {
    this.#store = store
    this.#options = options
    this.#claim = claim
    this.#value = textOf(claim)
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

  /**
   * Renews the claim a last time, just before the task is created.
   * @throws ALREADY_IMPORTED with the task of the import that has claimed the bytes since
   */
  async confirm(): Promise<void> {
    this.end()
    await this.#renewing
    const other = await this.#renew()
    if (other && !other.isDuplicate && !this.#claim.isDuplicate) throw alreadyImported(other)
  }

  /** Undoes the claim, because the task was not created. */
  async undo(): Promise<void> {
    this.end()
    await this.#renewing
    const [then, seconds] = this.#before === undefined ? ['', 0] : [this.#before, DAY]
    await this.#store.results.remember(this.#options.key, then, seconds, this.#value)
  }

  /** Stores the time of a renewal. Returns the claim of another import if that has the bytes now; the renewals end then. */
  async #renew(): Promise<Claim | undefined> {
    const { key, id, now } = this.#options
    for (;;) {
      const value = textOf({ ...this.#claim, renewedAt: now() })
      const stored = await this.#store.results.remember(key, value, DAY, this.#value)
      if (stored === null || stored === value) {
        this.#value = value
        return undefined
      }
      const there = readClaim(stored)
      if (there.id !== id) {
        this.end()
        return there
      }
      // The answer to an earlier renewal was lost.
      this.#value = stored
    }
  }
}

/** Leaves out the time of the renewal if there was none, and `duplicate` if the claim replaced none. */
function textOf({ id, madeAt, renewedAt, isDuplicate }: Claim): string {
  if (isDuplicate) return `${id} ${madeAt} ${renewedAt} duplicate`
  return renewedAt === madeAt ? `${id} ${madeAt}` : `${id} ${madeAt} ${renewedAt}`
}

function readClaim(text: string): Claim {
  const [id = '', madeAt, renewedAt = madeAt, duplicate] = text.split(' ')
  return { id, madeAt: Number(madeAt), renewedAt: Number(renewedAt), isDuplicate: duplicate !== undefined }
}

function alreadyImported({ id, madeAt }: Claim): HighkiqError {
  const hint = 'set allowDuplicate: true'
  const message = `the same file was imported as task ${id}, at ${new Date(madeAt).toISOString()}: look there, or ${hint}`
  return new HighkiqError('ALREADY_IMPORTED', message, { task: id, option: 'allowDuplicate', value: true, hint })
}
