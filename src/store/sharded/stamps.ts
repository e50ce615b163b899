/** The stamps of the shards' leases as numbers of this process. */

import type { Shard } from './shards.ts'
import { Versions } from './versions.ts'

export class Stamps {
  readonly #versions: Versions
  readonly #shards: number
  /** For each shard the number of the first observation since it could be reached again: earlier ones prove nothing. */
  readonly #floors: number[]
  readonly #reached = new Set<number>()

  constructor(shards: number) {
    this.#shards = shards
    this.#versions = new Versions(shards)
    this.#floors = Array.from({ length: shards }, () => 0)
  }

  /** Returns the number of an observation of the shards that could be reached. */
  observe(stamps: ReadonlyMap<number, number>): number {
    const number = this.#versions.numberWith(stamps)
    for (let index = 0; index < this.#shards; index++) {
      if (!stamps.has(index)) this.#reached.delete(index)
      else if (!this.#reached.has(index)) {
        this.#reached.add(index)
        this.#floors[index] = number
      }
    }
    return number
  }

  /** Returns the stamp of a shard in an observation; null: the number is not known. */
  of(number: number, { index }: Shard): number | null {
    return this.#versions.of(number)?.[index] ?? null
  }

  /** Returns the number of the first observation that counts and saw this stamp, or a later one. */
  numberOf({ index }: Shard, stamp: number): number {
    return Math.max(this.#versions.firstWith(index, stamp), this.#floors[index] as number)
  }
}
