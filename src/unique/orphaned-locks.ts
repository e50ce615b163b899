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
import { pages } from '../inspect/walk.ts'
import { readPayload } from '../job/payload.ts'
import { readUnique } from '../job/unique.ts'
import type { Scan, ScanPage, Store, UniqueLock } from '../store/contract.ts'
import { LeaderLock, Periodic } from '../worker/background-service.ts'
import type { Engine } from '../worker/engine.ts'

const EVERY_MS = 30_000
const GONE_MS = 60_000
/** The largest part of the time that walks may take. */
const WALKING_PART = 0.01
const LONGEST_PAUSE_MS = 3_600_000
const LOCK_SECONDS = 60
const LOCK_RENEWAL_MS = 20_000
const PAGE = 500
/** The number of locks whose jobs one walk looks for. */
const LOCKS_PER_WALK = 100_000

export class OrphanedLocks extends Periodic {
  readonly #app: Pick<Engine, 'store' | 'now'>
  readonly #lock: LeaderLock
  readonly #goneMs: number
  readonly #walkingPart: number
  /** When each walk ended whose suspicions are stored, on the monotonic clock. */
  #walks = new Map<string, number>()
  #walkAgainAt = 0

  /**
   * `goneMs` is the shortest time between the two walks that do not find a job; `walkingPart` is the largest part of the time
   * for walks.
   */
  constructor(
    app: Pick<Engine, 'store' | 'now' | 'report'>,
    { goneMs = GONE_MS, walkingPart = WALKING_PART }: { goneMs?: number; walkingPart?: number } = {},
  ) {
    const times = { seconds: LOCK_SECONDS, renewMs: LOCK_RENEWAL_MS, retryMs: LOCK_RENEWAL_MS }
    const lock = new LeaderLock(() => app.store, 'unique-locks', times)
    super(app.report, { during: 'releasing locks of jobs that are gone', everyMs: EVERY_MS, first: 'later', lock })
    this.#app = app
    this.#lock = lock
    this.#goneMs = goneMs
    this.#walkingPart = walkingPart
  }

  /** Runs one round, unless another process holds the leader lock or the last walk was a short while ago. */
  public override async run(): Promise<void> {
    if (performance.now() < this.#walkAgainAt) return
    const { store, now } = this.#app
    const first = await store.unique.list({ limit: 1 }, now())
    if ((first.locks.length === 0 && first.next === null) || !(await this.#isLeader())) return
    const began = performance.now()
    const walk = randomUUID()
    const walks = new Map<string, number>()
    for await (const locks of this.#locks()) {
      const gone = await this.#withoutJobs(locks)
      if (!gone) return
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
    this.#walkAgainAt = performance.now() + Math.min((performance.now() - began) / this.#walkingPart, LONGEST_PAUSE_MS)
  }

  async #isLeader(): Promise<boolean> {
    return !this.isStopping && (await this.#lock.acquire())
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
    for await (const texts of textsOfJobs(this.#app.store)) {
      for (const text of texts) {
        const payload = text.includes(NEEDLE) ? readPayload(text) : undefined
        for (const { key } of payload ? readUnique(payload) : []) missing.delete(`${key} ${payload?.jid}`)
      }
      if (missing.size === 0 || !(await this.#isLeader())) break
    }
    return (await this.#isLeader()) ? [...missing.values()] : undefined
  }
}

/** The text of each job with a lock contains it. */
const NEEDLE = '"hk_unique"'

/** Yields the texts of all unique jobs that wait or run, in the order in which a job moves without an effect. */
async function* textsOfJobs(store: Store): AsyncGenerator<string[]> {
  const limits = (await store.limits.list()).map(({ name }) => `limited:${name}` as const)
  for (const set of ['schedule', 'retry', ...limits] as const) {
    yield* textsOf((page) => store.search.scanSet(set, NEEDLE, page))
  }
  for (const { name } of await store.jobs.queues()) {
    yield* textsOf((page) => store.search.scanQueue(name, NEEDLE, page))
  }
  yield* textsOf((page) => store.workers.fetched(page))
  yield textsIn(await store.workers.running())
}

async function* textsOf(
  read: (page: ScanPage) => Promise<Pick<Scan<{ text: string }>, 'items' | 'next'>>,
): AsyncGenerator<string[]> {
  for await (const { items } of pages((after) => read({ after, limit: PAGE }))) yield textsIn(items)
}

function textsIn(items: readonly { text: string }[]): string[] {
  return items.map(({ text }) => text)
}
