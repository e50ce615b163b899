/** Keeps the locks of unique jobs in memory, for tests. They are acquired and released as in a store; `keep-unique` has no effect. */

import type { Payload } from '../job/payload.ts'
import { readUnique } from '../job/unique.ts'
import type { Effect } from '../store/contract.ts'

interface Held {
  holder: Payload
  ends: number
}

export class MemoryLocks {
  readonly #held = new Map<string, Held>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** Returns the jid of the job that has a lock. The job may have ended, if the lock lasts for a time. */
  holderOf(key: string): string | undefined {
    const held = this.#held.get(key)
    return held && held.ends > this.#now() ? held.holder.jid : undefined
  }

  /** Returns whether a job has a lock. */
  isHolder(jid: string): boolean {
    return Array.from(this.#held.keys()).some((key) => this.holderOf(key) === jid)
  }

  /** Gives a job its locks, which are free. */
  acquire(holder: Payload): void {
    for (const { key, ends = Number.POSITIVE_INFINITY } of readUnique(holder)) this.#held.set(key, { holder, ends })
  }

  apply(effects: readonly Effect[] = []): void {
    for (const effect of effects) {
      if (effect.kind !== 'release-unique') continue
      if (this.#held.get(effect.key)?.holder.jid === effect.holder) this.#held.delete(effect.key)
    }
  }

  /** Releases the locks of the jobs for which `isCleared` returns true. */
  clear(isCleared: (holder: Payload) => boolean): void {
    for (const [key, { holder }] of this.#held) if (isCleared(holder)) this.#held.delete(key)
  }
}
