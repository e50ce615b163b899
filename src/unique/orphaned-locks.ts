/**
 * Releases the locks of unique jobs that are gone: another program may have run or deleted the job, or its text can't be
 * read. One worker at a time walks through all jobs, but only while there are locks, and pauses a hundred times as long.
 *
 * A lock is released when two walks in a row, GONE_MS apart, did not find its job. The first one suspects the lock. Each
 * step of Highkiq that moves a waiting job against the order of a walk removes the suspicion (`keep-unique`), so a job that
 * exists during the whole second walk is found, or its lock is not suspected any more. Sidekiq fetches a job without a
 * trace, and lists it as running within ten seconds.
 */

import { randomUUID } from 'node:crypto'
import { jobsInOrder } from '../inspect/walk.ts'
import { readPayload } from '../job/payload.ts'
import { readUnique } from '../job/unique.ts'
import type { UniqueLock } from '../store/contract.ts'
import type { LeaderLock } from '../worker/background-service.ts'
import type { Engine } from '../worker/engine.ts'
import { Maintenance, WalkPace } from '../worker/maintenance.ts'

const EVERY_MS = 30_000
const GONE_MS = 60_000
const PAGE = 500
/** The number of locks whose jobs one walk looks for. */
const LOCKS_PER_WALK = 100_000

export class OrphanedLocks extends Maintenance {
  readonly #app: Pick<Engine, 'store' | 'now'>
  readonly #goneMs: number
  readonly #pace: WalkPace
  /** When each walk ended whose suspicions are stored, on the monotonic clock. */
  #walks = new Map<string, number>()

  /**
   * `goneMs` is the shortest time between the two walks that do not find a job; `walkingPart` is the largest part of the time
   * for walks.
   */
  constructor(
    app: Pick<Engine, 'store' | 'now' | 'report'>,
    options: { goneMs?: number; walkingPart?: number; lock?: LeaderLock } = {},
  ) {
    const { goneMs = GONE_MS, walkingPart, ...rest } = options
    const during = 'releasing locks of jobs that are gone'
    super(app, { during, everyMs: EVERY_MS, first: 'later', ...rest })
    this.#app = app
    this.#goneMs = goneMs
    this.#pace = new WalkPace(walkingPart)
  }

  /** Runs one round, unless another process holds the leader lock or the last walk was a short while ago. */
  public override async run(): Promise<void> {
    if (!this.#pace.isDue) return
    const { store, now } = this.#app
    const first = await store.unique.list({ limit: 1 }, now())
    if ((first.locks.length === 0 && first.next === null) || !(await this.isLeader())) return
    await this.#pace.run(() => this.#walk())
  }

  async #walk(): Promise<'done' | 'stopped'> {
    const { store } = this.#app
    const began = performance.now()
    const walk = randomUUID()
    const walks = new Map<string, number>()
    for await (const locks of this.#locks()) {
      const gone = await this.#withoutJobs(locks)
      if (!gone) return 'stopped'
      const overdue: (UniqueLock & { suspicion: string })[] = []
      const fresh: UniqueLock[] = []
      for (const lock of gone) {
        const walkedAt = lock.suspicion === null ? undefined : this.#walks.get(lock.suspicion)
        if (walkedAt === undefined) fresh.push(lock)
        else if (began - walkedAt >= this.#goneMs) overdue.push(lock as UniqueLock & { suspicion: string })
        else walks.set(lock.suspicion as string, walkedAt)
      }
      if (overdue.length > 0) await store.unique.release(overdue)
      if (fresh.length > 0) await store.unique.suspect(fresh, walk)
    }
    this.#walks = walks.set(walk, performance.now())
    return 'done'
  }

  /** Yields the locks that must not outlive their jobs, as many at a time as one walk looks for. */
  async *#locks(): AsyncGenerator<UniqueLock[]> {
    let found: UniqueLock[] = []
    let after: string | undefined
    do {
      const page = await this.#app.store.unique.list({ after, limit: PAGE }, this.#app.now())
      found.push(...page.locks.filter(({ outlives }) => !outlives))
      after = page.next ?? undefined
      if (found.length < LOCKS_PER_WALK && after !== undefined) continue
      if (found.length > 0) yield found
      found = []
    } while (after !== undefined)
  }

  /** Returns the locks whose jobs are nowhere; undefined when this process is no longer the leader. */
  async #withoutJobs(locks: readonly UniqueLock[]): Promise<UniqueLock[] | undefined> {
    const missing = new Map(locks.map((lock) => [`${lock.key} ${lock.holder}`, lock]))
    for await (const { items } of jobsInOrder(this.#app.store, NEEDLE)) {
      for (const { text } of items) {
        const payload = text.includes(NEEDLE) ? readPayload(text) : undefined
        for (const { key } of payload ? readUnique(payload) : []) missing.delete(`${key} ${payload?.jid}`)
      }
      if (missing.size === 0 || !(await this.isLeader())) break
    }
    return (await this.isLeader()) ? [...missing.values()] : undefined
  }
}

/** The text of each job with a lock contains it. */
const NEEDLE = '"hk_unique"'
