/** `hq.uniqueLocks`: finds and releases the locks of unique jobs by hand. */

import type { AppPort } from '../app/port.ts'
import { checkJob, type Job } from '../client/job.ts'
import { invalidOption } from '../job/errors.ts'
import { checkOptions, type OptionRule, shown } from '../job/options.ts'
import { readUnique } from '../job/unique.ts'
import type { UniqueLock } from '../store/contract.ts'

const PAGE = 500

const PREFIX = 'lock '
const positionOf = (cursor: unknown) => Buffer.from(String(cursor), 'base64url').toString()
const CURSOR: OptionRule = [(cursor) => positionOf(cursor).startsWith(PREFIX), 'the `next` of the page before']

/** The lock of a unique job. */
export interface UniqueLockInfo {
  key: string
  /** The job that has it. */
  jid: string
  /** When it is free at the latest; null: when its job has ended. */
  endsAt: Date | null
  /** Whether it is held until `endsAt`, also when its job has ended before. */
  outlivesJob: boolean
}

/**
 * The locks of unique jobs that are held now, in any order.
 *
 * @example for await (const { key, jid } of hq.uniqueLocks) console.log(key, jid)
 */
export class UniqueLocks implements AsyncIterable<UniqueLockInfo> {
  readonly #app: AppPort

  constructor(app: AppPort) {
    this.#app = app
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<UniqueLockInfo> {
    const { store, now } = this.#app
    let after: string | undefined
    do {
      const { locks, next } = await store.unique.list({ after, limit: PAGE }, now())
      for (const lock of locks) yield infoOf(lock)
      after = next ?? undefined
    } while (after !== undefined)
  }

  /**
   * Returns a page of the locks. It has about `limit` locks (on SQLite at most `limit`), and at least one unless it is the
   * last. `next` is the `cursor` of the next page. A lock that is released meanwhile may be missing.
   * @throws INVALID_OPTION
   */
  async page(
    options: { cursor?: string | undefined; limit?: number } = {},
  ): Promise<{ items: UniqueLockInfo[]; next: string | null }> {
    checkOptions('hq.uniqueLocks.page', options, { cursor: CURSOR, limit: 'count' })
    const { cursor, limit = 25 } = options
    const { store, now } = this.#app
    let after = cursor === undefined ? undefined : positionOf(cursor).slice(PREFIX.length)
    let items: UniqueLockInfo[] = []
    do {
      const { locks, next } = await store.unique.list({ after, limit }, now())
      items = locks.map(infoOf)
      after = next ?? undefined
    } while (items.length === 0 && after !== undefined)
    return { items, next: after === undefined ? null : Buffer.from(PREFIX + after).toString('base64url') }
  }

  /**
   * Returns the lock that refuses this push now; null: it would be stored.
   * @throws INVALID_OPTION when it is not a job, or not unique
   * @example const lock = await hq.uniqueLocks.of(Reindex, 7)
   */
  async of<Args extends unknown[]>(job: Job<Args>, ...args: Args): Promise<UniqueLockInfo | null> {
    const { client, store, now } = this.#app
    checkJob('hq.uniqueLocks.of', job)
    const keys = readUnique(client.normalise(job.request(args))).map(({ key }) => key)
    if (keys.length === 0) throw invalidOption(`hq.uniqueLocks.of: ${job.name} is not unique, so a push needs no lock`)
    const lock = (await store.unique.find(keys, now())).find((one) => one !== null)
    return lock ? infoOf(lock) : null
  }

  /**
   * Releases a lock by hand; its job stays. Resolves with false when that job does not have it any more.
   * @throws INVALID_OPTION
   */
  async release(lock: Pick<UniqueLockInfo, 'key' | 'jid'>): Promise<boolean> {
    const { key, jid } = lock ?? {}
    if (typeof key !== 'string' || typeof jid !== 'string') {
      throw invalidOption(
        `hq.uniqueLocks.release takes a lock of hq.uniqueLocks, with key and jid (got ${shown(lock)})`,
      )
    }
    const [isReleased] = await this.#app.store.unique.release([{ key, holder: jid }])
    return isReleased === true
  }
}

function infoOf({ key, holder, ends, outlives }: UniqueLock): UniqueLockInfo {
  return { key, jid: holder, endsAt: ends === null ? null : new Date(ends), outlivesJob: outlives }
}
