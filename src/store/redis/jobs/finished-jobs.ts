/**
 * The set of finished jobs. A step of a worker adds its jobs as one pack, because most are removed unread, and an entry for each
 * would cost more than all else that its end writes. Reading the set moves them into a sorted set; see finished-packs.lua.
 */

import type { Entry } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import type { Argument } from '../server/connection.ts'
import { StorePart } from '../server/server.ts'

/** One script moves about this many jobs out of packs, and removes at most this many entries. */
const MAX_JOBS = 1000

export class FinishedJobs extends StorePart {
  async size(): Promise<number> {
    return (await this.server.run(lua.finishedSize, this.keys.finished, [])) as number
  }

  /** Moves the jobs of all packs into the sorted set. */
  async unpack(): Promise<void> {
    while (await this.server.succeeds(lua.finishedUnpack, this.keys.finished, [MAX_JOBS]));
  }

  async prune(max: number, since: number): Promise<void> {
    while (await this.server.succeeds(lua.finishedPrune, this.keys.finished, [max, since, MAX_JOBS]));
  }
}

/** Returns a pack as `readPacks` in step.lua reads it: how many jobs, the latest time (ms), the scores, and the texts. */
export function packOf(entries: readonly Entry[]): Argument[] {
  const scores: string[] = []
  let latest = 0
  for (let i = 0, n = 1; i < entries.length; i += n) {
    const { score } = entries[i] as Entry
    n = 1
    while (entries[i + n]?.score === score) n++
    scores.push(`${score} ${n}`)
    latest = Math.max(latest, score)
  }
  // No JSON text has a NUL character.
  const texts = entries.map(({ text }) => text).join('\0')
  return [entries.length, Math.ceil(latest * 1000), scores.join(), texts]
}
