/** The locks of unique jobs. */

import type {
  HeldLock,
  KeepUniqueEffect,
  LockHolder,
  PushItem,
  ReleaseUniqueEffect,
  UniqueClaim,
  UniqueLock,
  UniqueStore,
} from '../../contract.ts'
import { columns } from '../server/columns.ts'
import type { Database } from '../server/database.ts'
import { PostgresArea } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'
import { clockAhead } from './clock.ts'

interface LockRow extends Omit<UniqueLock, 'outlives'> {
  outlives: 0 | 1
  due: number | null
}

export class PostgresUniqueStore extends PostgresArea implements UniqueStore {
  readonly list: UniqueStore['list'] = async ({ after = '', limit }, now) => {
    // One more row, so that the last page is never empty.
    const found = await this.server.runOne((db) => db.all<LockRow>(sql.unique.list, after, limit + 1))
    const rows = found.slice(0, limit)
    const isHeld = ({ ends }: LockRow) => ends === null || ends > now
    if (!rows.every(isHeld)) {
      await this.server.write(async (db) => db.run(sql.unique.deleteOld, now - (await clockAhead(db))))
    }
    return { locks: rows.filter(isHeld).map(lockOf), next: found.length > limit ? (rows.at(-1) as LockRow).key : null }
  }

  readonly find: UniqueStore['find'] = async (keys, now) => {
    const locks = await this.server.runOne((db) => heldLocks(db, keys, now))
    return keys.map((key) => {
      const row = locks.get(key)
      return row ? lockOf(row) : null
    })
  }

  readonly suspect: UniqueStore['suspect'] = (locks, suspicion) =>
    this.server.write(async (db) => void (await db.run(sql.unique.suspect, suspicion, ...columns(locks, ...HELD))))

  readonly release: UniqueStore['release'] = (locks) =>
    this.server.write(async (db) => {
      const values = columns(locks, ...HELD, ({ suspicion }) => suspicion ?? null)
      const rows = await db.all<{ key: string }>(sql.unique.release, ...values)
      const released = new Set(rows.map(({ key }) => key))
      // A lock that is named twice is released once.
      return locks.map(({ key }) => released.delete(key))
    })
}

function lockOf({ key, holder, ends, outlives, suspicion }: LockRow): UniqueLock {
  return { key, holder, ends, outlives: outlives === 1, suspicion }
}

const HELD = [({ key }: HeldLock) => key, ({ holder }: HeldLock) => holder]

async function heldLocks(db: Database, keys: readonly string[], now: number): Promise<Map<string, LockRow>> {
  const rows = keys.length > 0 ? await db.all<LockRow>(sql.unique.find, [...new Set(keys)], now) : []
  return new Map(rows.map((row) => [row.key, row]))
}

/** The locks that the jobs of one push need: read together, and written together by `save`. */
export class UniqueLocks {
  readonly #db: Database
  readonly #now: number
  readonly #holders: Map<string, LockHolder>
  readonly #acquired: { claim: UniqueClaim; holder: LockHolder }[] = []

  private constructor(db: Database, now: number, holders: Map<string, LockHolder>) {
    this.#db = db
    this.#now = now
    this.#holders = holders
  }

  static async open(db: Database, items: Iterable<PushItem | null>, now: number): Promise<UniqueLocks> {
    const keys = Array.from(items, (item) => item?.unique?.claims.map(({ key }) => key) ?? []).flat()
    return new UniqueLocks(db, now, await heldLocks(db, keys, now))
  }

  /** Returns the job that has a lock. */
  holder(key: string): LockHolder | undefined {
    const found = this.#holders.get(key)
    return found && { holder: found.holder, due: found.due }
  }

  /** Returns the job that has the first of the locks of an item that is held. */
  held({ unique }: PushItem): LockHolder | undefined {
    for (const { key } of unique?.claims ?? []) {
      const held = this.holder(key)
      if (held) return held
    }
    return undefined
  }

  /** Gives a job all of its locks, if they are free. Returns the job that has the first one that is held, perhaps the same job. */
  acquire(item: PushItem): LockHolder | undefined {
    const held = this.held(item)
    if (held || !item.unique) return held
    const holder = { holder: item.unique.jid, due: item.to === 'schedule' ? item.score : null }
    for (const claim of item.unique.claims) {
      const isNew = !this.#holders.has(claim.key)
      if (!isNew || (claim.ends !== undefined && claim.ends <= this.#now)) continue
      this.#holders.set(claim.key, holder)
      this.#acquired.push({ claim, holder })
    }
    return undefined
  }

  /** Writes the locks that were acquired. */
  async save(): Promise<void> {
    const locks = this.#acquired.splice(0)
    if (locks.length === 0) return
    const values = columns(
      locks,
      ({ claim }) => claim.key,
      ({ holder }) => holder.holder,
      ({ claim }) => claim.ends ?? null,
      ({ claim }) => (claim.outlives ? 1 : 0),
      ({ holder }) => holder.due,
    )
    await this.#db.run(sql.unique.acquire, ...values, this.#now, Date.now())
  }
}

/** Gives one job all of its locks, if they are free. Returns the job that has the first one that is held, perhaps the same job. */
export async function acquireUnique(db: Database, item: PushItem, now: number): Promise<LockHolder | undefined> {
  if (!item.unique) return undefined
  const locks = await UniqueLocks.open(db, [item], now)
  const held = locks.acquire(item)
  await locks.save()
  return held
}

/** Changes locks in the order given. */
export async function changeUnique(
  db: Database,
  effects: readonly (KeepUniqueEffect | ReleaseUniqueEffect)[],
  now: number,
): Promise<void> {
  for (const some of withDistinctKeys(effects)) {
    const released = some.filter((effect) => effect.kind === 'release-unique')
    if (released.length > 0) await db.run(sql.unique.release, ...columns(released, ...HELD, () => null))
    const all = some.filter((effect) => effect.kind === 'keep-unique')
    const [kept, acquired] = [all.filter(({ acquire }) => !acquire), all.filter(({ acquire }) => acquire)]
    const due = (effect: KeepUniqueEffect) => effect.due ?? null
    if (kept.length > 0) await db.run(sql.unique.keep, ...columns(kept, ...HELD, due))
    if (acquired.length > 0)
      await db.run(sql.unique.keepOrAcquire, ...columns(acquired, ...HELD, due, ({ ends }) => ends ?? null), now)
  }
}

/** Divides effects, in their order, into lists that name no lock twice. */
function withDistinctKeys<Effect extends { key: string }>(effects: readonly Effect[]): Effect[][] {
  const lists: Effect[][] = []
  let keys = new Set<string>()
  for (const effect of effects) {
    if (lists.length === 0 || keys.has(effect.key)) {
      lists.push([])
      keys = new Set()
    }
    keys.add(effect.key)
    lists.at(-1)?.push(effect)
  }
  return lists
}
