import type { ShardUpdate } from '../contract.ts'

/** Remembers which version of each ordered queue the waits of an owner have returned. */
export class SeenVersions {
  /** By owner and queue. */
  readonly #seen = new Map<string, number>()

  /** Returns the first of these queues whose version has changed since it was last returned to this owner. */
  findChanged(
    owner: string,
    queues: readonly string[],
    versions: ReadonlyMap<string, number>,
  ): ShardUpdate | undefined {
    for (const queue of queues) {
      const key = `${owner}\n${queue}`
      const version = versions.get(queue) ?? 0
      if (this.#seen.get(key) === version) continue
      this.#seen.set(key, version)
      return { queue, shard: undefined }
    }
    return undefined
  }

  remove(owner: string, queue: string): void {
    this.#seen.delete(`${owner}\n${queue}`)
  }
}
