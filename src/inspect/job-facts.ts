/** Reads the facts that the store knows of a job beside its payload: its locks, and the limit for which it waits. */

import { isStoredName, parseStoredName } from '../job/limit.ts'
import { readUnique } from '../job/unique.ts'
import type { Store } from '../store/contract.ts'
import { SetEntry } from './entry.ts'
import { idOf, type LimitInfo } from './limits.ts'
import type { JobRecord } from './record.ts'

/** Returns the keys of the locks that a job has. */
export async function locksOf(store: Store, now: number, { payload, jid }: JobRecord): Promise<string[]> {
  const keys = readUnique(payload as Parameters<typeof readUnique>[0]).map(({ key }) => key)
  if (keys.length === 0) return []
  const locks = await store.unique.find(keys, now)
  return keys.filter((_, i) => locks[i]?.holder === jid)
}

/** Returns the limit for which a job waits; null when it waits for none, or for one that a later version has stored. */
export function awaitedLimit(job: JobRecord): Pick<LimitInfo, 'id' | 'kind' | 'name' | 'position' | 'key'> | null {
  if (!(job instanceof SetEntry) || !job.set.startsWith('limited:')) return null
  const name = job.set.slice('limited:'.length)
  if (!isStoredName(name)) return null
  return { id: idOf(name), ...parseStoredName(name) }
}
