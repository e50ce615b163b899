/** The locks of unique jobs. */

import type { HeldLock, UniqueLock, UniqueStore } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { StorePart } from '../server/server.ts'

/** The most locks that one script changes. */
const BATCH = 500

export class UniqueLocks extends StorePart implements UniqueStore {
  async list({ after = '0', limit }: { after?: string | undefined; limit: number }, now: number) {
    const time = now - (await this.server.clockAhead())
    const answer = await this.server.run(lua.listUnique, [this.keys.unique], [time, after, limit])
    const [next, ...flat] = answer as string[]
    const locks: UniqueLock[] = []
    for (let i = 0; i < flat.length; i += 4) locks.push(lockOf(flat.slice(i, i + 4)))
    return { locks, next: next === '0' ? null : (next as string) }
  }

  async find(keys: readonly string[], now: number): Promise<(UniqueLock | null)[]> {
    if (keys.length === 0) return []
    const found = (await this.server.run(lua.findUnique, [this.keys.unique], [now, keys.length, ...keys])) as string[]
    return keys.map((key, i) => {
      const about = found.slice(3 * i, 3 * i + 3)
      return about[0] === '' ? null : lockOf([key, ...about])
    })
  }

  async suspect(locks: readonly HeldLock[], suspicion: string): Promise<void> {
    await this.#change(locks, suspicion)
  }

  release(locks: readonly (HeldLock & { suspicion?: string })[]): Promise<boolean[]> {
    return this.#change(locks, '')
  }

  async #change(locks: readonly (HeldLock & { suspicion?: string })[], suspicion: string): Promise<boolean[]> {
    const changed: boolean[] = []
    for (let from = 0; from < locks.length; from += BATCH) {
      const some = locks.slice(from, from + BATCH)
      const args = [suspicion, some.length, ...some.flatMap((lock) => [lock.key, lock.holder, lock.suspicion ?? ''])]
      const answer = await this.server.run(lua.changeUnique, [this.keys.unique], args)
      changed.push(...(answer as unknown as number[]).map((n) => n === 1))
    }
    return changed
  }
}

function lockOf([key, holder, ends, suspicion]: string[]): UniqueLock {
  const outlives = suspicion === '-'
  const about = { ends: ends ? Number(ends) : null, outlives, suspicion: (!outlives && suspicion) || null }
  return { key: key as string, holder: holder as string, ...about }
}
