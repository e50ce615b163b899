import type { ShardUpdate } from '../contract.ts'

/** The version of each ordered queue that an owner's waits have reported. */
export class SeenVersions {
  /** By owner and queue. */
  readonly #seen = new Map<string, number>()

  /** Returns the first queue with another version than its owner has seen. The next call returns another one. */
  next(owner: string, queues: readonly string[], versions: ReadonlyMap<string, number>): ShardUpdate | undefined {
    for (const queue of queues) {
      const key = `${owner}\n${queue}`
      const version = versions.get(queue) ?? 0
      if (this.#seen.get(key) === version) continue
      this.#seen.set(key, version)
      return { queue, shard: undefined }
    }
    return undefined
  }

  forget(owner: string, queue: string): void {
    this.#seen.delete(`${owner}\n${queue}`)
  }
}
