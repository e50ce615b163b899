/** Leader locks: each is for work that one process at a time should do. That work must be safe when two processes do it. */

import type { WorkerStore } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { StorePart } from '../server/server.ts'

export class LeaderLocks extends StorePart implements Partial<WorkerStore> {
  /** Makes each value unique. */
  #calls = 0
  /** The values of other holders, with the time on the monotonic clock since which each is unchanged. */
  readonly #seen = new Map<string, { value: string; since: number }>()

  /**
   * Acquires a lock for `seconds`; returns false when another process holds it. A lock is free when it has expired on
   * the server's clock. In case that clock was set back, it is also free once this process has seen it unchanged for
   * `seconds`.
   */
  async acquireLock(lock: string, holder: string, seconds: number): Promise<boolean> {
    const asked = performance.now()
    const seen = this.#seen.get(lock)
    const overdue = seen && asked - seen.since >= seconds * 1000 ? seen.value : ''
    const answer = await this.#run(lock, [holder, `${holder} ${++this.#calls}`, overdue, Math.round(seconds * 1000)])
    if (typeof answer !== 'string') {
      this.#seen.delete(lock)
      return true
    }
    if (answer !== seen?.value) this.#seen.set(lock, { value: answer, since: performance.now() })
    return false
  }

  async releaseLock(lock: string, holder: string): Promise<void> {
    await this.#run(lock, [holder, '', '', ''])
  }

  async #run(lock: string, args: (string | number)[]) {
    return this.server.run(lua.leaderLock, [this.keys.leaderLock(lock)], args)
  }
}
