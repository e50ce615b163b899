/** The locks of unique jobs. */

import type { KeepUniqueEffect, PushItem, ReleaseUniqueEffect, UniqueLock, UniqueStore } from '../../contract.ts'
import type { Database } from '../file/database.ts'
import { SqliteArea } from '../file/store-file.ts'
import { sql } from '../sql.generated.ts'

interface LockRow extends Omit<UniqueLock, 'key' | 'holder' | 'outlives'> {
  keyJson: string
  holderJson: string
  outlives: 0 | 1
  due: number | null
}

export class SqliteUniqueStore extends SqliteArea implements UniqueStore {
  readonly list: UniqueStore['list'] = async ({ after = '', limit }, now) => {
    // One more row, so that the last page is never empty.
    const found = await this.file.read((db) => db.all<LockRow>(sql.unique.list, after, limit + 1))
    const locks = found.slice(0, limit).map(lockOf)
    const isHeld = ({ ends }: UniqueLock) => ends === null || ends > now
    if (!locks.every(isHeld)) await this.file.write((db) => db.run(sql.unique.deleteOld, now))
    return { locks: locks.filter(isHeld), next: found.length > limit ? (locks.at(-1) as UniqueLock).key : null }
  }

  readonly find: UniqueStore['find'] = (keys, now) =>
    this.file.read((db) =>
      keys.map((key) => {
        const row = db.first<LockRow>(sql.unique.find, key, now)
        return row ? lockOf(row) : null
      }),
    )

  readonly suspect: UniqueStore['suspect'] = (locks, suspicion) =>
    this.file.write((db) => {
      for (const { key, holder } of locks) db.run(sql.unique.suspect, suspicion, key, holder)
    })

  readonly release: UniqueStore['release'] = (locks) =>
    this.file.write((db) =>
      locks.map(({ key, holder, suspicion }) => db.run(sql.unique.release, key, holder, suspicion ?? null) > 0),
    )
}

function lockOf({ keyJson, holderJson, ends, outlives, suspicion }: LockRow): UniqueLock {
  return { key: JSON.parse(keyJson), holder: JSON.parse(holderJson), ends, outlives: outlives === 1, suspicion }
}

/** Returns the job that has a lock. */
export function lockHolder(db: Database, key: string, now: number): { holder: string; due: number | null } | undefined {
  const held = db.first<LockRow>(sql.unique.find, key, now)
  return held && { holder: JSON.parse(held.holderJson), due: held.due }
}

/** Returns the job that has the first of the locks of a push that is held. */
export function heldUnique(db: Database, { unique }: PushItem, now: number): ReturnType<typeof lockHolder> {
  for (const { key } of unique?.claims ?? []) {
    const held = lockHolder(db, key, now)
    if (held) return held
  }
  return undefined
}

/** Gives a job all of its locks, if they are free. Returns the job that has the first one that is held, perhaps the same job. */
export function acquireUnique(db: Database, item: PushItem, now: number): ReturnType<typeof heldUnique> {
  const held = heldUnique(db, item, now)
  if (held) return held
  const { jid, claims = [] } = item.unique ?? {}
  const due = item.to === 'schedule' ? item.score : null
  if (claims.length > 0) db.run(sql.unique.deleteOld, now)
  for (const { key, ends, outlives } of claims) {
    db.run(sql.unique.acquire, key, jid as string, ends ?? null, outlives ? 1 : 0, due)
  }
  return undefined
}

export function changeUnique(db: Database, effect: KeepUniqueEffect | ReleaseUniqueEffect, now: number): void {
  const { kind, key, holder } = effect
  if (kind === 'release-unique') db.run(sql.unique.release, key, holder, null)
  else if (!effect.acquire) db.run(sql.unique.keep, effect.due ?? null, key, holder)
  else db.run(sql.unique.keepOrAcquire, key, holder, effect.ends ?? null, effect.due ?? null, now)
}
