/**
 * The set of finished jobs. A step of a worker adds its jobs as one pack, because most are removed unread, and an entry for each
 * would cost more than all else that its end writes. Reading the set moves them into a sorted set; see finished-packs.lua.
 */

import { type FinishedJob, finishedRuns } from '../../contract.ts'
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

/**
 * Returns a pack as `readPacks` in step.lua reads it: how many jobs, the latest time (ms), the scores, the texts, and
 * the members that the texts get when they are unpacked.
 */
export function packOf(jobs: readonly FinishedJob[]): Argument[] {
  const runs = finishedRuns(jobs)
  const latest = runs.reduce((most, { score }) => Math.max(most, score), 0)
  const scores = runs.map(({ score, size }) => `${score} ${size}`).join()
  // No JSON text has a NUL character.
  const texts = jobs.map(({ text }) => text).join('\0')
  const members = runs.map((run) => run.members).join('\0')
  return [jobs.length, Math.ceil(latest * 1000), scores, texts, members]
}
